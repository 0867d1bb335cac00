"""Knows causal self-attention: softmax, scores, weights, one head, several heads.

Vaswani et al. 2017, "Attention Is All You Need", section 3.2. Row t of `S` and `A` is the position that receives,
column s the position that is consulted.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from reference.book import BOOK, Array, real
from reference.parts import Parts


@BOOK.register
def softmax(x: ArrayLike) -> Array:
    """Positive weights that sum to 1, over the last axis.

    softmax(x)_i = exp(x_i) / Σ_j exp(x_j) = exp(x_i − max x) / Σ_j exp(x_j − max x)

    The second form is the same number, and its largest exponent is 0: nothing overflows (Goodfellow, Bengio &
    Courville 2016, section 4.1). An entry −inf gets exactly 0. A row of nothing but −inf has no weights that sum
    to 1: it is 0/0, and the whole row is NaN, as in torch and SciPy; so is a row that holds NaN or +inf.

    shapes: (T, n) -> (T, n)
    errors: ValueError for an empty last axis.
    """
    x = real(x)
    with np.errstate(all="ignore"):
        E = np.exp(x - x.max(axis=-1, keepdims=True))  # (T, n), the largest of a row is 1
        P: Array = E / E.sum(axis=-1, keepdims=True)  #  (T, n)
    return P


@BOOK.register
def attention_scores(Q: ArrayLike, K: ArrayLike) -> Array:
    """How well query t fits key s, before any mask.

    S = Q Kᵀ / √d_k   (Vaswani et al. 2017, equation 1)

    The root keeps the spread: independent coordinates of variance 1 give q·k the variance d_k, and S the variance 1.

    shapes: (T_q, d_k), (T_k, d_k) -> (T_q, T_k)
    errors: ValueError when the widths of Q and K differ.
    """
    Q, K = real(Q), real(K)  #       (T_q, d_k), (T_k, d_k)
    d_k = Q.shape[-1]
    S: Array = Q @ K.T / np.sqrt(d_k)  # (T_q, T_k)
    return S


@BOOK.register
def causal_attention_weights(S: ArrayLike, *, the: Parts = BOOK) -> Array:
    """Row t is the softmax over the positions s ≤ t; above the diagonal it is exactly 0.

    A[t, s] = exp(S[t, s]) / Σ_{r ≤ t} exp(S[t, r])  for s ≤ t, else 0   (Vaswani et al. 2017, section 3.2.3)

    shapes: (T, T) -> (T, T)
    errors: ValueError when S is not square.
    """
    S = real(S)  #                                   (T, T)
    T, _ = S.shape
    may_consult = np.tri(T, dtype=bool)  #           (T, T), True for s ≤ t
    masked = np.where(may_consult, S, -np.inf)  #    (T, T)
    A: Array = the.softmax(masked)  #                (T, T)
    return A


@BOOK.register
def attention_head(
    H: ArrayLike, W_Q: ArrayLike, W_K: ArrayLike, W_V: ArrayLike, *, the: Parts = BOOK
) -> tuple[Array, Array]:
    """What each position retrieves from itself and from the ones before it, and with which weights.

    O = A V,  A = causal softmax of Q Kᵀ / √d_k,  Q = H W_Q,  K = H W_K,  V = H W_V
    (Vaswani et al. 2017, section 3.2.1)

    shapes: (T, d), (d, d_k), (d, d_k), (d, d_v) -> (T, d_v), (T, T)
    errors: ValueError when widths do not fit.
    """
    H = real(H)  #                                 (T, d)
    Q = H @ real(W_Q)  #                           (T, d_k)
    K = H @ real(W_K)  #                           (T, d_k)
    V = H @ real(W_V)  #                           (T, d_v)
    S = the.attention_scores(Q, K)  #              (T, T)
    A: Array = the.causal_attention_weights(S)  #  (T, T)
    O: Array = A @ V  #                            (T, d_v)
    return O, A


@BOOK.register
def multi_head_attention(
    H: ArrayLike, heads: Sequence[tuple[ArrayLike, ArrayLike, ArrayLike]], W_O: ArrayLike, *, the: Parts = BOOK
) -> Array:
    """The heads' retrieved vectors, joined in the order of the heads, times W_O.

    MHA(H) = [O_1 … O_h] W_O   (Vaswani et al. 2017, section 3.2.2)

    shapes: (T, d), h * [((d, d_k), (d, d_k), (d, d_v))], (h * d_v, d) -> (T, d)
    errors: ValueError when widths do not fit, or without any head.
    """
    retrieved = [the.attention_head(H, W_Q, W_K, W_V)[0] for W_Q, W_K, W_V in heads]  # h times (T, d_v)
    joined = np.concatenate(retrieved, axis=-1)  # (T, h·d_v)
    out: Array = joined @ real(W_O)  #             (T, d)
    return out
