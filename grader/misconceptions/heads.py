"""What goes wrong in one head: who plays query, key and value, the scale, what is returned."""

from __future__ import annotations

from typing import Any

import numpy as np

from grader.misconceptions import Choice, Family, misconception
from reference import BOOK, Parts
from reference.book import real


def head(
    H: Any,
    W_Q: Any,
    W_K: Any,
    W_V: Any,
    *,
    query: str = "Q",
    key: str = "K",
    value: str = "V",
    scale: str = "d_k",
    retrieve: str = "A V",
    the: Parts = BOOK,
) -> Any:
    """One head, with a choice of who plays query, key and value, of the scale, and of how values are retrieved."""
    H, W_Q, W_K, W_V = real(H), real(W_Q), real(W_K), real(W_V)
    projected = {"Q": H @ W_Q, "K": H @ W_K, "V": H @ W_V, "H": H}
    Q, K, V = projected[query], projected[key], projected[value]
    S = the.attention_scores(Q, K)
    if scale == "d":
        S = S * np.sqrt(Q.shape[-1] / H.shape[-1])
    elif scale == "twice":
        S = S / np.sqrt(Q.shape[-1])
    elif scale == "d_v":
        S = S * np.sqrt(Q.shape[-1] / V.shape[-1])
    A = the.causal_attention_weights(S)
    retrieved: dict[str, Any] = {
        "A V": lambda: A @ V,
        "transposed": lambda: A.T @ V,
        "unmasked": lambda: the.softmax(S) @ V,
        "twice": lambda: A @ (A @ V),
        "scores": lambda: np.tril(S) @ V,
        "values": lambda: V,
        "plus values": lambda: V + A @ V,
        "softmaxed": lambda: the.softmax(A @ V),
        "last": lambda: np.tile((A @ V)[-1], (len(H), 1)),
        "mean": lambda: np.cumsum(V, axis=0) / np.arange(1, len(H) + 1)[:, None],
    }
    return retrieved[retrieve](), A


HEAD = Family(
    "attention_head",
    head,
    {
        "query": {
            "K": Choice(
                "query-from-key-weights",
                "queries made with W_K",
                "Q = H W_K",
                "A line is copied and not changed.",
                "Q = H W_Q.",
            ),
        },
        "key": {
            "Q": Choice(
                "key-from-query-weights",
                "keys made with W_Q",
                "K = H W_Q: the scores are symmetric",
                "A line is copied and not changed.",
                "K = H W_K.",
            ),
        },
        "value": {
            "K": Choice(
                "value-from-keys", "keys in place of values", "O = A K", "V and K are mixed up.", "O = A V, V = H W_V."
            ),
            "Q": Choice(
                "value-from-queries",
                "queries in place of values",
                "O = A Q",
                "V and Q are mixed up.",
                "O = A V, V = H W_V.",
            ),
            "H": Choice(
                "value-not-projected", "values not projected", "O = A H", "W_V is forgotten.", "O = A V with V = H W_V."
            ),
        },
        "scale": {
            "d": Choice(
                "scale-by-model-width",
                "scaled by the model's width",
                "S = Q Kᵀ / √d with d the width of H",
                "d and d_k are taken for the same; in a single head of full width they are.",
                "Divide by √d_k, the width of Q and K.",
            ),
            "twice": Choice(
                "scale-twice",
                "scaled twice",
                "S = Q Kᵀ / d_k",
                "attention_scores scales already, and the head scales again.",
                "Scale in one place.",
            ),
            "d_v": Choice(
                "scale-by-value-width",
                "scaled by √d_v",
                "S = Q Kᵀ / √d_v",
                "The width is read from V.",
                "Divide by √d_k.",
            ),
        },
        "retrieve": {
            "transposed": Choice(
                "retrieve-transposed",
                "the weights are transposed when values are summed",
                "O = Aᵀ V: position s sends to t < s",
                "Rows and columns of A are mixed up.",
                "O = A @ V.",
            ),
            "unmasked": Choice(
                "retrieve-unmasked",
                "values are summed with unmasked weights",
                "O = softmax(S) V while A is masked",
                "The mask is applied to what is returned, not to what is used.",
                "Use the masked A for O as well.",
            ),
            "twice": Choice(
                "retrieve-twice",
                "the weights are applied twice",
                "O = A A V",
                "A V is computed and passed on again.",
                "O = A V.",
            ),
            "scores": Choice(
                "retrieve-with-scores",
                "scores in place of weights",
                "O = tril(S) V",
                "The softmax is skipped.",
                "O = A V.",
            ),
            "values": Choice(
                "retrieve-nothing", "the values themselves", "O = V", "A is computed and not used.", "O = A V."
            ),
            "plus values": Choice(
                "retrieve-plus-values",
                "the values are added to what is retrieved",
                "O = V + A V",
                "A residual is put inside the head.",
                "O = A V; the block adds its input.",
            ),
            "softmaxed": Choice(
                "retrieve-softmaxed",
                "a softmax of what is retrieved",
                "O = softmax(A V)",
                "The softmax belongs to the scores, and is done.",
                "O = A V.",
            ),
            "last": Choice(
                "retrieve-last",
                "every position gets the last one's output",
                "O[t] = (A V)[T-1]",
                "The last row is kept and broadcast.",
                "Return the whole A V.",
            ),
            "mean": Choice(
                "retrieve-mean",
                "the mean of the past",
                "O[t] = mean of V[0..t]",
                "Attention is taken for an average.",
                "O = A V.",
            ),
        },
    },
)


