"""Time: training on 200 kB and encoding them, in seconds of processor time, whatever else the machine does."""

from __future__ import annotations

from grader.cases import Case
from grader.checks import check
from grader.checks.tokenizer import token_cases
from grader.part import Part
from grader.probes.texts import prose
from grader.probes.tokens import BYTES, limited, train
from grader.verdict import Violation

LENGTH, MERGES = 200_000, 40
SECONDS = 12.0  # counting all pairs anew for every merge takes one or two
HINT = "Merge all occurrences of a pair in one pass over the text; do not begin anew after each one."


def _late(what: str) -> Violation:
    return Violation(
        f"{what} {LENGTH // 1000} kB with {MERGES} merges takes more than {SECONDS:g} seconds of processor time",
        hint=HINT,
        names=("bpe-rescans",),
    )


@check(
    parts=["Tokenizer"],
    says="Training on 200 kB of text, 40 merges, takes at most 12 seconds of processor time.",
    cases=token_cases,
    needs=("trains", "vocabulary-size"),
    numbers=False,
)
def training_in_time(part: Part, case: Case) -> Violation | None:
    handle = limited(part, "Tokenizer.train", (prose(LENGTH, case.key[0]), BYTES + MERGES), "handle", SECONDS)
    return _late("training on") if handle is None else None


@check(
    parts=["Tokenizer"],
    says="Encoding 200 kB of text, with 40 merges, takes at most 12 seconds of processor time.",
    cases=token_cases,
    needs=("trains", "round-trip", "vocabulary-size"),
    numbers=False,
)
def encoding_in_time(part: Part, case: Case) -> Violation | None:
    tokens = train(part, prose(LENGTH // 20, case.key[0]), BYTES + MERGES)
    ids = limited(part, f"{tokens.handle}.encode", (prose(LENGTH, case.key[0]),), "array", SECONDS)
    return _late("encoding") if ids is None else None
