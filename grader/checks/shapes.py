"""Shapes and number types: whether results can be compared at all."""

from __future__ import annotations

import numpy as np

from grader.cases import MIDDLE, Case, as_float32, generic, one, thorough
from grader.checks import check
from grader.compare import each, shape_text
from grader.part import Part
from grader.verdict import Violation


@check(parts=["@function"], says="The results have the shapes of the contract.", cases=generic, needs=())
def shape(part: Part, case: Case) -> Violation | None:
    observed, expected = (
        [np.asarray(result) for result in each(results)]
        for results in (part.raw(*case.args), part.expected(*case.args))
    )
    for name, left, right in zip(part.outputs, observed, expected, strict=True):
        if left.shape != right.shape:
            letters = part.part.returns[name] if isinstance(part.part.returns, dict) else ""
            asked = "a single number" if letters == "()" else f"{letters} = {shape_text(right.shape)}"
            return Violation(
                f"{name} is {shape_text(left.shape)}, expected {asked}",
                expected=list(right.shape),
                observed=list(left.shape),
                hint=_hint(left.shape, right.shape),
            )
    return None


def _hint(left: tuple[int, ...], right: tuple[int, ...]) -> str:
    """The likely cause of a wrong shape; empty when none stands out."""
    if left == right[::-1]:
        return "The result is transposed: rows are the receiving positions."
    if left in (right[1:], (1, *right[1:])):
        return "Only one row came back: return the rows of all positions, not the last one alone."
    if left == (1, *right):
        return "A leading axis of length 1 is left over: one sequence comes in, without a batch axis."
    if np.prod(left, dtype=int) == np.prod(right, dtype=int):
        return "The count of numbers is right, their arrangement is not: look at the last reshape."
    if left[:1] == right[:1] and right[1:] and left[1:] and left[1] % right[1] == 0:
        return "The rows are too wide by a whole factor: is the last projection missing, or the joining of the heads?"
    return ""


@check(
    parts=["@function"], says="The results are floating-point numbers.", cases=one(MIDDLE), numbers=False, noted=True
)
def dtype(part: Part, case: Case) -> Violation | None:
    for given, args in (("float64", case.args), ("float32", as_float32(case.args))):
        part(*args)
        for name, found in zip(part.outputs, part.caller.dtypes(), strict=False):
            if not found.startswith(("float", "bfloat")):
                return Violation(
                    f"{name} is of type {found} for {given} arguments",
                    expected=given,
                    observed=found,
                    names=("results-integer",) if found.startswith(("int", "uint", "bool")) else (),
                    hint="Keep the numbers floating-point: do not round, and do not store them in an integer array.",
                )
            if found != given:
                part.note(f"{name} is {found} for {given} arguments; accepted")
    return None


@check(
    parts=["@function"],
    says="The results are the numbers that the formula gives.",
    cases=thorough,
    noted=True,
    extreme=True,
)
def value(part: Part, case: Case) -> Violation | None:
    observed, expected = part(*case.args), part.expected(*case.args)
    return part.differs(observed, expected, "the output", f"The formula: {part.part.formula}.")
