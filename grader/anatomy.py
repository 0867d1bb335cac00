"""Knows where a block's two branches end, found by what the block does when a parameter is 0 or -2 times itself.

A branch ends in a linear map: the block is linear in the matrix of that map, and in no matrix before it. So those in
which the whole block is linear end the branch that comes last; with them at 0, the block is linear in the matrices that
end the branch before. No name and no place of a parameter is looked at.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from grader.compare import Array
from grader.module import Instance, build, process
from grader.part import Part
from grader.worker import Worker

_known: WeakKeyDictionary[Worker, dict[tuple[str, int], Anatomy]] = WeakKeyDictionary()


@dataclass(frozen=True)
class Anatomy:
    """A redrawn block and its matrices at the branches' ends, as places among the parameters.

    last, first   the ends of the branch that comes last, and of the one before it
    attention, feed_forward   the same ends, by whether positions stop to influence each other without them
    """

    block: Instance
    last: tuple[int, ...]
    first: tuple[int, ...]
    attention: tuple[int, ...]
    feed_forward: tuple[int, ...]

    def at(self, x: Array, zeroed: Iterable[int] = ()) -> Array:
        """The result for x with some parameters at 0."""
        self.block.zero(zeroed)
        return self.block(x)

    @property
    def large(self) -> float:
        """A scale at which a shift of ordinary size no longer counts, and rounding does not yet."""
        return 1e4 if self.block.precision == "float64" else 1e2

    @property
    def endless(self) -> bool:
        """Whether attention ends in no linear map, though another branch does."""
        return bool(self.last) and not self.first and mixes(self.block, self.last)

    @property
    def blind(self) -> bool:
        """Whether no end was found at all."""
        return not self.last


def examine(part: Part, seed: int) -> Anatomy:
    """The anatomy of the submission's block, found once in each process. errors: the worker's faults."""
    known = _known.setdefault(process(part), {})
    key = part.name, seed
    if key not in known:
        known[key] = _examined(build(part).redraw(seed), seed)
    return known[key]


def _examined(block: Instance, seed: int) -> Anatomy:
    x = np.random.default_rng((seed, 5)).standard_normal((1, 4, block.width))
    last = _matrices(block, x, ())[0]
    first = _matrices(block, x, last)[0] if last else ()
    if first:
        mixing_last = not mixes(block, last)
        attention, feed_forward = (last, first) if mixing_last else (first, last)
    else:  # all ends at once: those without which the influence of other positions is another one
        attention = tuple(i for i in last if not np.allclose(response(block, x, (i,)), response(block, x, ())))
        feed_forward = tuple(i for i in last if i not in attention)
    return Anatomy(block, last, first, attention, feed_forward)


def bent(found: Anatomy) -> bool:
    """Whether one position alone moves with a matrix in which the block is not linear: attention alone does not."""
    x = np.random.default_rng(37).standard_normal((1, 1, found.block.width))
    return bool(_matrices(found.block, x, ())[1])


def _matrices(block: Instance, x: Array, zeroed: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The matrices that move the block while others are 0: those in which it is linear, and the rest."""
    close = 1e-4 if block.precision == "float64" else 2e-2

    def at(place: int, factor: float) -> Array:
        block.scale({**dict.fromkeys(zeroed, 0.0), place: factor})
        return block(x)

    block.zero(zeroed)
    linear: list[int] = []
    other: list[int] = []
    whole = block(x)
    for place, parameter in enumerate(block.parameters):
        matrix = len(parameter.shape) > 1 and min(parameter.shape[-2:]) > 1
        if not matrix or place in zeroed:
            continue
        without, back = at(place, 0.0), at(place, -2.0)
        moved = np.abs(whole - without).max()
        if moved > close * 1e-2 * np.abs(whole).max():
            straight = np.abs(back - 3 * without + 2 * whole).max() <= close * moved
            (linear if straight else other).append(place)
    return tuple(linear), tuple(other)


def response(block: Instance, x: Array, zeroed: Iterable[int]) -> Array:
    """How the last position moves when the first one is replaced. shapes: x (1, T, d) -> (d,)"""
    other = x.copy()
    other[:, 0] = np.random.default_rng(11).standard_normal(x.shape[-1])
    block.zero(zeroed)
    moved: Array = (block(other) - block(x))[0, -1]
    return moved


def mixes(block: Instance, zeroed: Iterable[int]) -> bool:
    """Whether a position influences a later one while some parameters are 0."""
    x = np.random.default_rng(17).standard_normal((1, 4, block.width))
    least = 1e-9 if block.precision == "float64" else 1e-5
    return not np.abs(response(block, x, zeroed)).max() <= least


def slope(found: Anatomy, zeroed: Iterable[int]) -> tuple[float, float]:
    """k and the rest, when the block with some parameters at 0 is taken for k · x + constant."""
    rng = np.random.default_rng(23)
    x, y = (rng.standard_normal((1, 3, found.block.width)) for _ in range(2))
    zeroed = tuple(zeroed)
    moved, step = found.at(x, zeroed) - found.at(y, zeroed), x - y
    k = float(np.sum(moved * step) / np.sum(step * step))
    return k, float(np.abs(moved - k * step).max() / np.abs(step).max())


def growth(found: Anatomy, zeroed: Iterable[int]) -> float:
    """How much of block(c x) - c x is new when a large c doubles: 0 where it does not grow, 1 where it is linear."""
    x = np.random.default_rng(29).standard_normal((1, 4, found.block.width))
    c, zeroed = found.large, tuple(zeroed)
    near, far = (found.at(s * x, zeroed) - s * x for s in (c, 2 * c))
    return float(np.abs(far - near).max() / max(np.abs(near).max(), 1e-12))
