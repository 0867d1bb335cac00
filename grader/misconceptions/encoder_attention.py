"""What goes wrong in attention with a mask: the scale, the mask and how it works, rows of nothing, the values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from grader.misconceptions import Choice, Family, misconception
from reference import BOOK
from reference.book import real

PART = "attention"
CURE = "Put -inf where the mask is False and leave the rest, then take the softmax of each row."
EMPTY = "Where a row's mask allows nothing, its weights are 0: divide only where the sum is not 0."
SCALE = "Divide Q Kᵀ by the square root of d_k, once."


def masked(
    Q: Any,
    K: Any,
    V: Any,
    mask: Any = None,
    *,
    scale: str = "root",
    reads: str = "given",
    fill: str = "-inf",
    rows: str = "softmax",
    empty: str = "zeros",
    retrieve: str = "A V",
) -> Any:
    """O and A, with a choice of the scale, the mask, what fills it, how rows become weights, and what is retrieved."""
    Q, K, V = real(Q), real(K), real(V)
    d_k, (T_q, T_k) = Q.shape[-1], (len(Q), len(K))
    factor = {
        "root": d_k**-0.5,
        "none": 1.0,
        "width": 1.0 / d_k,
        "times": d_k**0.5,
        "values": V.shape[-1] ** -0.5,
        "keys": T_k**-0.5,
        "queries": T_q**-0.5,
        "fourth": d_k**-0.25,
        "negative": -(d_k**-0.5),
        "eight": 1.0 / 8,
    }[scale]
    S = Q @ K.T * factor
    given = np.ones((T_q, T_k), bool) if mask is None else np.broadcast_to(np.asarray(mask, bool), (T_q, T_k))
    past = np.tri(T_q, T_k, dtype=bool)
    allowed = {
        "given": given,
        "ignored": np.ones((T_q, T_k), bool),
        "flipped": given if mask is None else ~given,
        "with-past": given & past,
        "past": past,
        "first-row": np.broadcast_to(given[:1], given.shape),
        "any-row": np.broadcast_to(given.any(axis=0), given.shape),
    }[reads]
    with np.errstate(all="ignore"):
        A = _weights(S, allowed, fill, rows)
        nothing = ~allowed.any(axis=1, keepdims=True)
        A = np.where(nothing, _of_nothing(S, empty), A)
        retrieved: dict[str, Any] = {
            "A V": lambda: A @ V,
            "keys": lambda: A @ K,
            "unmasked": lambda: BOOK.softmax(S) @ V,
            "softmaxed": lambda: BOOK.softmax(A @ V),
            "plus-mean": lambda: A @ V + V.mean(axis=0),
            "largest": lambda: V[A.argmax(axis=1)],
        }
    with np.errstate(all="ignore"):
        return retrieved[retrieve](), A


def _weights(S: Any, allowed: Any, fill: str, rows: str) -> Any:
    values = {"-inf": -np.inf, "multiplied": 0.0}
    if fill in ("added", "subtracted"):
        filled = S + allowed if fill == "added" else S - allowed
    elif fill in ("after", "after-renormalized"):
        A = BOOK.softmax(S) * allowed
        return A / A.sum(axis=-1, keepdims=True) if fill == "after-renormalized" else A
    else:
        filled = np.where(allowed, S, values[fill] if fill in values else float(fill))
    if rows == "softmax":
        return BOOK.softmax(filled)
    if rows == "columns":
        return np.nan_to_num(BOOK.softmax(filled.T).T)  # a column that no query may consult
    if rows == "twice":
        return BOOK.softmax(BOOK.softmax(filled))
    if rows == "sigmoid":
        return 1 / (1 + np.exp(-filled))
    if rows == "everything":
        E = np.exp(filled - filled.max())
        return E / E.sum()
    if rows.startswith("no-maximum"):
        E = np.exp(filled)
        total = E.sum(axis=-1, keepdims=True)
        if rows == "no-maximum, allowed":
            return np.where(allowed, E / total, 0.0)
        return E / np.where(total > 0, total, 1.0) if rows == "no-maximum, zeros" else E / total
    if rows == "global-maximum":
        E = np.exp(filled - S.max())
        return E / E.sum(axis=-1, keepdims=True)
    if rows == "exp":
        return np.exp(filled - filled.max(axis=-1, keepdims=True))
    if rows == "one-hot":
        return np.eye(S.shape[-1])[filled.argmax(axis=-1)]
    if rows == "log":
        return np.log(BOOK.softmax(filled))
    raise ValueError(rows)


def _of_nothing(S: Any, empty: str) -> Any:
    weights: dict[str, Any] = {
        "zeros": lambda: np.zeros_like(S),
        "nan": lambda: np.full_like(S, np.nan),
        "uniform": lambda: np.full_like(S, 1 / S.shape[-1]),
        "unmasked": lambda: BOOK.softmax(S),
        "first": lambda: np.eye(S.shape[-1])[np.zeros(len(S), int)],
    }
    return weights[empty]()


def _mask(key: str, title: str, formula: str, why: str, cure: str = CURE) -> Choice:
    return Choice(f"attention-{key}", title, formula, why, cure)


ATTENTION = Family(
    PART,
    masked,
    {
        "scale": {
            "none": _mask("no-scale", "the scale is missing", "S = Q Kᵀ", "The product looks complete.", SCALE),
            "width": _mask("scale-by-width", "scaled by d_k, not √d_k", "S = Q Kᵀ / d_k", "The root is lost.", SCALE),
            "times": _mask("scale-multiplied", "multiplied by √d_k", "S = Q Kᵀ · √d_k", "* stands for /.", SCALE),
            "values": _mask(
                "scale-by-value-width", "scaled by √d_v", "S = Q Kᵀ / √d_v", "The width is read from V.", SCALE
            ),
            "keys": _mask(
                "scale-by-key-count",
                "scaled by the number of keys",
                "S = Q Kᵀ / √T_k",
                "K.shape[0] or len(K) is taken for the width.",
                SCALE,
            ),
            "queries": _mask(
                "scale-by-query-count",
                "scaled by the number of queries",
                "S = Q Kᵀ / √T_q",
                "Q.shape[0] or len(Q) is taken for the width.",
                SCALE,
            ),
            "fourth": _mask(
                "scale-by-fourth-root",
                "scaled by the fourth root",
                "S = Q Kᵀ / d_k^(1/4)",
                "Q alone is divided by the fourth root, where Q and K both would be.",
                SCALE,
            ),
            "negative": _mask(
                "scores-negated", "the sign is turned", "S = -Q Kᵀ / √d_k", "A distance is meant.", SCALE
            ),
            "eight": _mask(
                "scale-fixed-at-8",
                "scaled by 8, whatever d_k is",
                "S = Q Kᵀ / 8",
                "The original transformer has d_k = 64, whose root is 8.",
                SCALE,
            ),
        },
        "reads": {
            "ignored": _mask(
                "mask-ignored", "the mask is not used", "A = softmax(S), whatever the mask", "It is passed on nowhere."
            ),
            "flipped": _mask(
                "mask-flipped",
                "the mask is the wrong way round",
                "positions where the mask is False are consulted, the others are not",
                "True = may NOT be consulted in torch.nn.MultiheadAttention; here True = may be consulted.",
            ),
            "with-past": _mask(
                "mask-and-causal",
                "a causal mask on top of the given one",
                "s ≤ t is demanded besides",
                "Attention is taken for the decoder's; the caller brings the causal mask where one belongs.",
            ),
            "past": _mask(
                "mask-causal-instead",
                "a causal mask in place of the given one",
                "s ≤ t, whatever the mask",
                "Attention is taken for the decoder's.",
            ),
            "first-row": _mask(
                "mask-first-row",
                "the first row's mask serves every row",
                "mask[0] for every query",
                "The mask is taken for a padding mask.",
            ),
            "any-row": _mask(
                "mask-any-row",
                "a position that some query may consult is open to all",
                "mask.any(axis=0) for every query",
                "The mask is taken for a padding mask.",
            ),
        },
        "fill": {
            "multiplied": _mask(
                "mask-multiplied",
                "masked scores are 0, not -inf",
                "softmax(S · mask): exp(0) = 1, so what is forbidden keeps weight",
                "Multiplying by a mask of 0 and 1 looks like masking.",
            ),
            "added": _mask(
                "mask-added",
                "the mask is added as 0 and 1",
                "softmax(S + mask)",
                "An additive mask holds 0 and -inf; a boolean one counts as 1 and 0.",
            ),
            "subtracted": _mask(
                "mask-subtracted",
                "the mask is subtracted as 0 and 1",
                "softmax(S - mask)",
                "An additive mask holds 0 and -inf; a boolean one counts as 1 and 0.",
            ),
            "after": _mask(
                "mask-after-softmax",
                "masked after the softmax",
                "A = softmax(S) · mask: rows sum to less than 1",
                "Setting weights to 0 looks like masking.",
            ),
            "after-renormalized": _mask(
                "mask-after-softmax-renormalized",
                "masked after the softmax, then renormalized",
                "softmax(S) · mask / Σ: the same numbers, until allowed weights round to 0",
                "It is right on paper.",
            ),
            **{
                str(value): _mask(
                    f"mask-fill-{-value:g}".replace("+0", ""),
                    f"masked scores are {value}",
                    f"softmax with S = {value} where the mask is False",
                    f"{value} is taken for -infinity.",
                )
                for value in (-1, -10, -100, -1000, -10000)
            },
        },
        "rows": {
            "columns": _mask(
                "over-queries",
                "softmax over the queries",
                "every column of A sums to 1",
                "axis=0 is taken for the row.",
            ),
            "twice": _mask(
                "softmax-twice",
                "softmax of a softmax",
                "softmax(softmax(masked S)): exp(0) = 1 gives what is forbidden weight again",
                "One softmax stands in a helper, a second one outside.",
            ),
            "sigmoid": _mask("sigmoid", "sigmoid in place of softmax", "A = sigmoid(masked S)", "Both squash."),
            "everything": _mask(
                "over-everything", "one sum for the whole matrix", "all of A sums to 1", "np.sum without an axis."
            ),
            "no-maximum": _mask(
                "exp-without-maximum",
                "exp without subtracting the maximum",
                "exp(S) / Σ exp(S): inf / inf = NaN at large scores",
                "Ordinary scores do not show it.",
                "Subtract each row's largest allowed score before exp.",
            ),
            "no-maximum, zeros": _mask(
                "exp-without-maximum-zeros",
                "exp without subtracting the maximum",
                "exp(S) / Σ exp(S), and 0 where the sum is 0: NaN at large scores, nothing at low ones",
                "Ordinary scores do not show it; the sum is guarded for rows that may consult nothing.",
                "Subtract each row's largest allowed score before exp.",
            ),
            "no-maximum, allowed": _mask(
                "exp-without-maximum-allowed",
                "exp without subtracting the maximum",
                "exp(S) / Σ exp(S) over what is allowed: inf / inf = NaN at large scores",
                "Ordinary scores do not show it.",
                "Subtract each row's largest allowed score before exp.",
            ),
            "global-maximum": _mask(
                "global-maximum",
                "the maximum of the whole matrix is subtracted",
                "exp(S - max S) / Σ exp(S - max S): rows far below it become 0/0",
                "np.max without an axis.",
                "Subtract each row's largest allowed score before exp.",
            ),
            "exp": _mask("not-normalized", "the division by the sum is missing", "A = exp(S - max)", "A line is lost."),
            "one-hot": _mask(
                "one-hot", "all weight on the largest score", "A[t, s] = 1 at the largest allowed S", "argmax is meant."
            ),
            "log": _mask("log-weights", "logarithms of the weights", "A = log softmax", "log_softmax stands nearby."),
        },
        "empty": {
            "nan": _mask(
                "nothing-allowed-nan",
                "a row that may consult nothing is NaN",
                "softmax over nothing but -inf is 0/0",
                "No ordinary mask shows it; a sequence of padding does.",
                EMPTY,
            ),
            "uniform": _mask(
                "nothing-allowed-uniform",
                "a row that may consult nothing consults everything alike",
                "every weight 1/T_k, as with scores of -1e9 in the whole row",
                "A large negative number stands for -inf; a row of equal numbers has equal weights.",
                EMPTY,
            ),
            "unmasked": _mask(
                "nothing-allowed-unmasked",
                "a row that may consult nothing consults everything",
                "softmax(S) without the mask, as when -1e9 is added to the whole row",
                "A constant added to a row changes nothing.",
                EMPTY,
            ),
            "first": _mask(
                "nothing-allowed-first",
                "a row that may consult nothing consults position 0",
                "A[t, 0] = 1",
                "argmax, or a mask that always leaves the first position open.",
                EMPTY,
            ),
        },
        "retrieve": {
            "keys": _mask("keys-for-values", "keys in place of values", "O = A K", "V and K are mixed up.", "O = A V."),
            "unmasked": _mask(
                "retrieves-unmasked",
                "values are summed with unmasked weights",
                "O = softmax(S) V while A is masked",
                "The mask reaches what is returned, not what is used.",
                "O = A V with the masked A.",
            ),
            "softmaxed": _mask(
                "output-softmaxed", "a softmax of the output", "O = softmax(A V)", "It comes late.", CURE
            ),
            "plus-mean": _mask(
                "adds-mean-value", "the mean value is added", "O = A V + mean of V", "A residual is meant."
            ),
            "largest": _mask(
                "retrieves-largest",
                "only the value with the largest weight",
                "O[t] = V[argmax A[t]]",
                "A lookup is meant.",
                "O = A V.",
            ),
        },
    },
)


def _returns(key: str, title: str, formula: str, why: str) -> Callable[[Any], Any]:
    return misconception(
        f"attention-{key}", part=PART, title=title, formula=formula, why=why, cure="Return (O, A), with the masked A."
    )


@_returns("results-swapped", "the two results are swapped", "returns (A, O)", "The weights are computed first.")
def swapped(Q: Any, K: Any, V: Any, mask: Any = None) -> Any:
    return masked(Q, K, V, mask)[::-1]


@_returns("returns-scores", "scores are returned in place of weights", "returns (O, S)", "S and A are mixed up.")
def returns_scores(Q: Any, K: Any, V: Any, mask: Any = None) -> Any:
    return masked(Q, K, V, mask)[0], BOOK.attention_scores(Q, K)


@_returns(
    "returns-unmasked-weights", "unmasked weights are returned", "A = softmax(S), O is right", "A is computed again."
)
def returns_unmasked(Q: Any, K: Any, V: Any, mask: Any = None) -> Any:
    return masked(Q, K, V, mask)[0], masked(Q, K, V)[1]


@_returns("returns-transposed-weights", "the transposed weights are returned", "returns (O, Aᵀ)", "Rows are columns.")
def returns_transposed(Q: Any, K: Any, V: Any, mask: Any = None) -> Any:
    O, A = masked(Q, K, V, mask)
    return O, A.T
