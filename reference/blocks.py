"""Holds what the assignment on torch modules asks in numbers: softmax at a temperature, and its entropy."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from reference.book import Array, real
from reference.parts import Parts

BLOCKS = Parts()


@BLOCKS.register
def temperature_lab(scores: ArrayLike, temperature: float) -> dict[str, Array | float]:
    """Softmax of scores / temperature, its entropy in bits, and its largest probability.

    p_i = exp(s_i / τ) / Σ_j exp(s_j / τ); entropy = -Σ p_i log₂ p_i, where 0 log 0 = 0 (Shannon, 1948).

    shapes: (n,), () -> dict(probabilities=(n,), entropy_bits=(), max_probability=())
    errors: none of its own; a temperature of 0 gives NaN.
    """
    s = real(scores)  #                                  (n,)
    p = np.exp((s - s.max()) / temperature)  #           (n,)
    p = p / p.sum()  #                                   (n,)
    bits = -np.sum(p * np.log2(np.where(p > 0, p, 1)))  # ()
    return {"probabilities": p, "entropy_bits": float(bits), "max_probability": float(p.max())}


BLOCKS.seal()
