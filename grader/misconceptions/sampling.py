"""What goes wrong in generating: temperature, top-k, top-p, seeds, what is fed to the model, what is returned."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.misconceptions import pattern

Array = np.ndarray[Any, Any]
PART = "generate"


@dataclass(frozen=True)
class Asked:
    """One way to draw: logits of the last position and of the others, temperature, top_k, top_p. shapes: (v), (v)"""

    z: Array
    other: Array
    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None


Drawn = Callable[[Asked], Array | None]
WAYS: list[tuple[str, Drawn]] = []  # a mistake's id, and the distribution that it draws from; some have several


def softmax(z: Array) -> Array:
    """shapes: (v) -> (v)"""
    p = np.exp(z - z[np.isfinite(z)].max())
    return np.asarray(p / p.sum())


def largest(z: Array, k: int | None) -> Array:
    """The logits of the k largest, -inf elsewhere. shapes: (v) -> (v)"""
    kept = np.full(len(z), -np.inf)
    order = np.argsort(-z)[: len(z) if k is None else k]
    kept[order] = z[order]
    return kept


def fewest(p: Array, top_p: float | None, more: int = 0) -> Array:
    """The fewest tokens that reach top_p, and some more, renormalized; NaN for none. shapes: (v) -> (v)"""
    if top_p is None:
        return p
    order = np.argsort(-p)
    count = int((np.cumsum(p[order]) < top_p).sum()) + 1 + more
    kept = np.zeros(len(p))
    kept[order[:count]] = p[order[:count]]
    with np.errstate(invalid="ignore"):
        return np.asarray(kept / kept.sum())


def right(a: Asked) -> Array:
    """The distribution that is asked for. shapes: -> (v)"""
    return fewest(softmax(largest(a.z / a.temperature, a.top_k)), a.top_p)


def _known(key: str, title: str, formula: str, why: str, cure: str, *ways: Drawn) -> None:
    name = f"sampling-{key}"
    pattern(name, part=(PART,), title=title, formula=formula, why=why, cure=cure, file=__file__)
    WAYS.extend((name, way) for way in ways)


def _changed(change: Callable[[Asked], Mapping[str, Any]]) -> Drawn:
    """The right distribution of something else."""
    return lambda a: right(Asked(**{**vars(a), **change(a)}))


def _only(p: Array, kept: Array) -> Array | None:
    """Probabilities of some tokens, renormalized; None where there are none. shapes: (v), (v) -> (v)"""
    total = p[kept].sum()
    return np.where(kept, p, 0.0) / total if total > 0 else None


# Temperature.
DIVIDE = "Divide the logits by the temperature, then take the softmax, once."
_known(
    "temperature-multiplied",
    "multiplied by the temperature",
    "softmax(z · τ)",
    "Hotter reads as more.",
    DIVIDE,
    _changed(lambda a: {"temperature": 1 / a.temperature}),
)
_known(
    "temperature-without-effect",
    "the temperature has no effect",
    "softmax(z), or softmax(z) / τ renormalized",
    "It is not used, or divides probabilities, which are then normalized again.",
    DIVIDE,
    _changed(lambda a: {"temperature": 1.0}),
)
_known(
    "temperature-twice",
    "the temperature is applied twice",
    "softmax(z / τ²)",
    "The caller divides, and the sampler too.",
    DIVIDE,
    _changed(lambda a: {"temperature": a.temperature**2}),
)
_known(
    "probabilities-as-logits",
    "probabilities are taken for logits",
    "softmax(softmax(z / τ))",
    "Categorical(p) and Categorical(logits=p) look alike.",
    "Give probabilities to multinomial or Categorical(probs=), logits to Categorical(logits=).",
    lambda a: softmax(right(a)),
    lambda a: softmax(softmax(a.z) / a.temperature),
)
_known(
    "uniform",
    "every token is as likely as every other",
    "1 / v",
    "The logits do not reach the draw.",
    DIVIDE,
    lambda a: np.full(len(a.z), 1 / len(a.z)),
)
_known(
    "always-greedy",
    "the largest logit is taken at every temperature",
    "argmax z",
    "argmax stands in place of a draw.",
    "Draw with torch.multinomial(probabilities, 1).",
    lambda a: np.eye(len(a.z))[a.z.argmax()],
)
_known(
    "first-position",
    "the logits of another position than the last",
    "logits[:, 0] in place of logits[:, -1]",
    "With one token both are the same.",
    "Take logits[:, -1].",
    _changed(lambda a: {"z": a.other}),
)

PLAIN = {name for name, _ in WAYS}  # those that show without a filter
# top-k.
KEEP = "Keep the k largest logits, with -inf elsewhere: z.masked_fill(z < z.topk(k).values[..., -1:], -inf)."
_known(
    "top-k-one-more",
    "top_k keeps one more",
    "the k + 1 largest",
    "An index is off by one.",
    KEEP,
    _changed(lambda a: {"top_k": a.top_k and a.top_k + 1}),
)
_known(
    "top-k-one-less",
    "top_k keeps one less",
    "z > the k-th largest",
    "> stands in place of ≥.",
    KEEP,
    lambda a: right(Asked(**{**vars(a), "top_k": a.top_k - 1})) if a.top_k and a.top_k > 1 else None,
)
_known("top-k-ignored", "top_k has no effect", "all tokens are kept", "The filtered logits are not used.", KEEP,
       _changed(lambda a: {"top_k": None}))  # fmt: skip
_known(
    "top-k-smallest",
    "top_k keeps the smallest",
    "the k smallest logits",
    "sort() goes upwards.",
    KEEP,
    lambda a: None if a.top_k is None else _only(softmax(a.z / a.temperature), largest(-a.z, a.top_k) > -np.inf),
)
_known(
    "top-k-too-large",
    "a top_k above the vocabulary raises",
    "z.topk(50) of 6 logits",
    "topk takes no more than there are.",
    "Take min(top_k, v).",
)
_known(
    "zero-for-minus-infinity",
    "logits that are left out become 0",
    "z = 0, so exp(z) = 1",
    "0 reads as nothing; to a softmax it is a logit like others.",
    "Fill logits with -inf, or probabilities with 0.",
    lambda a: softmax(np.where(right(a) > 0, a.z / a.temperature, 0.0)),
)
_known(
    "rank-for-id",
    "the place among the sorted tokens is returned for the token",
    "i in place of order[i]",
    "The draw is made from sorted probabilities.",
    "Return order[i], where order is what sort or topk gave as indices.",
    lambda a: -np.sort(-right(a)),
)

# top-p.
FEWEST = "Sort downwards; keep each token before which less than top_p has been summed: cumsum - p < top_p."
_known(
    "top-p-crossing-dropped",
    "the token that reaches top_p is left out",
    "cumsum ≤ top_p in place of cumsum - p < top_p",
    "A sum up to top_p reads as one that does not exceed it.",
    FEWEST,
    lambda a: fewest(softmax(largest(a.z / a.temperature, a.top_k)), a.top_p, more=-1),
)
_known(
    "top-p-one-more",
    "one token more than top_p needs is kept",
    "the fewest that reach top_p, and the next one",
    "The mask is shifted once too often.",
    FEWEST,
    lambda a: fewest(softmax(largest(a.z / a.temperature, a.top_k)), a.top_p, more=1),
)
_known("top-p-ignored", "top_p has no effect", "all tokens are kept", "The filtered logits are not used.", FEWEST,
       _changed(lambda a: {"top_p": None}))  # fmt: skip


def _unsorted(a: Asked) -> Array | None:
    p = softmax(largest(a.z / a.temperature, a.top_k))
    return None if a.top_p is None else _only(p, np.cumsum(p) - p < a.top_p)


def _not_put_back(a: Asked) -> Array | None:
    p = softmax(largest(a.z / a.temperature, a.top_k))
    ordered = -np.sort(-p)
    return None if a.top_p is None else _only(p, np.cumsum(ordered) - ordered < a.top_p)


def _upwards(a: Asked) -> Array | None:
    p = softmax(largest(a.z / a.temperature, a.top_k))
    order = np.argsort(p)
    kept = np.zeros(len(p), dtype=bool)
    kept[order] = np.cumsum(p[order]) - p[order] < (a.top_p or 1.0)
    return None if a.top_p is None else _only(p, kept)


def _threshold(*, one_at_least: bool, turned: bool = False) -> Drawn:
    """Tokens of a probability of top_p at least, or of 1 - top_p."""

    def drawn(a: Asked) -> Array | None:
        if a.top_p is None:
            return None
        p = softmax(largest(a.z / a.temperature, a.top_k))
        return _only(p, (p >= (1 - a.top_p if turned else a.top_p)) | (one_at_least & (p == p.max())))

    return drawn


_known(
    "top-p-unsorted",
    "probabilities are summed without sorting",
    "cumsum of p in the order of the ids",
    "The sort is left out.",
    FEWEST,
    _unsorted,
)
_known(
    "top-p-not-put-back",
    "the mask of the sorted tokens is applied to the unsorted ones",
    "mask[i] in place of mask[rank of i]",
    "The mask is not brought back into the order of the ids.",
    "Apply the mask to the sorted ones and draw there, or scatter it back by the sort's indices.",
    _not_put_back,
)
_known("top-p-upwards", "the least likely tokens are kept", "cumsum from the smallest upwards",
       "sort() goes upwards unless told otherwise.", FEWEST, _upwards)  # fmt: skip
_known(
    "top-p-threshold",
    "tokens of a probability of top_p at least are kept",
    "p ≥ top_p, or p ≥ 1 - top_p",
    "top_p is taken for a threshold of single probabilities.",
    FEWEST,
    _threshold(one_at_least=True),
    _threshold(one_at_least=False),
    _threshold(one_at_least=True, turned=True),
    _threshold(one_at_least=False, turned=True),
)
_known(
    "top-p-before-temperature",
    "top_p sums probabilities at temperature 1",
    "cumsum of softmax(z) in place of softmax(z / τ)",
    "The temperature is applied after the choice.",
    "Divide by the temperature first.",
    lambda a: _only(
        softmax(largest(a.z / a.temperature, a.top_k)), fewest(softmax(largest(a.z, a.top_k)), a.top_p) > 0
    ),
)
_known(
    "top-p-before-top-k",
    "top_p sums the probabilities of all tokens, those beyond top_k too",
    "top_p of softmax(z), then the k largest",
    "The filters change places, or nothing is normalized between them.",
    "Filter by top_k, take the softmax of what is left, then filter by top_p.",
    lambda a: _only(
        softmax(a.z / a.temperature),
        (fewest(softmax(a.z / a.temperature), a.top_p) > 0) & (largest(a.z, a.top_k) > -np.inf),
    ),
)
_known(
    "top-p-empty",
    "nothing is left where the first token alone exceeds top_p",
    "cumsum ≤ top_p is nowhere true",
    "The token that reaches top_p is left out.",
    FEWEST,
)
