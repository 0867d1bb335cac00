"""The original layers in torch: tensor operations only."""
import math

import torch


def attention(Q, K, V, mask=None):
    S = Q @ K.transpose(0, 1) / math.sqrt(Q.size(-1))
    if mask is None:
        A = torch.softmax(S, dim=-1)
    else:
        S = S.masked_fill(~mask, -1e9)
        A = torch.softmax(S, dim=-1) * mask
    return A @ V, A


def multi_head(X_q, X_kv, heads, W_O, mask=None):
    outs = []
    for W_Q, W_K, W_V in heads:
        out, _ = attention(X_q @ W_Q, X_kv @ W_K, X_kv @ W_V, mask)
        outs.append(out)
    return torch.cat(outs, dim=-1) @ W_O


def layer_norm(z, gain, shift, eps):
    mu = z.mean(dim=-1, keepdim=True)
    var = z.var(dim=-1, unbiased=False, keepdim=True)
    return gain * (z - mu) / torch.sqrt(var + eps) + shift


def ffn(u, W_1, b_1, W_2, b_2):
    return torch.relu(u @ W_1 + b_1) @ W_2 + b_2


def encoder_block(X, params, padding_mask=None):
    mask = None if padding_mask is None else padding_mask.unsqueeze(0).expand(X.size(0), -1)
    p, eps = params, params["eps"]
    attended = multi_head(X, X, p["self_heads"], p["self_W_O"], mask)
    U = layer_norm(X + attended, p["norm_1"]["gain"], p["norm_1"]["shift"], eps)
    fed = ffn(U, p["W_1"], p["b_1"], p["W_2"], p["b_2"])
    return layer_norm(U + fed, p["norm_2"]["gain"], p["norm_2"]["shift"], eps)


def cross_attention(X, memory, heads, W_O, memory_mask=None):
    mask = None if memory_mask is None else memory_mask.unsqueeze(0).expand(X.size(0), -1)
    return multi_head(X, memory, heads, W_O, mask)


def decoder_layer(X, memory, params, memory_mask=None):
    T = X.size(0)
    p, eps = params, params["eps"]
    causal = torch.tril(torch.ones(T, T, dtype=torch.bool))
    attended = multi_head(X, X, p["self_heads"], p["self_W_O"], causal)
    U = layer_norm(X + attended, p["norm_1"]["gain"], p["norm_1"]["shift"], eps)
    looked = cross_attention(U, memory, p["cross_heads"], p["cross_W_O"], memory_mask)
    C = layer_norm(U + looked, p["norm_cross"]["gain"], p["norm_cross"]["shift"], eps)
    fed = ffn(C, p["W_1"], p["b_1"], p["W_2"], p["b_2"])
    return layer_norm(C + fed, p["norm_2"]["gain"], p["norm_2"]["shift"], eps)


def shift_targets(tokens):
    return tokens[:-1], tokens[1:]
