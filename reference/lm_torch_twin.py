"""Knows the decoder-only language model a second time, in torch, float64: an independent witness.

It shares no line with the NumPy reference: a turn is a multiplication of complex numbers, attention and norms are
torch's own, decoding without a cache is one pass over everything. Nothing imports this file unless it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - the usual name
from torch import Tensor

NONLINEAR: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu-tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
}


def _t(x: Any) -> Tensor:
    return torch.as_tensor(x, dtype=torch.float64)


def rotary(x: Any, positions: Any) -> Tensor:
    """a + bi times exp(i φ).

    shapes: (T, d_k), (T,) -> (T, d_k)
    """
    first, second = _t(x).chunk(2, dim=-1)
    pairs = first.size(-1)
    frequency = torch.logspace(0, -4 * (pairs - 1) / pairs, pairs, dtype=torch.float64)
    phase = torch.outer(_t(positions), frequency)
    z = torch.complex(first.contiguous(), second.contiguous()) * torch.polar(torch.ones_like(phase), phase)
    return torch.cat((z.real, z.imag), dim=-1)


def _heads(x: Tensor, heads: int) -> Tensor:
    return x.reshape(*x.shape[:-1], heads, -1).movedim(-2, -3)


def logits(tokens: Any, weights: Mapping[str, Any], heads: int, kind: str = "relu") -> Tensor:
    """The whole sequence at once, every matrix in torch's layout.

    shapes: (B, T), weights, heads -> (B, T, v)
    """
    w = {name: _t(value) for name, value in weights.items()}
    ids = torch.as_tensor(tokens, dtype=torch.int64)
    places = torch.arange(ids.size(1))
    stream = F.embedding(ids, w["embedding"])
    learned = "positions" in w
    if learned:
        stream = stream + F.embedding(places, w["positions"])

    def norm(x: Tensor, name: str) -> Tensor:
        return F.layer_norm(x, (x.size(-1),), w[f"{name}.gain"], w[f"{name}.shift"], 1e-5)

    number = 0
    while (at := f"blocks.{number}") + ".W_Q" in w:
        read = norm(stream, f"{at}.norm_1")
        q, k, v = (_heads(F.linear(read, w[f"{at}.W_{name}"].mT), heads) for name in "QKV")
        if not learned:
            q, k = rotary(q, places), rotary(k, places)
        found = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        stream = stream + F.linear(found.movedim(-3, -2).flatten(-2), w[f"{at}.W_O"].mT)
        inner = NONLINEAR[kind](F.linear(norm(stream, f"{at}.norm_2"), w[f"{at}.W_1"].mT, w[f"{at}.b_1"]))
        stream = stream + F.linear(inner, w[f"{at}.W_2"].mT, w[f"{at}.b_2"])
        number += 1
    return F.linear(norm(stream, "norm_f"), w["W_out"].mT, w["b_out"])
