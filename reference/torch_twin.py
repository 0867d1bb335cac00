"""Knows the same mathematics a second time, in torch, float64: an independent witness for each reference function.

It shares no line with the NumPy reference and takes another way wherever there is one: all heads come from one fused
projection, the retrieved vectors from torch's own attention, the norm, the network and the loss from
`torch.nn.functional`. The functions have the contract's names, arguments and results (torch tensors here). Sources
are those of the reference. Nothing imports this file unless it is asked for.
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


def _ids(x: Any) -> Tensor:
    return torch.as_tensor(x, dtype=torch.int64)


def softmax(x: Any) -> Tensor:
    """Over the last axis; a row of nothing but −inf is NaN.

    shapes: (T, n) -> (T, n)
    """
    return torch.softmax(_t(x), dim=-1)


def attention_scores(Q: Any, K: Any) -> Tensor:
    """Each side is divided by the fourth root of d_k, then they are contracted.

    shapes: (T_q, d_k), (T_k, d_k) -> (T_q, T_k)
    """
    q, k = _t(Q), _t(K)
    fourth_root = math.pow(q.size(-1), 0.25)
    return torch.einsum("ti,si->ts", q / fourth_root, k / fourth_root)


def causal_attention_weights(S: Any) -> Tensor:
    """exp(S − log-sum-exp of the allowed entries), with the future filled in as −inf.

    shapes: (T, T) -> (T, T)
    """
    scores = _t(S)
    future = torch.ones_like(scores, dtype=torch.bool).triu(diagonal=1)
    allowed = scores.masked_fill(future, -math.inf)
    return allowed.sub(allowed.logsumexp(dim=1, keepdim=True)).exp()


def attention_head(H: Any, W_Q: Any, W_K: Any, W_V: Any) -> tuple[Tensor, Tensor]:
    """The retrieved vectors from torch's own attention, the weights by way of H (W_Q W_Kᵀ) Hᵀ.

    shapes: (T, d), (d, d_k), (d, d_k), (d, d_v) -> (T, d_v), (T, T)
    """
    x, w_q, w_k, w_v = _t(H), _t(W_Q), _t(W_K), _t(W_V)
    bilinear = torch.einsum("ti,ik,jk,sj->ts", x, w_q, w_k, x) * w_q.size(1) ** -0.5
    retrieved = F.scaled_dot_product_attention(x.mm(w_q)[None], x.mm(w_k)[None], x.mm(w_v)[None], is_causal=True)
    return retrieved[0], causal_attention_weights(bilinear)


def multi_head_attention(H: Any, heads: Sequence[tuple[Any, Any, Any]], W_O: Any) -> Tensor:
    """One fused projection (d, h·(2 d_k + d_v)), all heads at once, W_O applied head by head and summed.

    shapes: (T, d), h * [((d, d_k), (d, d_k), (d, d_v))], (h * d_v, d) -> (T, d)
    """
    x, n = _t(H), len(heads)
    d_k, d_v = _t(heads[0][0]).size(1), _t(heads[0][2]).size(1)
    fused = torch.cat([_t(head[part]) for part in range(3) for head in heads], dim=1)
    q, k, v = torch.split(x @ fused, [n * d_k, n * d_k, n * d_v], dim=1)
    q, k, v = (part.reshape(len(x), n, -1).transpose(0, 1) for part in (q, k, v))
    retrieved = F.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=True)[0]
    return torch.einsum("htv,hvd->td", retrieved, _t(W_O).reshape(n, d_v, -1))


def layer_norm(H: Any, gain: Any, shift: Any, eps: float) -> Tensor:
    """torch's own; at eps = 0 it does not define a constant row, unlike the reference.

    shapes: (T, d), (d,), (d,), () -> (T, d)
    """
    x = _t(H)
    return F.layer_norm(x, x.shape[-1:], weight=_t(gain), bias=_t(shift), eps=float(eps))


def feed_forward(H: Any, W_1: Any, b_1: Any, W_2: Any, b_2: Any) -> Tensor:
    """Two linear layers in torch's layout, a clamp between them.

    shapes: (T, d), (d, m), (m,), (m, d), (d,) -> (T, d)
    """
    pre_activation = F.linear(_t(H), _t(W_1).mT, _t(b_1))
    return F.linear(pre_activation.clamp_min(0.0), _t(W_2).mT, _t(b_2))


def decoder_block(H: Any, block: Mapping[str, Any]) -> Tensor:
    """Pre-norm; entries are passed on by their names.

    shapes: (T, d), block -> (T, d)
        where block = dict(norm_1=norm, heads=h * [((d, d_k), (d, d_k), (d, d_v))], W_O=(h * d_v, d),
                           norm_2=norm, W_1=(d, m), b_1=(m,), W_2=(m, d), b_2=(d,), eps=())
        where norm = dict(gain=(d,), shift=(d,))
    """
    stream = _t(H)
    stream = stream + multi_head_attention(
        layer_norm(stream, **block["norm_1"], eps=block["eps"]), block["heads"], block["W_O"]
    )
    mlp = {name: block[name] for name in ("W_1", "b_1", "W_2", "b_2")}
    return stream + feed_forward(layer_norm(stream, **block["norm_2"], eps=block["eps"]), **mlp)


def decoder(tokens: Any, params: Mapping[str, Any]) -> Tensor:
    """Embeddings by lookup, blocks, final norm, readout.

    shapes: ids(T, v), params -> (T, v)
        where params = dict(embedding=(v, d), positions=(T_max, d), blocks=L * [block], norm_f=norm,
                            W_out=(d, v), b_out=(v,), eps=())
        where block = dict(norm_1=norm, heads=h * [((d, d_k), (d, d_k), (d, d_v))], W_O=(h * d_v, d),
                           norm_2=norm, W_1=(d, m), b_1=(m,), W_2=(m, d), b_2=(d,), eps=())
        where norm = dict(gain=(d,), shift=(d,))
    """
    ids = _ids(tokens)
    stream = F.embedding(ids, _t(params["embedding"]))
    if "positions" in params and params["positions"] is not None:
        stream = stream + _t(params["positions"]).narrow(0, 0, ids.numel())
    for layer in params["blocks"]:
        stream = decoder_block(stream, layer)
    normed = layer_norm(stream, **params["norm_f"], eps=params["eps"])
    return torch.addmm(_t(params["b_out"]), normed, _t(params["W_out"]))


def next_token_probabilities(Z: Any) -> Tensor:
    """The exponential of the log-probabilities.

    shapes: (T, v) -> (T, v)
    """
    return F.log_softmax(_t(Z), dim=-1).exp()


def loss(Z: Any, targets: Any) -> Tensor:
    """torch's own cross-entropy, in nats.

    shapes: (T, v), ids(T, v) -> ()
    """
    return F.cross_entropy(_t(Z), _ids(targets), reduction="mean")


def hand_calculation() -> dict[str, Tensor]:
    """The figures from scores that are written down as numbers, not from projections.

    shapes: -> dict(w=(), A=(2, 2), H_prime=(2, 2), p_B=(), loss=(), p_B_without_residual=(),
                    A_first_value_zeroed=(2, 2), last_row_first_value_zeroed=(2,),
                    layer_norm_of_1_3=(2,), residual_of_1_3=(2,))
    """
    one = torch.eye(2, dtype=torch.float64)
    weights = causal_attention_weights(one * math.sqrt(0.5))
    stream = one + weights
    without_first = torch.tensor([[0.0, 0.0], [0.0, 1.0]], dtype=torch.float64)
    pair = torch.tensor([1.0, 3.0], dtype=torch.float64)
    normed = layer_norm(pair, torch.ones(2), torch.zeros(2), 0.0)
    return {
        "w": weights[1, 0],
        "A": weights,
        "H_prime": stream,
        "p_B": next_token_probabilities(stream)[1, 1],
        "loss": loss(stream[1].unsqueeze(0), [1]),
        "p_B_without_residual": next_token_probabilities(weights)[1, 1],
        "A_first_value_zeroed": weights.clone(),
        "last_row_first_value_zeroed": one[1] + weights[1] @ without_first,
        "layer_norm_of_1_3": normed,
        "residual_of_1_3": pair + normed,
    }
