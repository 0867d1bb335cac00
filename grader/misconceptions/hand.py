"""What goes wrong in the two-token example: a figure for another one, a step left out or done twice."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from grader.misconceptions import misconception
from grader.misconceptions.masks import weights
from grader.misconceptions.norms import norm
from grader.misconceptions.scores import scores
from reference import BOOK, Parts

Function = Callable[..., Any]
PART = "hand_calculation"
B = 1  # the second token of the vocabulary


def figures(*, the: Parts = BOOK, **wrong: Any) -> dict[str, Any]:
    """The figures that follow when some parts are wrong ones."""
    right: Any = BOOK.functions[PART]
    return dict(right(the=the.replace(**wrong)))


def _mistake(key: str, title: str, formula: str, why: str, cure: str) -> Callable[[Function], Function]:
    return misconception(key, part=PART, title=title, formula=formula, why=why, cure=cure)


_mistake(
    "hand-unscaled",
    "the scores are not scaled",
    "w = 1 / (1 + e), and what follows from it",
    "q·k is 1 or 0, and the scale is forgotten.",
    "Divide by √d_k = √2: w = 1 / (1 + e^(1/√2)).",
)(partial(figures, attention_scores=partial(scores, scale="none")))
_mistake(
    "hand-scaled-by-d",
    "the scores are divided by d_k, not by its root",
    "w = 1 / (1 + e^(1/2)), and what follows from it",
    "The root is forgotten.",
    "Divide by √d_k = √2: w = 1 / (1 + e^(1/√2)).",
)(partial(figures, attention_scores=partial(scores, scale="width")))
_mistake(
    "hand-unmasked",
    "the first token sees the second",
    "the first row of A is (1 - w, w)",
    "The mask is forgotten.",
    "Position 0 consults itself alone: the first row of A is (1, 0).",
)(partial(figures, causal_attention_weights=partial(weights, allowed="all")))
_mistake(
    "hand-layer-norm-sample-variance",
    "the variance is divided by d - 1",
    "LN(1, 3) = (-1, 1) / √2",
    "Statistics libraries divide by n - 1.",
    "Divide by d: the variance of (1, 3) is 1.",
)(partial(figures, layer_norm=partial(norm, spread="sample")))
_mistake(
    "hand-layer-norm-with-eps",
    "eps is not 0",
    "LN(1, 3) = (-1, 1) / √(1 + 1e-5)",
    "A library's default is left as it is.",
    "Here eps = 0.",
)(partial(figures, layer_norm=partial(norm, epsilon="1e-5")))
_mistake(
    "hand-layer-norm-without-mean",
    "the mean is not subtracted",
    "(1, 3) / √5",
    "RMS norm is taken for layer norm.",
    "Subtract the mean 2 first.",
)(partial(figures, layer_norm=partial(norm, mean="kept")))


@_mistake(
    "hand-weights-exchanged",
    "the two weights of the second row are exchanged",
    "the second row of A is (1 - w, w)",
    "w is taken for the weight on the token itself.",
    "The token itself scores higher and weighs 1 - w; w is the weight on the first token.",
)
def exchanged(*, the: Parts = BOOK) -> dict[str, Any]:
    def wrong(S: Any) -> Any:
        A = the.causal_attention_weights(S)
        return np.array([A[0], A[1, ::-1]])

    return figures(the=the, causal_attention_weights=wrong)


@_mistake(
    "hand-residual-missing",
    "the residual is missing",
    "H' = A H, and what follows from it",
    "The sum is forgotten.",
    "H' = H + A H.",
)
def residual_missing(*, the: Parts = BOOK) -> dict[str, Any]:
    right = figures(the=the)
    p = right["p_B_without_residual"]
    return {**right, "H_prime": right["A"], "p_B": p, "loss": -np.log(p), "last_row_first_value_zeroed": _zeroed(right)}


def _zeroed(right: dict[str, Any]) -> Any:
    return np.array([0.0, right["A"][1, 1]])


def _one(key: str, figure: str, title: str, formula: str, why: str, cure: str, value: Any) -> None:
    """A mistake in one figure alone; `value` makes the wrong one from the right figures."""

    def wrong(*, the: Parts = BOOK) -> dict[str, Any]:
        right = figures(the=the)
        return {**right, figure: value(right)}

    _mistake(key, title, formula, why, cure)(wrong)


_one(
    "hand-w-of-itself",
    "w",
    "the weight on the token itself",
    "1 - w",
    "The two weights of the row are mixed up.",
    "w is the weight of the second token on the first.",
    lambda f: 1 - f["w"],
)
_one(
    "hand-p-without-residual-for-p",
    "p_B",
    "the probability without the residual",
    "p_B from A H",
    "The two questions are mixed up.",
    "p_B comes from H' = H + A H.",
    lambda f: f["p_B_without_residual"],
)
_one(
    "hand-p-with-residual",
    "p_B_without_residual",
    "the probability with the residual",
    "p_B from H + A H",
    "The two questions are mixed up.",
    "Without the residual the readout sees A H alone.",
    lambda f: f["p_B"],
)
_one(
    "hand-p-of-the-wrong-token",
    "p_B",
    "the probability of the other token",
    "1 - p_B",
    "The columns of the vocabulary are mixed up.",
    "B is the second token of the vocabulary.",
    lambda f: 1 - f["p_B"],
)
_one(
    "hand-loss-in-bits",
    "loss",
    "the loss in bits",
    "-log₂ p_B",
    "Information is often measured in bits.",
    "Use the natural logarithm.",
    lambda f: -np.log2(f["p_B"]),
)
_one(
    "hand-loss-sign",
    "loss",
    "the sign is turned",
    "ln p_B: negative",
    "The minus is forgotten.",
    "The loss is -ln p_B.",
    lambda f: np.log(f["p_B"]),
)
_one(
    "hand-loss-of-the-wrong-token",
    "loss",
    "the loss of the other token",
    "-ln(1 - p_B)",
    "The columns of the vocabulary are mixed up.",
    "The loss is -ln p_B.",
    lambda f: -np.log(1 - f["p_B"]),
)
_one(
    "hand-loss-without-residual",
    "loss",
    "the loss without the residual",
    "-ln of p_B from A H",
    "The two questions are mixed up.",
    "The loss belongs to H' = H + A H.",
    lambda f: -np.log(f["p_B_without_residual"]),
)
_one(
    "hand-loss-of-both-rows",
    "loss",
    "the mean over both rows",
    "the mean of -ln p[0, B] and -ln p[1, B]",
    "The loss of a sequence is a mean over its positions.",
    "Only the second row's loss is asked.",
    lambda f: BOOK.loss(f["H_prime"], [B, B]),
)
_one(
    "hand-last-row-without-residual",
    "last_row_first_value_zeroed",
    "the residual is missing in the last row",
    "(0, 1 - w)",
    "The sum is forgotten.",
    "Add the row of H: (0, 2 - w).",
    _zeroed,
)
_one(
    "hand-last-row-unchanged",
    "last_row_first_value_zeroed",
    "the first value is not zeroed",
    "(w, 2 - w)",
    "The row of H' is copied.",
    "With the first value zeroed nothing is retrieved from it: (0, 2 - w).",
    lambda f: f["H_prime"][1],
)
_one(
    "hand-weights-zeroed-too",
    "A_first_value_zeroed",
    "the weights of the zeroed value are set to 0",
    "A with its first column 0",
    "The value is taken for the weight.",
    "A comes from Q and K alone: it stays as it is.",
    lambda f: f["A"] * [0, 1],
)
_one(
    "hand-weights-renormalised",
    "A_first_value_zeroed",
    "the weights are normalized again without the zeroed value",
    "A = I",
    "The value is taken for the score.",
    "A comes from Q and K alone: it stays as it is.",
    lambda f: np.eye(2),
)
_one(
    "hand-residual-of-norm",
    "residual_of_1_3",
    "the residual starts from the normalized input",
    "N + N = (-2, 2)",
    "x = norm(x) overwrites x.",
    "Add x itself: (1, 3) + (-1, 1).",
    lambda f: 2 * f["layer_norm_of_1_3"],
)
_one(
    "hand-residual-left-out",
    "residual_of_1_3",
    "x is not added",
    "N = (-1, 1)",
    "The sum is forgotten.",
    "Add x itself: (1, 3) + (-1, 1).",
    lambda f: f["layer_norm_of_1_3"],
)
