"""Knows the two-token example that is computed by hand: which parts, on which numbers, give which figures."""

from __future__ import annotations

import numpy as np

from reference.book import BOOK, Array
from reference.parts import Parts


@BOOK.register
def hand_calculation(*, the: Parts = BOOK) -> dict[str, Array | float]:
    """Two tokens, A then B, with H = Q = K = V = I₂, no normalization, no feed-forward, the identity as readout.

    Scores 1/√2 on the diagonal and 0 beside it; the second row of the attention is (w, 1 − w) with
    w = 1/(1 + e^{1/√2}). The derivation of each figure stands in `specs/hand-numbers.toml`.

    shapes: -> dict(w=(), A=(2, 2), H_prime=(2, 2), p_B=(), loss=(), p_B_without_residual=(),
                    A_first_value_zeroed=(2, 2), last_row_first_value_zeroed=(2,),
                    layer_norm_of_1_3=(2,), residual_of_1_3=(2,))
    errors: none of its own.
    """
    H = I = np.eye(2)  #                                        (2, 2)
    B = 1  #                                                    the second token of the vocabulary

    O, A = the.attention_head(H, I, I, I)  #                    (2, 2), (2, 2)
    H_prime = H + O  #                                          (2, 2)
    P = the.next_token_probabilities(H_prime @ I)  #            (2, 2)
    P_without_residual = the.next_token_probabilities(O @ I)  # (2, 2)

    zero_first = np.diag([0.0, 1.0])  #                         (2, 2), H W_V = V without its first row
    O_zeroed, A_zeroed = the.attention_head(H, I, I, zero_first)  # (2, 2), (2, 2)

    x = np.array([[1.0, 3.0]])  #                               (1, 2)
    N = the.layer_norm(x, np.ones(2), np.zeros(2), 0.0)  #      (1, 2)

    return {
        "w": float(A[1, 0]),
        "A": A,
        "H_prime": H_prime,
        "p_B": float(P[1, B]),
        "loss": the.loss((H_prime @ I)[1:], [B]),
        "p_B_without_residual": float(P_without_residual[1, B]),
        "A_first_value_zeroed": A_zeroed,
        "last_row_first_value_zeroed": (H + O_zeroed)[1],
        "layer_norm_of_1_3": N[0],
        "residual_of_1_3": (x + N)[0],
    }
