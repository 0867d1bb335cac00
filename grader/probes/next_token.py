"""Knows what can be computed from logits in place of the next-token loss: the right number, and each wrong one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from grader.compare import Array

LOOSE = 2e-5  # relative: a loss that is computed in float32 is a right one; the least mistake is off by 1e-3


def log_softmax(z: Array) -> Array:
    """Over the last axis. shapes: any -> the same"""
    z = z - z.max(axis=-1, keepdims=True)
    return np.asarray(z - np.log(np.exp(z).sum(axis=-1, keepdims=True)))


def close(a: float, b: float, room: float = LOOSE) -> bool:
    """Whether two losses are one number."""
    return bool(abs(a - b) <= room * max(abs(a), abs(b), 1e-3))


@dataclass(frozen=True)
class Batch:
    """Windows as the model saw them.

    logits  (N, T, v)
    x       (N, T) the inputs
    follows, before   (v) the id that comes after and before each id in the text, -1 where there is none: in a text of
            pairwise different ids these say everything
    """

    logits: Array
    x: Array
    follows: Array
    before: Array

    @cached_property
    def y(self) -> Array:
        """The right targets, -1 where the text ends. shapes: (N, T)"""
        return np.asarray(self.follows[self.x])

    @cached_property
    def p(self) -> Array:
        """softmax(logits). shapes: (N, T, v)"""
        return np.exp(log_softmax(self.logits))

    @property
    def complete(self) -> bool:
        """Whether every input has a next token."""
        return bool((self.y >= 0).all())

    def without_last(self) -> Batch:
        """All positions but the last of each window."""
        return Batch(self.logits[:, :-1], self.x[:, :-1], self.follows, self.before)


@dataclass(frozen=True)
class Reading:
    """One way to make a loss of a batch: its number, and the direction of its gradient at the logits.

    key      of the mistake without the part's prefix; "" for the right one
    value    None where it cannot be had
    pull     (N, T, v), whatever its positive factor; None where it is not told
    """

    key: str
    value: float
    pull: Array | None = None


def readings(batch: Batch) -> Iterator[Reading]:
    """The right reading first, then the wrong ones."""
    z, x, y, p = batch.logits, batch.x, batch.y, batch.p
    N, T, v = z.shape
    loss, pull = entropy(z, y)
    yield Reading("", loss, pull)
    for factor in {float(n) for n in (N * T, N, T)} - {1.0}:
        yield Reading("sum", loss * factor)
    yield Reading("bits", loss / float(np.log(2)))
    yield Reading("negated", -loss, -pull)
    yield Reading("perplexity", float(np.exp(min(loss, 700.0))))
    yield Reading("token-too-many", loss * T / (T + 1))
    yield Reading("no-shift", *entropy(z, x))
    for targets, part in _shifted(batch):
        value, cut = entropy(z[:, part], targets)
        yield Reading("double-shift", value, _within(z, part, cut))
    for targets, part in _backwards(batch):
        value, cut = entropy(z[:, part], targets)
        yield Reading("predicts-past", value, _within(z, part, cut))
    if T > 1:
        for key, part in (
            ("last-unused", slice(None, -1)),
            ("first-unused", slice(1, None)),
            ("last-only", slice(-1, None)),
            ("first-only", slice(1)),
        ):
            value, cut = entropy(z[:, part], y[:, part])
            yield Reading(key, value, _within(z, part, cut))
    if N > 1:
        value, cut = entropy(z[:1], y[:1])
        yield Reading("first-row-only", value, np.concatenate([cut, np.zeros_like(z[1:])]))
    onehot = np.eye(v)[y]
    twice, back = entropy(p, y)
    yield Reading("softmax-twice", twice, p * (back - (back * p).sum(axis=-1, keepdims=True)))
    chosen = (p * onehot).sum(axis=-1, keepdims=True)
    yield Reading("no-logarithm", -float(chosen.mean()), -chosen * (onehot - p))
    yield Reading("no-logarithm", -float((z * onehot).sum(axis=-1).mean()), -onehot)
    for part_axis in (0, 1):
        if z.shape[part_axis] > 1:
            over = np.moveaxis(log_softmax(np.moveaxis(z, part_axis, -1)), -1, part_axis)
            yield Reading("softmax-axis", -float((over * onehot).sum(axis=-1).mean()))
    yield from _mixed(z, y)


def smoothing(batch: Batch, value: float) -> float | None:
    """The part of the loss that goes to all ids alike, where the value is such a mixture of the two."""
    loss, _ = entropy(batch.logits, batch.y)
    even = -float(log_softmax(batch.logits).mean())
    share = (value - loss) / (even - loss) if even != loss else 0.0
    return share if 1e-3 < share < 1 else None


def smoothed_pull(batch: Batch, share: float) -> Array:
    """The direction of the gradient with such a part. shapes: (N, T, v)"""
    v = batch.logits.shape[-1]
    return np.asarray(batch.p - (1 - share) * np.eye(v)[batch.y] - share / v)


def along(pull: Array, other: Array, room: float = 1e-4) -> float | None:
    """The factor by which one gradient is the other; None where it is not. shapes: two alike"""
    size = float((other * other).sum())
    factor = float((pull * other).sum()) / size if size else 0.0
    gap = float(np.abs(pull - factor * other).max())
    return factor if gap <= room * float(np.abs(pull).max()) and np.isfinite(factor) else None


def entropy(z: Array, y: Array) -> tuple[float, Array]:
    """The mean of −log p(y), and the gradient, times the count. shapes: (..., v), (...) -> (), (..., v)"""
    logp = log_softmax(z)
    onehot = np.eye(z.shape[-1])[y]
    return -float((logp * onehot).sum(axis=-1).mean()), np.exp(logp) - onehot


def _within(z: Array, part: slice, cut: Array) -> Array:
    whole = np.zeros_like(z)
    whole[:, part] = cut
    return whole


def _shifted(batch: Batch) -> Iterator[tuple[Array, slice]]:
    if batch.x.shape[1] > 1:
        yield batch.y[:, 1:], slice(None, -1)
    after = batch.follows[batch.y]
    if (after >= 0).all():
        yield after, slice(None)


def _backwards(batch: Batch) -> Iterator[tuple[Array, slice]]:
    if batch.x.shape[1] > 1:
        yield batch.x[:, :-1], slice(1, None)
    before = batch.before[batch.x]
    if (before >= 0).all():
        yield before, slice(None)


def _mixed(z: Array, y: Array) -> Iterator[Reading]:
    """A view in place of a transpose, or targets in another order than logits."""
    N, T, v = z.shape
    turned = z.reshape(N, v, T).transpose(0, 2, 1)
    yield Reading("axes-mixed", entropy(turned, y)[0])
    yield Reading("axes-mixed", entropy(z.transpose(0, 2, 1).reshape(N * T, v), y.reshape(-1))[0])
    if N > 1 and T > 1:
        yield Reading("axes-mixed", entropy(z.reshape(N * T, v), y.T.reshape(-1))[0])
        yield Reading("axes-mixed", entropy(z.transpose(1, 0, 2).reshape(N * T, v), y.reshape(-1))[0])
