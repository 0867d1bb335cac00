"""Knows in which parameters, or pieces of parameters, a block is linear: those end its branches.

A piece is a whole parameter, or a part of one that holds several maps: a slice of its leading axes, a square of a
matrix, a run of a long vector.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product

import numpy as np

from grader.compare import Array
from grader.probes.module import Instance, Piece, small

MOST = 400  # pieces of one block


def whole(block: Instance) -> list[Piece]:
    """What may hold a matrix, each as it is; axes of length 1 make none, a long vector may hold several."""
    return [(i, ()) for i, p in enumerate(block.parameters) if not small(p.shape, block.width)]


def pieces(block: Instance) -> list[Piece]:
    """Its parameters cut as far as the block's width tells: the vectors whole, or in runs where they are long."""
    found: list[Piece] = []
    for i, parameter in enumerate(block.parameters):
        cuts = list(_cuts(parameter.shape, block.width))
        fits = len(found) + len(cuts) < MOST
        found += [(i, cut) for cut in cuts] if len(cuts) > 1 and fits else [(i, ())]
    return found


def _cuts(shape: tuple[int, ...], width: int) -> Iterator[tuple[tuple[int, int], ...]]:
    if small(shape, width):
        return iter(((),))
    axes = [axis for axis, n in enumerate(shape) if n != 1]
    steps = [width if axis in axes[-2:] else 1 for axis in range(len(shape))]
    if len(axes) == 1:
        steps[axes[0]] = width // 3
    runs = [[(a, min(a + step, n)) for a in range(0, n, step)] for n, step in zip(shape, steps, strict=True)]
    return product(*runs)


def split(
    block: Instance, x: Array, zeroed: Sequence[Piece], among: Iterable[Piece]
) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
    """The pieces that move the block while others are 0: those in which it is linear, and the rest."""
    close = 1e-4 if block.precision == "float64" else 2e-2
    linear: list[Piece] = []
    other: list[Piece] = []
    block.zero(zeroed)
    here = block(x)
    for piece in among:
        if piece in zeroed:
            continue
        without, back = (_at(block, x, zeroed, piece, factor) for factor in (0.0, -2.0))
        moved = np.abs(here - without).max()
        if moved > close * 1e-2 * np.abs(here).max():
            straight = np.abs(back - 3 * without + 2 * here).max() <= close * moved
            (linear if straight else other).append(piece)
    return tuple(linear), tuple(other)


def tied(block: Instance, x: Array, zeroed: Sequence[Piece], among: Iterable[Piece]) -> tuple[Piece, ...]:
    """The first piece that stands at both ends of a branch, as W in Wᵀ φ(W x).

    Near 0 such a branch grows with the square of W, but for a vector that all positions have in common; any other one
    grows with what the positions hold.
    """
    small, close = (1e-3, 1e-2) if block.precision == "float64" else (3e-2, 1e-1)
    for piece in among:
        if piece in zeroed:
            continue
        none, near, far = (_at(block, x, zeroed, piece, factor) for factor in (0.0, small, 2 * small))
        first, second = 4 * near - far - 3 * none, far - 2 * near + none
        if np.abs(second).max() > 0 and np.ptp(first, axis=1).max() <= close * np.abs(second).max():
            return (piece,)
    return ()


def _at(block: Instance, x: Array, zeroed: Sequence[Piece], piece: Piece, factor: float) -> Array:
    block.scale({**dict.fromkeys(zeroed, 0.0), piece: factor})
    return block(x)
