"""All heads at once with einsum; masks are additive, -1e9, and rows of nothing are cleared afterwards."""
import numpy as np
from numpy import einsum


def _weights(S, mask):
    if mask is not None:
        S = S + np.where(mask, 0.0, -1e9).astype(S.dtype)
    S = S - S.max(-1, keepdims=True)
    W = np.exp(S)
    W = W / W.sum(-1, keepdims=True)
    if mask is not None:
        W = W * np.any(mask, axis=-1, keepdims=True)
    return W


def attention(Q, K, V, mask=None):
    scale = 1 / np.sqrt(Q.shape[1])
    W = _weights(einsum("ti,si->ts", Q, K) * scale, mask)
    return einsum("ts,sv->tv", W, V), W


def multi_head(X_q, X_kv, heads, W_O, mask=None):
    WQ = np.stack([h[0] for h in heads])
    WK = np.stack([h[1] for h in heads])
    WV = np.stack([h[2] for h in heads])
    q = einsum("td,hdk->htk", X_q, WQ)
    k = einsum("sd,hdk->hsk", X_kv, WK)
    v = einsum("sd,hdv->hsv", X_kv, WV)
    W = _weights(einsum("htk,hsk->hts", q, k) / np.sqrt(q.shape[-1]), mask)
    o = einsum("hts,hsv->htv", W, v)
    return einsum("htv,hvd->td", o, W_O.reshape(len(heads), o.shape[-1], -1))


def layer_norm(z, gain, shift, eps):
    c = z - einsum("td->t", z)[:, None] / z.shape[1]
    var = einsum("td,td->t", c, c)[:, None] / z.shape[1]
    return c / np.sqrt(var + eps) * gain + shift


def ffn(u, W_1, b_1, W_2, b_2):
    a = einsum("td,dm->tm", u, W_1) + b_1
    return einsum("tm,md->td", np.where(a > 0, a, 0), W_2) + b_2


def encoder_block(X, p, padding_mask=None):
    m = None if padding_mask is None else padding_mask[None, :].repeat(len(X), 0)
    U = layer_norm(X + multi_head(X, X, p["self_heads"], p["self_W_O"], m), **p["norm_1"], eps=p["eps"])
    return layer_norm(U + ffn(U, p["W_1"], p["b_1"], p["W_2"], p["b_2"]), **p["norm_2"], eps=p["eps"])


def cross_attention(X, memory, heads, W_O, memory_mask=None):
    m = None if memory_mask is None else memory_mask[None, :].repeat(len(X), 0)
    return multi_head(X, memory, heads, W_O, m)


def decoder_layer(X, memory, p, memory_mask=None):
    past = np.arange(len(X))[:, None] >= np.arange(len(X))[None, :]
    U = layer_norm(X + multi_head(X, X, p["self_heads"], p["self_W_O"], past), **p["norm_1"], eps=p["eps"])
    R = cross_attention(U, memory, p["cross_heads"], p["cross_W_O"], memory_mask)
    C = layer_norm(U + R, **p["norm_cross"], eps=p["eps"])
    return layer_norm(C + ffn(C, p["W_1"], p["b_1"], p["W_2"], p["b_2"]), **p["norm_2"], eps=p["eps"])


def shift_targets(tokens):
    index = np.arange(len(tokens) - 1)
    return tokens[index], tokens[index + 1]
