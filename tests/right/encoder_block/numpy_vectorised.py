"""Transformer layers, NumPy, one array operation per formula."""
import numpy as np


def attention(Q, K, V, mask=None):
    d_k = Q.shape[-1]
    S = Q @ K.T / np.sqrt(d_k)
    if mask is None:
        mask = np.ones(S.shape, dtype=bool)
    S = np.where(mask, S, -np.inf)
    top = S.max(axis=-1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    E = np.exp(S - top)
    total = E.sum(axis=-1, keepdims=True)
    A = E / np.where(total > 0, total, 1.0)
    return A @ V, A


def multi_head(X_q, X_kv, heads, W_O, mask=None):
    outputs = []
    for W_Q, W_K, W_V in heads:
        O, _ = attention(X_q @ W_Q, X_kv @ W_K, X_kv @ W_V, mask)
        outputs.append(O)
    return np.concatenate(outputs, axis=-1) @ W_O


def layer_norm(z, gain, shift, eps):
    mean = z.mean(axis=-1, keepdims=True)
    variance = z.var(axis=-1, keepdims=True)
    return gain * (z - mean) / np.sqrt(variance + eps) + shift


def ffn(u, W_1, b_1, W_2, b_2):
    hidden = np.maximum(u @ W_1 + b_1, 0)
    return hidden @ W_2 + b_2


def encoder_block(X, params, padding_mask=None):
    T = X.shape[0]
    mask = None
    if padding_mask is not None:
        mask = np.tile(padding_mask, (T, 1))
    eps = params["eps"]
    n1, n2 = params["norm_1"], params["norm_2"]
    attended = multi_head(X, X, params["self_heads"], params["self_W_O"], mask)
    U = layer_norm(X + attended, n1["gain"], n1["shift"], eps)
    fed = ffn(U, params["W_1"], params["b_1"], params["W_2"], params["b_2"])
    Y = layer_norm(U + fed, n2["gain"], n2["shift"], eps)
    return Y


def cross_attention(X, memory, heads, W_O, memory_mask=None):
    mask = None
    if memory_mask is not None:
        mask = np.tile(memory_mask, (X.shape[0], 1))
    return multi_head(X, memory, heads, W_O, mask)


def decoder_layer(X, memory, params, memory_mask=None):
    T = X.shape[0]
    eps = params["eps"]
    n1, nc, n2 = params["norm_1"], params["norm_cross"], params["norm_2"]
    causal = np.tril(np.ones((T, T), dtype=bool))
    attended = multi_head(X, X, params["self_heads"], params["self_W_O"], causal)
    U = layer_norm(X + attended, n1["gain"], n1["shift"], eps)
    looked = cross_attention(U, memory, params["cross_heads"], params["cross_W_O"], memory_mask)
    C = layer_norm(U + looked, nc["gain"], nc["shift"], eps)
    fed = ffn(C, params["W_1"], params["b_1"], params["W_2"], params["b_2"])
    Y = layer_norm(C + fed, n2["gain"], n2["shift"], eps)
    return Y


def shift_targets(tokens):
    inputs = tokens[:-1]
    targets = tokens[1:]
    return inputs, targets
