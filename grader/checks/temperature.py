"""Temperature: the printed figures, other scores, the limits of cold and heat; known mistakes are named."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from grader.cases import SMALLEST, Case
from grader.checks import check
from grader.compare import Tolerance, number, shape_text
from grader.misconceptions import singles
from grader.part import Part, small
from grader.verdict import Violation

SCORES = np.array([1.2, 0.3, -0.4, 1.8])
PRINTED = {"probabilities": 5e-5, "entropy_bits": 5e-3, "max_probability": 5e-5}  # half a unit of the last digit
EXACT = Tolerance(2e-6, 1e-7, "single precision is enough")
HINT = "p = softmax(scores / temperature); entropy = -sum of p · log2(p), where 0 · log2(0) counts as 0."


def _cases(*given: tuple[Any, float, str]) -> Callable[[str, int], Iterator[Case]]:
    def family(part: str, seed: int) -> Iterator[Case]:
        for i, (scores, temperature, label) in enumerate(given):
            yield Case(label, (np.asarray(scores, float), temperature), (seed, 43, i), SMALLEST)

    return family


def _ordinary(part: str, seed: int) -> Iterator[Case]:
    for i, (n, temperature) in enumerate(((4, 0.7), (5, 2.5), (7, 1.0), (3, 0.25))):
        key = (seed, 47, i)
        scores = 1.5 * np.random.default_rng(key).standard_normal(n)
        yield Case(f"{n} scores, temperature {temperature}", (scores, temperature), key, SMALLEST)


def judged(part: Part, case: Case, room: dict[str, float] | None = None) -> Violation | None:
    """Each of the three results beside the right one."""
    observed, expected = part(*case.args), part.expected(*case.args)
    for key, right in expected.items():
        if key not in observed:
            return Violation(f"the dict has no key {key!r}", hint=f"Its keys are: {', '.join(expected)}.")
        mine = np.asarray(observed[key], np.float64)
        if mine.shape != np.shape(right):
            return Violation(
                f"{key} is {shape_text(mine.shape)}, expected {shape_text(np.shape(right))}",
                names=_names(part),
            )
        allowed = room[key] if room else EXACT.allowed(np.asarray(right))
        gap = float(np.abs(mine - right).max())
        if not gap <= allowed:
            return Violation(
                f"{key} differs by {number(gap)}",
                expected=small(np.asarray(right)),
                observed=small(mine),
                size=gap,
                allowed=allowed,
                hint=HINT,
                names=_names(part),
            )
    return None


def _names(part: Part) -> tuple[str, ...]:
    """The one known mistake that gives every result of all the ordinary cases."""
    cases = list(_ordinary(part.name, 0))
    observed = [part.raw(*case.args) for case in cases]
    found = [
        known.mistakes[0].id
        for known in singles(part.name)
        if all(_agree(o, known.wrong(*case.args)) for o, case in zip(observed, cases, strict=True))
    ]
    return (found[0],) if len(found) == 1 else ()


def _agree(observed: dict[str, Any], wrong: dict[str, Any]) -> bool:
    return all(
        key in observed
        and np.shape(observed[key]) == np.shape(value)
        and np.allclose(observed[key], value, rtol=1e-5, atol=1e-7, equal_nan=True)
        for key, value in wrong.items()
    )


@check(
    parts=["temperature_lab"],
    says="At temperature 1, [1.2, 0.3, -0.4, 1.8] gives 0.2915, 0.1185, 0.0589, 0.5311; 1.61 bits; 53.1 %.",
    cases=_cases((SCORES, 1.0, "")),
    needs=(),
    numbers=False,
)
def printed_temperature(part: Part, case: Case) -> Violation | None:
    return judged(part, case, PRINTED)


@check(
    parts=["temperature_lab"],
    says="Other scores and temperatures give softmax(scores / temperature) and its entropy in bits.",
    cases=_ordinary,
    needs=(),
    numbers=False,
)
def any_temperature(part: Part, case: Case) -> Violation | None:
    return judged(part, case)


@check(
    parts=["temperature_lab"],
    says="Near 0 all weight goes to the largest score, at great heat all get the same, huge scores overflow nothing.",
    cases=_cases(
        (SCORES, 1e-3, "temperature 0.001"),
        (SCORES, 1e6, "temperature 1000000"),
        ([1e4, -1e4, 9999.0], 1.0, "scores of 10000"),
        ([-1e4, -1e4 + 1.0], 0.5, "scores of -10000"),
        ([0.5, 0.5, 0.5], 2.0, "equal scores"),
    ),
    needs=("any-temperature",),
    numbers=False,
)
def temperature_limits(part: Part, case: Case) -> Violation | None:
    found = judged(part, case)
    observed = part(*case.args)
    if found and any(np.isnan(np.asarray(value, np.float64)).any() for value in observed.values()):
        nan_bits = np.isnan(np.asarray(observed.get("entropy_bits", 0.0))).any()
        whole = np.isfinite(np.asarray(observed.get("probabilities", np.nan))).all()
        name = "temperature-entropy-of-zero" if nan_bits and whole else "temperature-no-maximum"
        return Violation(found.message, found.expected, found.observed, HINT, names=(name,))
    return found


@check(
    parts=["temperature_lab"],
    says="The scores stay as they were.",
    cases=_cases((SCORES, 0.7, "")),
    needs=("any-temperature",),
    numbers=False,
)
def scores_kept(part: Part, case: Case) -> Violation | None:
    _, after = part.caller.echo(part.part, case.args)
    if isinstance(after[0], np.ndarray) and np.array_equal(after[0], case.args[0]):
        return None
    return Violation("the scores are changed by the call", hint="Make a new tensor: scores / temperature.")
