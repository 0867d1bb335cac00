"""Knows the slope of any function of arrays along a direction, by central differences in float64.

An argument may be an array, a number, or lists, tuples and dicts of them. Directions have the same structure; None
stands for whatever is not to move (token ids, eps, a whole block), and a dict may leave keys out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from reference.book import Array, real

CUBE_ROOT_OF_EPSILON = float(np.cbrt(np.finfo(np.float64).eps))  # balances rounding against curvature


def perturb(args: Any, directions: Any, step: float) -> Any:
    """args + step · directions, leaf by leaf, in new arrays; what does not move is passed on as it is.

    shapes: (T, d), (T, d), () -> (T, d)
    errors: ValueError when the structures or the shapes differ.
    """
    if directions is None:
        return args
    if isinstance(args, dict):
        if not isinstance(directions, dict) or not directions.keys() <= args.keys():
            raise ValueError(f"directions for a dict with the keys {sorted(args)} are to be a dict with some of them")
        return {key: perturb(value, directions.get(key), step) for key, value in args.items()}
    if isinstance(args, list | tuple):
        if not isinstance(directions, list | tuple) or len(directions) != len(args):
            raise ValueError(f"directions for {len(args)} things are to be as many")
        return type(args)(perturb(a, u, step) for a, u in zip(args, directions, strict=True))
    x, u = real(args), real(directions)
    if x.shape != u.shape:
        raise ValueError(f"a direction of shape {u.shape} for an array of shape {x.shape}")
    return x + step * u


def directional(
    f: Callable[..., Any], args: Sequence[Any], directions: Sequence[Any], step: float = CUBE_ROOT_OF_EPSILON
) -> Array:
    """The derivative of f at args along directions; its shape is that of f's result.

    (f(args + step·u) − f(args − step·u)) / (2·step), with an error of order step² (Nocedal & Wright 2006, section 8.1)

    errors: ValueError when directions do not have the structure of args.
    """
    ahead = real(f(*perturb(list(args), list(directions), step)))
    behind = real(f(*perturb(list(args), list(directions), -step)))
    return real((ahead - behind) / (2 * step))


def random_directions(args: Any, rng: np.random.Generator) -> Any:
    """A standard normal direction for every floating array in args, and None for everything else."""
    if isinstance(args, dict):
        return {key: random_directions(value, rng) for key, value in args.items()}
    if isinstance(args, list | tuple):
        return type(args)(random_directions(value, rng) for value in args)
    if isinstance(args, np.ndarray) and args.dtype.kind == "f":
        return rng.standard_normal(args.shape)
    return None
