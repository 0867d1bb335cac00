"""Knows where a block's two branches end, found by what the block does when a parameter is 0 or -2 times itself.

A branch ends in a linear map: the block is linear in the matrix of that map, and in no matrix before it. So those in
which the whole block is linear end the branch that comes last; with them at 0, the block is linear in the matrices that
end the branch before. No name and no place of a parameter is looked at. Where whole parameters do not show it, pieces
of them are tried, as several maps may lie in one parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np

from grader.compare import Array
from grader.part import Part
from grader.probes.anatomy_ends import pieces, split, tied, whole
from grader.probes.module import Instance, Piece, build, process
from grader.worker import Worker

_known: WeakKeyDictionary[Worker, dict[tuple[str, int], Anatomy]] = WeakKeyDictionary()


@dataclass(frozen=True)
class Anatomy:
    """A redrawn block and its matrices at the branches' ends, as places among the parameters.

    pieces        all that was tried
    last, first   the ends of the branch that comes last, and of the one before it
    attention, feed_forward   the same ends, by whether positions stop to influence each other without them
    """

    block: Instance
    pieces: tuple[Piece, ...]
    last: tuple[Piece, ...]
    first: tuple[Piece, ...]
    attention: tuple[Piece, ...]
    feed_forward: tuple[Piece, ...]

    def at(self, x: Array, zeroed: Iterable[Piece] = ()) -> Array:
        """The result for x with some parameters at 0."""
        self.block.zero(zeroed)
        return self.block(x)

    @property
    def large(self) -> float:
        """A scale at which a shift of ordinary size no longer counts, and rounding does not yet."""
        return 1e4 if self.block.precision == "float64" else 1e2

    @cached_property
    def carried(self) -> float:
        """The same, or the greatest scale below it at which the stream still comes through without the branches."""
        x, ends = np.random.default_rng(43).standard_normal((1, 4, self.block.width)), (*self.last, *self.first)
        for c in (self.large, 100.0, 10.0):
            rest = self.at(c * x, ends) - c * x
            if np.ptp(rest, axis=1).max() <= 1e-3 * c:
                return c
        return 1.0

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
        known[key] = anatomy(build(part, plain=True).redraw(seed), seed)
    return known[key]


def anatomy(block: Instance, seed: int) -> Anatomy:
    """The anatomy of a redrawn block.

    Pieces and tied parameters only ever acquit: they count where the block turns out to be in order by them, and where
    nothing that is known to be wrong was found before.
    """
    x = np.random.default_rng((seed, 5)).standard_normal((1, 4, block.width))
    found = _examined(block, x, whole(block), _linear)
    if in_order(found) or misplaced(found):
        return found
    cut = pieces(block)
    ways: tuple[tuple[Sequence[Piece], Ends], ...] = ((cut, _linear), (whole(block), _linear_or_tied))
    others = (_examined(block, x, among, ends) for among, ends in ways)
    return next((other for other in others if in_order(other)), found)


Ends = Callable[[Instance, Array, Sequence[Piece], Sequence[Piece]], tuple[Piece, ...]]


def _linear(block: Instance, x: Array, zeroed: Sequence[Piece], among: Sequence[Piece]) -> tuple[Piece, ...]:
    return split(block, x, zeroed, among)[0]


def _linear_or_tied(block: Instance, x: Array, zeroed: Sequence[Piece], among: Sequence[Piece]) -> tuple[Piece, ...]:
    return _linear(block, x, zeroed, among) or tied(block, x, zeroed, among)


def _examined(block: Instance, x: Array, among: Sequence[Piece], ends: Ends) -> Anatomy:
    last = ends(block, x, (), among)
    first = ends(block, x, last, among) if last else ()
    if first:
        mixing_last = not mixes(block, last)
        attention, feed_forward = (last, first) if mixing_last else (first, last)
    else:  # all ends at once: those without which the influence of other positions is another one
        attention = tuple(i for i in last if not np.allclose(response(block, x, (i,)), response(block, x, ())))
        feed_forward = tuple(i for i in last if i not in attention)
    return Anatomy(block, tuple(among), last, first, attention, feed_forward)


def in_order(found: Anatomy) -> bool:
    """Whether ends were found, and the input is left without them."""
    if found.blind or found.endless:
        return False
    k, rest = slope(found, (*found.last, *found.first))
    return rest <= 1e-3 and abs(k - 1) <= 1e-3


def misplaced(found: Anatomy) -> tuple[str, ...]:
    """For a block that is linear in no matrix, or whose attention is not: what stands after the linear map."""
    if not (found.blind or found.endless):
        return ()
    x = np.random.default_rng(8).standard_normal((1, 4, found.block.width))
    c, off = found.large, dict.fromkeys(found.last, 0.0)
    near, far = (found.at(s * x, found.last) for s in (c, 2 * c))
    if np.abs(far - near).max() <= 0.2 * np.abs(near).max():
        return ("module-post-norm",) if found.blind else ("module-residual-from-norm",)
    rest = [piece for piece in found.pieces if piece not in found.last]

    def change(factors: dict[Piece, float]) -> Array:
        found.block.scale({**off, **factors})
        return found.block(x) - x

    near, far = (change(dict.fromkeys(rest, factor)) for factor in (c, 2 * c))
    if np.abs(far).max() <= 1.2 * np.abs(near).max():
        return ("module-norm-on-branch",)
    for piece in rest:
        grown = change({piece: c}) - change({piece: 0.0})
        if grown.max() > c / 1e3 and grown.min() > -1e-3 * grown.max():
            return ("module-activation-last",)  # nothing below 0 comes through
    return ()


def bent(found: Anatomy) -> bool:
    """Whether one position alone moves with a matrix in which the block is not linear: attention alone does not."""
    x = np.random.default_rng(37).standard_normal((1, 1, found.block.width))
    return bool(split(found.block, x, (), found.pieces)[1])


def response(block: Instance, x: Array, zeroed: Iterable[Piece]) -> Array:
    """How the last position moves when the first one is replaced. shapes: x (1, T, d) -> (d,)"""
    other = x.copy()
    other[:, 0] = np.random.default_rng(11).standard_normal(x.shape[-1])
    block.zero(zeroed)
    moved: Array = (block(other) - block(x))[0, -1]
    return moved


def mixes(block: Instance, zeroed: Iterable[Piece]) -> bool:
    """Whether a position influences a later one while some parameters are 0."""
    x = np.random.default_rng(17).standard_normal((1, 4, block.width))
    least = 1e-9 if block.precision == "float64" else 1e-5
    return not np.abs(response(block, x, zeroed)).max() <= least


def slope(found: Anatomy, zeroed: Iterable[Piece]) -> tuple[float, float]:
    """k and the rest, when the block with some parameters at 0 is taken for k · x + constant."""
    rng = np.random.default_rng(23)
    x, y = (rng.standard_normal((1, 3, found.block.width)) for _ in range(2))
    zeroed = tuple(zeroed)
    moved, step = found.at(x, zeroed) - found.at(y, zeroed), x - y
    k = float(np.sum(moved * step) / np.sum(step * step))
    return k, float(np.abs(moved - k * step).max() / np.abs(step).max())


def growth(found: Anatomy, zeroed: Iterable[Piece]) -> float:
    """How much of block(c x) - c x is new when a large c doubles: 0 where it does not grow, 1 where it is linear."""
    x = np.random.default_rng(29).standard_normal((1, 4, found.block.width))
    c, zeroed = found.carried, tuple(zeroed)
    near, far = (found.at(s * x, zeroed) - s * x for s in (c, 2 * c))
    return float(np.abs(far - near).max() / max(np.abs(near).max(), 1e-12))
