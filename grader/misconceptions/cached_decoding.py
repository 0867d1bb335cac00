"""Knows decoding with a cache, in NumPy, with places at which it can go wrong: what a wrong decoder's logits are."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from reference.lm import EPS, LM, depth
from reference.norm import layer_norm

Array = np.ndarray[Any, Any]
Weights = Mapping[str, Array]
Piece = tuple[Array, Array, Array]  # keys as consulted, keys before they are turned, values: (B, h, n, d_k) each
MANY = 1000  # more than there are tokens, and positions


@dataclass(frozen=True)
class How:
    """A way to decode; every default is right.

    start    where the positions of new tokens begin: past, zero, doubled, ahead, behind, one (all the same), layers
    counted  whether positions count the tokens that came before; False: the keys that are in the cache
    turned   rotary: right, again (cached keys in every call), raw (cached keys not at all), queries or keys (as at 0)
    mask     right, none, corner, alone, ahead, strict, apart, offset: from the second call on
    keep     append, first, newest, last (of the new ones), overwrite, prepend, late (the new ones are not consulted)
    window   how many of the past are consulted; 0: all
    rounded  bfloat16 or float16: the precision of what is kept
    layers   own, first, last, chained, reversed: whose keys and values a layer finds
    rows     own, first, first keys, first values: whose keys and values a row of the batch finds
    ghost    an empty slot is left before the new tokens; with start early, in all layers but the first
    swapped  keys and values of the past change places
    """

    start: str = "past"
    counted: bool = True
    turned: str = "right"
    mask: str = "right"
    keep: str = "append"
    window: int = 0
    rounded: str = ""
    layers: str = "own"
    rows: str = "own"
    ghost: bool = False
    swapped: bool = False


RIGHT = How()


def decoded(
    weights: Weights, tokens: Array, schedule: Sequence[int], *, heads: int, activation: str, how: How = RIGHT
) -> Array:
    """The logits of all positions, decoded in chunks of these lengths; rotary where there are no learned positions.

    shapes: (B, T) -> (B, T, v)
    errors: IndexError and ValueError where a wrong decoder would raise
    """
    kept: list[Piece | None] = [None] * depth(weights)
    found, past = [], 0
    for t in schedule:
        found.append(_step(weights, tokens[:, past : past + t], kept, past, heads, activation, how))
        past += t
    return np.concatenate(found, axis=1)


def _step(w: Weights, new: Array, kept: list[Piece | None], past: int, heads: int, activation: str, how: How) -> Array:
    L, t = len(kept), new.shape[1]
    x = w["embedding"][new]
    if "positions" in w:
        held = kept[0][0].shape[2] if kept[0] is not None else 0
        x = x + w["positions"][_positions(how, past if how.counted else held, t, 0)]
    before, after = list(kept), list(kept)
    chain = before[0]
    for layer in range(L):
        at = f"blocks.{layer}."
        h = _norm(x, w, at + "norm_1")
        q, raw, v = (_split(h @ w[at + f"W_{name}"], heads) for name in "QKV")
        source = {"own": layer, "first": 0, "last": L - 1, "reversed": L - 1 - layer}.get(how.layers, layer)
        old = chain if how.layers == "chained" else before[source]
        if old is not None and how.rows != "own":
            old = _first_row(old, how.rows)
        held = 0 if old is None else old[0].shape[2]
        places = _positions(how, past if how.counted else held, t, layer)
        if "positions" in w:
            k = raw
        else:
            zero = np.arange(t)
            k = LM.rotary(raw, zero if how.turned == "keys" else places)
            q = LM.rotary(q, zero if how.turned == "queries" else places)
        chain, seen, mask = _joined(old, (k, raw, v), past, layer, how, rotary="positions" not in w)
        after[layer] = chain
        K, V = seen
        S = np.where(mask, q @ K.swapaxes(-1, -2) / math.sqrt(q.shape[-1]), -np.inf)
        A = np.exp(S - S.max(axis=-1, keepdims=True))
        O = (A / A.sum(axis=-1, keepdims=True)) @ V
        x = x + O.swapaxes(1, 2).reshape(x.shape) @ w[at + "W_O"]
        u = LM.activation(_norm(x, w, at + "norm_2") @ w[at + "W_1"] + w[at + "b_1"], activation)
        x = x + u @ w[at + "W_2"] + w[at + "b_2"]
    kept[:] = [chain] * L if how.layers == "chained" else after
    return np.asarray(_norm(x, w, "norm_f") @ w["W_out"] + w["b_out"])


def _joined(
    old: Piece | None, new: Piece, past: int, layer: int, how: How, *, rotary: bool
) -> tuple[Piece, tuple[Array, Array], Array]:
    """What is kept, the keys and values that are consulted, and who may consult whom (t, n)."""
    t = new[0].shape[2]
    if how.ghost and how.start == "early":
        old = _with_empty_slots(old, new, past + t) if layer else old
    elif how.ghost and old is not None:
        old = _with_empty_slots(old, new, old[0].shape[2] + 1)
    last = _part(new, slice(-1, None)) if how.keep == "last" else new
    if old is None:
        return _rounded(last, how.rounded), (new[0], new[2]), np.tri(t, dtype=bool)
    if how.window:
        old = _part(old, slice(-how.window, None))
    if how.keep == "overwrite":
        old = _part(old, slice(None, -1))
    n = old[0].shape[2]
    order = (new, old) if how.keep == "prepend" else (old, new)
    joined = _join(*order)
    K, raw, V = old if how.keep == "late" else joined
    if rotary and how.turned == "again":
        K = np.concatenate([LM.rotary(old[0], np.arange(n)), new[0]], axis=2)
        joined = K, raw, V
    elif rotary and how.turned == "raw":
        K = np.concatenate([old[1], new[0]], axis=2)
    if how.swapped:
        K, V = (np.concatenate([a[:, :, :n], b[:, :, n:]], axis=2) for a, b in ((V, K), (K, V)))
        joined = K, raw, V
    if how.mask == "alone":
        K, V = new[0], new[2]
    keep = {"first": old, "newest": new}.get(how.keep, _join(old, last) if how.keep == "last" else joined)
    return _rounded(keep, how.rounded), (K, V), _mask(how, n, t, K.shape[2])


def _mask(how: How, n: int, t: int, width: int) -> Array:
    """Who may consult whom, with n keys of the past and t new ones. shapes: (t, width)"""
    i, s = np.arange(t)[:, None], np.arange(width)
    if how.mask == "none" or how.keep == "late":
        return np.ones((t, width), dtype=bool)
    if how.mask == "strict":
        return np.asarray(s < n + i)
    if how.mask == "apart":
        return np.asarray((s < n) | (s == n + i))
    shift = {"corner": 0, "alone": 0, "ahead": n + 1, "offset": t}.get(how.mask, n)
    allowed: Array = s <= i + shift
    return allowed


def _positions(how: How, past: int, t: int, layer: int) -> Array:
    """The positions of t new tokens after `past` others. shapes: -> (t)"""
    if how.start == "one":
        return np.full(t, past)
    start = {"zero": 0, "doubled": 2 * past, "ahead": past + (past > 0), "behind": past - (past > 0)}.get(
        how.start, past
    )
    if how.start == "early":  # the first layer has moved the counter on
        start = past + t * (layer > 0)
    elif how.start == "bumped":  # every layer moves it on
        start = 2 * past + t * layer
    return start + np.arange(t)


def _norm(x: Array, w: Weights, name: str) -> Array:
    return np.asarray(layer_norm(x, w[name + ".gain"], w[name + ".shift"], EPS))


def _split(x: Array, heads: int) -> Array:
    B, t, d = x.shape
    return x.reshape(B, t, heads, d // heads).swapaxes(1, 2)


def _join(*pieces: tuple[Array, ...]) -> Piece:
    a, b, c = (np.concatenate(same, axis=2) for same in zip(*pieces, strict=True))
    return a, b, c


def _part(piece: tuple[Array, ...], which: slice) -> Piece:
    a, b, c = (array[:, :, which] for array in piece)
    return a, b, c


def _first_row(piece: Piece, rows: str) -> Piece:
    a, b, c = (np.broadcast_to(array[:1], array.shape) for array in piece)
    return {"first keys": (a, b, piece[2]), "first values": (*piece[:2], c)}.get(rows, (a, b, c))


def _rounded(piece: Piece, precision: str) -> Piece:
    """What is left of numbers in half precision."""
    if not precision:
        return piece
    a, b, c = (_half(array, precision) for array in piece)
    return a, b, c


def _half(x: Array, precision: str) -> Array:
    if precision == "float16":
        return x.astype(np.float16).astype(np.float64)
    bits = x.astype(np.float32).view(np.uint32)
    even = (bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)
    return even.astype(np.uint32).view(np.float32).astype(np.float64)


def _with_empty_slots(old: Piece | None, new: Piece, length: int) -> Piece:
    """What is kept, followed by zeros up to a length; cut where it is longer."""
    B, h, _, d = new[0].shape
    held = old if old is not None else _part(new, slice(0))
    empty = np.zeros((B, h, max(length - held[0].shape[2], 0), d))
    a, b, c = (np.concatenate([array, empty], axis=2)[:, :, :length] for array in held)
    return a, b, c


def consulted(tokens: Array, schedule: Sequence[int], how: How) -> Iterator[tuple[Array, Array, Array]]:
    """For each token the tokens that it consults in a model of one layer, their positions and their own places.

    Itself comes last, where it consults itself.

    shapes: (B, T) -> (B, n), (n) and (n) for each of the T
    """
    past, kept = 0, None
    for t in schedule:
        held = 0 if kept is None else kept[0].shape[2]
        places, own = _positions(how, past if how.counted else held, t, 0), past + np.arange(t)
        new = (tokens[:, past : past + t] * MANY + places) * MANY + own  # all that is to be known of a key
        piece = new[:, None, :, None]
        old = _first_row(kept, how.rows) if kept is not None and how.rows != "own" else kept
        kept, (K, _), mask = _joined(old, (piece, piece, piece), past, 0, how, rotary=False)
        for i in range(t):
            keys = K[:, 0, mask[i], 0]
            itself = keys[0] % MANY == past + i
            keys = np.concatenate([keys[:, ~itself], keys[:, itself]], axis=1)
            yield keys // MANY**2, keys[0] // MANY % MANY, keys[0] % MANY
        past += t
