"""What goes wrong in one head and in joining several."""

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
    O = {
        "A V": lambda: A @ V,
        "transposed": lambda: A.T @ V,
        "unmasked": lambda: the.softmax(S) @ V,
        "twice": lambda: A @ (A @ V),
        "scores": lambda: np.tril(S) @ V,
        "values": lambda: V,
        "last": lambda: np.tile((A @ V)[-1], (len(H), 1)),
        "mean": lambda: np.cumsum(V, axis=0) / np.arange(1, len(H) + 1)[:, None],
    }[retrieve]()
    return O, A


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
            "H": Choice("query-not-projected", "queries not projected", "Q = H", "W_Q is forgotten.", "Q = H W_Q."),
        },
        "key": {
            "Q": Choice(
                "key-from-query-weights",
                "keys made with W_Q",
                "K = H W_Q: the scores are symmetric",
                "A line is copied and not changed.",
                "K = H W_K.",
            ),
            "H": Choice("key-not-projected", "keys not projected", "K = H", "W_K is forgotten.", "K = H W_K."),
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


def heads_joined(
    H: Any, heads: Any, W_O: Any, *, order: str = "given", join: str = "columns", out: str = "W_O", the: Parts = BOOK
) -> Any:
    """Several heads, with a choice of which heads, of how they are joined, and of what follows."""
    W_O = real(W_O)
    h = len(heads)
    chosen = {
        "given": list(heads),
        "reversed": list(heads)[::-1],
        "first": [heads[0]] * h,
        "last": [heads[-1]] * h,
        "rotated": [*heads[1:], heads[0]],
        "unpacked KQV": [(W_K, W_Q, W_V) for W_Q, W_K, W_V in heads],
    }[order]
    outs = [the.attention_head(H, *weights)[0] for weights in chosen]
    T, d_v = outs[0].shape
    joined = {
        "columns": lambda: np.concatenate(outs, axis=-1),
        "interleaved": lambda: np.stack(outs, axis=-1).reshape(T, -1),
        "no-transpose": lambda: np.stack(outs).reshape(T, -1),
        "transpose-last": lambda: np.stack(outs).transpose(1, 2, 0).reshape(T, -1),
        "sum": lambda: np.concatenate([sum(outs)] * h, axis=-1),
        "mean": lambda: np.concatenate([sum(outs) / h] * h, axis=-1),
        "only-first": lambda: np.concatenate([outs[0]] + [np.zeros_like(o) for o in outs[1:]], axis=-1),
        "drop-last": lambda: np.concatenate(outs[:-1] + [np.zeros_like(outs[-1])], axis=-1),
        "only-last": lambda: np.concatenate([np.zeros_like(o) for o in outs[:-1]] + [outs[-1]], axis=-1),
    }[join]()
    return {
        "W_O": lambda: joined @ W_O,
        "none": lambda: joined,
        "summed": lambda: sum(o @ W_O[:d_v] for o in outs),
        "averaged": lambda: joined @ W_O / h,
        "residual": lambda: joined @ W_O + real(H),
        "transposed": lambda: joined @ W_O.T,
        "sum-only": lambda: sum(outs),
    }[out]()


JOIN = "M = [O_1 … O_h] W_O: np.concatenate(outputs, axis=-1) @ W_O."
JOINED = Family(
    "multi_head_attention",
    heads_joined,
    {
        "order": {
            "reversed": Choice(
                "heads-reversed",
                "the heads are joined backwards",
                "[O_h … O_1] W_O",
                "The list is built from its end.",
                JOIN,
            ),
            "first": Choice(
                "heads-share-first",
                "every head uses the weights of the first",
                "[O_1 O_1 … O_1] W_O",
                "heads[0] stands in the loop where heads[i] should.",
                "Unpack each head's own weights in the loop.",
            ),
            "last": Choice(
                "heads-share-last",
                "every head uses the weights of the last",
                "[O_h … O_h] W_O",
                "A name that outlives the loop, or a closure, keeps the last head.",
                "Unpack each head's own weights in the loop.",
            ),
            "rotated": Choice(
                "heads-rotated",
                "the heads are joined one place off",
                "[O_2 … O_h O_1] W_O",
                "An index is off by one.",
                JOIN,
            ),
            "unpacked KQV": Choice(
                "heads-unpacked-key-first",
                "each head's triple is unpacked as (W_K, W_Q, W_V)",
                "Q = H W_K, K = H W_Q",
                "The order of the triple is mixed up.",
                "A head is (W_Q, W_K, W_V).",
            ),
        },
        "join": {
            "interleaved": Choice(
                "heads-interleaved",
                "the heads' columns are interleaved",
                "column i·h + j holds coordinate i of head j",
                "Stacked along the last axis and reshaped.",
                JOIN,
            ),
            "no-transpose": Choice(
                "heads-merged-without-transpose",
                "merged without moving the head axis",
                "(h, T, d_v) reshaped to (T, h·d_v): rows mix positions, the future leaks",
                "reshape takes numbers in memory order, it does not move axes.",
                "Move the head axis behind the time axis first, or concatenate along the last axis.",
            ),
            "sum": Choice(
                "heads-summed", "the heads are summed", "[ΣO ΣO …] W_O", "Joining is taken for adding.", JOIN
            ),
            "mean": Choice(
                "heads-averaged", "the heads are averaged", "[mean mean …] W_O", "Joining is taken for averaging.", JOIN
            ),
            "only-first": Choice(
                "heads-only-first",
                "only the first head counts",
                "[O_1 0 … 0] W_O",
                "The loop returns or breaks early.",
                JOIN,
            ),
            "drop-last": Choice(
                "heads-drop-last",
                "the last head is left out",
                "[O_1 … O_(h-1) 0] W_O",
                "The loop ends one too early.",
                JOIN,
            ),
            "only-last": Choice(
                "heads-only-last",
                "only the last head counts",
                "[0 … 0 O_h] W_O",
                "Each head overwrites the one before.",
                JOIN,
            ),
        },
        "out": {
            "none": Choice(
                "output-projection-missing", "W_O is missing", "M = [O_1 … O_h]", "The last line is forgotten.", JOIN
            ),
            "summed": Choice(
                "heads-share-projection",
                "every head goes through the first rows of W_O",
                "M = Σ O_i W_O[:d_v]",
                "The slice of W_O does not move with the head.",
                JOIN,
            ),
            "averaged": Choice(
                "heads-divided-by-count", "divided by the number of heads", "M / h", "A mean is meant.", JOIN
            ),
            "residual": Choice(
                "attention-adds-residual",
                "the input is added already here",
                "H + [O_1 … O_h] W_O",
                "The residual belongs to the block.",
                "Return the attention alone; the block adds H.",
            ),
            "transposed": Choice(
                "output-projection-transposed",
                "W_O is transposed",
                "[O_1 … O_h] W_Oᵀ",
                "torch.nn.Linear keeps its weight transposed.",
                JOIN,
            ),
            "sum-only": Choice(
                "heads-summed-without-projection",
                "heads summed, W_O missing",
                "M = Σ O_i",
                "Adding is taken for joining.",
                JOIN,
            ),
        },
    },
)
