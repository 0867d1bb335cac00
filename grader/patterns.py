"""Knows mistakes by what they leave behind: who depends on whom, what numbers look like, what a fault says.

Each function gives the id of a misconception, or None where the pattern does not settle it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from grader.compare import Array, Tolerance
from grader.worker import BadResult, NoGradient, Raised, StudentFault

HEADS = (2, 3, 4)


def name_dependence(D: Any, heads: Iterable[int] = HEADS) -> str | None:
    """The mask or head layout that gives a pattern of dependence; None for the right one and for an unknown one.

    D[t, s] says whether the result at position t moves when position s is replaced; a residual may add the diagonal.
    From T = 3 on: two positions do not tell one ahead from everything. A part sees s ≤ t when it is right.

    heads   how many there may be; none where there is one head, which has no layout

    shapes: (T, T) -> an id or None
    """
    D = np.asarray(D) != 0
    T = len(D)
    if D.shape != (T, T) or T < 3:
        return None
    found = {key for key, pattern in _patterns(T, heads) if np.array_equal(D, pattern)}
    return found.pop() if len(found) == 1 and "right" not in found else None


def _patterns(T: int, heads: Iterable[int]) -> Iterator[tuple[str, Array]]:
    past, own = np.tri(T, dtype=bool), np.eye(T, dtype=bool)
    yield "right", past
    yield "sees-every-position", np.ones((T, T), dtype=bool)
    yield "mask-one-ahead", np.tri(T, k=1, dtype=bool)
    if T > 3:
        yield "mask-two-ahead", np.tri(T, k=2, dtype=bool)
    yield "mask-transposed", past.T
    yield "mask-only-self", own
    if T > 3:
        yield "mask-window", past & ~np.tri(T, k=-2, dtype=bool)
    # without a residual only: with one these are the right pattern and the transposed one
    yield "mask-strict", past & ~own
    yield "mask-inverted", ~past
    for h in heads:
        for key, pattern in _layouts(T, h):
            if not np.array_equal(pattern, np.ones((T, T), dtype=bool)):
                yield key, pattern
                yield key, pattern | own


def _layouts(T: int, h: int) -> Iterator[tuple[str, Array]]:
    """Reshapes in place of transposes: chunk c of T·h in memory is time c // h, or head c // T at time c % T."""
    merged, split, both = (np.zeros((T, T), dtype=bool) for _ in range(3))
    for t in range(T):
        for chunk in range(t * h, (t + 1) * h):  # what row t is merged from
            head, time = divmod(chunk, T)
            merged[t, : time + 1] = True
            both[t, [(head * T + earlier) // h for earlier in range(time + 1)]] = True
        for head in range(h):
            split[t, [(head * T + earlier) // h for earlier in range(t + 1)]] = True
    yield "heads-merged-without-transpose", merged
    yield "heads-split-without-transpose", split
    yield "heads-split-and-merged-without-transpose", both


def name_numbers(observed: Any, expected: Any, tolerance: Tolerance) -> str | None:
    """Whether right numbers were rounded, made integers, or computed in half precision.

    shapes: two arrays of one shape, or two tuples of such -> an id or None
    """
    many = isinstance(expected, tuple)
    pairs = zip(observed, expected, strict=True) if many else ((observed, expected),)
    names = [_rounding(np.asarray(o, np.float64), np.asarray(e, np.float64), tolerance) for o, e in pairs]
    told = {name for name in names if name != "right"}
    return told.pop() if len(told) == 1 else None


def _rounding(observed: Array, expected: Array, tolerance: Tolerance) -> str | None:
    if observed.shape != expected.shape or not (np.isfinite(observed).all() and np.isfinite(expected).all()):
        return None
    error = np.abs(observed - expected)
    if not error.size or error.max() <= tolerance.allowed(expected):
        return "right"
    if not observed.any():
        return None
    if observed.size < 3:
        return "right"  # too few to tell
    if np.array_equal(observed, np.round(observed)) and (error < 1).all():
        return "results-integer"
    for digits in range(1, 9):
        if np.array_equal(observed, np.round(observed, digits)) and (error <= 10.0**-digits).all():
            return "results-rounded"
    with np.errstate(over="ignore"):
        halved = np.array_equal(observed, observed.astype(np.float16).astype(np.float64)) or _bfloat16(observed)
    if halved and error.max() <= 0.02 * np.abs(expected).max():
        return "half-precision"
    return None


def _bfloat16(x: Array) -> bool:
    """Whether every number has 8 significant bits at most."""
    mantissa, _ = np.frexp(x)
    return bool(np.array_equal(mantissa * 256, np.round(mantissa * 256)))


def name_fault(fault: StudentFault) -> str | None:
    """What kind of result, or of conduct, a fault tells of."""
    text = fault.message.removesuffix(", a string is wanted")
    if isinstance(fault, NoGradient):
        return "no-gradient" if "carries no gradient:" in text else None
    if isinstance(fault, Raised):
        return "argument-changed" if "leaf Variable that requires grad" in text else None
    if not isinstance(fault, BadResult) or not text.startswith("returned "):
        return None
    for sign, key in (
        ("returned None", "result-none"),
        ("holds None", "result-none"),
        ("returned 1 array, 2 are asked", "result-missing"),
        ("returned 1 value, 2 are asked", "result-missing"),
        ("returned 1 dict", "result-dict"),
        ("returned a dict; an array", "result-dict"),
        ("1 array is asked", "result-too-many"),
        ("returned a ragged list", ""),
        ("strings", "result-text"),
        ("a str", "result-text"),
        ("complex", "result-complex"),
    ):
        if sign in text:
            return key or None
    return None
