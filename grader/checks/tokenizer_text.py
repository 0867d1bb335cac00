"""Texts: every one comes back from its ids as it was."""

from __future__ import annotations

from grader.cases import Case
from grader.checks import check
from grader.checks.tokenizer import MERGES, TEXT, ordinary, shown, token_cases, told
from grader.part import Part
from grader.probes.token_changes import PROBES, changed, decoded_apart, thinned
from grader.probes.tokens import BYTES, Raised, Tokens, train
from grader.search import shrunk, smallest
from grader.verdict import Violation

MARKERS = ("\u0120", "\u2581", "</w>", "##a", "@@ a")
# what pieces a text may be made of, alone as the smallest texts and then in any order
PIECES = (
    *("", "a", " ", "A", "\n", "\t", "\r\n", "\r", "  ", " a", "a ", "a  b", "_", "0", ".", "'s", "\x00", "\x7f"),
    *("\x85", "\xa0", "\xe9", "e\u0301", "\ufb01", "\u0130", "\u200b", "\ufeff", "\u2028", "\ufffd", "\uffff"),
    *("\u65e5\u672c", "\U0001f600", "\U0001f469\u200d\U0001f467", "\U0010ffff", "<|end|>", "<unk>", "</s>"),
    *MARKERS,
    *("the", "the old dog barks. "),
)


@check(
    parts=["Tokenizer"],
    says="decode(encode(s)) == s, whatever text s is.",
    cases=token_cases,
    needs=("trains",),
    numbers=False,
)
def round_trip(part: Part, case: Case) -> Violation | None:
    tokens = ordinary(part)

    def fails(text: str) -> bool:
        return _back(tokens, text) != text

    found = next(filter(fails, (*PIECES, TEXT)), None)
    found = shrunk(found, fails) if found is not None else smallest(fails, seed=case.key[0], pieces=PIECES[1:])
    return None if found is None else lost(tokens, found)


def _back(tokens: Tokens, text: str) -> str | Raised:
    """decode(encode(text)), or what is raised."""
    try:
        return tokens.back(text)
    except Raised as fault:
        return fault


def lost(tokens: Tokens, text: str) -> Violation:
    """What becomes of a text that does not come back."""
    result = _back(tokens, text)
    if isinstance(result, Raised):
        return Violation(
            f"decode(encode({shown(text)})) raises {told(result)}",
            hint="Every text is a row of bytes, and each of the 256 bytes has an id.",
            names=_of_the_fault(tokens, text, result),
        )
    return Violation(
        f"decode(encode({shown(text)})) is {shown(result)}",
        hint="Encode the bytes of the text as it is, all of them; join the bytes of all ids before you decode them.",
        names=_of_the_result(tokens, text, result),
    )


def _of_the_fault(tokens: Tokens, text: str, fault: Raised) -> tuple[str, ...]:
    if fault.type == "UnicodeDecodeError" and not text.isascii():
        return ("tokenizer-decode-per-token",)
    if fault.type == "UnicodeEncodeError":
        return ("tokenizer-not-utf-8",)
    return ("tokenizer-unknown-raises",) if _learned(tokens, text) else ()


def _of_the_result(tokens: Tokens, text: str, result: str) -> tuple[str, ...]:
    results = [_back(tokens, probe) for probe in PROBES]
    if key := changed(PROBES, [None if isinstance(one, Raised) else one for one in results]):
        return (key,)
    if decoded_apart(text, result):
        return ("tokenizer-decode-per-token",)
    if any(marker in text for marker in MARKERS):
        return ("tokenizer-marker",)
    if _learned(tokens, text):
        return ("tokenizer-unknown-dropped",)
    gone = thinned(text, result)
    if gone and all(_back(tokens, c) == "" for c in gone):
        return ("tokenizer-characters-dropped",)
    return ("tokenizer-merge-loses",) if _back(train(tokens.part, TEXT, BYTES), text) == text else ()


def _learned(tokens: Tokens, text: str) -> bool:
    """Whether the text comes back once it was trained on, and holds what was not."""
    if set(text) <= set(TEXT):
        return False
    return _back(train(tokens.part, TEXT + text * 9, BYTES + MERGES), text) == text
