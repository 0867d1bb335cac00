"""Knows hypothesis: a search for the smallest text that breaks a promise, the same in every run, nothing kept on disk.

Every choice is made of booleans. For numbers and texts hypothesis also draws constants that it reads from modules
nearby, so that what is found would hang on what happens to be imported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

LONGEST = 10  # pieces of one text
ORDER = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 \n\t.,;:!?'\"()[]{}<>|/\\-_+*=#$%&@^`~"
ASCII = ORDER + "".join(chr(code) for code in range(128) if chr(code) not in ORDER)
PLAIN = "a "
SURROGATES, UNICODE = range(0xD800, 0xE000), 0x110000


def smallest(fails: Callable[[str], bool], *, seed: int, pieces: Sequence[str] = (), examples: int = 200) -> str | None:
    """A text for which `fails`, made as small as can be; None when none is found.

    pieces   what texts are made of besides all characters that UTF-8 encodes
    errors   what `fails` raises, once the search has come to its end
    """
    judged = _Once(fails)
    found = _search(judged, seed, tuple(pieces), examples)
    return judged.settled(found and _fewer(found, judged))


def shrunk(text: str, fails: Callable[[str], bool]) -> str:
    """A text for which `fails`, without all that is not needed for it. errors: what `fails` raises."""
    judged = _Once(fails)
    return judged.settled(_fewer(text, judged)) or text


class _Once:
    """Judges each text once. What is raised is kept and not provoked again, as an endless loop would take its time."""

    def __init__(self, fails: Callable[[str], bool]) -> None:
        self._fails = fails
        self._known: dict[str, bool] = {}
        self._raised: list[Exception] = []

    def __call__(self, text: str) -> bool:
        if text not in self._known and not self._raised:
            try:
                self._known[text] = self._fails(text)
            except Exception as error:  # noqa: BLE001 - it is raised again by `settled`
                self._raised.append(error)
        return self._known.get(text, False)

    def settled(self, found: str | None) -> str | None:
        """What was found. errors: what was raised on the way."""
        if self._raised:
            raise self._raised[0]
        return found


def _fewer(text: str, fails: Callable[[str], bool]) -> str:
    """Without every stretch that is not needed, the long ones first: where hypothesis stops, and for texts given."""
    length = len(text) // 2 or 1
    while True:
        at = 0
        while at < len(text):
            fewer = text[:at] + text[at + length :]
            if fails(fewer):
                text = fewer
            else:
                at += length
        if length == 1:
            return _plainer(text, fails)
        length //= 2


def _plainer(text: str, fails: Callable[[str], bool]) -> str:
    """With plain characters wherever they do."""
    for at in range(len(text)):
        for plain in PLAIN:
            other = text[:at] + plain + text[at + 1 :]
            if text[at] not in PLAIN and fails(other):
                text = other
    return text


def _search(fails: Callable[[str], bool], seed: int, pieces: tuple[str, ...], examples: int) -> str | None:
    from hypothesis import HealthCheck, Phase, Verbosity, find, settings
    from hypothesis.configuration import set_hypothesis_home_dir
    from hypothesis.errors import NoSuchExample

    how = settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        print_blob=False,
        report_multiple_bugs=False,
        verbosity=Verbosity.quiet,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    with TemporaryDirectory(prefix="decoder-grader-") as folder:
        set_hypothesis_home_dir(folder)
        try:
            found: str = find(_texts(pieces), fails, settings=how, random=Random(seed))
            return found
        except NoSuchExample:
            return None
        finally:
            set_hypothesis_home_dir(None)


def _texts(pieces: tuple[str, ...]) -> Any:
    """Texts of some pieces: of single characters, mostly ASCII, and of those given."""
    from hypothesis import strategies as st

    bit = st.booleans()

    @st.composite
    def piece(draw: Any) -> str:
        def number(bits: int) -> int:
            return sum(draw(bit) << place for place in reversed(range(bits)))

        kind = number(2)
        if kind == 0:
            return ASCII[number(7)]
        if kind == 1 and pieces:
            return pieces[number(max(1, (len(pieces) - 1).bit_length())) % len(pieces)]
        code = number(16) if kind == 2 else number(21) % UNICODE
        return chr(code - len(SURROGATES) if code in SURROGATES else code)

    return st.lists(piece(), max_size=LONGEST).map("".join)
