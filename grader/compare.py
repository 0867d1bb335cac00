"""Knows when two arrays are the same number, safely for NaN, and how to say that they are not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True)
class Tolerance:
    """How far apart two right implementations may be: `absolute + relative · (largest expected magnitude)`."""

    relative: float
    absolute: float
    reason: str = ""

    def allowed(self, expected: Array) -> float:
        """The allowed difference for one array, a number."""
        finite = np.abs(expected[np.isfinite(expected)])
        return self.absolute + self.relative * float(finite.max(initial=0.0))


@dataclass(frozen=True)
class Gap:
    """The greatest difference between what was observed and what was expected, and the first row that differs."""

    index: tuple[int, ...]
    observed: float
    expected: float
    size: float
    allowed: float
    count: int
    total: int
    first: tuple[int, ...]

    @property
    def row(self) -> int:
        """The first position (axis 0) that differs; 0 for a scalar."""
        return self.first[0] if self.first else 0

    def __str__(self) -> str:
        where = f"at [{', '.join(map(str, self.index))}]" if self.index else ""
        both, allowed = f"{number(self.observed)}, expected {number(self.expected)}", f"(allowed {self.allowed:.2g})"
        if self.total == 1:
            return f"{where} {both}; they differ by {number(self.size)} {allowed}".strip()
        differ = "differs" if self.count == 1 else "differ"
        many = f"{self.count} of {self.total} entries {differ}; the greatest difference is"
        return f"{many} {number(self.size)} {where}: {both} {allowed}"


def first_gap(observed: Any, expected: Any, tolerance: Tolerance) -> Gap | None:
    """None when every entry agrees within the tolerance, else where and by how much not.

    NaN agrees with nothing, an infinity only with itself.

    shapes: both arguments alike, any shape
    errors: ValueError when the shapes differ; a check of shapes comes before a comparison.
    """
    left, right = np.asarray(observed, np.float64), np.asarray(expected, np.float64)
    if left.shape != right.shape:
        raise ValueError(f"shape {left.shape} cannot be compared with shape {right.shape}")
    allowed = tolerance.allowed(right)
    with np.errstate(invalid="ignore", over="ignore"):
        distance = np.where(left == right, 0.0, np.abs(left - right))
    wrong = ~(distance <= allowed)
    if not wrong.any():
        return None
    severity = np.where(np.isnan(distance), np.inf, distance)
    index = tuple(int(i) for i in np.unravel_index(int(severity.argmax()), severity.shape))
    return Gap(
        index=index,
        observed=float(left[index]),
        expected=float(right[index]),
        size=float(distance[index]),
        allowed=allowed,
        count=int(wrong.sum()),
        total=int(wrong.size),
        first=tuple(int(i) for i in np.argwhere(wrong)[0]),
    )


def each(results: Any) -> tuple[Any, ...]:
    """The results of a part one by one, whether it has one or several."""
    return results if isinstance(results, tuple) else (results,)


def number(x: float) -> str:
    """A number as a student would write it: six significant digits at most."""
    return "NaN" if np.isnan(x) else f"{x:.6g}"


def counted(n: int, thing: str) -> str:
    """`1 position`, `2 positions`."""
    return f"{n} {thing}" if n == 1 else f"{n} {thing}s"


def shape_text(shape: tuple[int, ...]) -> str:
    """A shape for a sentence: `4 × 3`, or `a single number`."""
    return " × ".join(map(str, shape)) if shape else "a single number"


def listing(value: Any, digits: int = 6) -> Any:
    """Arrays, trees and numbers as plain JSON values, rounded to significant digits; NaN and infinities as text."""
    if isinstance(value, dict):
        return {str(key): listing(item, digits) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [listing(item, digits) for item in value]
    if isinstance(value, np.ndarray):
        return listing(value.tolist(), digits)
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        x = float(value)
        return float(f"{x:.{digits}g}") if np.isfinite(x) else number(x) if np.isnan(x) else f"{x:+}"
    return value if value is None else str(value)
