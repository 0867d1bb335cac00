"""What goes wrong in the feed-forward network: the nonlinearity, its place, the biases."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from grader.misconceptions import Choice, Family, misconception
from reference import BOOK
from reference.book import real


def _gelu(x: Any) -> Any:
    return 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def _sigmoid(x: Any) -> Any:
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-x))


ACTIVATIONS: dict[str, Any] = {
    "relu": lambda x: np.maximum(x, 0),
    "none": lambda x: x,
    "gelu": _gelu,
    "gelu-tanh": lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "silu": lambda x: x * _sigmoid(x),
    "sigmoid": _sigmoid,
    "tanh": np.tanh,
    "leaky": lambda x: np.where(x > 0, x, 0.01 * x),
    "absolute": np.abs,
    "step": lambda x: (x > 0).astype(float),
    "negative": lambda x: np.minimum(x, 0),
    "squared": lambda x: np.maximum(x, 0) ** 2,
    "relu6": lambda x: np.clip(x, 0, 6),
    "unit": lambda x: np.clip(x, 0, 1),
    "softmax": BOOK.softmax,
    "elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    "softplus": lambda x: np.logaddexp(0, x),
    "quick-gelu": lambda x: x * _sigmoid(1.702 * x),
    "hard-swish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "square": np.square,
}


def network(
    H: Any,
    W_1: Any,
    b_1: Any,
    W_2: Any,
    b_2: Any,
    *,
    activation: str = "relu",
    place: str = "hidden",
    first: str = "inside",
    second: str = "added",
) -> Any:
    """Two layers, with a choice of the nonlinearity, of its place and of where the biases go."""
    H, W_1, b_1, W_2, b_2 = (real(x) for x in (H, W_1, b_1, W_2, b_2))
    f = ACTIVATIONS[activation]
    if place == "input":
        H = f(H)
    X = H @ W_1 + (b_1 if first == "inside" else 0)
    if place in ("hidden", "both"):
        X = f(X)
    if first == "after":
        X = X + b_1
    Y = X @ W_2
    if second != "missing":
        Y = Y + b_2
    if place in ("output", "both"):
        Y = f(Y)
    if second == "twice":
        Y = Y + b_2
    return Y


FORMULA = "F = ReLU(H W_1 + b_1) W_2 + b_2."


def _activation(key: str, name: str, why: str) -> Choice:
    return Choice(f"activation-{key}", f"{name} in place of ReLU", f"{name}(H W_1 + b_1) W_2 + b_2", why, FORMULA)


BOTH = ("feed_forward", "ffn")  # the same function in two assignments
NETWORK = Family(
    BOTH,
    network,
    {
        "activation": {
            "none": Choice(
                "activation-missing",
                "no nonlinearity",
                "(H W_1 + b_1) W_2 + b_2: two layers collapse into one affine map",
                "The two products look complete without it.",
                FORMULA,
            ),
            "gelu": _activation("gelu", "GELU", "Newer models use GELU."),
            "gelu-tanh": _activation("gelu-tanh", "GELU (tanh form)", "Newer models use GELU."),
            "silu": _activation("silu", "SiLU", "Newer models use SiLU."),
            "sigmoid": _activation("sigmoid", "sigmoid", "Older networks use it."),
            "tanh": _activation("tanh", "tanh", "Older networks use it."),
            "leaky": _activation("leaky", "leaky ReLU", "Its slope below 0 is not 0."),
            "absolute": _activation("absolute", "|x|", "Only the sign is dropped."),
            "step": _activation("step", "the step x > 0", "The mask is used, not the values that it keeps."),
            "negative": _activation("negative", "min(0, x)", "minimum is written for maximum."),
            "squared": _activation("squared", "ReLU²", "Some models square it."),
            "softmax": _activation("softmax", "softmax", "Attention has one; here every unit stands for itself."),
            "elu": _activation("elu", "ELU", "Its values below 0 are not 0."),
            "softplus": _activation("softplus", "softplus", "It is a smooth ReLU, ln(1 + exp x)."),
            "quick-gelu": _activation("quick-gelu", "x · sigmoid(1.702 x)", "It is a quick form of GELU."),
            "hard-swish": _activation("hard-swish", "hard swish", "Small models use it."),
            "square": _activation("square", "x²", "It bends as well."),
            "relu6": _activation("relu6", "ReLU6", "Values are cut off above 6 too."),
            "unit": _activation("unit", "clip(x, 0, 1)", "Values are cut off above 1 too."),
        },
        "place": {
            "output": Choice(
                "activation-last",
                "the nonlinearity comes last",
                "ReLU((H W_1 + b_1) W_2 + b_2): no negative output",
                "It is applied to the result.",
                FORMULA,
            ),
            "both": Choice(
                "activation-on-both-layers",
                "a nonlinearity after each layer",
                "ReLU(ReLU(H W_1 + b_1) W_2 + b_2)",
                "Every layer is given one.",
                FORMULA,
            ),
            "input": Choice(
                "activation-first",
                "the nonlinearity comes first",
                "(ReLU(H) W_1 + b_1) W_2 + b_2",
                "It is applied to the input.",
                FORMULA,
            ),
        },
        "first": {
            "missing": Choice(
                "bias-1-missing",
                "b_1 is missing",
                "ReLU(H W_1) W_2 + b_2",
                "At its start value 0 it does nothing.",
                FORMULA,
            ),
            "after": Choice(
                "bias-1-after-activation",
                "b_1 comes after the nonlinearity",
                "(ReLU(H W_1) + b_1) W_2 + b_2",
                "A bracket is misplaced.",
                FORMULA,
            ),
        },
        "second": {
            "missing": Choice(
                "bias-2-missing",
                "b_2 is missing",
                "ReLU(H W_1 + b_1) W_2",
                "At its start value 0 it does nothing.",
                FORMULA,
            ),
            "twice": Choice(
                "bias-2-twice", "b_2 is added twice", "ReLU(H W_1 + b_1) W_2 + 2 b_2", "A line is repeated.", FORMULA
            ),
        },
    },
)


@misconception(
    "feed-forward-adds-residual",
    part=BOTH,
    title="the input is added already here",
    formula="H + ReLU(H W_1 + b_1) W_2 + b_2",
    why="The residual belongs to the block.",
    cure=FORMULA,
)
def residual_inside(H: Any, W_1: Any, b_1: Any, W_2: Any, b_2: Any) -> Any:
    return real(H) + network(H, W_1, b_1, W_2, b_2)


@misconception(
    "feed-forward-centres-positions",
    part=BOTH,
    title="the mean over the positions is subtracted",
    formula="ReLU((H - mean over t of H) W_1 + b_1) W_2 + b_2: positions mix, the future leaks",
    why="Batch norm centres that way.",
    cure=FORMULA,
)
def centres_positions(H: Any, W_1: Any, b_1: Any, W_2: Any, b_2: Any) -> Any:
    H = real(H)
    return network(H - H.mean(axis=0), W_1, b_1, W_2, b_2)
