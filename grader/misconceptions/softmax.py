"""What goes wrong in a softmax, over scores or over the vocabulary."""

from __future__ import annotations

from typing import Any

import numpy as np

from grader.misconceptions import misconception
from reference.book import real

BOTH = ("softmax", "next_token_probabilities")


def _exp(x: Any) -> Any:
    with np.errstate(all="ignore"):
        return np.exp(x)


def _over(a: Any, b: Any) -> Any:
    with np.errstate(all="ignore"):
        return a / b


@misconception(
    "softmax-over-columns",
    part=BOTH,
    title="softmax over the wrong axis",
    formula="exp(x[t, i]) / Σ_r exp(x[r, i]): every column sums to 1",
    why="axis=0 or dim=0 is taken for the row.",
    cure="Normalize over the last axis: axis=-1, keepdims=True.",
)
def over_columns(x: Any) -> Any:
    x = real(x)
    E = _exp(x - x.max(axis=0, keepdims=True))
    return _over(E, E.sum(axis=0, keepdims=True))


@misconception(
    "softmax-over-everything",
    part=BOTH,
    title="one sum for the whole array",
    formula="exp(x[t, i]) / Σ_r Σ_j exp(x[r, j]): all entries together sum to 1",
    why="np.sum without an axis sums everything.",
    cure="Give the sum an axis: axis=-1, keepdims=True.",
)
def over_everything(x: Any) -> Any:
    E = _exp(real(x) - real(x).max())
    return _over(E, E.sum())


@misconception(
    "softmax-sum-over-everything",
    part=BOTH,
    title="the sum runs over the whole array",
    formula="exp(x[t, i] - max_j x[t, j]) / Σ_r Σ_j exp(x[r, j] - max x[r]): all entries together sum to 1",
    why="The maximum has its axis, the sum has none.",
    cure="Give the sum the same axis: axis=-1, keepdims=True.",
)
def sum_over_everything(x: Any) -> Any:
    E = _exp(real(x) - real(x).max(axis=-1, keepdims=True))
    return _over(E, E.sum())


@misconception(
    "softmax-sum-over-columns",
    part=BOTH,
    title="the sum runs over the wrong axis",
    formula="exp(x[t, i] - max_j x[t, j]) / Σ_r exp(x[r, i] - max x[r]): every column sums to 1",
    why="The maximum is taken over the last axis, the sum over the first.",
    cure="Give the sum the same axis as the maximum: axis=-1, keepdims=True.",
)
def sum_over_columns(x: Any) -> Any:
    E = _exp(real(x) - real(x).max(axis=-1, keepdims=True))
    return _over(E, E.sum(axis=0, keepdims=True))


@misconception(
    "softmax-global-maximum",
    part=BOTH,
    title="the maximum of the whole array is subtracted",
    formula="exp(x - max over all rows) / Σ_j exp(x_j - max over all rows): a row far below another one becomes 0/0",
    why="np.max without an axis looks at everything; on ordinary numbers the result is the same.",
    cure="Subtract each row's own maximum: x.max(axis=-1, keepdims=True).",
)
def global_maximum(x: Any) -> Any:
    E = _exp(real(x) - real(x).max())
    return _over(E, E.sum(axis=-1, keepdims=True))


@misconception(
    "softmax-no-maximum",
    part=BOTH,
    title="exp without subtracting the maximum",
    formula="exp(x_i) / Σ_j exp(x_j): inf / inf = NaN from about x = 710 on (89 in float32)",
    why="It is the formula as printed, and ordinary numbers do not show it.",
    cure="Subtract each row's maximum before exp; the result is the same number.",
)
def no_maximum(x: Any) -> Any:
    E = _exp(real(x))
    return _over(E, E.sum(axis=-1, keepdims=True))


@misconception(
    "sigmoid-for-softmax",
    part=BOTH,
    title="sigmoid in place of softmax",
    formula="1 / (1 + exp(-x_i)): each entry by itself, rows do not sum to 1",
    why="Both squash numbers into (0, 1).",
    cure="Divide exp by the row's sum of exp.",
)
def sigmoid(x: Any) -> Any:
    return _over(1.0, 1.0 + _exp(-real(x)))


@misconception(
    "softmax-twice",
    part=BOTH,
    title="softmax of a softmax",
    formula="softmax(softmax(x)): rows still sum to 1 and are nearly uniform",
    why="One softmax stands in a helper, a second one is added outside.",
    cure="Take the softmax once.",
)
def twice(x: Any) -> Any:
    from reference import BOOK

    return BOOK.softmax(BOOK.softmax(x))


@misconception(
    "log-softmax",
    part=BOTH,
    title="logarithms of the probabilities",
    formula="log softmax(x)",
    why="Libraries offer log_softmax beside softmax, for the loss.",
    cure="Return the probabilities themselves.",
)
def log_softmax(x: Any) -> Any:
    x = real(x)
    with np.errstate(all="ignore"):
        top = x.max(axis=-1, keepdims=True)
        return x - top - np.log(np.exp(x - top).sum(axis=-1, keepdims=True))


@misconception(
    "softmax-not-normalized",
    part=BOTH,
    title="the division by the sum is missing",
    formula="exp(x_i - max x): the largest entry of a row is 1",
    why="The last line of the formula is forgotten.",
    cure="Divide by the row's sum.",
)
def not_normalized(x: Any) -> Any:
    x = real(x)
    return _exp(x - x.max(axis=-1, keepdims=True))


