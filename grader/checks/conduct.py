"""Conduct: arguments stay as they were, and the same question gets the same answer."""

from __future__ import annotations

import numpy as np

from grader.cases import HANDOUT, SMALLEST, Case, make, one
from grader.checks import check
from grader.checks.gradients import leaves, name_of
from grader.compare import number
from grader.part import Part
from grader.verdict import Violation


@check(parts=["@function"], says="The arguments are the same after the call as before it.", cases=one(HANDOUT))
def inputs_unchanged(part: Part, case: Case) -> Violation | None:
    _, after = part.caller.echo(part.part, case.args)
    left = dict(leaves(list(after)))
    for path, before in leaves(list(case.args)):
        now = left.get(path)
        if now is None or now.shape != before.shape or not np.array_equal(now, before):
            return Violation(
                f"{name_of(part, path)} is changed by the call",
                hint="Make a new array: write x = x + y rather than x += y, and copy before you fill entries in.",
            )
    return None


@check(
    parts=["@function"],
    says="The same arguments give the same results: again, after other arguments, and in a fresh process.",
    cases=one(HANDOUT),
)
def repeatable(part: Part, case: Case) -> Violation | None:
    other = make(part.name, SMALLEST, case.key[0], stream=6)
    first, second = part(*case.args), part(*case.args)
    part(*other.args)
    for results, when in (
        (second, "on a second call"),
        (part(*case.args), "after a call with other arguments"),
        (part.fresh()(*case.args), "in a fresh process"),
    ):
        for left, right in zip(_each(results), _each(first), strict=True):
            if gap := part.gap(left, right):
                return Violation(
                    f"the results differ by {number(gap.size)} {when}",
                    where=gap.index,
                    size=gap.size,
                    allowed=gap.allowed,
                    hint="No randomness and no memory between calls: results depend on the arguments alone.",
                )
    return None


def _each(results: object) -> tuple[object, ...]:
    return results if isinstance(results, tuple) else (results,)
