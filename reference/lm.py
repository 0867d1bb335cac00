"""Holds a decoder-only language model in NumPy: rotary positions, forward, decoding with a cache.

LM holds the parts, a book of its own beside BOOK. `weights` is one flat dict, and layer l is `layer(weights, l)`, its
entries without the prefix `blocks.l.`:

    "embedding" (v, d), "positions" (context, d) where nothing is turned, "norm_f.gain", "norm_f.shift" (d),
    "W_out" (d, v), "b_out" (v), and of each layer "norm_1.gain", "norm_1.shift" (d), "W_Q", "W_K", "W_V", "W_O" (d, d),
    "norm_2.gain", "norm_2.shift" (d), "W_1" (d, m), "b_1" (m), "W_2" (m, d), "b_2" (d)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from reference.book import Array, real
from reference.norm import layer_norm
from reference.parts import Parts

LM = Parts()
BASE, EPS = 10000.0, 1e-5
ACTIVATIONS = ("relu", "gelu", "gelu-tanh", "silu")  # any of them is right
Weights = Mapping[str, Any]
Cache = list[tuple[Array, Array]]
_erf = np.vectorize(math.erf, otypes=[float])


@LM.register
def rotary(x: ArrayLike, positions: ArrayLike) -> Array:
    """Each pair of coordinates (i, i + d_k/2) of a row, turned by the row's position times its own angle.

    (a, b) -> (a cos φ − b sin φ, a sin φ + b cos φ),  φ = position · 10000^(−2i/d_k),  i < d_k/2
    (Su et al. 2021, "RoFormer", equation 34, with halves in place of neighbours as in Llama)

    Turning keeps every length, and (R_t q)·(R_s k) depends on t − s alone.

    shapes: (T, d_k), (T,) -> (T, d_k)
    errors: ValueError for an odd width, or another number of positions than rows.
    """
    x, positions = real(x), real(positions)  #                      (..., T, d_k), (T,)
    d_k = x.shape[-1]
    angles = BASE ** (-2 * np.arange(d_k // 2) / d_k)  #            (d_k/2,)
    phi = positions[:, None] * angles  #                            (T, d_k/2)
    a, b = np.split(x, 2, axis=-1)  #                               (..., T, d_k/2) each
    turned: Array = np.concatenate([a * np.cos(phi) - b * np.sin(phi), a * np.sin(phi) + b * np.cos(phi)], axis=-1)
    return turned  #                                                (..., T, d_k)


@LM.register
def activation(x: ArrayLike, kind: str = "relu") -> Array:
    """The nonlinearity of the feed-forward: relu, gelu (with erf), gelu-tanh or silu.

    relu: max(x, 0);  gelu: x Φ(x) (Hendrycks & Gimpel 2016), or its approximation with tanh;  silu: x / (1 + exp(−x))

    shapes: (T, m) -> (T, m)
    errors: KeyError for another kind.
    """
    x = real(x)
    functions: dict[str, Callable[[], Array]] = {
        "relu": lambda: np.maximum(x, 0),
        "gelu": lambda: x * (1 + _erf(x / math.sqrt(2))) / 2,
        "gelu-tanh": lambda: x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2,
        "silu": lambda: x * (1 + np.tanh(x / 2)) / 2,
    }
    return functions[kind]()


@LM.register
def causal_attention(
    N: ArrayLike, block: Weights, cache: Any = None, heads: int = 1, turned: bool = True, *, the: Parts = LM
) -> tuple[Array, Array, Array]:
    """Several heads at once over what came before and itself; also all keys and values so far, for the next call.

    A = softmax of Q Kᵀ / √d_k over s ≤ t,  [A_1 V_1 … A_h V_h] W_O;  Q and K are turned, V is not
    (Vaswani et al. 2017, section 3.2)

    cache   the keys and values (B, h, P, d_k) of P positions before these, or None

    shapes: (B, T, d), block -> (B, T, d), (B, 1, T, d), (B, 1, T, d)
        where block = {"W_Q": (d, d), "W_K": (d, d), "W_V": (d, d), "W_O": (d, d)}
    errors: ValueError when widths do not fit, or heads do not divide the width.
    """
    N = real(N)
    B, T, d = N.shape
    P = 0 if cache is None else cache[0].shape[2]
    Q, K, V = (  #                                                                  (B, h, T, d_k) each
        (N @ real(block[name])).reshape(B, T, heads, d // heads).swapaxes(1, 2) for name in ("W_Q", "W_K", "W_V")
    )
    if turned:
        Q, K = (the.rotary(X, P + np.arange(T)) for X in (Q, K))
    if cache is not None:
        K, V = np.concatenate([cache[0], K], axis=2), np.concatenate([cache[1], V], axis=2)  # (B, h, P + T, d_k)
    S = Q @ K.swapaxes(-1, -2) / math.sqrt(d // heads)  #                           (B, h, T, P + T)
    S = np.where(np.tri(T, P + T, P, dtype=bool), S, -np.inf)
    E = np.exp(S - S.max(axis=-1, keepdims=True))
    O = E / E.sum(axis=-1, keepdims=True) @ V  #                                    (B, h, T, d_k)
    out: Array = O.swapaxes(1, 2).reshape(B, T, d) @ real(block["W_O"])  #          (B, T, d)
    return out, K, V


@LM.register
def feed_forward(N: ArrayLike, block: Weights, kind: str = "relu", *, the: Parts = LM) -> Array:
    """The same two-layer network at every position.

    FF(N) = act(N W_1 + b_1) W_2 + b_2

    shapes: (T, d), block -> (T, d)
        where block = {"W_1": (d, m), "b_1": (m,), "W_2": (m, d), "b_2": (d,)}
    errors: ValueError when widths do not fit; KeyError for a missing entry or another kind.
    """
    hidden = the.activation(real(N) @ real(block["W_1"]) + real(block["b_1"]), kind)  # (..., T, m)
    out: Array = hidden @ real(block["W_2"]) + real(block["b_2"])  #                    (..., T, d)
    return out


def layer(weights: Weights, number: int) -> dict[str, Any]:
    """One layer's entries, without their prefix."""
    prefix = f"blocks.{number}."
    return {name.removeprefix(prefix): value for name, value in weights.items() if name.startswith(prefix)}


