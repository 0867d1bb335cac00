"""Conduct: arguments stay as they were, and the same question gets the same answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from grader.cases import HANDOUT, SMALLEST, Case, as_float32, make, one
from grader.checks import check
from grader.checks.gradients import name_of
from grader.compare import Array, Tolerance, each, number
from grader.part import Part, Path
from grader.verdict import Violation

# What another process, or the same one again, may differ by: sums in float32 may be taken in another order.
SAME = Tolerance(1e-6, 1e-8, "one computation done twice: the last bits of float32 at most")


def _two_precisions(part: str, seed: int) -> Iterator[Case]:
    yield make(part, HANDOUT, seed)
    small = make(part, SMALLEST, seed)
    yield replace(small, label=f"{small.label}, float32".lstrip(", "), args=as_float32(small.args))


@check(
    parts=["@function"],
    says="The arguments are the same after the call as before it.",
    cases=_two_precisions,
    numbers=False,
)
def inputs_unchanged(part: Part, case: Case) -> Violation | None:
    _, after = part.caller.echo(part.part, case.args)
    if (path := _changed(tuple(case.args), tuple(after))) is None:
        return None
    return Violation(
        f"{name_of(part, path) if path else 'the number of arguments'} is changed by the call",
        names=("argument-changed",),
        hint="Make a new array: write x = x + y rather than x += y, copy before you fill entries in, and leave dicts"
        " and lists as they are: no pop, no append, no new keys.",
    )


def _changed(before: Any, after: Any, path: Path = ()) -> Path | None:
    """The way to the first thing in a tree of arguments that is another one now."""
    if isinstance(before, dict):
        if not isinstance(after, dict) or before.keys() != after.keys():
            return path
        return _first(_changed(value, after[key], (*path, key)) for key, value in before.items())
    if isinstance(before, list | tuple):
        if not isinstance(after, list | tuple) or len(after) != len(before):
            return path
        pairs = enumerate(zip(before, after, strict=True))
        return _first(_changed(value, now, (*path, index)) for index, (value, now) in pairs)
    if isinstance(before, np.ndarray | float | int):
        left, right = np.asarray(before), np.asarray(after)
        same = left.shape == right.shape and right.dtype.kind in "fiub" and np.array_equal(left, right, equal_nan=True)
        return None if same else path
    return None if type(before) is type(after) and before == after else path


def _first(paths: Iterator[Path | None]) -> Path | None:
    return next((path for path in paths if path is not None), None)


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
            if gap := part.gap(*_without_nan(left, right), SAME):
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
    return any(part.gap(*_without_nan(a, b), SAME) for a, b in zip(each(left), each(right), strict=True))


def _without_nan(left: object, right: object) -> tuple[Array, Array]:
    """Two results with 0 where both are NaN: that is the same answer, whether or not it is a good one."""
    one, other = np.asarray(left, np.float64), np.asarray(right, np.float64)
    if one.shape != other.shape or not (both := np.isnan(one) & np.isnan(other)).any():
        return one, other
    return np.where(both, 0.0, one), np.where(both, 0.0, other)
