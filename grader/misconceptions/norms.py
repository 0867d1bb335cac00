"""What goes wrong in layer norm: the axis, the mean, the variance, eps, gain and shift."""

from __future__ import annotations

from typing import Any

import numpy as np

from grader.misconceptions import Choice, Family, misconception
from reference import BOOK
from reference.book import real


def norm(
    H: Any,
    gain: Any,
    shift: Any,
    eps: Any,
    *,
    axis: str = "row",
    mean: str = "subtracted",
    spread: str = "population",
    epsilon: str = "inside",
    scale: str = "gain",
    offset: str = "shift",
) -> Any:
    """Layer norm, with a choice at each step."""
    H, gain, shift, eps = real(H), real(gain), real(shift), float(eps)
    over: Any = {"row": -1, "time": 0, "all": None}[axis]
    m = H.mean(axis=over, keepdims=True)
    X = H if mean in ("kept", "kept-above") else H - m
    count = H.size if over is None else H.shape[over]
    base = H if mean == "of-squares" else H - m if mean == "kept-above" else X
    squares = {
        "population": lambda: (base**2).mean(axis=over, keepdims=True),
        "sample": lambda: (base**2).sum(axis=over, keepdims=True) / max(count - 1, 1),
        "sum": lambda: (base**2).sum(axis=over, keepdims=True),
        "variance": lambda: (base**2).mean(axis=over, keepdims=True),
        "absolute": lambda: np.abs(base).mean(axis=over, keepdims=True) ** 2,
        "none": lambda: np.ones_like(m) - eps,
        "fourth": lambda: (base**2).mean(axis=over, keepdims=True),
    }[spread]()
    with np.errstate(all="ignore"):
        root: Any = {
            "inside": lambda: np.sqrt(squares + eps),
            "outside": lambda: np.sqrt(squares) + eps,
            "none": lambda: np.sqrt(squares),
            "squared": lambda: np.sqrt(squares + eps**2),
            "1e-5": lambda: np.sqrt(squares + 1e-5),
            "1e-6": lambda: np.sqrt(squares + 1e-6),
            "1e-8": lambda: np.sqrt(squares + 1e-8),
            "1e-12": lambda: np.sqrt(squares + 1e-12),
            "maximum": lambda: np.maximum(np.sqrt(squares), eps),
            "numerator": lambda: np.sqrt(squares),
            "subtracted": lambda: np.sqrt(squares - eps),
        }[epsilon]()
        if spread == "absolute" and epsilon == "inside":
            root = np.sqrt(squares) + eps
        if spread == "variance":
            root = root**2
        elif spread == "fourth":
            root = np.sqrt(root)
        if epsilon == "numerator":
            X = X + eps
        N = X / root
        if mean == "back":
            N = N + m
        g: Any = {"gain": gain, "none": 1.0, "plus-one": 1 + gain, "inverse": 1 / gain}[scale]
        b: Any = {"shift": shift, "none": 0.0, "before": 0.0, "minus": -shift}[offset]
        return g * (N + shift) if offset == "before" else g * N + b


def _eps(value: str) -> Choice:
    return Choice(
        f"norm-eps-{value}",
        f"eps is fixed at {value}",
        f"√(variance + {value}), whatever eps is given",
        "A default from a library is written down.",
        "Use the argument eps.",
    )


