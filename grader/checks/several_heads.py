"""Attention with separate queries, keys and values, alone and in several heads: who moves what."""

from __future__ import annotations

import numpy as np

from grader.cases import HANDOUT, MIDDLE, SMALLEST, Case, some
from grader.checks import check
from grader.compare import number
from grader.part import Part, violation
from grader.verdict import Violation


@check(
    parts=["attention"],
    says="Other values leave the weights as they were; the output follows the values.",
    cases=some(SMALLEST, MIDDLE),
)
def output_follows_values(part: Part, case: Case) -> Violation | None:
    O, A = part(*case.args)
    O_2, A_2 = part(*case.with_arg(2, -2 * case.args[2]))
    if gap := part.gap(A_2, A):
        return violation(
            f"a weight moves by {number(gap.size)} when only V changes", gap, A_2, A, "A comes from Q and K alone."
        )
    if gap := part.gap(O_2, -2 * O):
        return violation(
            "the output is not -2 times as large when V is", gap, O_2, -2 * O, "O = A V, and nothing after it."
        )
    return None


@check(
    parts=["multi_head"],
    says="Reordering heads together with their rows of W_O changes nothing; reordering the heads alone does.",
    cases=some(SMALLEST, HANDOUT),
)
def order_of_heads(part: Part, case: Case) -> Violation | None:
    X_q, X_kv, heads, W_O, mask = case.args
    order = [*range(1, len(heads)), 0]
    rows = np.split(W_O, len(heads))
    before = part(*case.args)
    turned = [heads[i] for i in order]
    after = part(X_q, X_kv, turned, np.concatenate([rows[i] for i in order]), mask)
    if gap := part.gap(after, before):
        return violation(
            f"the output moves by {number(gap.size)} when heads and rows of W_O are reordered alike",
            gap,
            after,
            before,
            "Head i's d_v columns meet rows i·d_v … (i+1)·d_v of W_O: join the heads side by side, in their order.",
        )
    if part.gap(part(X_q, X_kv, turned, W_O, mask), before) is None:
        return Violation(
            "the output stays as it is when the heads are reordered and W_O is not",
            hint="Every head has weights of its own and a place of its own in the joined row.",
        )
    return None
