"""Written out position by position; slow, but I can check every number by hand."""
import math

import numpy as np


def attention(Q, K, V, mask=None):
    T_q, d_k = Q.shape
    T_k, d_v = V.shape
    O = np.zeros((T_q, d_v), dtype=Q.dtype)
    A = np.zeros((T_q, T_k), dtype=Q.dtype)
    for t in range(T_q):
        open_ = [s for s in range(T_k) if mask is None or mask[t, s]]
        if not open_:
            continue
        scores = {s: sum(Q[t, i] * K[s, i] for i in range(d_k)) / math.sqrt(d_k) for s in open_}
        top = max(scores.values())
        total = sum(math.exp(scores[s] - top) for s in open_)
        for s in open_:
            A[t, s] = math.exp(scores[s] - top) / total
            for j in range(d_v):
                O[t, j] += A[t, s] * V[s, j]
    return O, A


def multi_head(X_q, X_kv, heads, W_O, mask=None):
    out = np.zeros((len(X_q), W_O.shape[1]), dtype=X_q.dtype)
    row = 0
    for W_Q, W_K, W_V in heads:
        O, A = attention(X_q @ W_Q, X_kv @ W_K, X_kv @ W_V, mask)
        width = W_V.shape[1]
        out = out + O @ W_O[row : row + width]
        row += width
    return out


def layer_norm(z, gain, shift, eps):
    out = np.zeros_like(z)
    T, d = z.shape
    for t in range(T):
        mu = sum(z[t]) / d
        var = 0.0
        for j in range(d):
            var += (z[t, j] - mu) ** 2 / d
        for j in range(d):
            out[t, j] = gain[j] * (z[t, j] - mu) / math.sqrt(var + eps) + shift[j]
    return out


def ffn(u, W_1, b_1, W_2, b_2):
    rows = []
    for x in u:
        hidden = x @ W_1 + b_1
        hidden = np.array([h if h > 0 else 0.0 for h in hidden], dtype=u.dtype)
        rows.append(hidden @ W_2 + b_2)
    return np.array(rows)


def _norm(z, which, params):
    return layer_norm(z, params[which]["gain"], params[which]["shift"], params["eps"])


def _ffn(u, params):
    return ffn(u, params["W_1"], params["b_1"], params["W_2"], params["b_2"])


def encoder_block(X, params, padding_mask=None):
    T = len(X)
    mask = np.ones((T, T), dtype=bool)
    if padding_mask is not None:
        for t in range(T):
            for s in range(T):
                mask[t, s] = padding_mask[s]
    a = multi_head(X, X, params["self_heads"], params["self_W_O"], mask)
    U = _norm(X + a, "norm_1", params)
    f = _ffn(U, params)
    return _norm(U + f, "norm_2", params)


def cross_attention(X, memory, heads, W_O, memory_mask=None):
    n = len(memory)
    mask = np.zeros((len(X), n), dtype=bool)
    for t in range(len(X)):
        for s in range(n):
            mask[t, s] = True if memory_mask is None else memory_mask[s]
    return multi_head(X, memory, heads, W_O, mask)


def decoder_layer(X, memory, params, memory_mask=None):
    T = len(X)
    mask = np.zeros((T, T), dtype=bool)
    for t in range(T):
        for s in range(t + 1):
            mask[t, s] = True
    a = multi_head(X, X, params["self_heads"], params["self_W_O"], mask)
    U = _norm(X + a, "norm_1", params)
    c = cross_attention(U, memory, params["cross_heads"], params["cross_W_O"], memory_mask)
    C = _norm(U + c, "norm_cross", params)
    f = _ffn(C, params)
    return _norm(C + f, "norm_2", params)


def shift_targets(tokens):
    inputs = [int(tokens[i]) for i in range(len(tokens) - 1)]
    targets = [int(tokens[i + 1]) for i in range(len(tokens) - 1)]
    return inputs, targets
