"""What goes wrong with a temperature: which way it works, on what, and in which unit its entropy is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from grader.misconceptions import misconception, pattern

Array = np.ndarray[Any, Any]
PART = "temperature_lab"


def _softmax(x: Array) -> Array:
    p = np.exp(x - x.max())
    result: Array = p / p.sum()
    return result


def _told(p: Array, bits: Any = None) -> dict[str, Any]:
    if bits is None:
        bits = -np.sum(p * np.log2(np.where(p > 0, p, 1)))
    return {"probabilities": p, "entropy_bits": bits, "max_probability": p.max()}


def _known(key: str, title: str, formula: str, why: str, cure: str) -> Callable[[Any], Any]:
    return misconception(f"temperature-{key}", part=PART, title=title, formula=formula, why=why, cure=cure)


CURE = "Divide the scores by the temperature, then take the softmax."
BITS = "Sum -p · log2(p) over all entries."


@_known("multiplied", "multiplied by the temperature", "softmax(s · τ)", "Hotter reads as more.", CURE)
def multiplied(scores: Array, temperature: float) -> Any:
    return _told(_softmax(scores * temperature))


@_known("after-softmax", "temperature after the softmax", "softmax(s) / τ", "The order is lost.", CURE)
def after_softmax(scores: Array, temperature: float) -> Any:
    return _told(_softmax(scores) / temperature)


@_known(
    "after-softmax-renormalized",
    "temperature after the softmax, without effect",
    "(softmax(s) / τ) / Σ (softmax(s) / τ)",
    "Dividing the probabilities and renormalizing looks like a change and is none.",
    CURE,
)
def after_softmax_renormalized(scores: Array, temperature: float) -> Any:
    return _told(_softmax(scores))


@_known("root", "divided by the root of the temperature", "softmax(s / √τ)", "Attention divides by a root.", CURE)
def root(scores: Array, temperature: float) -> Any:
    return _told(_softmax(scores / np.sqrt(temperature)))


@_known("sign", "the sign of the scores is turned", "softmax(-s / τ)", "Energies carry a minus, scores none.", CURE)
def sign(scores: Array, temperature: float) -> Any:
    return _told(_softmax(-scores / temperature))


@_known("sigmoid", "sigmoid in place of softmax", "1 / (1 + exp(-s / τ))", "Both give numbers between 0 and 1.", CURE)
def sigmoid(scores: Array, temperature: float) -> Any:
    return _told(1 / (1 + np.exp(-scores / temperature)))


@_known("softmax-twice", "softmax of a softmax", "softmax(softmax(s / τ))", "A layer applies it already.", CURE)
def softmax_twice(scores: Array, temperature: float) -> Any:
    return _told(_softmax(_softmax(scores / temperature)))


@_known("softmax-of-softmax", "the temperature divides probabilities", "softmax(softmax(s) / τ)", "Order.", CURE)
def softmax_of_softmax(scores: Array, temperature: float) -> Any:
    return _told(_softmax(_softmax(scores) / temperature))


@_known("normalized-first", "scores are normalized linearly", "(s / τ) / Σ (s / τ)", "Parts of a sum add to 1.", CURE)
def normalized_first(scores: Array, temperature: float) -> Any:
    x = scores / temperature
    return _told(x / x.sum(), -np.sum(x / x.sum() * np.log2(np.abs(x / x.sum()))))


@_known("nats", "the entropy is in nats", "-Σ p ln p", "log is the natural logarithm.", BITS)
def nats(scores: Array, temperature: float) -> Any:
    p = _softmax(scores / temperature)
    return _told(p, -np.sum(p * np.log(np.where(p > 0, p, 1))))


@_known("base-10", "the entropy is in base 10", "-Σ p log₁₀ p", "log10 is on every calculator.", BITS)
def base_10(scores: Array, temperature: float) -> Any:
    p = _softmax(scores / temperature)
    return _told(p, -np.sum(p * np.log10(np.where(p > 0, p, 1))))


@_known("entropy-sign", "the entropy is negative", "Σ p log₂ p", "The minus is forgotten.", BITS)
def entropy_sign(scores: Array, temperature: float) -> Any:
    p = _softmax(scores / temperature)
    return _told(p, np.sum(p * np.log2(np.where(p > 0, p, 1))))


@_known("entropy-per-item", "the entropy is not summed", "-p log₂ p, one number each", "A sum is missing.", BITS)
def entropy_per_item(scores: Array, temperature: float) -> Any:
    p = _softmax(scores / temperature)
    return _told(p, -p * np.log2(np.where(p > 0, p, 1)))


@_known("entropy-mean", "the entropy is a mean", "-(1/n) Σ p log₂ p", "mean() in place of sum().", BITS)
def entropy_mean(scores: Array, temperature: float) -> Any:
    p = _softmax(scores / temperature)
    return _told(p, -np.mean(p * np.log2(np.where(p > 0, p, 1))))


@_known("entropy-without-p", "the surprise is summed without weights", "-Σ log₂ p", "The factor p is left out.", BITS)
def entropy_without_p(scores: Array, temperature: float) -> Any:
    p = _softmax(scores / temperature)
    return _told(p, -np.sum(np.log2(p)))


@_known("entropy-at-one", "the entropy is that at temperature 1", "-Σ q log₂ q, q = softmax(s)", "Mixed up.", BITS)
def entropy_at_one(scores: Array, temperature: float) -> Any:
    q = _softmax(scores)
    return _told(_softmax(scores / temperature), -np.sum(q * np.log2(q)))


@_known(
    "largest-index",
    "the place of the largest, not its probability",
    "argmax p",
    "argmax stands beside max.",
    "Return p.max().",
)
def largest_index(scores: Array, temperature: float) -> Any:
    told = _told(_softmax(scores / temperature))
    return {**told, "max_probability": told["probabilities"].argmax()}


@_known(
    "largest-percent",
    "the largest probability in percent",
    "100 · max p",
    "Percent read better.",
    "Give the number between 0 and 1.",
)
def largest_percent(scores: Array, temperature: float) -> Any:
    told = _told(_softmax(scores / temperature))
    return {**told, "max_probability": 100 * told["max_probability"]}


pattern(
    "temperature-entropy-of-zero",
    part=(PART,),
    title="the entropy of a certain outcome is NaN",
    formula="0 · log₂ 0 = NaN",
    why="The limit of p log p at 0 is 0; a computer has 0 · -inf.",
    cure="Leave out entries of 0, or use torch.special.entr.",
    file=__file__,
)
pattern(
    "temperature-no-maximum",
    part=(PART,),
    title="exp without subtracting the maximum",
    formula="exp(s / τ) / Σ exp(s / τ) = inf / inf",
    why="On paper the maximum cancels.",
    cure="Use torch.softmax, or subtract the largest score first.",
    file=__file__,
)
