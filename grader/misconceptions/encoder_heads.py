"""What goes wrong in several heads with a mask, and in cross-attention: whose rows, which weights, which mask."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from grader.misconceptions import Choice, Family
from grader.misconceptions.several_heads import JOINED, heads_joined
from reference.book import real
from reference.encoder import ENCODER
from reference.parts import Parts

ROLES = "Queries come from the first argument, keys and values from the second."
MASKS = "Pass the mask on to every head as it is."


def several(
    X_q: Any,
    X_kv: Any,
    heads: Any,
    W_O: Any,
    mask: Any = None,
    *,
    order: str = "given",
    join: str = "columns",
    out: str = "W_O",
    reads: str = "given",
    roles: str = "given",
    the: Parts = ENCODER,
) -> Any:
    """Several heads, with a choice of which heads, how they are joined, which mask, and who plays what."""
    X_q, X_kv = real(X_q), real(X_kv)
    past = np.tri(len(X_q), len(X_kv), dtype=bool)
    if mask is not None:
        mask = np.asarray(mask, bool)
        mask = {"given": mask, "ignored": None, "flipped": ~mask, "with-past": mask & past, "past": past}[
            "given" if reads in ("first-head", "last-head") else reads
        ]
    elif reads in ("with-past", "past"):
        mask = past
    queries, keys, values = {
        "given": (X_q, X_kv, X_kv),
        "swapped": (X_kv, X_q, X_q),
        "self": (X_q, X_q, X_q),
        "memory": (X_kv, X_kv, X_kv),
    }[roles]
    if roles != "given":
        mask = None
    calls = iter(range(len(heads)))

    def attention_head(_: Any, W_Q: Any, W_K: Any, W_V: Any) -> Any:
        i = next(calls)
        closed = (reads == "first-head" and i > 0) or (reads == "last-head" and i < len(heads) - 1)
        return the.attention(queries @ real(W_Q), keys @ real(W_K), values @ real(W_V), None if closed else mask)

    book: Any = SimpleNamespace(attention_head=attention_head)
    return heads_joined(X_q, heads, W_O, order=order, join=join, out=out, the=book)


def _alike(choice: Choice) -> Choice:
    """The same mistake as with causal heads, under another id."""
    return Choice(f"multi-{choice.id}", choice.title, choice.formula, choice.why, choice.cure)


def _role(key: str, title: str, formula: str, why: str) -> Choice:
    return Choice(key, title, formula, why, ROLES)


def _reads(prefix: str) -> dict[str, Choice]:
    return {
        "ignored": Choice(
            f"{prefix}-mask-ignored",
            "the mask is not passed on",
            "MHA without a mask",
            "The argument has a default, so nothing fails without it.",
            MASKS,
        ),
        "flipped": Choice(
            f"{prefix}-mask-flipped",
            "the mask is turned round on the way",
            "the heads get ~mask",
            "True = may NOT be consulted in torch.nn.MultiheadAttention.",
            MASKS,
        ),
        "with-past": Choice(
            f"{prefix}-mask-and-causal",
            "a causal mask on top of the given one",
            "the heads get mask and s ≤ t",
            "Every attention is taken for the decoder's self-attention.",
            MASKS,
        ),
        "past": Choice(
            f"{prefix}-mask-causal-instead",
            "a causal mask in place of the given one",
            "the heads get s ≤ t",
            "Every attention is taken for the decoder's self-attention.",
            MASKS,
        ),
    }


def _roles(prefix: str, first: str, second: str) -> dict[str, Choice]:
    return {
        "swapped": _role(
            f"{prefix}-queries-and-memory-swapped",
            "queries and memory are swapped",
            f"queries from {second}, keys and values from {first}: one row for each row of {second}",
            "The arguments are passed on in the wrong order.",
        ),
        "self": _role(
            f"{prefix}-keys-from-queries",
            f"keys and values come from {first}",
            f"MHA({first}, {first}): {second} is not used",
            "It is written like self-attention.",
        ),
        "memory": _role(
            f"{prefix}-queries-from-memory",
            f"queries come from {second} too",
            f"MHA({second}, {second}): {first} is not used",
            "It is written like self-attention.",
        ),
    }


SEVERAL = Family(
    "multi_head",
    several,
    {
        **{place: {value: _alike(c) for value, c in choices.items()} for place, choices in JOINED.places.items()},
        "reads": {
            **_reads("multi"),
            "first-head": Choice(
                "multi-mask-first-head",
                "only the first head gets the mask",
                "O_2 … O_h without a mask",
                "The loop changes the mask, or it is passed on once.",
                MASKS,
            ),
            "last-head": Choice(
                "multi-mask-last-head",
                "only the last head gets the mask",
                "O_1 … O_(h-1) without a mask",
                "The mask is passed on outside the loop.",
                MASKS,
            ),
        },
        "roles": _roles("multi", "X_q", "X_kv"),
    },
)


def cross(
    X: Any,
    memory: Any,
    heads: Any,
    W_O: Any,
    memory_mask: Any = None,
    *,
    reads: str = "given",
    roles: str = "given",
    adds: str = "nothing",
    the: Parts = ENCODER,
) -> Any:
    """Cross-attention, with a choice of the mask, of who plays what, and of what is added."""
    X, memory = real(X), real(memory)
    n, past = len(memory), np.tri(len(X), len(memory), dtype=bool)
    given = None if memory_mask is None else np.broadcast_to(np.asarray(memory_mask, bool), (len(X), n))
    mask = {
        "given": given,
        "ignored": None,
        "flipped": None if given is None else ~given,
        "with-past": past if given is None else given & past,
        "past": past,
    }[reads]
    queries, source = {"given": (X, memory), "swapped": (memory, X), "self": (X, X), "memory": (memory, memory)}[roles]
    if roles == "memory" and given is not None:
        mask = np.broadcast_to(given[:1], (n, n))
    elif roles != "given":
        mask = None
    out = the.multi_head(queries, source, heads, W_O, mask)
    return out + X if adds == "X" else out


CROSS = Family(
    "cross_attention",
    cross,
    {
        "reads": _reads("cross"),
        "roles": _roles("cross", "X", "the memory"),
        "adds": {
            "X": Choice(
                "cross-adds-residual",
                "X is added already here",
                "X + MHA(X, memory)",
                "The residual belongs to the decoder layer.",
                "Return the attention alone; the layer adds X.",
            ),
        },
    },
)