@misconception(
    "head-results-swapped",
    part="attention_head",
    title="the two results are swapped",
    formula="returns (A, O)",
    why="The weights are computed first.",
    cure="Return (O, A).",
)
def swapped(H: Any, W_Q: Any, W_K: Any, W_V: Any, *, the: Parts = BOOK) -> Any:
    O, A = head(H, W_Q, W_K, W_V, the=the)
    return A, O


@misconception(
    "head-queries-and-keys-swapped",
    part="attention_head",
    title="queries and keys are swapped",
    formula="S = (H W_K)(H W_Q)ᵀ / √d_k: the scores are transposed",
    why="The two are unpacked or passed on in the wrong order.",
    cure="Q = H W_Q, K = H W_K, S = Q Kᵀ / √d_k.",
)
def queries_and_keys_swapped(H: Any, W_Q: Any, W_K: Any, W_V: Any, *, the: Parts = BOOK) -> Any:
    return head(H, W_K, W_Q, W_V, the=the)


@misconception(
    "queries-and-keys-not-projected",
    part="attention_head",
    title="queries and keys are not projected",
    formula="S = H Hᵀ / √d",
    why="W_Q and W_K are forgotten; the shapes fit without them.",
    cure="Q = H W_Q, K = H W_K.",
)
def not_projected(H: Any, W_Q: Any, W_K: Any, W_V: Any, *, the: Parts = BOOK) -> Any:
    return head(H, W_Q, W_K, W_V, query="H", key="H", the=the)


@misconception(
    "head-returns-unmasked-weights",
    part="attention_head",
    title="the unmasked weights are returned",
    formula="A = softmax(S), O is right",
    why="The mask is applied on the way to O only.",
    cure="Return the masked A.",
)
def returns_unmasked(H: Any, W_Q: Any, W_K: Any, W_V: Any, *, the: Parts = BOOK) -> Any:
    O, _ = head(H, W_Q, W_K, W_V, the=the)
    return O, the.softmax(the.attention_scores(real(H) @ real(W_Q), real(H) @ real(W_K)))


@misconception(
    "head-returns-transposed-weights",
    part="attention_head",
    title="the transposed weights are returned",
    formula="returns (O, Aᵀ), O is right",
    why="Rows and columns of A are mixed up.",
    cure="Return (O, A): row t holds the weights of receiving position t.",
)
def returns_transposed(H: Any, W_Q: Any, W_K: Any, W_V: Any, *, the: Parts = BOOK) -> Any:
    O, A = head(H, W_Q, W_K, W_V, the=the)
    return O, A.T


@misconception(
    "head-returns-scores",
    part="attention_head",
    title="scores are returned in place of weights",
    formula="returns (O, S)",
    why="S and A are mixed up.",
    cure="Return (O, A).",
)
def returns_scores(H: Any, W_Q: Any, W_K: Any, W_V: Any, *, the: Parts = BOOK) -> Any:
    O, _ = head(H, W_Q, W_K, W_V, the=the)
    return O, the.attention_scores(real(H) @ real(W_Q), real(H) @ real(W_K))
