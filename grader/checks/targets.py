"""Shifted targets: the target at t is the token that follows input t."""

from __future__ import annotations

import numpy as np

from grader.cases import HANDOUT, ONE, SMALLEST, Case, some
from grader.checks import check
from grader.part import Part
from grader.verdict import Violation


@check(
    parts=["shift_targets"],
    says="targets[t] is the token that follows inputs[t], from the first pair of tokens to the last.",
    cases=some(ONE, SMALLEST, HANDOUT),
)
def target_follows_input(part: Part, case: Case) -> Violation | None:
    tokens = case.x
    inputs, targets = (np.asarray(ids) for ids in part(tokens))
    for t, (given, asked) in enumerate(zip(inputs, targets, strict=True)):
        if given != tokens[t] or asked != tokens[t + 1]:
            return Violation(
                f"at position {t} the input is {given:g} and its target {asked:g};"
                f" the tokens are {tokens[t]} and then {tokens[t + 1]}",
                expected=[tokens[:-1].tolist(), tokens[1:].tolist()],
                observed=[inputs.tolist(), targets.tolist()],
                hint="inputs = tokens[:-1], targets = tokens[1:].",
                where=(t,),
            )
    return None


@check(
    parts=["shift_targets"],
    says="inputs and targets are integers: they index an embedding and rows of logits.",
    cases=some(SMALLEST),
    numbers=False,
)
def whole_numbers(part: Part, case: Case) -> Violation | None:
    part(*case.args)
    for name, found in zip(part.outputs, part.caller.dtypes(), strict=False):
        if not found.startswith(("int", "uint")):
            return Violation(f"{name} is of type {found}", expected="int64", observed=found, hint="Slice the ids.")
    return None
