"""Who depends on whom: the future does not matter, the past does, and what works row by row stays in its row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from grader.cases import HANDOUT, MIDDLE, ONE, SMALLEST, Arguments, Case, some
from grader.checks import check
from grader.compare import Array, each, number
from grader.part import Part, violation
from grader.verdict import Violation


def replaced(part: Part, case: Case, positions: list[int], rng: np.random.Generator) -> Arguments:
    """The arguments with other tokens at `positions`: other ids, other random rows, or rows and columns of scores."""
    x = case.x.copy()
    if x.dtype.kind == "i":
        v = len(case.args[1]["embedding"])
        x[positions] = (x[positions] + rng.integers(1, v, size=len(positions))) % v
    else:
        x[positions] = rng.standard_normal((len(positions), x.shape[1])) * 1.3
        if next(iter(part.part.arguments.values())) == "(T, T)":
            x[:, positions] = rng.standard_normal((x.shape[0], len(positions))) * 1.3
    return case.with_x(x)


def nan_hint(part: Part, results: Any) -> str:
    """What NaN among ordinary results comes from; empty where there is none."""
    arrays = [np.asarray(result, np.float64) for result in each(results)]
    if not any(np.isnan(array).any() for array in arrays):
        return ""
    rows = [np.isnan(array).reshape(len(array), -1).any(axis=1) for array in arrays if array.size and array.ndim]
    if "causal" in part.part.traits and any(bad.any() and not bad.all() for bad in rows):
        return "A row that may consult nothing becomes 0/0: every position may consult itself."
    return "NaN comes from 0/0, inf - inf or 0 · inf: look for the first step that gives it."


def _of_statistics(part: Part) -> str:
    """What else looks ahead in a part that is made of more than attention."""
    used = [part.spec.part(name).traits for name in part.part.uses]
    if not any("rowwise" in traits and "distribution" not in traits for traits in used):
        return ""
    return " Where the mask is right, look for a mean, a variance or a maximum over positions: it sees later ones, too."


def influence(rows: Callable[..., Array], part: Part, case: Case) -> Array:
    """D[t, s]: the greatest change of results at position t when position s is replaced. shapes: (T, T)"""
    before, rng = rows(*case.args), case.rng
    after = [rows(*replaced(part, case, [s], rng)) for s in range(len(case.x))]
    with np.errstate(invalid="ignore"):
        return np.stack([np.abs(rows_s - before).max(axis=1) for rows_s in after], axis=1)


def picture(D: Array) -> dict[str, object]:
    """An influence matrix for a report: numbers rounded, NaN as None, infinity as text: JSON has neither."""
    return {
        "kind": "influence",
        "rows": "receiving position t",
        "columns": "replaced position s",
        "matrix": [
            [None if np.isnan(x) else "inf" if np.isinf(x) else float(f"{x:.3g}") for x in row] for row in D.tolist()
        ],
    }


@check(
    parts=["@causal"],
    says="Replacing every token after position t leaves the results at positions 0..t as they were.",
    cases=some(HANDOUT, MIDDLE, SMALLEST),  # four positions first: their picture shows which mask it is
    carried=False,
)
def future_does_not_matter(part: Part, case: Case) -> Violation | None:
    T, rng = len(case.x), case.rng
    before = part.rows(*case.args)
    for cut in range(T - 1):
        for positions in (list(range(cut + 1, T)), [cut + 1]):
            after = part.rows(*replaced(part, case, positions, rng))
            if gap := part.gap(after[: cut + 1], before[: cut + 1]):
                message = f"position {gap.row} moves by {number(gap.size)} when the tokens after position {cut} change"
                hint = "Mask S[t, s] for s > t before the softmax, with -inf rather than 0."
                if np.isnan(gap.size):
                    message = (
                        f"the results at position {gap.row} are NaN, so nothing can be said of what they depend on"
                    )
                return Violation(
                    message,
                    hint=nan_hint(part, before) or hint + _of_statistics(part),
                    where=gap.index,
                    size=gap.size,
                    allowed=gap.allowed,
                    picture=picture(influence(part.rows, part, case)),
                )
    return None


@check(
    parts=["@causal"],
    says="Replacing the token at any position s ≤ t changes the results at position t.",
    cases=some(HANDOUT, MIDDLE),
    carried=False,
)
def past_matters(part: Part, case: Case) -> Violation | None:
    D, E = influence(part.rows, part, case), influence(part.expected_rows, part, case)
    unmoved = np.argwhere((part.loose.allowed(E) < E) & ~(part.tolerance.allowed(E) < D))
    if not len(unmoved):
        return None
    t, s = (int(i) for i in unmoved[0])
    if np.isnan(D[t, s]):
        hint = nan_hint(part, part.rows(*case.args))
        return Violation(f"the results at position {t} are NaN", hint=hint, where=(t, s), picture=picture(D))
    return Violation(
        f"position {t} stays as it is when the token at position {s} changes",
        hint="Position t consults every position s ≤ t, itself included.",
        where=(t, s),
        picture=picture(D),
    )


@check(
    parts=["@rowwise"],
    says="Each row of the results depends on its own row of the input, and on no other.",
    cases=some(SMALLEST, MIDDLE, ONE),
)
def row_by_row(part: Part, case: Case) -> Violation | None:
    rng = case.rng
    before = part.rows(*case.args)
    for s in range(len(case.x)):
        changed = replaced(part, case, [s], rng)
        after = part.rows(*changed)
        others = np.arange(len(case.x)) != s
        if gap := part.gap(after[others], before[others]):
            return violation(
                f"another row moves by {number(gap.size)} when row {s} of the input changes",
                gap,
                after,
                before,
                "Sums, means and maxima run over the last axis, axis=-1, one for each row.",
            )
        matters = part.gap(part.expected_rows(*changed)[s], part.expected_rows(*case.args)[s])
        if matters and part.gap(after[s], before[s]) is None:
            return Violation(f"row {s} of the results stays as it is when row {s} of the input changes")
    return None
