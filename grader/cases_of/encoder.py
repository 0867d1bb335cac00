"""Knows the inputs of the original post-norm layers: masks of every kind, memories of another length, token ids.

In generic masks every row allows something and forbids something, so that a mask which is turned round still gives
numbers. Rows that may consult nothing are among the extremes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from grader.cases import (
    EPS,
    HANDOUT,
    MIDDLE,
    Arguments,
    Array,
    Case,
    Sizes,
    also_of,
    arguments_of,
    block_parameters,
    extremes_of,
    make,
    norm_parameters,
)

MASK = {"attention": 3, "multi_head": 4, "encoder_block": 2, "cross_attention": 4, "decoder_layer": 3}  # its place


def mask_of(rng: np.random.Generator, *shape: int) -> Array:
    """True = may be consulted; no row is all True or all False, as far as its length allows.

    shapes: (T_q, T_k) or (T_k)
    """
    mask = rng.random(shape) < 0.55
    for row in mask.reshape(-1, shape[-1]):
        first, second = rng.permutation(max(shape[-1], 2))[:2] % shape[-1]
        row[second] = False
        row[first] = True
    return mask


def _rows(rng: np.random.Generator, *shape: int) -> Array:
    rows: Array = 1.3 * rng.standard_normal(shape)
    return rows


def _heads(rng: np.random.Generator, s: Sizes) -> tuple[list[tuple[Array, Array, Array]], Array]:
    """The heads and W_O."""
    block = block_parameters(rng, s)
    return block["heads"], block["W_O"]


def layer_parameters(rng: np.random.Generator, s: Sizes, cross: bool) -> dict[str, Any]:
    """The dict `params` of an encoder block, or of a decoder layer when there is a memory."""
    block = block_parameters(rng, s)
    params = {"self_heads": block.pop("heads"), "self_W_O": block.pop("W_O"), **block, "eps": EPS}
    if cross:
        params["cross_heads"], params["cross_W_O"] = _heads(rng, s)
        params["norm_cross"] = norm_parameters(rng, s)
    return params


@arguments_of("attention", "T_q T d_k d_v")
def _attention(rng: np.random.Generator, s: Sizes) -> Arguments:
    return _rows(rng, s.T_q, s.d_k), _rows(rng, s.T, s.d_k), _rows(rng, s.T, s.d_v), mask_of(rng, s.T_q, s.T)


@arguments_of("multi_head", "T n d d_k d_v h")
def _multi_head(rng: np.random.Generator, s: Sizes) -> Arguments:
    return _rows(rng, s.T, s.d), _rows(rng, s.n, s.d), *_heads(rng, s), mask_of(rng, s.T, s.n)


@arguments_of("ffn", "T d m")
def _ffn(rng: np.random.Generator, s: Sizes) -> Arguments:
    block = block_parameters(rng, s)
    return _rows(rng, s.T, s.d), block["W_1"], block["b_1"], block["W_2"], block["b_2"]


@arguments_of("encoder_block", "T d d_k d_v h m")
def _encoder_block(rng: np.random.Generator, s: Sizes) -> Arguments:
    return _rows(rng, s.T, s.d), layer_parameters(rng, s, cross=False), mask_of(rng, s.T)


@arguments_of("cross_attention", "T n d d_k d_v h")
def _cross_attention(rng: np.random.Generator, s: Sizes) -> Arguments:
    return _rows(rng, s.T, s.d), _rows(rng, s.n, s.d), *_heads(rng, s), mask_of(rng, s.n)


@arguments_of("decoder_layer", "T n d d_k d_v h m")
def _decoder_layer(rng: np.random.Generator, s: Sizes) -> Arguments:
    return _rows(rng, s.T, s.d), _rows(rng, s.n, s.d), layer_parameters(rng, s, cross=True), mask_of(rng, s.n)


@arguments_of("shift_targets", "T v")
def _shift_targets(rng: np.random.Generator, s: Sizes) -> Arguments:
    return (rng.permutation(max(s.v, s.T + 1))[: s.T + 1],)


def _without_mask(part: str) -> None:
    """Add cases without the mask."""

    @also_of(part)
    def cases(seed: int) -> Iterator[Case]:
        case = make(part, MIDDLE, seed, stream=1)
        yield replace(case, label=case.label + ", without a mask", args=case.args[: MASK[part]])
        yield replace(case, label=case.label + ", with the mask None", args=case.with_arg(MASK[part], None))


for _part in MASK:
    _without_mask(_part)


@extremes_of("attention")
def _attention_extremes(seed: int) -> Iterator[tuple[str, Arguments]]:
    rng = np.random.default_rng((seed, 31))
    V, every = _rows(rng, 4, 3), np.ones((3, 4), bool)

    def scored(S: Any) -> tuple[Array, Array]:
        """Q and K whose scores are exactly S: d_k = 4, and K is the identity."""
        return 2 * np.array(S, float), np.eye(4)

    past = np.tri(3, 4, dtype=bool)
    large = [[1e4, 0, 0, -1e4], [-1e4, 1e4, 0, 1], [1e4, -1e4, 9999, 9998]]
    yield "scores of ±1e4", (*scored(large), V, every)
    yield "scores of ±1e4, without a mask", (*scored(large), V, None)
    apart = [[900, 901, 899, 0], [0, 1, 2, 1], [-900, -901, -899, -902]]
    yield "rows of scores far apart", (*scored(apart), V, every)
    yield (
        "forbidden scores far above the allowed ones",
        (*scored([[0, 200, 2e4, 1], [0, 1, 2e4, 2], [1, 0, 2, 2e4]]), V, past),
    )
    low = np.where(past, -2e4 + np.arange(12.0).reshape(3, 4), 0)
    yield "allowed scores far below the forbidden ones", (*scored(low), V, past)
    for near in (-300.0, -3000.0):
        rows = np.where(past, near + np.arange(12.0).reshape(3, 4), 0)
        yield f"allowed scores around {near:g}, forbidden ones of 0", (*scored(rows), V, past)
    some = np.array([[True, False, True, False], [False] * 4, [False, True, True, True]])
    ordinary = _rows(rng, 3, 2), _rows(rng, 4, 2), V
    yield "a row that may consult nothing", (*ordinary, some)
    yield "no row may consult anything", (*ordinary, ~every)
    yield "constant rows", (np.full((3, 2), 2.0), np.full((4, 2), 2.0), V, some)


def _scaled(part: str, scales: tuple[float, ...]) -> Any:
    """Inputs of another size, constant ones, and, where there is a mask, one that allows nothing."""

    def family(seed: int) -> Iterator[tuple[str, Arguments]]:
        case = make(part, HANDOUT, seed, stream=3)
        for scale in scales:
            yield f"inputs of size {scale:g}", case.with_x(scale * case.x)
        yield "constant rows", case.with_x(np.full_like(case.x, 2.0))
        if part in MASK:
            nothing = np.zeros_like(case.args[MASK[part]])
            if nothing.ndim == 2:
                one_row = case.args[MASK[part]].copy()
                one_row[1] = False
                yield "a row that may consult nothing", case.with_arg(MASK[part], one_row)
            yield "a mask that allows nothing", case.with_arg(MASK[part], nothing)

    return family


for _part in ("multi_head", "encoder_block", "cross_attention", "decoder_layer"):
    extremes_of(_part)(_scaled(_part, (1e-4,)))
extremes_of("ffn")(_scaled("ffn", (1e4, 1e-4)))
