"""What goes wrong in several heads: which weights each gets, how they are joined, what follows."""

from __future__ import annotations

from typing import Any

import numpy as np

from grader.misconceptions import Choice, Family, misconception
from reference import BOOK, Parts
from reference.book import real


def heads_joined(
    H: Any, heads: Any, W_O: Any, *, order: str = "given", join: str = "columns", out: str = "W_O", the: Parts = BOOK
) -> Any:
    """Several heads, with a choice of which heads, of how they are joined, and of what follows."""
    W_O = real(W_O)
    h = len(heads)
    orders: dict[str, Any] = {
        "given": list(heads),
        "reversed": list(heads)[::-1],
        "first": [heads[0]] * h,
        "last": [heads[-1]] * h,
        "rotated": [*heads[1:], heads[0]],
        "unpacked KQV": [(W_K, W_Q, W_V) for W_Q, W_K, W_V in heads],
        "first queries": [(heads[0][0], W_K, W_V) for _, W_K, W_V in heads],
        "first keys": [(W_Q, heads[0][1], W_V) for W_Q, _, W_V in heads],
        "first values": [(W_Q, W_K, heads[0][2]) for W_Q, W_K, _ in heads],
    }
    outs = [the.attention_head(H, *weights)[0] for weights in orders[order]]
    T, d_v = outs[0].shape
    joins: dict[str, Any] = {
        "columns": lambda: np.concatenate(outs, axis=-1),
        "interleaved": lambda: np.stack(outs, axis=-1).reshape(T, -1),
        "no-transpose": lambda: np.stack(outs).reshape(T, -1),
        "transpose-last": lambda: np.stack(outs).transpose(1, 2, 0).reshape(T, -1),
        "sum": lambda: np.concatenate([sum(outs)] * h, axis=-1),
        "mean": lambda: np.concatenate([sum(outs) / h] * h, axis=-1),
        "only-first": lambda: np.concatenate([outs[0]] + [np.zeros_like(o) for o in outs[1:]], axis=-1),
        "drop-last": lambda: np.concatenate([*outs[:-1], np.zeros_like(outs[-1])], axis=-1),
        "drop-first": lambda: np.concatenate([np.zeros_like(outs[0]), *outs[1:]], axis=-1),
        "only-last": lambda: np.concatenate([np.zeros_like(o) for o in outs[:-1]] + [outs[-1]], axis=-1),
    }
    joined = joins[join]()
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
            **{
                f"first {what}": Choice(
                    f"heads-share-first-{what}",
                    f"every head uses the {what} of the first",
                    f"{letter} of head 1 in every head",
                    "heads[0] stands in the loop where heads[i] should.",
                    "Unpack each head's own weights in the loop.",
                )
                for what, letter in (("queries", "W_Q"), ("keys", "W_K"), ("values", "W_V"))
            },
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
            "drop-first": Choice(
                "heads-drop-first",
                "the first head is left out",
                "[0 O_2 … O_h] W_O",
                "The loop starts one too late.",
                JOIN,
            ),
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


def heads_fused(
    H: Any,
    heads: Any,
    W_O: Any,
    *,
    layout: str = "heads",
    scale: str = "d_k",
    softmax: str = "keys",
    merge: str = "columns",
    the: Parts = BOOK,
) -> Any:
    """All heads from one fused projection, with a choice of how it is split, scaled, normalized and merged."""
    H, W_O = real(H), real(W_O)
    T, h = len(H), len(heads)
    joined = [H @ np.concatenate([real(head[i]) for head in heads], axis=1) for i in range(3)]  # (T, h·n) each
    split = {
        "heads": lambda X: X.reshape(T, h, -1).transpose(1, 0, 2),
        "rows": lambda X: X.reshape(h, T, -1),
        "coordinates": lambda X: X.reshape(T, -1, h).transpose(2, 0, 1),
    }
    ways = ["heads", "heads", layout] if layout.startswith("values ") else [layout] * 3
    Q, K, V = (split[way.removeprefix("values ")](X) for way, X in zip(ways, joined, strict=True))
    S = np.stack([the.attention_scores(q, k) for q, k in zip(Q, K, strict=True)])
    if scale == "joined":
        S = S / np.sqrt(h)
    if softmax == "heads":
        E = np.where(np.tri(T, dtype=bool), np.exp(S - S.max(axis=0)), 0.0)
        A = E / np.where(np.tri(T, dtype=bool), E.sum(axis=0), 1.0)
    else:
        A = np.stack([the.causal_attention_weights(s) for s in S])
    O = A @ V  # (h, T, d_v)
    return (O.reshape(T, -1) if merge == "rows" else O.transpose(1, 0, 2).reshape(T, -1)) @ W_O


PACK = "Columns i·n … (i+1)·n of the fused projection belong to head i: reshape(T, h, n), then move h to the front."
FUSED = Family(
    "multi_head_attention",
    heads_fused,
    {
        "layout": {
            "rows": Choice(
                "heads-split-without-transpose",
                "split without moving the time axis",
                "(T, h·n) reshaped to (h, T, n): rows mix positions, the future leaks",
                "reshape takes numbers in memory order, it does not move axes.",
                PACK,
            ),
            "coordinates": Choice(
                "heads-packed-by-coordinate",
                "the fused projection is read coordinate by coordinate",
                "column j·h + i is taken for coordinate j of head i",
                "(n, h) is written for (h, n).",
                PACK,
            ),
            "values coordinates": Choice(
                "heads-values-packed-by-coordinate",
                "the fused values are read coordinate by coordinate",
                "column j·h + i of H W_V is taken for coordinate j of head i",
                "(n, h) is written for (h, n), for the values alone.",
                PACK,
            ),
        },
        "scale": {
            "joined": Choice(
                "scale-by-joined-width",
                "scaled by the width of all heads together",
                "S = Q Kᵀ / √(h·d_k)",
                "d_k is read before the heads are split.",
                "Divide by √d_k, the width of one head.",
            ),
        },
        "softmax": {
            "heads": Choice(
                "softmax-over-heads",
                "softmax over the heads",
                "A_i[t, s] = exp(S_i[t, s]) / Σ_j exp(S_j[t, s]): with one head every weight is 1",
                "The axis is counted from the wrong end.",
                "Normalize over the keys: axis=-1.",
            ),
        },
    },
)


@misconception(
    "heads-split-and-merged-without-transpose",
    part="multi_head_attention",
    title="split and merged without moving the time axis",
    formula="(T, h·n) reshaped to (h, T, n) and back: each head holds a stretch of the sequence",
    why="The two mistakes undo each other's shapes, so nothing fails.",
    cure=PACK,
)
def split_and_merged(H: Any, heads: Any, W_O: Any, *, the: Parts = BOOK) -> Any:
    return heads_fused(H, heads, W_O, layout="rows", merge="rows", the=the)


@misconception(
    "heads-chained",
    part="multi_head_attention",
    title="each head reads what the one before wrote",
    formula="H_(i+1) = H_i + O_i W_O[:d_v], M = [O_1 … O_h] W_O",
    why="The heads are taken for layers.",
    cure="Every head reads the same H.",
)
def chained(H: Any, heads: Any, W_O: Any, *, the: Parts = BOOK) -> Any:
    X, W_O = real(H), real(W_O)
    outs = []
    for weights in heads:
        O = the.attention_head(X, *weights)[0]
        outs.append(O)
        X = X + O @ W_O[: O.shape[1]]
    return np.concatenate(outs, axis=-1) @ W_O
