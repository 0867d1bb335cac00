"""What goes wrong in the scores: the scale, the sides, the product."""

from __future__ import annotations

from typing import Any

import numpy as np

from grader.misconceptions import Choice, Family, misconception
from reference.book import real


def scores(Q: Any, K: Any, *, scale: str = "root", product: str = "QK") -> Any:
    """Q Kᵀ times a scale, with a choice at each."""
    Q, K = real(Q), real(K)
    d_k = Q.shape[-1]
    left, right = {
        "QK": (Q, K),
        "KQ": (K, Q),
        "QQ": (Q, Q),
        "KK": (K, K),
        "unit": (_unit(Q), _unit(K)),
        "distance": (Q, K),
    }[product]
    factor = {
        "root": d_k**-0.5,
        "none": 1.0,
        "width": 1.0 / d_k,
        "times": d_k**0.5,
        "times-width": float(d_k),
        "keys": K.shape[0] ** -0.5,
        "queries": Q.shape[0] ** -0.5,
        "fourth": d_k**-0.25,
        "log": 1.0 / np.log(d_k) if d_k > 1 else np.inf,
        "square": d_k**-2.0,
        "half": 2.0 / d_k,
        "negative": -(d_k**-0.5),
        "eight": 1.0 / 8,
        "length": float(K.shape[0]) ** -1,
    }[scale]
    if product == "distance":
        return -((Q[:, None] - K[None]) ** 2).sum(axis=-1) * factor
    return left @ right.T * factor


def _unit(x: Any) -> Any:
    return x / np.sqrt((x**2).sum(axis=-1, keepdims=True))


def _scale(key: str, title: str, formula: str, why: str) -> Choice:
    return Choice(key, title, formula, why, "Divide Q Kᵀ by the square root of d_k, once.")


SCORES = Family(
    "attention_scores",
    scores,
    {
        "scale": {
            "none": _scale("no-scale", "the scale is missing", "S = Q Kᵀ", "The product looks complete without it."),
            "width": _scale(
                "scale-by-width",
                "scaled by d_k, not √d_k",
                "S = Q Kᵀ / d_k",
                "The root is forgotten, or √d_k is divided out twice.",
            ),
            "times": _scale(
                "scale-multiplied", "multiplied by √d_k", "S = Q Kᵀ · √d_k", "Division and multiplication are mixed up."
            ),
            "times-width": _scale(
                "scale-multiplied-by-width", "multiplied by d_k", "S = Q Kᵀ · d_k", "Scaling is taken for multiplying."
            ),
            "keys": _scale(
                "scale-by-key-count",
                "scaled by the number of keys",
                "S = Q Kᵀ / √T_k",
                "K.shape[0] or len(K) is taken for the width.",
            ),
            "queries": _scale(
                "scale-by-query-count",
                "scaled by the number of queries",
                "S = Q Kᵀ / √T_q",
                "Q.shape[0] or len(Q) is taken for the width.",
            ),
            "fourth": _scale(
                "scale-by-fourth-root",
                "scaled by the fourth root",
                "S = Q Kᵀ / d_k^(1/4)",
                "Q alone is divided by the fourth root, where Q and K both would be.",
            ),
            "log": _scale("scale-by-logarithm", "scaled by ln d_k", "S = Q Kᵀ / ln d_k", "log is written for sqrt."),
            "square": _scale(
                "scale-by-square", "scaled by d_k²", "S = Q Kᵀ / d_k²", "The square is taken for the root."
            ),
            "half": _scale(
                "scale-by-half-width", "scaled by d_k/2", "S = Q Kᵀ / (d_k / 2)", "The root is taken for half."
            ),
            "eight": _scale(
                "scale-fixed-at-8",
                "scaled by 8, whatever d_k is",
                "S = Q Kᵀ / 8",
                "The original transformer has d_k = 64, whose root is 8.",
            ),
            "length": _scale(
                "scale-by-key-count-itself",
                "divided by the number of keys",
                "S = Q Kᵀ / T_k",
                "A mean over the keys is meant.",
            ),
            "negative": _scale(
                "scores-negated", "the sign is turned", "S = -Q Kᵀ / √d_k", "A distance is meant, not a likeness."
            ),
        },
        "product": {
            "KQ": Choice(
                "scores-transposed",
                "rows are keys, columns are queries",
                "S = K Qᵀ / √d_k",
                "The two sides of the product are swapped.",
                "Write Q @ K.T: row t belongs to query t.",
            ),
            "QQ": Choice(
                "queries-for-keys",
                "queries on both sides",
                "S = Q Qᵀ / √d_k",
                "The second factor is copied from the first.",
                "Write Q @ K.T.",
            ),
            "KK": Choice(
                "keys-for-queries",
                "keys on both sides",
                "S = K Kᵀ / √d_k",
                "The first factor is copied from the second.",
                "Write Q @ K.T.",
            ),
            "unit": Choice(
                "cosine-scores",
                "cosines instead of dot products",
                "S = Q Kᵀ / (|q| |k| √d_k)",
                "Likeness is taken for the angle alone.",
                "Leave the lengths of q and k in: S = Q Kᵀ / √d_k.",
            ),
            "distance": Choice(
                "scores-from-distance",
                "squared distances instead of dot products",
                "S[t, s] = -|q_t - k_s|² / √d_k",
                "Nearness is taken for likeness.",
                "Write Q @ K.T / √d_k.",
            ),
        },
    },
)


@misconception(
    "scores-already-weights",
    part="attention_scores",
    title="the softmax is taken already here",
    formula="softmax(Q Kᵀ / √d_k)",
    why="Scores and weights are taken for the same thing.",
    cure="Return the scores; mask and softmax come after.",
)
def already_weights(Q: Any, K: Any) -> Any:
    from reference import BOOK

    return BOOK.softmax(scores(Q, K))


@misconception(
    "scores-already-masked",
    part="attention_scores",
    title="the mask is applied already here",
    formula="S[t, s] = -inf for s > t",
    why="Scores and masked scores are taken for the same thing.",
    cure="Return the unmasked scores; the mask belongs to the weights.",
)
def already_masked(Q: Any, K: Any) -> Any:
    S = scores(Q, K)
    return np.where(np.tri(S.shape[0], S.shape[1], dtype=bool), S, -np.inf)
