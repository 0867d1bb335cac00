"""A language model's numbers, where it loads the reference's weights: the logits are the reference's."""

from __future__ import annotations

from dataclasses import replace

from grader.cases import Case, only_once
from grader.checks import check
from grader.part import Part, violation
from grader.probes.lm_value import QUESTIONS, compare
from grader.verdict import Violation

FORMULA = "H = H + attention(norm_1(H)); H = H + feed_forward(norm_2(H)); logits = norm_f(H) W_out + b_out."


@check(
    parts=["DecoderLM"],
    says="Where load_reference is defined, the logits for the reference's weights are the reference's.",
    cases=only_once,
    needs=("lm-shape",),
    numbers=False,
    noted=True,
)
def lm_value(part: Part, case: Case) -> Violation | None:
    found = compare(part, case.key[0])
    if found is None:
        part.note("load_reference is left out, so no numbers were compared")
        return None
    for question, observed, expected in zip(QUESTIONS, found.observed, found.expected, strict=True):
        if gap := part.gap(observed, expected):
            told = violation(
                f"with {question.label}, the logits differ from the reference's: {gap}",
                gap,
                observed,
                expected,
                f"{FORMULA} See the names and shapes of the weights in the template.",
            )
            return replace(told, names=found.names)
    return None
