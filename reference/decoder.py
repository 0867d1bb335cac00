"""Knows the whole decoder: from token ids to logits, to probabilities, to the loss."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from reference.book import BOOK, Array, real
from reference.parts import Parts


@BOOK.register
def decoder(tokens: ArrayLike, params: Mapping[str, Any], *, the: Parts = BOOK) -> Array:
    """Logits: row t scores every token of the vocabulary as the one that follows position t.

    H⁰ = E[tokens] (+ P[:T] when there are positions),  Hˡ = block_l(Hˡ⁻¹),  Z = LN_f(Hᴸ) W_out + b_out
    (Radford et al. 2019: blocks of pre-norm kind need one more norm before the readout)

    shapes: ids(T, v), params -> (T, v)
        where params = dict(embedding=(v, d), positions=(T_max, d), blocks=L * [block], norm_f=norm,
                            W_out=(d, v), b_out=(v,), eps=())
        where block = dict(norm_1=norm, heads=h * [((d, d_k), (d, d_k), (d, d_v))], W_O=(h * d_v, d),
                           norm_2=norm, W_1=(d, m), b_1=(m,), W_2=(m, d), b_2=(d,), eps=())
        where norm = dict(gain=(d,), shift=(d,))
    errors: IndexError for a token id from v on, or for more tokens than there are positions; KeyError for a missing
        entry; ValueError when widths do not fit.
    """
    tokens = np.asarray(tokens, dtype=np.int64)  #                                   (T,)
    T = len(tokens)
    H = real(params["embedding"])[tokens]  #                                         (T, d)
    if params.get("positions") is not None:
        H = H + real(params["positions"])[np.arange(T)]  #                           (T, d)
    for block in params["blocks"]:
        H = the.decoder_block(H, block)  #                                           (T, d)
    norm_f = params["norm_f"]
    N = the.layer_norm(H, norm_f["gain"], norm_f["shift"], params["eps"])  #         (T, d)
    Z: Array = N @ real(params["W_out"]) + real(params["b_out"])  #                  (T, v)
    return Z


@BOOK.register
def next_token_probabilities(Z: ArrayLike, *, the: Parts = BOOK) -> Array:
    """Row t: the probability of each token to follow position t.

    p = softmax(Z) over the vocabulary

    shapes: (T, v) -> (T, v)
    errors: ValueError for an empty vocabulary.
    """
    P: Array = the.softmax(Z)  # (T, v)
    return P


@BOOK.register
def loss(Z: ArrayLike, targets: ArrayLike) -> float:
    """The mean surprise, in nats, at the token that followed.

    loss = −(1/T) Σ_t ln p_t[targets[t]] = (1/T) Σ_t (ln Σ_i exp Z[t, i] − Z[t, targets[t]])

    The second form never takes the logarithm of a probability that was rounded to 0; max Z is subtracted first, as
    in `softmax`. A target whose logit is −inf costs inf.

    shapes: (T, v), ids(T, v) -> ()
    errors: IndexError for a target from v on, or for another number of targets than T (one alone stands for all);
        ValueError for an empty vocabulary.
    """
    Z, targets = real(Z), np.asarray(targets, dtype=np.int64)  #  (T, v), (T,)
    with np.errstate(all="ignore"):
        relative = Z - Z.max(axis=-1, keepdims=True)  #           (T, v), the largest of a row is 0
        log_sum = np.log(np.exp(relative).sum(axis=-1))  #        (T,)
        at_target = relative[np.arange(len(Z)), targets]  #       (T,)
        return float(np.mean(log_sum - at_target))  #             ()