ROW = "Mean and variance run over the coordinates of each row: axis=-1, keepdims=True."
NORM = Family(
    "layer_norm",
    norm,
    {
        "axis": {
            "time": Choice(
                "norm-over-time",
                "normalized over the positions",
                "mean and variance of each coordinate over t: the future leaks",
                "axis=0 is taken for the row.",
                ROW,
            ),
            "all": Choice(
                "norm-over-everything",
                "normalized over the whole array",
                "one mean and one variance for all positions: the future leaks",
                "mean() and var() without an axis.",
                ROW,
            ),
        },
        "mean": {
            "kept": Choice(
                "norm-without-mean",
                "the mean is not subtracted (RMS norm)",
                "gain · H / √(mean of H² + eps) + shift",
                "RMS norm is taken for layer norm.",
                "Subtract the mean of each row first.",
            ),
            "of-squares": Choice(
                "norm-square-not-centred",
                "the variance is the mean square",
                "(H - mean) / √(mean of H² + eps)",
                "The mean is subtracted above, not below the line.",
                "variance = mean of (H - mean)².",
            ),
            "kept-above": Choice(
                "norm-mean-kept-above",
                "the mean is not subtracted above the line",
                "gain · H / √(variance + eps) + shift",
                "The mean is used for the variance and then forgotten.",
                "Subtract the mean of each row first.",
            ),
            "back": Choice(
                "norm-mean-added-back",
                "the mean is added back",
                "(H - mean)/√(variance + eps) + mean",
                "Only the spread is normalized.",
                "Leave the mean out.",
            ),
        },
        "spread": {
            "sample": Choice(
                "norm-sample-variance",
                "sample variance, divided by d - 1",
                "variance = Σ (H - mean)² / (d - 1)",
                "torch.var and np.std(ddof=1) divide by d - 1.",
                "Divide by d: var(unbiased=False), ddof=0.",
            ),
            "variance": Choice(
                "norm-root-missing",
                "divided by the variance, not its root",
                "(H - mean) / (variance + eps)",
                "The root is forgotten.",
                "Divide by the root of variance + eps.",
            ),
            "sum": Choice(
                "norm-sum-of-squares",
                "the sum of squares, not their mean",
                "(H - mean) / √(Σ (H - mean)² + eps)",
                "The row is made a unit vector.",
                "variance = the mean of (H - mean)².",
            ),
            "absolute": Choice(
                "norm-absolute-deviation",
                "the mean absolute deviation",
                "(H - mean) / (mean |H - mean| + eps)",
                "Another measure of spread is used.",
                "variance = the mean of (H - mean)².",
            ),
            "none": Choice(
                "norm-not-divided",
                "the spread is not divided out",
                "gain · (H - mean) + shift",
                "Only the mean is taken care of.",
                "Divide by √(variance + eps).",
            ),
            "fourth": Choice(
                "norm-root-twice",
                "the root is taken twice",
                "(H - mean) / (variance + eps)^(1/4)",
                "std and sqrt are chained.",
                "Take the root once.",
            ),
        },
        "epsilon": {
            "outside": Choice(
                "norm-eps-outside",
                "eps outside the root",
                "(H - mean) / (√variance + eps)",
                "eps is added to the standard deviation.",
                "Add eps to the variance, inside the root.",
            ),
            "none": Choice(
                "norm-no-eps",
                "eps is not used",
                "(H - mean) / √variance: a constant row is 0/0",
                "It seems too small to matter.",
                "Add eps to the variance, inside the root.",
            ),
            "squared": Choice(
                "norm-eps-squared",
                "eps is squared",
                "√(variance + eps²)",
                "The norm of (std, eps) is taken.",
                "Add eps itself to the variance.",
            ),
            "maximum": Choice(
                "norm-eps-floor",
                "eps is a floor",
                "max(√variance, eps)",
                "eps only guards the division.",
                "Add eps to the variance, inside the root.",
            ),
            "numerator": Choice(
                "norm-eps-above",
                "eps above the line",
                "(H - mean + eps) / √variance",
                "A bracket is in the wrong place.",
                "Add eps to the variance, inside the root.",
            ),
            "subtracted": Choice(
                "norm-eps-subtracted",
                "eps is subtracted",
                "√(variance - eps): NaN where the variance is small",
                "The sign is mixed up.",
                "Add eps to the variance, inside the root.",
            ),
            "1e-5": _eps("1e-5"),
            "1e-6": _eps("1e-6"),
            "1e-8": _eps("1e-8"),
            "1e-12": _eps("1e-12"),
        },
        "scale": {
            "none": Choice(
                "norm-no-gain",
                "the gain is not used",
                "N + shift",
                "At its start value 1 it does nothing.",
                "gain * N + shift.",
            ),
            "plus-one": Choice(
                "norm-gain-plus-one",
                "1 is added to the gain",
                "(1 + gain) · N + shift",
                "Some models keep gain - 1.",
                "gain * N + shift.",
            ),
            "inverse": Choice(
                "norm-divided-by-gain",
                "divided by the gain",
                "N / gain + shift",
                "Scale is taken for a divisor.",
                "gain * N + shift.",
            ),
        },
        "offset": {
            "none": Choice(
                "norm-no-shift",
                "the shift is not used",
                "gain · N",
                "At its start value 0 it does nothing.",
                "gain * N + shift.",
            ),
            "before": Choice(
                "norm-shift-before-gain",
                "the shift is added before the gain",
                "gain · (N + shift)",
                "A bracket too many.",
                "gain * N + shift.",
            ),
            "minus": Choice(
                "norm-shift-subtracted",
                "the shift is subtracted",
                "gain · N - shift",
                "The sign is mixed up.",
                "gain * N + shift.",
            ),
        },
    },
)


@misconception(
    "norm-gain-and-shift-first",
    part="layer_norm",
    title="gain and shift come before the normalization",
    formula="N(gain · H + shift)",
    why="The order of the two steps is mixed up.",
    cure="Normalize first: gain * N + shift.",
)
def gain_and_shift_first(H: Any, gain: Any, shift: Any, eps: Any) -> Any:
    gain = real(gain)
    return BOOK.layer_norm(gain * real(H) + real(shift), np.ones_like(gain), np.zeros_like(gain), eps)


@misconception(
    "norm-gain-and-shift-swapped",
    part="layer_norm",
    title="gain and shift are swapped",
    formula="shift · N + gain",
    why="The two arguments are mixed up.",
    cure="gain * N + shift.",
)
def gain_and_shift_swapped(H: Any, gain: Any, shift: Any, eps: Any) -> Any:
    return BOOK.layer_norm(H, shift, gain, eps)
