"""The figures of the two-token example: each key is a check of its own, to half a unit of the last printed digit."""

from __future__ import annotations

import tomllib
from decimal import Decimal
from importlib.resources import files
from typing import Any

import numpy as np

from grader.cases import Case, only_once
from grader.checks import check
from grader.compare import Tolerance, number, shape_text
from grader.part import Part, small
from grader.spec import slug
from grader.verdict import Violation

FIGURES: dict[str, dict[str, Any]] = tomllib.loads((files("specs") / "hand-numbers.toml").read_text("utf-8"))


def half_a_unit(printed: str) -> float:
    """Half a unit of the last printed digit: `0.330238` -> 5e-7 (and a rounding error's room)."""
    exponent = Decimal(printed).as_tuple().exponent
    return 0.5000001 * 10.0 ** int(exponent)


def _register(key: str, figure: dict[str, Any]) -> None:
    printed = np.array(figure["printed"])
    allowed = np.vectorize(half_a_unit)(printed)

    @check(
        parts=["hand_calculation"],
        name=slug(key),
        says=f"{key} = {figure['formula']}.",
        cases=only_once,
        needs=(),
    )
    def figure_agrees(part: Part, case: Case) -> Violation | None:
        results, expected = part(), np.asarray(part.expected()[key])
        if key not in results:
            return Violation(
                f"the dict has no key {key!r}", hint=f"Its keys are: {', '.join(FIGURES)}.", names=("figure-missing",)
            )
        observed = np.asarray(results[key], np.float64)
        if observed.shape != expected.shape:
            return Violation(f"{key} is {shape_text(observed.shape)}, expected {shape_text(expected.shape)}")
        wrong = ~(np.abs(observed - expected) <= allowed)
        if not wrong.any():
            return None
        index = tuple(int(i) for i in np.argwhere(wrong)[0])
        where = f" at {list(index)}" if index else ""
        gap = Tolerance(0, float(allowed[index]))
        return Violation(
            f"{key}{where} is {number(float(observed[index]))}",
            expected=small(expected),
            observed=small(observed),
            hint=f"{key} = {figure['formula']}.",
            where=index,
            size=float(np.abs(observed - expected)[index]),
            allowed=gap.absolute,
        )


for _key, _figure in FIGURES.items():
    _register(_key, _figure)
