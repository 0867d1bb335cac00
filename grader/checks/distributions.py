"""Rows of probabilities: they sum to 1, none is negative, what is masked is 0, a constant added changes nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from grader.cases import HANDOUT, LARGE, MIDDLE, SMALLEST, Case, generic, some
from grader.checks import check
from grader.checks.causality import nan_hint
from grader.compare import Array, number, shape_text
from grader.part import Part, small, violation
from grader.verdict import Violation


def last(results: Any) -> Array:
    """The result that holds the probabilities: the only one, or A after O."""
    return np.asarray(results[-1] if isinstance(results, tuple) else results)


@check(parts=["@distribution"], says="Every row of the weights sums to 1, and no weight is negative.", cases=generic)
def row_sums(part: Part, case: Case) -> Violation | None:
    A = last(part(*case.args))
    sums = A.sum(axis=-1)
    if gap := part.gap(sums, np.ones_like(sums)):
        columns = A.ndim == 2 and A.shape[0] == A.shape[1] and part.gap(A.sum(axis=0), np.ones_like(sums)) is None
        return violation(
            f"row {gap.row} sums to {number(float(sums[gap.row]))}",
            gap,
            sums,
            np.ones_like(sums),
            "The columns sum to 1 instead: the softmax runs over the wrong axis."
            if columns
            else nan_hint(part, A) or "Normalize over the last axis, after the mask.",
        )
    if (A < 0).any():
        index = tuple(int(i) for i in np.unravel_index(int(A.argmin()), A.shape))
        return Violation(f"the weight at {list(index)} is {number(float(A[index]))}", observed=small(A), where=index)
    return None


@check(
    parts=["@masked"],
    says="Attention weights above the diagonal are exactly 0, those on and below it are not.",
    cases=some(SMALLEST, HANDOUT, LARGE),
    carried=False,
    extreme=True,
)
def zeros_above_diagonal(part: Part, case: Case) -> Violation | None:
    A = last(part(*case.args))
    T = len(case.x)
    if A.shape != (T, T):
        return Violation(
            f"the weights are {shape_text(A.shape)}, expected {shape_text((T, T))}", observed=list(A.shape)
        )
    future = np.triu(np.ones((T, T), dtype=bool), k=1)
    for wrong, says, hint in (
        (future & (A != 0), "above the diagonal", "Fill S[t, s] for s > t with -inf before the softmax."),
        (
            ~future & ~(A > 0),
            "on or below the diagonal",
            "Only s > t is masked: position t consults itself and the past.",
        ),
    ):
        if wrong.any():
            t, s = (int(i) for i in np.argwhere(wrong)[0])
            return Violation(
                f"the weight of position {t} on position {s}, {says}, is {number(float(A[t, s]))}",
                observed=small(A),
                expected=small(last(part.expected(*case.args))),
                hint=hint,
                where=(t, s),
                picture={"kind": "attention", "matrix": np.where(np.isfinite(A), A.round(6), -1).tolist()},
            )
    return None


@check(
    parts=["softmax", "next_token_probabilities", "loss"],
    says="Adding the same number to every entry of a row changes no probability; raising one entry does.",
    cases=some(SMALLEST, MIDDLE),
)
def shift_invariant(part: Part, case: Case) -> Violation | None:
    before = part(*case.args)
    shifts = case.rng.uniform(-20, 20, size=(len(case.x), 1))
    after = part(*case.with_x(case.x + shifts))
    if gap := part.gap(after, before):
        return violation(
            f"the result moves by {number(gap.size)} when a constant is added to each row",
            gap,
            after,
            before,
            "Subtract the row's own maximum before exp, and divide by the row's own sum.",
        )
    raised = case.x.copy()
    raised[0, 0] += 1.0
    if part.gap(part(*case.with_x(raised)), before) is None:
        return Violation("the result stays as it is when one entry of the first row is raised by 1")
    return None
