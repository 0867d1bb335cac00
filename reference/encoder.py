"""Knows the original, post-norm transformer layers: encoder, cross-attention, decoder layer, shifted targets.

Vaswani et al. 2017, "Attention Is All You Need", section 3. ENCODER holds them, a book of its own beside BOOK. Masks
are boolean, True = may be consulted; a row that may consult nothing retrieves zeros.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from reference import block, norm
from reference.book import Array, real
from reference.parts import Parts

ENCODER = Parts()


@ENCODER.register
def attention(
    Q: ArrayLike, K: ArrayLike, V: ArrayLike, mask: ArrayLike | None = None, *, the: Parts = ENCODER
) -> tuple[Array, Array]:
    """What each query retrieves from the values, and with which weights.

    O = A V,  A[t, s] = exp(S[t, s]) / Σ_{r allowed} exp(S[t, r]) for allowed s, else 0,  S = Q Kᵀ / √d_k
    (Vaswani et al. 2017, equation 1)

    Without a mask every position is allowed. A row whose mask allows nothing has weights 0 and retrieves 0: the sum
    over nothing. The largest allowed score is subtracted first, as in `softmax`.

    shapes: (T_q, d_k), (T_k, d_k), (T_k, d_v), mask(T_q, T_k) -> (T_q, d_v), (T_q, T_k)
    errors: ValueError when widths or the mask's shape do not fit.
    """
    Q, K, V = real(Q), real(K), real(V)  #                                  (T_q, d_k), (T_k, d_k), (T_k, d_v)
    S = Q @ K.T / np.sqrt(Q.shape[-1])  #                                   (T_q, T_k)
    allowed = np.broadcast_to(True if mask is None else np.asarray(mask, bool), S.shape)  # (T_q, T_k)
    top = S.max(axis=-1, keepdims=True, where=allowed, initial=-np.inf)  #  (T_q, 1), -inf where nothing is allowed
    with np.errstate(all="ignore"):
        E = np.where(allowed, np.exp(S - top), 0.0)  #                      (T_q, T_k)
    total = E.sum(axis=-1, keepdims=True)  #                                (T_q, 1), 0 where nothing is allowed
    A: Array = np.divide(E, total, out=np.zeros_like(E), where=total != 0)  # (T_q, T_k)
    O: Array = A @ V  #                                                     (T_q, d_v)
    return O, A


@ENCODER.register
def multi_head(
    X_q: ArrayLike,
    X_kv: ArrayLike,
    heads: Sequence[tuple[ArrayLike, ArrayLike, ArrayLike]],
    W_O: ArrayLike,
    mask: ArrayLike | None = None,
    *,
    the: Parts = ENCODER,
) -> Array:
    """Several heads: queries from X_q, keys and values from X_kv, one mask for all of them.

    MHA(X_q, X_kv) = [O_1 … O_h] W_O,  O_i = attention(X_q W_Q, X_kv W_K, X_kv W_V)   (section 3.2.2)

    shapes: (T_q, d), (T_k, d), h * [((d, d_k), (d, d_k), (d, d_v))], (h * d_v, d), mask(T_q, T_k) -> (T_q, d)
    errors: ValueError when widths or the mask's shape do not fit, or without any head.
    """
    X_q, X_kv = real(X_q), real(X_kv)  #                (T_q, d), (T_k, d)
    retrieved = [
        the.attention(X_q @ real(W_Q), X_kv @ real(W_K), X_kv @ real(W_V), mask)[0] for W_Q, W_K, W_V in heads
    ]  #                                                h times (T_q, d_v)
    joined = np.concatenate(retrieved, axis=-1)  #      (T_q, h·d_v)
    out: Array = joined @ real(W_O)  #                  (T_q, d)
    return out


@ENCODER.register
def layer_norm(z: ArrayLike, gain: ArrayLike, shift: ArrayLike, eps: float) -> Array:
    """Each row normalized over its coordinates, then stretched and moved.

    LN(z) = gain ⊙ (z − μ) / √(σ² + eps) + shift   (Ba, Kiros & Hinton 2016, equation 3)

    shapes: (T, d), (d,), (d,), () -> (T, d)
    errors: ValueError when gain or shift has another width than z.
    """
    return norm.layer_norm(z, gain, shift, eps)


@ENCODER.register
def ffn(u: ArrayLike, W_1: ArrayLike, b_1: ArrayLike, W_2: ArrayLike, b_2: ArrayLike) -> Array:
    """The same two-layer network at every position.

    FFN(u) = ReLU(u W_1 + b_1) W_2 + b_2   (Vaswani et al. 2017, equation 2)

    shapes: (T, d), (d, m), (m,), (m, d), (d,) -> (T, d)
    errors: ValueError when widths do not fit.
    """
    return block.feed_forward(u, W_1, b_1, W_2, b_2)


@ENCODER.register
def encoder_block(
    X: ArrayLike, params: Mapping[str, Any], padding_mask: ArrayLike | None = None, *, the: Parts = ENCODER
) -> Array:
    """Attention over all positions, then the network; each is added to what it read, and the sum is normalized.

    U = LN_1(X + MHA(X, X))
    Y = LN_2(U + FFN(U))     (Vaswani et al. 2017, section 3.1: post-norm)

    padding_mask[s] says whether position s may be consulted, by every query alike.

    shapes: (T, d), params, mask(T) -> (T, d)
        where params = dict(self_heads=h * [((d, d_k), (d, d_k), (d, d_v))], self_W_O=(h * d_v, d), norm_1=norm,
                            W_1=(d, m), b_1=(m,), W_2=(m, d), b_2=(d,), norm_2=norm, eps=())
        where norm = dict(gain=(d,), shift=(d,))
    errors: KeyError for a missing entry; ValueError when widths or the mask's length do not fit.
    """
    X = real(X)  #                                                                           (T, d)
    norm_1, norm_2, eps = params["norm_1"], params["norm_2"], params["eps"]
    mask = _columns(padding_mask, len(X), len(X))  #                                         (T, T) or None
    M = the.multi_head(X, X, params["self_heads"], params["self_W_O"], mask)  #              (T, d)
    U = the.layer_norm(X + M, norm_1["gain"], norm_1["shift"], eps)  #                       (T, d)
    F = the.ffn(U, params["W_1"], params["b_1"], params["W_2"], params["b_2"])  #            (T, d)
    Y: Array = the.layer_norm(U + F, norm_2["gain"], norm_2["shift"], eps)  #                (T, d)
    return Y


@ENCODER.register
def cross_attention(
    X: ArrayLike,
    memory: ArrayLike,
    heads: Sequence[tuple[ArrayLike, ArrayLike, ArrayLike]],
    W_O: ArrayLike,
    memory_mask: ArrayLike | None = None,
    *,
    the: Parts = ENCODER,
) -> Array:
    """Queries from X, keys and values from the encoder's output; no causal mask: all of the memory is there.

    CA(X, memory) = MHA(X, memory)   (Vaswani et al. 2017, section 3.2.3)

    memory_mask[s] says whether memory position s may be consulted, by every query alike.

    shapes: (T, d), (n, d), h * [((d, d_k), (d, d_k), (d, d_v))], (h * d_v, d), mask(n) -> (T, d)
    errors: ValueError when widths or the mask's length do not fit.
    """
    X, memory = real(X), real(memory)  #                        (T, d), (n, d)
    mask = _columns(memory_mask, len(X), len(memory))  #        (T, n) or None
    out: Array = the.multi_head(X, memory, heads, W_O, mask)  # (T, d)
    return out


@ENCODER.register
def decoder_layer(
    X: ArrayLike,
    memory: ArrayLike,
    params: Mapping[str, Any],
    memory_mask: ArrayLike | None = None,
    *,
    the: Parts = ENCODER,
) -> Array:
    """Causal self-attention, cross-attention, network; each is added to what it read, and the sum is normalized.

    U = LN_1(X + MHA(X, X) over s ≤ t)
    C = LN_cross(U + CA(U, memory))
    Y = LN_2(C + FFN(C))     (Vaswani et al. 2017, section 3.1)

    shapes: (T, d), (n, d), params, mask(n) -> (T, d)
        where params = dict(self_heads=h * [((d, d_k), (d, d_k), (d, d_v))], self_W_O=(h * d_v, d), norm_1=norm,
                            cross_heads=h * [((d, d_k), (d, d_k), (d, d_v))], cross_W_O=(h * d_v, d), norm_cross=norm,
                            W_1=(d, m), b_1=(m,), W_2=(m, d), b_2=(d,), norm_2=norm, eps=())
        where norm = dict(gain=(d,), shift=(d,))
    errors: KeyError for a missing entry; ValueError when widths or the mask's length do not fit.
    """
    X = real(X)  #                                                                           (T, d)
    norm_1, norm_c, norm_2, eps = params["norm_1"], params["norm_cross"], params["norm_2"], params["eps"]
    causal = np.tri(len(X), dtype=bool)  #                                                   (T, T), True for s ≤ t
    M = the.multi_head(X, X, params["self_heads"], params["self_W_O"], causal)  #            (T, d)
    U = the.layer_norm(X + M, norm_1["gain"], norm_1["shift"], eps)  #                       (T, d)
    R = the.cross_attention(U, memory, params["cross_heads"], params["cross_W_O"], memory_mask)  # (T, d)
    C = the.layer_norm(U + R, norm_c["gain"], norm_c["shift"], eps)  #                       (T, d)
    F = the.ffn(C, params["W_1"], params["b_1"], params["W_2"], params["b_2"])  #            (T, d)
    Y: Array = the.layer_norm(C + F, norm_2["gain"], norm_2["shift"], eps)  #                (T, d)
    return Y


@ENCODER.register
def shift_targets(tokens: ArrayLike) -> tuple[Any, Any]:
    """What the decoder reads and what it is to predict: the target at t is the token that follows input t.

    inputs = tokens[:-1], targets = tokens[1:]   (section 3.1: outputs "offset by one position")

    shapes: ids(T + 1, v) -> ids(T, v), ids(T, v)
    errors: IndexError for a single number in place of a sequence.
    """
    tokens = np.array(tokens, dtype=np.int64)  #  (T + 1,), a copy
    return tokens[:-1], tokens[1:]  #             (T,), (T,)


def _columns(mask: ArrayLike | None, rows: int, columns: int) -> Any:
    """The same mask for every query: (columns,) -> (rows, columns); None stays None."""
    return None if mask is None else np.broadcast_to(np.asarray(mask, bool), (rows, columns))


ENCODER.seal()

__all__ = ["ENCODER"]