def depth(weights: Weights) -> int:
    """How many layers there are."""
    return len({name.split(".")[1] for name in weights if name.startswith("blocks.")})


@LM.register
def decode(
    tokens: ArrayLike, weights: Weights, cache: Any = None, heads: int = 1, kind: str = "relu", *, the: Parts = LM
) -> tuple[Array, Cache]:
    """The logits of new positions behind those of a cache, and the cache with them in it; None is an empty one.

    H = E[tokens] (+ P[positions] where the weights have them: then nothing is turned)
    U = H + MHA(LN_1(H)),  H' = U + FF(LN_2(U)) in each layer;  logits = LN_f(H) W_out + b_out

    errors: IndexError for a token id from v on or a position from the context on; KeyError for a missing entry;
        ValueError when widths do not fit.
    """
    tokens = np.asarray(tokens, dtype=np.int64)  #                                      (B, t)
    P = 0 if cache is None else cache[0][0].shape[2]
    H = real(weights["embedding"])[tokens]  #                                           (B, t, d)
    turned = weights.get("positions") is None
    if not turned:
        H = H + real(weights["positions"])[P + np.arange(tokens.shape[1])]
    after: Cache = []
    for number in range(depth(weights)):
        block = layer(weights, number)
        N = layer_norm(H, block["norm_1.gain"], block["norm_1.shift"], EPS)
        M, K, V = the.causal_attention(N, block, cache[number] if cache else None, heads, turned)
        after.append((K, V))
        U = H + M
        H = U + the.feed_forward(layer_norm(U, block["norm_2.gain"], block["norm_2.shift"], EPS), block, kind)
    Z: Array = layer_norm(H, weights["norm_f.gain"], weights["norm_f.shift"], EPS) @ real(weights["W_out"])
    return Z + real(weights["b_out"]), after  #                                         (B, t, v)


@LM.register
def DecoderLM(tokens: ArrayLike, weights: Weights, heads: int = 1, kind: str = "relu", *, the: Parts = LM) -> Array:
    """Logits for every position: row t scores every token as the one that follows position t.

    shapes: (B, T), weights, heads -> (B, T, v)
    errors: those of `decode`.
    """
    Z: Array = the.decode(tokens, weights, None, heads, kind)[0]
    return Z


LM.seal()


def draw(seed: int, *, vocab_size: int, width: int, layers: int, hidden: int, context: int = 0) -> dict[str, Array]:
    """Weights of ordinary size, with positions where a context is given: no gain is 1, no shift and no bias is 0."""
    rng = np.random.default_rng((seed, 61))
    v, d, m = vocab_size, width, hidden

    def matrix(rows: int, columns: int) -> Array:
        return rng.standard_normal((rows, columns)) * math.sqrt(1.5 / rows)

    def norm(name: str) -> dict[str, Array]:
        return {f"{name}.gain": 1 + 0.5 * rng.standard_normal(d), f"{name}.shift": 0.7 * rng.standard_normal(d)}

    weights: dict[str, Array] = {"embedding": rng.standard_normal((v, d))}
    if context:
        weights["positions"] = 0.8 * rng.standard_normal((context, d))
    for number in range(layers):
        block = {**norm("norm_1"), **{name: matrix(d, d) for name in ("W_Q", "W_K", "W_V", "W_O")}, **norm("norm_2")}
        block |= {"W_1": matrix(d, m), "b_1": 0.5 * rng.standard_normal(m)}
        block |= {"W_2": matrix(m, d), "b_2": 0.5 * rng.standard_normal(d)}
        weights |= {f"blocks.{number}.{name}": value for name, value in block.items()}
    return weights | norm("norm_f") | {"W_out": matrix(d, v), "b_out": 0.5 * rng.standard_normal(v)}
