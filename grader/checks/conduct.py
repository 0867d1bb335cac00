"""Conduct: arguments stay as they were, and the same question gets the same answer."""

from __future__ import annotations

import numpy as np

from grader.cases import HANDOUT, SMALLEST, Case, make, one
from grader.checks import check
from grader.checks.gradients import leaves, name_of
from grader.compare import Array, each, number
from grader.part import Part
from grader.verdict import Violation


@check(
    parts=["@function"],
    says="The arguments are the same after the call as before it.",
    cases=one(HANDOUT),
    numbers=False,
)
def inputs_unchanged(part: Part, case: Case) -> Violation | None:
    _, after = part.caller.echo(part.part, case.args)
    left = dict(leaves(list(after), "fi"))
    for path, before in leaves(list(case.args), "fi"):
        now = left.get(path)
        if now is None or now.shape != before.shape or not np.array_equal(now, before):
            return Violation(
                f"{name_of(part, path)} is changed by the call",
                names=("argument-changed",),
                hint="Make a new array: write x = x + y rather than x += y, and copy before you fill entries in.",
            )
    return None


@check(
    parts=["@function"],
    says="The same arguments give the same results: again, after other arguments, and in a fresh process.",
    cases=one(HANDOUT),
    numbers=False,
)
def repeatable(part: Part, case: Case) -> Violation | None:
    smaller, alike = (make(part.name, sizes, case.key[0], stream=6).args for sizes in (SMALLEST, case.sizes))
    first, second = part(*case.args), part(*case.args)
    part(*smaller)
    later, fresh = part(*alike), part.fresh()
    alone = fresh(*alike)  # before the others there, after them here
    for results, before, when in (
        (second, first, "on a second call"),
        (part(*case.args), first, "after a call with other arguments"),
        (later, alone, "after a call with other numbers in the same shapes"),
        (fresh(*case.args), first, "in a fresh process"),
    ):
        for left, right in zip(each(results), each(before), strict=True):
            if gap := part.gap(*_without_nan(left, right)):
                return Violation(
                    f"the results differ by {number(gap.size)} {when}",
                    names=("random-results" if _random(part, case) else "remembers-calls",),
                    where=gap.index,
                    size=gap.size,
                    allowed=gap.allowed,
                    hint="No randomness and no memory between calls: results depend on the arguments alone.",
                )
    return None


def _random(part: Part, case: Case) -> bool:
    """Whether results follow the state of the random generators, or differ in processes that have seen nothing."""
    alone = part.anew()
    results = []
    for seed in (1, 1, 2):
        alone.caller.reseed(seed)
        results.append(alone(*case.args))
    one, again, other = results
    if _differ(part, one, again):
        return _differ(part, part.anew()(*case.args), part.anew()(*case.args))
    return _differ(part, one, other)


def _differ(part: Part, left: object, right: object) -> bool:
    return any(part.gap(*_without_nan(a, b)) for a, b in zip(each(left), each(right), strict=True))


def _without_nan(left: object, right: object) -> tuple[Array, Array]:
    """Two results with 0 where both are NaN: that is the same answer, whether or not it is a good one."""
    one, other = np.asarray(left, np.float64), np.asarray(right, np.float64)
    if one.shape != other.shape or not (both := np.isnan(one) & np.isnan(other)).any():
        return one, other
    return np.where(both, 0.0, one), np.where(both, 0.0, other)
