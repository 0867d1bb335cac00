"""Knows what a misconception is: the wrong function beside the right one, its formula, why people write it, the cure.

Every file of this folder holds those of one part of the reference; other packages add theirs through the entry-point
group `grader.misconceptions`. A wrong function may take `the=`, as the reference's functions do.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import combinations
from typing import Any

from grader.registry import RegistrationError, Registry, filled

Function = Callable[..., Any]


@dataclass(frozen=True)
class Misconception:
    """A mistake with a name.

    id       kebab-case
    parts    the functions in which it is made
    title    what it is, in a few words
    formula  what was computed, in the book's letters
    why      why people write it
    cure     what to write instead, one sentence
    wrong    the wrong function with the part's arguments; None for a mistake that is known by its pattern alone
    """

    id: str
    parts: tuple[str, ...]
    title: str
    formula: str
    why: str
    cure: str
    wrong: Function | None
    file: str


@dataclass(frozen=True)
class Candidate:
    """A function to compare a student's part with, and the mistakes that it makes."""

    mistakes: tuple[Misconception, ...]
    wrong: Function


@dataclass(frozen=True)
class Choice:
    """One way to go wrong at one place of a family's formula."""

    id: str
    title: str
    formula: str
    why: str
    cure: str


@dataclass(frozen=True)
class Cut:
    """A place at which a gradient is cut off: `frozen(now, base, the)` takes what is cut off from `base`.

    now, base   the part's arguments as they are moved, and as they stood when the gradient was taken
    """

    id: str
    frozen: Function


class Family:
    """A part's formula, or that of parts that are alike, with places at which one can go wrong.

    The function takes one keyword for each place.
    places   keyword -> {value: Choice}; the function's default at each place is right
    The registry gets one misconception for each choice. Two wrong choices at two places are two mistakes.
    """

    def __init__(
        self, part: str | Sequence[str], function: Function, places: Mapping[str, Mapping[str, Choice]]
    ) -> None:
        self.parts, self.function, self.places = (part,) if isinstance(part, str) else tuple(part), function, places
        file = sys.modules[function.__module__].__file__ or function.__module__
        self._of = {
            (place, value): _register(
                Misconception(
                    choice.id,
                    self.parts,
                    choice.title,
                    choice.formula,
                    choice.why,
                    choice.cure,
                    partial(function, **{place: value}),
                    file,
                )
            )
            for place, choices in places.items()
            for value, choice in choices.items()
        }
        for name in self.parts:
            families.setdefault(name, []).append(self)

    @property
    def registered(self) -> bool:
        """Whether its mistakes are still known: those of a file that has failed are not."""
        return all(known.id in registry and registry.get(known.id) is known for known in self._of.values())

    def pairs(self) -> Iterator[Candidate]:
        """Every two wrong choices at two different places."""
        for (p, v), (q, w) in combinations(self._of, 2):
            if p != q:
                yield Candidate((self._of[p, v], self._of[q, w]), partial(self.function, **{p: v, q: w}))


registry: Registry[Misconception] = Registry("misconception")
families: dict[str, list[Family]] = {}
_cuts: dict[str, list[Cut]] = {}


def misconception(
    key: str, *, part: str | Sequence[str], title: str, formula: str, why: str, cure: str
) -> Callable[[Function], Function]:
    """Register a wrong function.

    errors: RegistrationError for an id that is taken or a text that is missing.
    """

    def register(wrong: Function) -> Function:
        parts = (part,) if isinstance(part, str) else tuple(part)
        module = _module(wrong)
        file = sys.modules[module].__file__ or module
        _register(Misconception(key, parts, title, formula, why, cure, wrong, file))
        return wrong

    return register


def pattern(key: str, *, part: Sequence[str], title: str, formula: str, why: str, cure: str, file: str) -> None:
    """Register a mistake that a check knows by its pattern (a gradient, a dependence), without a wrong function."""
    _register(Misconception(key, tuple(part), title, formula, why, cure, None, file))


def cut(key: str, *, part: str, title: str, formula: str, why: str, cure: str) -> Callable[[Function], Function]:
    """Register a place at which a gradient is cut off; the function takes (now, base, the)."""

    def register(frozen: Function) -> Function:
        file = sys.modules[frozen.__module__].__file__ or frozen.__module__
        pattern(key, part=(part,), title=title, formula=formula, why=why, cure=cure, file=file)
        _cuts.setdefault(part, []).append(Cut(key, frozen))
        return frozen

    return register


def also_cut(key: str, *, part: str) -> Callable[[Function], Function]:
    """Another way in which a known cut shows, such as with the gradient through a maximum or without it."""

    def register(frozen: Function) -> Function:
        _cuts[part].append(Cut(key, frozen))
        return frozen

    return register


def _register(new: Misconception) -> Misconception:
    for name in ("title", "formula", "why", "cure"):
        if not getattr(new, name):
            raise RegistrationError(f"{new.file}: the misconception {new.id!r} has no {name}; write one sentence")
    registry.add(new.id, new, new.file)
    return new


@cache
def all_misconceptions() -> Registry[Misconception]:
    """Every misconception there is, ours and those of installed packages, in a fixed order."""
    return filled(registry, sys.modules[__name__], "grader.misconceptions")


def singles(part: str) -> Iterator[Candidate]:
    """The mistakes that are made in a part and that have a wrong function."""
    for known in all_misconceptions():
        if part in known.parts and known.wrong is not None:
            yield Candidate((known,), known.wrong)


def cuts_of(part: str) -> Iterator[Cut]:
    """The known places at which a part's gradient is cut off."""
    all_misconceptions()
    here = [known for known in _cuts.get(part, ()) if known.id in registry]
    yield from sorted(here, key=lambda known: _module(known.frozen))


def pairs(part: str) -> Iterator[Candidate]:
    """Two mistakes at two places of the part's formula."""
    all_misconceptions()
    for family in sorted(families.get(part, ()), key=lambda known: _module(known.function)):
        if family.registered:
            yield from family.pairs()


def _module(function: Function) -> str:
    return str(getattr(function, "func", function).__module__)  # a partial is of functools