@misconception(
    "softmax-plain-ratio",
    part=BOTH,
    title="a ratio of the entries without exp",
    formula="x_i / Σ_j x_j",
    why="Normalizing is taken for dividing by the sum alone.",
    cure="Take exp first, then divide by the row's sum.",
)
def plain_ratio(x: Any) -> Any:
    x = real(x)
    return _over(x, x.sum(axis=-1, keepdims=True))


@misconception(
    "softmax-over-maximum",
    part=BOTH,
    title="divided by the maximum, not reduced by it",
    formula="exp(x_i / max x) / Σ_j exp(x_j / max x)",
    why="/ is written for -; a ratio to the largest entry looks as stable.",
    cure="Subtract the maximum: exp(x - max x).",
)
def over_maximum(x: Any) -> Any:
    x = real(x)
    E = _exp(_over(x, x.max(axis=-1, keepdims=True)))
    return _over(E, E.sum(axis=-1, keepdims=True))


@misconception(
    "softmax-minimum-subtracted",
    part=BOTH,
    title="the minimum is subtracted, not the maximum",
    formula="exp(x_i - min x) / Σ_j exp(x_j - min x): inf / inf = NaN where a row spreads by more than 709",
    why="min is written for max; on ordinary numbers the result is the same.",
    cure="Subtract each row's maximum.",
)
def minimum_subtracted(x: Any) -> Any:
    x = real(x)
    E = _exp(x - np.where(np.isfinite(x), x, np.inf).min(axis=-1, keepdims=True))
    return _over(E, E.sum(axis=-1, keepdims=True))


@misconception(
    "softmax-divided-by-mean",
    part=BOTH,
    title="divided by the mean of exp, not by its sum",
    formula="exp(x_i) / ((1/n) Σ_j exp(x_j)): rows sum to n",
    why="mean is written for sum.",
    cure="Divide by the row's sum.",
)
def divided_by_mean(x: Any) -> Any:
    x = real(x)
    E = _exp(x - x.max(axis=-1, keepdims=True))
    return _over(E, E.mean(axis=-1, keepdims=True))


@misconception(
    "softmax-plus-one",
    part=BOTH,
    title="1 is added to the sum",
    formula="exp(x_i - max x) / (1 + Σ_j exp(x_j - max x)): rows sum to less than 1",
    why="A small number was meant to keep the division safe; the sum is never 0.",
    cure="Divide by the sum alone: the largest entry gives it at least 1.",
)
def plus_one(x: Any) -> Any:
    x = real(x)
    E = _exp(x - x.max(axis=-1, keepdims=True))
    return _over(E, 1.0 + E.sum(axis=-1, keepdims=True))


@misconception(
    "softmax-one-hot",
    part=BOTH,
    title="1 for the largest entry, 0 for the others",
    formula="onehot(argmax x)",
    why="The most likely one is meant, not how likely each is.",
    cure="Take exp of every entry and divide by the row's sum.",
)
def one_hot(x: Any) -> Any:
    x = real(x)
    return np.eye(x.shape[-1])[x.argmax(axis=-1)]


@misconception(
    "softmax-absolute",
    part=BOTH,
    title="the signs are lost",
    formula="exp(|x_i|) / Σ_j exp(|x_j|)",
    why="The size of an entry is taken for its rank.",
    cure="Leave the signs: exp(x - max x).",
)
def absolute(x: Any) -> Any:
    from reference import BOOK

    return BOOK.softmax(np.abs(real(x)))


@misconception(
    "probabilities-masked",
    part="next_token_probabilities",
    title="a causal mask over the vocabulary",
    formula="softmax with Z[t, i] = -inf for i > t",
    why="The mask of the scores is used again; columns are tokens of the vocabulary here, not positions.",
    cure="Take the softmax of every row as it is.",
)
def vocabulary_masked(Z: Any) -> Any:
    from reference import BOOK

    Z = real(Z)
    return BOOK.softmax(np.where(np.tri(Z.shape[0], Z.shape[1], dtype=bool), Z, -np.inf))


@misconception(
    "softmax-base-2",
    part=BOTH,
    title="powers of 2 in place of exp",
    formula="2^(x_i) / Σ_j 2^(x_j)",
    why="np.exp2 is taken for np.exp.",
    cure="Use the natural exponential.",
)
def base_2(x: Any) -> Any:
    x = real(x)
    E = np.exp2(x - x.max(axis=-1, keepdims=True))
    return _over(E, E.sum(axis=-1, keepdims=True))


@misconception(
    "softmax-negated",
    part=BOTH,
    title="the sign of the scores is turned",
    formula="softmax(-x): the smallest entry gets the largest weight",
    why="max x - x is written for x - max x.",
    cure="Subtract the maximum from x, not x from the maximum.",
)
def negated(x: Any) -> Any:
    from reference import BOOK

    return BOOK.softmax(-real(x))


@misconception(
    "softmax-clipped",
    part=BOTH,
    title="the entries are clipped before exp",
    formula="softmax(clip(x, -50, 50)): large differences are lost",
    why="Clipping keeps exp finite; on ordinary numbers the result is the same.",
    cure="Subtract each row's maximum instead of clipping.",
)
def clipped(x: Any) -> Any:
    from reference import BOOK

    return BOOK.softmax(np.clip(real(x), -50, 50))
