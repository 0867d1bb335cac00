"""Knows the original post-norm layers a second time, in torch, float64: an independent witness for each function.

It shares no line with the NumPy reference: all heads run at once, the numbers come from torch's own attention with an
additive mask, from `torch.nn.functional` and, for the whole layers, from entries that are passed on by their names.
Sources are those of the reference. Nothing imports this file unless it is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - the usual name
from torch import Tensor


def _t(x: Any) -> Tensor:
    return torch.as_tensor(x, dtype=torch.float64)


def _additive(mask: Any, rows: int, columns: int) -> tuple[Tensor, Tensor]:
    """0 where a position may be consulted and −inf elsewhere, rows of nothing left open; and which rows those are."""
    allowed = torch.ones(rows, columns, dtype=torch.bool)
    if mask is not None:
        allowed = allowed & torch.as_tensor(mask, dtype=torch.bool)
    empty = ~allowed.any(dim=1, keepdim=True)
    bias = torch.zeros(rows, columns, dtype=torch.float64).masked_fill(~allowed & ~empty, -math.inf)
    return bias, empty


def attention(Q: Any, K: Any, V: Any, mask: Any = None) -> tuple[Tensor, Tensor]:
    """exp(S − log-sum-exp of the allowed entries); rows of nothing are set to 0 at the end.

    shapes: (T_q, d_k), (T_k, d_k), (T_k, d_v), mask(T_q, T_k) -> (T_q, d_v), (T_q, T_k)
    """
    q, k, v = _t(Q), _t(K), _t(V)
    bias, empty = _additive(mask, len(q), len(k))
    fourth_root = math.pow(q.size(-1), 0.25)
    logits = torch.einsum("ti,si->ts", q / fourth_root, k / fourth_root) + bias
    weights = torch.exp(logits - logits.logsumexp(dim=1, keepdim=True)).masked_fill(empty, 0.0)
    return torch.einsum("ts,sv->tv", weights, v), weights


def multi_head(X_q: Any, X_kv: Any, heads: Sequence[tuple[Any, Any, Any]], W_O: Any, mask: Any = None) -> Tensor:
    """Stacked projections, torch's own attention over a head axis, W_O applied head by head and summed.

    shapes: (T_q, d), (T_k, d), h * [((d, d_k), (d, d_k), (d, d_v))], (h * d_v, d), mask(T_q, T_k) -> (T_q, d)
    """
    x, y = _t(X_q), _t(X_kv)
    w_q, w_k, w_v = (torch.stack([_t(head[i]) for head in heads]) for i in range(3))
    bias, empty = _additive(mask, len(x), len(y))
    retrieved = F.scaled_dot_product_attention(x @ w_q, y @ w_k, y @ w_v, attn_mask=bias).masked_fill(empty, 0.0)
    return torch.einsum("htv,hvd->td", retrieved, _t(W_O).reshape(len(heads), w_v.size(2), -1))


def layer_norm(z: Any, gain: Any, shift: Any, eps: float) -> Tensor:
    """torch's own; at eps = 0 it does not define a constant row, unlike the reference.

    shapes: (T, d), (d,), (d,), () -> (T, d)
    """
    x = _t(z)
    return F.layer_norm(x, x.shape[-1:], weight=_t(gain), bias=_t(shift), eps=float(eps))


def ffn(u: Any, W_1: Any, b_1: Any, W_2: Any, b_2: Any) -> Tensor:
    """Two linear layers in torch's layout, a clamp between them.

    shapes: (T, d), (d, m), (m,), (m, d), (d,) -> (T, d)
    """
    return F.linear(F.linear(_t(u), _t(W_1).mT, _t(b_1)).clamp_min(0.0), _t(W_2).mT, _t(b_2))


def _after(params: Mapping[str, Any], name: str, before: Tensor, added: Tensor) -> Tensor:
    return layer_norm(before + added, **params[name], eps=params["eps"])


def _network(params: Mapping[str, Any], u: Tensor) -> Tensor:
    return ffn(u, **{name: params[name] for name in ("W_1", "b_1", "W_2", "b_2")})


def encoder_block(X: Any, params: Mapping[str, Any], padding_mask: Any = None) -> Tensor:
    """Add-then-normalize twice; a one-dimensional mask broadcasts over the queries.

    shapes: (T, d), params, mask(T) -> (T, d)
        where params = dict(self_heads=h * [((d, d_k), (d, d_k), (d, d_v))], self_W_O=(h * d_v, d), norm_1=norm,
                            W_1=(d, m), b_1=(m,), W_2=(m, d), b_2=(d,), norm_2=norm, eps=())
        where norm = dict(gain=(d,), shift=(d,))
    """
    stream = _t(X)
    stream = _after(
        params, "norm_1", stream, multi_head(stream, stream, params["self_heads"], params["self_W_O"], padding_mask)
    )
    return _after(params, "norm_2", stream, _network(params, stream))


def cross_attention(
    X: Any, memory: Any, heads: Sequence[tuple[Any, Any, Any]], W_O: Any, memory_mask: Any = None
) -> Tensor:
    """Several heads over the memory.

    shapes: (T, d), (n, d), h * [((d, d_k), (d, d_k), (d, d_v))], (h * d_v, d), mask(n) -> (T, d)
    """
    return multi_head(X, memory, heads, W_O, memory_mask)


def decoder_layer(X: Any, memory: Any, params: Mapping[str, Any], memory_mask: Any = None) -> Tensor:
    """Add-then-normalize three times.

    shapes: (T, d), (n, d), params, mask(n) -> (T, d)
        where params = dict(self_heads=h * [((d, d_k), (d, d_k), (d, d_v))], self_W_O=(h * d_v, d), norm_1=norm,
                            cross_heads=h * [((d, d_k), (d, d_k), (d, d_v))], cross_W_O=(h * d_v, d), norm_cross=norm,
                            W_1=(d, m), b_1=(m,), W_2=(m, d), b_2=(d,), norm_2=norm, eps=())
        where norm = dict(gain=(d,), shift=(d,))
    """
    stream = _t(X)
    past = torch.ones(len(stream), len(stream), dtype=torch.bool).tril()
    stream = _after(
        params, "norm_1", stream, multi_head(stream, stream, params["self_heads"], params["self_W_O"], past)
    )
    read = cross_attention(stream, memory, params["cross_heads"], params["cross_W_O"], memory_mask)
    stream = _after(params, "norm_cross", stream, read)
    return _after(params, "norm_2", stream, _network(params, stream))


def shift_targets(tokens: Any) -> tuple[Tensor, Tensor]:
    """Two narrow views of the ids.

    shapes: ids(T + 1, v) -> ids(T, v), ids(T, v)
    """
    ids = torch.as_tensor(tokens, dtype=torch.int64)
    return ids.narrow(0, 0, len(ids) - 1), ids.narrow(0, 1, len(ids) - 1)
