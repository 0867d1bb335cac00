"""Holds the book's parts, which the chapters fill in, and the one array type that they compute with."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reference.parts import Parts

Array: TypeAlias = NDArray[np.float64]

BOOK = Parts()


def real(x: ArrayLike) -> Array:
    """The numbers as a float64 array; no copy is made where they are one.

    shapes: (T, d) -> (T, d)
    errors: TypeError or ValueError for what is not numbers (NumPy's).
    """
    return np.asarray(x, dtype=np.float64)
