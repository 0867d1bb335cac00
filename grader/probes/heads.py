"""Knows in how many heads a block attends, and whether they are joined, by mixtures of two vectors."""

from __future__ import annotations

import numpy as np

from grader.compare import Array
from grader.part import Part
from grader.probes.anatomy import anatomy, examine
from grader.probes.module import Instance, Piece, build

LENGTH = 8


def mixtures(block: Instance, zeroed: tuple[Piece, ...]) -> Array:
    """How the last position moves when n positions before it hold another vector, n = 1..6. shapes: (6, d)

    Each head gives one mixture of two values: the moves lie in as many directions as there are heads.
    """
    one, other = np.random.default_rng(47).standard_normal((2, block.width))
    first = np.arange(LENGTH)[None, :, None] < np.arange(LENGTH - 1)[:, None, None]
    block.zero(zeroed)
    y = block(np.where(first, other, one))[:, -1]
    moves: Array = y[1:] - y[0]
    return moves


def directions(block: Instance, zeroed: tuple[Piece, ...]) -> int:
    """In how many directions the mixtures lie."""
    moves = mixtures(block, zeroed)
    if not np.isfinite(moves).all():
        return 0
    sizes = np.linalg.svd(moves, compute_uv=False)
    least = 1e-7 if block.precision == "float64" else 1e-3
    return int((sizes > least * sizes[0]).sum())


def swapped(part: Part, seed: int) -> bool:
    """Whether one head is asked for and there are several, and the other way round."""
    found = examine(part, seed)

    def several(heads: int) -> int:
        block = build(part, heads=heads, plain=True).redraw(seed)
        same = [(p.name, p.shape) for p in block.parameters] == [(p.name, p.shape) for p in found.block.parameters]
        zeroed = found.feed_forward if same else anatomy(block, seed).feed_forward
        return directions(block, zeroed) if zeroed else 0

    return bool(found.feed_forward) and several(1) > 1 and several(found.block.width) == 1


def apart(part: Part, seed: int) -> bool:
    """Whether each head moves coordinates of its own: nothing joins the heads."""
    found = examine(part, seed)
    if found.blind or found.endless or not found.feed_forward:
        return False
    moves = mixtures(found.block, found.feed_forward)
    size = np.linalg.norm(moves, axis=0)
    if not (np.isfinite(size).all() and size.all()):
        return False
    alike = np.abs((moves / size).T @ (moves / size)) > 1 - (1e-9 if found.block.precision == "float64" else 1e-5)
    heads, width = found.block.heads, found.block.width
    return len(np.unique(alike, axis=0)) == heads and bool((alike.sum(axis=1) == width // heads).all())
