"""Knows which scores turned queries and keys can have, whatever the weights: what they are combinations of.

For one token that is repeated, queries and keys are the same at all positions before they are turned. With cosines c_t
and sines s_t of each pair's angles, a score is then a combination of c_t c_s + s_t s_s and s_t c_s - c_t s_s.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from grader.compare import Array

BASE = 10000.0


def angles(d_k: int) -> Array:
    """The contract's: 10000^(-2i/d_k). shapes: () -> (d_k/2,)"""
    made: Array = BASE ** (-2 * np.arange(d_k // 2) / d_k)
    return made


def basis(cos: Array, sin: Array, rows: Sequence[int]) -> Array:
    """What scores at some rows combine up to the diagonal, two columns for each pair. shapes: 2 · (T, n) -> (·, 2n)"""
    return np.concatenate(
        [
            np.concatenate(
                [
                    cos[t] * cos[: t + 1] + sin[t] * sin[: t + 1],
                    sin[t] * cos[: t + 1] - cos[t] * sin[: t + 1],
                ],
                axis=1,
            )
            for t in rows
        ]
    )


def below(scores: Array, rows: Sequence[int]) -> Array:
    """The entries that count, matrix by matrix. shapes: (n, rows, T) -> (·, n)"""
    return np.concatenate([scores[:, i, : t + 1] for i, t in enumerate(rows)], axis=1).T


def rest(scores: Array, columns: Array) -> tuple[float, Array]:
    """How much of scores is no combination of columns, as a share of the largest score; and the combination.

    shapes: (·, n), (·, k) -> (), (k, n)
    """
    if not np.isfinite(scores).all():
        return np.inf, np.zeros((columns.shape[1], scores.shape[1]))
    found = np.linalg.lstsq(columns, scores, rcond=1e-13)[0]
    left = np.abs(scores - columns @ found).max(axis=0) / np.maximum(np.abs(scores).max(axis=0), 1e-9)
    return float(left.max()), found


def tables(T: int, theta: Array) -> tuple[Array, Array]:
    """Cosines and sines of positions times angles. shapes: (), (n,) -> (T, n), (T, n)"""
    phi = np.arange(T)[:, None] * theta
    return np.cos(phi), np.sin(phi)


def _bfloat16(x: Array) -> Array:
    bits = np.asarray(x, np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)
    return np.asarray(rounded.astype(np.uint32).view(np.float32), np.float64)


def _float16(x: Array) -> Array:
    return np.asarray(np.asarray(x, np.float16), np.float64)


def wrong_angles(d_k: int, width: int) -> Iterator[tuple[str, Array]]:
    """Known wrong angles, by the mistake's id."""
    i = np.arange(d_k // 2)
    for exponent in (-i / d_k, -4 * i / d_k, 2 * i / d_k, -2 * (i + 1) / d_k):
        yield "lm-rotary-exponent", BASE**exponent
    yield "lm-rotary-width", BASE ** (-2 * i / width)
    for base in (1000.0, 5000.0, 20000.0, 50000.0, 100000.0, 500000.0, 1000000.0):
        yield "lm-rotary-base", base ** (-2 * i / d_k)


def name_scores(scores: Array, rows: Sequence[int], T: int, d_k: int, width: int, allowed: float) -> str | None:
    """The mistake that scores show; None for an unknown one.

    shapes: (n, rows, T)
    """
    entries = below(scores, rows)
    if not np.isfinite(entries).all() or not entries.any():
        return None
    t = np.concatenate([np.full(row + 1, row) for row in rows])
    s = np.concatenate([np.arange(row + 1) for row in rows])
    size = np.abs(entries).max()
    if np.ptp(entries, axis=0).max() <= allowed * size:
        return "lm-rotary-missing"
    theta = angles(d_k)
    for key, positions in (("lm-rotary-only-q", t), ("lm-rotary-only-k", s)):
        phi = positions[:, None] * theta
        if rest(entries, np.concatenate([np.cos(phi), np.sin(phi)], axis=1))[0] <= allowed:
            return key
    return _name_tables(entries, rows, T, theta, allowed) or _name_angles(entries, rows, T, (d_k, width), allowed)


def _name_tables(entries: Array, rows: Sequence[int], T: int, theta: Array, allowed: float) -> str | None:
    cos, sin = tables(T, theta)
    plus = [np.concatenate([sin[t] * cos[: t + 1] + cos[t] * sin[: t + 1] for t in rows])]
    same = [np.concatenate([cos[t] * cos[: t + 1] + sin[t] * sin[: t + 1] for t in rows])]
    if rest(entries, np.concatenate(plus + same, axis=1))[0] <= allowed:
        return "lm-rotary-no-minus"
    for half in (_float16, _bfloat16):
        t = half(np.arange(T, dtype=float))[:, None]
        for phi in (t * theta, t * half(theta), np.arange(T)[:, None] * half(theta), half(t * half(theta))):
            for rounded in (np.asarray, half):
                found, _ = rest(entries, basis(rounded(np.cos(phi)), rounded(np.sin(phi)), rows))
                if found <= allowed:
                    return "lm-rotary-half-precision"
    return None


def _name_angles(entries: Array, rows: Sequence[int], T: int, sizes: tuple[int, int], allowed: float) -> str | None:
    found = set()
    for key, theta in wrong_angles(*sizes):
        left, shares = rest(entries, basis(*tables(T, theta), rows))
        if left <= allowed and np.abs(shares).max() <= 20 * np.abs(entries).max():  # no slow angle imitates another one
            found.add(key)
    return found.pop() if len(found) == 1 else None
