"""Attention with separate queries, keys and values, alone and in several heads: who moves what."""

from __future__ import annotations

from grader.cases import HANDOUT, MIDDLE, SMALLEST, Case, some
from grader.checks import check
from grader.checks.heads import heads_go_with_their_rows, values_reach_the_output_only
from grader.part import Part
from grader.verdict import Violation


@check(
    parts=["attention"],
    says="Other values leave the weights as they were; the output follows the values.",
    cases=some(SMALLEST, MIDDLE),
)
def output_follows_values(part: Part, case: Case) -> Violation | None:
    return values_reach_the_output_only(part, case, "V", "O = A V, and nothing after it.")


@check(
    parts=["multi_head"],
    says="Reordering heads together with their rows of W_O changes nothing; reordering the heads alone does.",
    cases=some(SMALLEST, HANDOUT),
)
def order_of_heads(part: Part, case: Case) -> Violation | None:
    return heads_go_with_their_rows(part, case)
