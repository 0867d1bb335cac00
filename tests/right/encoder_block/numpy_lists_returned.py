"""NumPy inside, lists outside: easier to print."""
import numpy as np


def attend(q, k, v, mask):
    s = q.dot(k.T) * q.shape[1] ** -0.5
    weights = np.zeros_like(s)
    for t, row in enumerate(s):
        keep = np.arange(len(row)) if mask is None else np.flatnonzero(mask[t])
        if keep.size:
            e = np.exp(row[keep] - row[keep].max())
            weights[t, keep] = e / e.sum()
    return weights.dot(v), weights


def attention(Q, K, V, mask=None):
    O, A = attend(Q, K, V, mask)
    return [O.tolist(), A.tolist()]


def heads_joined(x, y, heads, W_O, mask):
    return np.concatenate([attend(x @ q, y @ k, y @ v, mask)[0] for q, k, v in heads], 1) @ W_O


def multi_head(X_q, X_kv, heads, W_O, mask=None):
    return heads_joined(X_q, X_kv, heads, W_O, mask).tolist()


def normed(z, norm, eps):
    return norm["gain"] * ((z.T - z.mean(1)) / np.sqrt(z.var(1) + eps)).T + norm["shift"]


def layer_norm(z, gain, shift, eps):
    return normed(z, {"gain": gain, "shift": shift}, eps).tolist()


def network(u, W_1, b_1, W_2, b_2):
    h = u @ W_1 + b_1
    return (h * (h > 0)) @ W_2 + b_2


def ffn(u, W_1, b_1, W_2, b_2):
    return network(u, W_1, b_1, W_2, b_2).tolist()


def every_row(mask, rows):
    return None if mask is None else [mask] * rows


def encoder_block(X, params, padding_mask=None):
    p = params
    u = normed(X + heads_joined(X, X, p["self_heads"], p["self_W_O"], every_row(padding_mask, len(X))), p["norm_1"], p["eps"])
    y = normed(u + network(u, p["W_1"], p["b_1"], p["W_2"], p["b_2"]), p["norm_2"], p["eps"])
    return y.tolist()


def cross_attention(X, memory, heads, W_O, memory_mask=None):
    return heads_joined(X, memory, heads, W_O, every_row(memory_mask, len(X))).tolist()


def decoder_layer(X, memory, params, memory_mask=None):
    p = params
    past = [[s <= t for s in range(len(X))] for t in range(len(X))]
    u = normed(X + heads_joined(X, X, p["self_heads"], p["self_W_O"], past), p["norm_1"], p["eps"])
    r = heads_joined(u, memory, p["cross_heads"], p["cross_W_O"], every_row(memory_mask, len(X)))
    c = normed(u + r, p["norm_cross"], p["eps"])
    return normed(c + network(c, p["W_1"], p["b_1"], p["W_2"], p["b_2"]), p["norm_2"], p["eps"]).tolist()


def shift_targets(tokens):
    tokens = tokens.tolist()
    return tuple(tokens[:-1]), tuple(tokens[1:])
