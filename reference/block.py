"""Knows the feed-forward network and the pre-norm block that joins it with attention."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from reference.book import BOOK, Array, real
from reference.parts import Parts


@BOOK.register
def feed_forward(H: ArrayLike, W_1: ArrayLike, b_1: ArrayLike, W_2: ArrayLike, b_2: ArrayLike) -> Array:
    """The same two-layer network at every position; no position sees another.

    FF(H) = ReLU(H W_1 + b_1) W_2 + b_2   (Vaswani et al. 2017, equation 2)

    Without the ReLU the two layers are one: H (W_1 W_2) + (b_1 W_2 + b_2).

    shapes: (T, d), (d, m), (m,), (m, d), (d,) -> (T, d)
    errors: ValueError when widths do not fit.
    """
    hidden = np.maximum(real(H) @ real(W_1) + real(b_1), 0)  # (T, m)
    out: Array = hidden @ real(W_2) + real(b_2)  #             (T, d)
    return out


@BOOK.register
def decoder_block(H: ArrayLike, block: Mapping[str, Any], *, the: Parts = BOOK) -> Array:
    """Attention, then feed-forward; each reads a normalized copy of the stream and adds its result to the stream.

    U  = H + MHA(LN_1(H))
    H' = U + FF(LN_2(U))     (pre-norm: Xiong et al. 2020, "On Layer Normalization in the Transformer Architecture")

    shapes: (T, d), block -> (T, d)
        where block = dict(norm_1=norm, heads=h * [((d, d_k), (d, d_k), (d, d_v))], W_O=(h * d_v, d),
                           norm_2=norm, W_1=(d, m), b_1=(m,), W_2=(m, d), b_2=(d,), eps=())
        where norm = dict(gain=(d,), shift=(d,))
    errors: KeyError for a missing entry; ValueError when widths do not fit.
    """
    H = real(H)  #                                                                (T, d)
    norm_1, norm_2, eps = block["norm_1"], block["norm_2"], block["eps"]
    N_1 = the.layer_norm(H, norm_1["gain"], norm_1["shift"], eps)  #              (T, d)
    U = H + the.multi_head_attention(N_1, block["heads"], block["W_O"])  #        (T, d)
    N_2 = the.layer_norm(U, norm_2["gain"], norm_2["shift"], eps)  #              (T, d)
    H_prime: Array = U + the.feed_forward(N_2, block["W_1"], block["b_1"], block["W_2"], block["b_2"])  # (T, d)
    return H_prime
