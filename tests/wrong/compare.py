"""Knows how results of two submissions are set side by side: largest gap, equality of nested arguments, casting."""

from typing import Any

import numpy as np

from tests.wrong import in_process


def gap(ours: Any, theirs: Any) -> float:
    """The greatest difference; infinite where shapes, structure, kinds or NaN differ."""
    if isinstance(theirs, tuple):
        ours = in_process.pair(ours)
        if len(ours) != len(theirs):
            return np.inf
        return max(gap(a, b) for a, b in zip(ours, theirs, strict=True))
    if isinstance(ours, tuple | dict) or ours is None:
        return np.inf
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    if ours.shape != theirs.shape or ours.dtype.kind not in "fiub" or theirs.dtype.kind not in "fiub":
        return np.inf
    ours, theirs = ours.astype(float), theirs.astype(float)
    alike = (np.isnan(ours) & np.isnan(theirs)) | (ours == theirs)
    difference = np.abs(np.subtract(ours, theirs, out=np.zeros_like(ours), where=~alike))
    return float(np.max(difference, initial=0.0)) if np.isfinite(difference).all() else np.inf


def same(one: Any, other: Any) -> bool:
    """Whether two nested arguments, of whichever backend, hold the same."""
    if isinstance(one, dict):
        return set(one) == set(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other, strict=True))
    return np.array_equal(in_process.to_numpy(one), other)


def cast(value: Any, width: str) -> Any:
    """Float arrays in the nested `value` in another width."""
    if isinstance(value, np.ndarray):
        return value.astype(width) if value.dtype.kind == "f" else value
    if isinstance(value, dict):
        return {key: cast(item, width) for key, item in value.items()}
    return type(value)(cast(item, width) for item in value) if isinstance(value, tuple | list) else value
