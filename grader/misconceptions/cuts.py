"""What goes wrong in gradients: where the graph is cut. `now` is moved, what is cut off stays as it was at `base`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from grader.misconceptions import also_cut, cut
from reference.book import real
from reference.parts import Parts

WHY = "detach, .data, .item(), .numpy() or no_grad stands around it."


def _cut(key: str, part: str, title: str, formula: str, cure: str, why: str = WHY) -> Callable[[Any], Any]:
    return cut(key, part=part, title=title, formula=formula, why=why, cure=cure)


def _exp(x: Any) -> Any:
    return np.exp(x - x.max(axis=-1, keepdims=True))


# softmax and the parts that are one
@_cut(
    "softmax-sum-detached",
    "softmax",
    "the sum is cut off from the gradient",
    "exp(x) / detached Σ exp(x): the rows' sums get a gradient",
    "Let the gradient through the sum; only the maximum may be detached.",
)
def softmax_sum(now: Any, base: Any, the: Parts) -> Any:
    x, x_0 = real(now[0]), real(base[0])
    top = x_0.max(axis=-1, keepdims=True)
    return np.exp(x - top) / _exp(x_0).sum(axis=-1, keepdims=True)


@also_cut("softmax-sum-detached", part="softmax")
def softmax_sum_only(now: Any, base: Any, the: Parts) -> Any:
    """The gradient goes through the maximum."""
    return _exp(real(now[0])) / _exp(real(base[0])).sum(axis=-1, keepdims=True)


@_cut(
    "probabilities-sum-detached",
    "next_token_probabilities",
    "the sum is cut off from the gradient",
    "exp(Z) / detached Σ exp(Z)",
    "Let the gradient through the sum; only the maximum may be detached.",
)
def probabilities_sum(now: Any, base: Any, the: Parts) -> Any:
    return softmax_sum(now, base, the)


@_cut(
    "weights-sum-detached",
    "causal_attention_weights",
    "the sum is cut off from the gradient",
    "exp(S) / detached Σ exp(S)",
    "Let the gradient through the sum; only the maximum may be detached.",
)
def weights_sum(now: Any, base: Any, the: Parts) -> Any:
    allowed = np.tri(len(now[0]), dtype=bool)
    return softmax_sum(*([np.where(allowed, real(S[0]), -np.inf)] for S in (now, base)), the)


@also_cut("probabilities-sum-detached", part="next_token_probabilities")
def probabilities_sum_only(now: Any, base: Any, the: Parts) -> Any:
    return softmax_sum_only(now, base, the)


@also_cut("weights-sum-detached", part="causal_attention_weights")
def weights_sum_only(now: Any, base: Any, the: Parts) -> Any:
    allowed = np.tri(len(now[0]), dtype=bool)
    return softmax_sum_only(*([np.where(allowed, real(S[0]), -np.inf)] for S in (now, base)), the)


@_cut(
    "loss-sum-detached",
    "loss",
    "the logarithm of the sum is cut off from the gradient",
    "-Z[t, target] + detached ln Σ exp Z[t]: only the target's logit gets a gradient",
    "Let the gradient through ln Σ exp Z.",
)
def loss_sum(now: Any, base: Any, the: Parts) -> Any:
    Z, targets = real(now[0]), np.asarray(now[1])
    rows = np.arange(len(Z))
    return float(the.loss(*base)) - (Z - real(base[0]))[rows, targets].mean()


# one head
def _projected(args: Any) -> tuple[Any, Any, Any]:
    H, W_Q, W_K, W_V = map(real, args)
    return H @ W_Q, H @ W_K, H @ W_V


def _head(now: Any, base: Any, the: Parts, cut_off: str) -> Any:
    (Q, K, V), (Q_0, K_0, V_0) = _projected(now), _projected(base)
    A = the.causal_attention_weights(
        the.attention_scores(Q_0 if cut_off in ("Q", "A") else Q, K_0 if cut_off in ("K", "A") else K)
    )
    used = the.causal_attention_weights(the.attention_scores(Q_0, K_0)) if cut_off == "A for O" else A
    return used @ (V_0 if cut_off == "V" else V), A


for _id, _letter, _title, _formula in (
    ("weights-detached", "A", "the attention weights are cut off from the gradient", "O = detached A · V"),
    (
        "weights-detached-for-values",
        "A for O",
        "the attention weights are cut off from the gradient where values are summed",
        "O = detached A · V, the returned A keeps its gradient",
    ),
    ("queries-detached", "Q", "the queries are cut off from the gradient", "S = detached Q · Kᵀ / √d_k"),
    ("keys-detached", "K", "the keys are cut off from the gradient", "S = Q · detached Kᵀ / √d_k"),
    ("values-detached", "V", "the values are cut off from the gradient", "O = A · detached V"),
):
    _cut(_id, "attention_head", _title, _formula, "Let the gradient through Q, K, V and A.")(
        lambda now, base, the, letter=_letter: _head(now, base, the, letter)
    )


# several heads
def _heads(now: Any, base: Any, the: Parts, keeps: Callable[[int, int], bool]) -> Any:
    outs = [
        the.attention_head(*((now[0], *now[1][i]) if keeps(i, len(now[1])) else (base[0], *base[1][i])))[0]
        for i in range(len(now[1]))
    ]
    return np.concatenate(outs, axis=-1) @ real(now[2])


for _id, _keeps, _title in (
    ("heads-detached", lambda i, h: False, "the heads are cut off from the gradient"),
    ("only-first-head-in-graph", lambda i, h: i == 0, "only the first head has a gradient"),
    ("only-last-head-in-graph", lambda i, h: i == h - 1, "only the last head has a gradient"),
):
    _cut(
        _id,
        "multi_head_attention",
        _title,
        "[O_1 … O_h] W_O with some O_i detached",
        "Join the heads' tensors themselves, with torch.cat.",
    )(lambda now, base, the, keeps=_keeps: _heads(now, base, the, keeps))


@_cut(
    "heads-weights-detached",
    "multi_head_attention",
    "the attention weights of all heads are cut off from the gradient",
    "O_i = detached A_i · V_i",
    "Let the gradient through A.",
)
def heads_weights(now: Any, base: Any, the: Parts) -> Any:
    pairs = zip(now[1], base[1], strict=True)
    outs = [_head((now[0], *w), (base[0], *w_0), the, "A")[0] for w, w_0 in pairs]
    return np.concatenate(outs, axis=-1) @ real(now[2])


# layer norm
def _norm(now: Any, base: Any, mean: bool, variance: bool) -> Any:
    H, gain, shift, H_0 = real(now[0]), real(now[1]), real(now[2]), real(base[0])
    m, m_0 = (x.mean(axis=-1, keepdims=True) for x in (H, H_0))
    center = m_0 if mean else m
    # with the mean detached and the variance not, the variance is taken around the detached mean
    spread = ((H_0 - m_0) ** 2 if variance else (H - center) ** 2).mean(axis=-1, keepdims=True)
    return gain * (H - center) / np.sqrt(spread + now[3]) + shift


for _id, _mean, _variance, _what in (
    ("norm-statistics-detached", True, True, "mean and variance are"),
    ("norm-variance-detached", False, True, "the variance is"),
    ("norm-mean-detached", True, False, "the mean is"),
):
    _cut(
        _id,
        "layer_norm",
        f"{_what} cut off from the gradient",
        "gain · (H - mean) / √(variance + eps) + shift with detached statistics: the numbers are right",
        "Compute mean and variance with the gradient: they depend on H.",
        "The statistics are taken for constants, as those that batch norm keeps.",
    )(lambda now, base, the, mean=_mean, variance=_variance: _norm(now, base, mean, variance))


# feed-forward
@_cut(
    "hidden-layer-detached",
    "feed_forward",
    "the hidden layer is cut off from the gradient",
    "detached ReLU(H W_1 + b_1) · W_2 + b_2: W_1 and b_1 learn nothing",
    "Let the gradient through the hidden layer.",
)
def hidden(now: Any, base: Any, the: Parts) -> Any:
    H, W_1, b_1, _, _ = map(real, base)
    return np.maximum(H @ W_1 + b_1, 0) @ real(now[3]) + real(now[4])


# block
def _block(now: Any, base: Any, the: Parts, cut_off: str) -> Any:
    def stream(H: Any, block: Any) -> tuple[Any, Any, Any]:
        H = real(H)
        N = the.layer_norm(H, **block["norm_1"], eps=block["eps"])
        return H, N, the.multi_head_attention(N, block["heads"], block["W_O"])

    def fed(U: Any, block: Any) -> Any:
        N = the.layer_norm(U, **block["norm_2"], eps=block["eps"])
        return the.feed_forward(N, *(block[key] for key in ("W_1", "b_1", "W_2", "b_2")))

    block = now[1]
    (H, _, M), (H_0, N_0, M_0) = stream(*now), stream(*base)
    if cut_off == "norm 1":
        M = the.multi_head_attention(N_0, block["heads"], block["W_O"])
    U = (H_0 if cut_off == "residual 1" else H) + (M_0 if cut_off == "attention" else M)
    U_0 = H_0 + M_0
    if cut_off == "stream":
        U = U_0
    F = fed(U_0, base[1]) if cut_off == "feed-forward" else fed(U_0 if cut_off == "norm 2" else U, block)
    return (U_0 if cut_off == "residual 2" else U) + F


for _id, _place, _title in (
    ("residual-1-detached", "residual 1", "the residual around attention is cut off from the gradient"),
    ("residual-2-detached", "residual 2", "the residual around the feed-forward is cut off from the gradient"),
    ("attention-detached", "attention", "the attention sublayer is cut off from the gradient"),
    ("feed-forward-detached", "feed-forward", "the feed-forward sublayer is cut off from the gradient"),
    ("stream-detached", "stream", "everything before the feed-forward is cut off from the gradient"),
    ("attention-input-detached", "norm 1", "attention's input is cut off from the gradient"),
):
    _cut(
        _id,
        "decoder_block",
        _title,
        "U = H + MHA(LN_1(H)), H' = U + FF(LN_2(U)) with a term detached: the numbers are right",
        "Let the gradient through both residuals and both sublayers.",
    )(lambda now, base, the, place=_place: _block(now, base, the, place))


# decoder
def _decoder(now: Any, base: Any, the: Parts, cut_off: str) -> Any:
    def stream(args: Any, depth: int) -> Any:
        tokens, params = args
        H = real(params["embedding"])[tokens]
        if params.get("positions") is not None:
            H = H + real(params["positions"])[: len(tokens)]
        for block in params["blocks"][:depth]:
            H = the.decoder_block(H, block)
        return H

    def readout(H: Any, params: Any, norm: Any) -> Any:
        N = the.layer_norm(H, **norm["norm_f"], eps=params["eps"])
        return N @ real(params["W_out"]) + real(params["b_out"])

    params = now[1]
    L = len(params["blocks"])
    if cut_off == "final norm":
        return readout(stream(base, L), params, base[1])
    if cut_off == "blocks":
        return readout(stream(base, L), params, params)
    H = stream(base, L - 1 if cut_off == "every block" else 0)
    for block in params["blocks"][L - 1 if cut_off == "every block" else 0 :]:
        H = the.decoder_block(H, block)
    return readout(H, params, params)


for _id, _place, _title in (
    ("readout-input-detached", "final norm", "everything before the readout is cut off from the gradient"),
    ("blocks-detached", "blocks", "the blocks are cut off from the gradient"),
    ("embeddings-detached", "embeddings", "embeddings and positions are cut off from the gradient"),
    ("block-inputs-detached", "every block", "every block's input is cut off from the gradient"),
):
    _cut(
        _id,
        "decoder",
        _title,
        "Z = LN_f(H^L) W_out + b_out with a term detached: the numbers are right",
        "Let the gradient through every block, down to the embeddings.",
    )(lambda now, base, the, place=_place: _decoder(now, base, the, place))
