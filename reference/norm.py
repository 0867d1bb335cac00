"""Knows layer normalization: each row by itself, over its coordinates."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from reference.book import BOOK, Array, real


@BOOK.register
def layer_norm(H: ArrayLike, gain: ArrayLike, shift: ArrayLike, eps: float) -> Array:
    """Each row with its mean taken away and its spread made 1, then stretched and moved coordinate by coordinate.

    LN(x) = gain ⊙ (x − μ) / √(σ² + eps) + shift,  μ = (1/d) Σ x_i,  σ² = (1/d) Σ (x_i − μ)²
    (Ba, Kiros & Hinton 2016, equation 3; eps inside the root, as in torch)

    A constant row has x − μ = 0 and so gives `shift` for every eps > 0; at eps = 0, where the formula reads 0/0, it
    gives this limit. Adding a constant to x changes nothing, so x − x_1 stands for x: of a constant row it is
    exactly 0, whereas x − μ may be off by a rounding, which eps = 0 would blow up to 1.

    shapes: (T, d), (d,), (d,), () -> (T, d)
    errors: ValueError when gain or shift has another width than H.
    """
    H = real(H)  #                                                  (T, d)
    X = H - H[..., :1]  #                                           (T, d)
    X = X - X.mean(axis=-1, keepdims=True)  #                       (T, d), rows sum to 0
    variance = np.mean(X**2, axis=-1, keepdims=True)  #             (T, 1), divided by d, not by d − 1
    root = np.sqrt(variance + eps)  #                               (T, 1)
    N = np.divide(X, root, out=np.zeros_like(X), where=root != 0)  # (T, d), 0/0 is 0
    out: Array = real(gain) * N + real(shift)  #                    (T, d)
    return out
