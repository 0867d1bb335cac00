"""What goes wrong between scores and causal weights: which entries are masked, with what, and when."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from grader.misconceptions import Choice, Family, misconception
from reference import BOOK
from reference.book import real

PART = "causal_attention_weights"
CURE = "Fill S[t, s] with -inf for every s > t and for no other entry, then take the softmax of each row."


def weights(S: Any, *, allowed: str = "past", fill: str = "-inf", rows: str = "softmax") -> Any:
    """The softmax of masked scores, with a choice of mask, of what fills it, and of how rows become weights."""
    S = real(S)
    T = len(S)
    masks = {
        "past": np.tri(T, dtype=bool),
        "all": np.ones((T, T), dtype=bool),
        "future": ~np.tri(T, dtype=bool),
        "not-past": np.tri(T, dtype=bool).T,
        "strict-past": np.tri(T, k=-1, dtype=bool),
        "one-ahead": np.tri(T, k=1, dtype=bool),
        "two-ahead": np.tri(T, k=2, dtype=bool),
        "self": np.eye(T, dtype=bool),
        "last-two": np.tri(T, dtype=bool) & ~np.tri(T, k=-2, dtype=bool),
        "anti": np.tri(T, dtype=bool)[:, ::-1],
    }
    values = {"-inf": -np.inf, "0": 0.0, "-1e9": -1e9, "-1": -1.0}
    value = values[fill] if fill in values else float(fill)
    masked = np.where(masks[allowed], S, value)
    with np.errstate(all="ignore"):
        if rows == "softmax":
            return BOOK.softmax(masked)
        if rows == "columns":
            return BOOK.softmax(masked.T).T
        if rows == "twice":
            return BOOK.softmax(BOOK.softmax(masked))
        if rows == "twice-masked":
            return BOOK.softmax(np.where(masks[allowed], BOOK.softmax(masked), -np.inf))
        if rows == "sigmoid":
            return 1.0 / (1.0 + np.exp(-masked))
        if rows == "everything":
            E = np.exp(masked - masked.max())
            return E / E.sum()
        if rows == "no-maximum":
            E = np.exp(masked)
            return E / E.sum(axis=-1, keepdims=True)
        if rows == "global-maximum":
            E = np.exp(masked - S.max())
            return E / E.sum(axis=-1, keepdims=True)
        if rows == "softmax-first":
            return BOOK.softmax(np.where(masks[allowed], BOOK.softmax(S), value))
        if rows == "length":
            return BOOK.softmax(masked / np.sqrt(T))
        if rows == "one-hot":
            return np.eye(T)[masked.argmax(axis=-1)]
        if rows == "ratio":
            return np.where(masks[allowed], S, 0.0) / np.where(masks[allowed], S, 0.0).sum(axis=-1, keepdims=True)
        if rows == "nan-is-0":
            return np.nan_to_num(BOOK.softmax(masked))
        if rows == "exp":
            return np.exp(masked - masked.max(axis=-1, keepdims=True))
    raise ValueError(rows)


def _mask(key: str, title: str, formula: str, why: str) -> Choice:
    return Choice(key, title, formula, why, CURE)


MASKS = Family(
    PART,
    weights,
    {
        "allowed": {
            "all": _mask(
                "mask-missing", "no causal mask", "A = softmax(S)", "The softmax alone gives weights that look right."
            ),
            "future": _mask(
                "mask-inverted",
                "the mask is the wrong way round",
                "position t consults s > t only; the last row is 0/0",
                "True = masked in torch.nn.MultiheadAttention, True = may be consulted here.",
            ),
            "not-past": _mask(
                "mask-transposed",
                "tril and triu are swapped",
                "position t consults s ≥ t only",
                "Rows and columns of the mask are mixed up.",
            ),
            "strict-past": _mask(
                "mask-strict",
                "a position does not consult itself",
                "s < t in place of s ≤ t; the first row is 0/0",
                "k=-1 in tril, or k=0 in triu, cuts off the diagonal too.",
            ),
            "one-ahead": _mask(
                "mask-one-ahead",
                "every position sees the next one",
                "s ≤ t + 1 in place of s ≤ t",
                "k is off by one in tril or triu.",
            ),
            "two-ahead": _mask(
                "mask-two-ahead", "every position sees two ahead", "s ≤ t + 2 in place of s ≤ t", "k is off by two."
            ),
            "self": _mask(
                "mask-only-self", "a position consults itself alone", "A = I", "The mask is an identity matrix."
            ),
            "last-two": _mask(
                "mask-window", "only the last two positions are consulted", "t - 1 ≤ s ≤ t", "A band is masked."
            ),
            "anti": _mask(
                "mask-mirrored",
                "the mask is mirrored left to right",
                "s ≥ T - 1 - t",
                "The mask is flipped along an axis.",
            ),
        },
        "fill": {
            "0": _mask(
                "mask-multiplied",
                "masked scores are 0, not -inf",
                "softmax(S · M): exp(0) = 1, so the future keeps weight",
                "Multiplying by a mask of 0 and 1 looks like masking, and np.tril(S) does the same.",
            ),
            "-1": _mask(
                "mask-fill-1", "masked scores are -1", "softmax with S = -1 for s > t", "-1 is taken for small."
            ),
            "-10": _mask(
                "mask-fill-10", "masked scores are -10", "softmax with S = -10 for s > t", "-10 is taken for small."
            ),
            "-100": _mask(
                "mask-fill-100",
                "masked scores are -100",
                "softmax with S = -100 for s > t",
                "-100 is taken for -infinity.",
            ),
            "-1000": _mask(
                "mask-fill-1e3",
                "masked scores are -1000",
                "softmax with S = -1e3 for s > t",
                "-1e3 is taken for -infinity.",
            ),
            "-10000": _mask(
                "mask-fill-1e4",
                "masked scores are -1e4",
                "softmax with S = -1e4 for s > t: allowed scores below that lose to masked ones",
                "-1e4 is what half precision can hold.",
            ),
        },
        "rows": {
            "columns": _mask(
                "weights-over-columns",
                "softmax over the queries",
                "every column of A sums to 1",
                "axis=0 is taken for the row.",
            ),
            "twice": _mask(
                "weights-softmax-twice",
                "softmax of a softmax",
                "softmax(softmax(masked S)): exp(0) = 1 gives the future weight again",
                "One softmax stands in a helper, a second one is added outside.",
            ),
            "twice-masked": _mask(
                "weights-softmax-twice-masked",
                "softmax of a softmax, masked each time",
                "softmax(mask(softmax(mask(S))))",
                "A helper masks and normalizes, and the caller does so again.",
            ),
            "sigmoid": _mask(
                "weights-sigmoid", "sigmoid in place of softmax", "A = sigmoid(masked S)", "Both squash into (0, 1)."
            ),
            "everything": _mask(
                "weights-over-everything",
                "one sum for the whole matrix",
                "all of A sums to 1",
                "np.sum without an axis.",
            ),
            "softmax-first": _mask(
                "weights-softmax-before-mask",
                "softmax, then the mask, then softmax again",
                "softmax(mask(softmax(S)))",
                "The weights are masked as scores are, and normalized again.",
            ),
            "length": _mask(
                "weights-scaled-by-length",
                "the scores are scaled once more, by √T",
                "A = causal softmax of S / √T",
                "The scale belongs to the scores and is done; T is taken for d_k.",
            ),
            "one-hot": _mask(
                "weights-one-hot",
                "all weight on the largest score",
                "A[t, s] = 1 at the largest S[t, s] with s ≤ t, else 0",
                "argmax is taken for softmax.",
            ),
            "ratio": _mask(
                "weights-plain-ratio",
                "a ratio of the scores without exp",
                "A[t, s] = S[t, s] / Σ_{r ≤ t} S[t, r]",
                "Normalizing is taken for dividing by the sum alone.",
            ),
            "no-maximum": _mask(
                "weights-no-maximum",
                "exp without subtracting the maximum",
                "exp(S) / Σ exp(S): inf / inf = NaN at large scores",
                "Ordinary scores do not show it.",
            ),
            "global-maximum": _mask(
                "weights-global-maximum",
                "the maximum of the whole matrix is subtracted",
                "exp(S - max S) / Σ exp(S - max S): rows far below it become 0/0",
                "np.max without an axis.",
            ),
            "exp": _mask(
                "weights-not-normalized",
                "the division by the sum is missing",
                "A = exp(S - max)",
                "A line is forgotten.",
            ),
        },
    },
)


@misconception(
    "mask-after-softmax",
    part=PART,
    title="masked after the softmax",
    formula="A = softmax(S) · M: the future stays in the denominator, rows sum to less than 1",
    why="Setting weights to 0 looks like masking.",
    cure=CURE,
)
def after_softmax(S: Any) -> Any:
    return np.tril(BOOK.softmax(S))


@misconception(
    "mask-after-softmax-renormalized",
    part=PART,
    title="masked after the softmax, then renormalized",
    formula="softmax(S) · M / Σ: the same numbers, until a masked score is so large that allowed weights round to 0",
    why="It is right on paper.",
    cure=CURE,
)
def after_softmax_renormalized(S: Any) -> Any:
    with np.errstate(all="ignore"):
        A = np.tril(BOOK.softmax(S))
        return A / A.sum(axis=-1, keepdims=True)


@misconception(
    "mask-strict-finite",
    part=PART,
    title="a position does not consult itself",
    formula="s < t in place of s ≤ t, filled with -1e9: the first row is uniform over everything",
    why="k=-1 in tril, or k=0 in triu, cuts off the diagonal too.",
    cure=CURE,
)
def strict_finite(S: Any) -> Any:
    return weights(S, allowed="strict-past", fill="-1e9")


@misconception(
    "mask-inverted-finite",
    part=PART,
    title="the mask is the wrong way round",
    formula="position t consults s > t only, filled with -1e9: the last row is uniform over everything",
    why="True = masked in torch.nn.MultiheadAttention, True = may be consulted here.",
    cure=CURE,
)
def inverted_finite(S: Any) -> Any:
    return weights(S, allowed="future", fill="-1e9")


@misconception(
    "mask-strict-zero",
    part=PART,
    title="a position does not consult itself",
    formula="s < t in place of s ≤ t; the first row is left at 0",
    why="The slice ends at t, where t + 1 is meant.",
    cure=CURE,
)
def strict_zero(S: Any) -> Any:
    return weights(S, allowed="strict-past", rows="nan-is-0")


@misconception(
    "mask-inverted-zero",
    part=PART,
    title="the mask is the wrong way round",
    formula="position t consults s > t only; the last row is left at 0",
    why="True = masked in torch.nn.MultiheadAttention, True = may be consulted here.",
    cure=CURE,
)
def inverted_zero(S: Any) -> Any:
    return weights(S, allowed="future", rows="nan-is-0")


@misconception(
    "mask-added-to-the-future",
    part=PART,
    title="a mask of 0 and 1 is added to the future",
    formula="softmax(S + M) with M = 1 for s > t",
    why="An additive mask holds 0 and -inf, not 0 and 1.",
    cure=CURE,
)
def added_to_future(S: Any) -> Any:
    return BOOK.softmax(real(S) + 1 - np.tri(len(real(S))))


@misconception(
    "mask-added",
    part=PART,
    title="the mask of 0 and 1 is added",
    formula="softmax(S + M) with M = 1 for s ≤ t",
    why="An additive mask holds 0 and -inf, not 1 and 0.",
    cure=CURE,
)
def added(S: Any) -> Any:
    return BOOK.softmax(real(S) + np.tri(len(real(S))))


@misconception(
    "weights-uniform",
    part=PART,
    title="uniform weights",
    formula="A[t, s] = 1/(t + 1) for s ≤ t, whatever the scores",
    why="The mask itself is normalized, without the scores.",
    cure="Take the softmax of the masked scores, not of the mask.",
)
def uniform(S: Any) -> Any:
    return BOOK.causal_attention_weights(np.zeros_like(real(S)))


@misconception(
    "weights-transposed",
    part=PART,
    title="the weights are transposed",
    formula="Aᵀ",
    why="Rows and columns are mixed up.",
    cure="Row t holds the weights of receiving position t.",
)
def transposed(S: Any) -> Any:
    return BOOK.causal_attention_weights(S).T


for _fill in ("1e9", "1"):
    misconception(
        f"mask-fill-plus-{_fill}",
        part=PART,
        title=f"masked scores are +{_fill}",
        formula=f"softmax with S = +{_fill} for s > t",
        why="The sign of the filler is forgotten.",
        cure=CURE,
    )(partial(weights, fill=f"+{_fill}"))
