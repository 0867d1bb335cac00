"""Everything in float32, whatever comes in: that is what the GPU will do later."""
import numpy as np

F = np.float32


def f(x):
    return np.asarray(x, dtype=F)


def attention(Q, K, V, mask=None):
    Q, K, V = f(Q), f(K), f(V)
    S = (Q / F(np.sqrt(Q.shape[1]))) @ K.T
    allowed = np.ones_like(S, dtype=bool) if mask is None else np.asarray(mask)
    low = np.where(allowed, S, F(-3e38))
    E = np.exp(low - low.max(axis=1, keepdims=True)) * allowed
    A = E / np.maximum(E.sum(axis=1, keepdims=True), F(1e-30))
    return A @ V, A


def multi_head(X_q, X_kv, heads, W_O, mask=None):
    X_q, X_kv = f(X_q), f(X_kv)
    joined = np.hstack([attention(X_q @ f(a), X_kv @ f(b), X_kv @ f(c), mask)[0] for a, b, c in heads])
    return joined @ f(W_O)


def layer_norm(z, gain, shift, eps):
    z = f(z)
    z = z - z.mean(axis=1, keepdims=True)
    return f(gain) * z / np.sqrt(np.mean(z * z, axis=1, keepdims=True) + F(eps)) + f(shift)


def ffn(u, W_1, b_1, W_2, b_2):
    return np.clip(f(u) @ f(W_1) + f(b_1), 0, None) @ f(W_2) + f(b_2)


class Layer:
    def __init__(self, params):
        self.p = params

    def norm(self, name, z):
        return layer_norm(z, self.p[name]["gain"], self.p[name]["shift"], self.p["eps"])

    def heads(self, kind, x, y, mask):
        return multi_head(x, y, self.p[kind + "_heads"], self.p[kind + "_W_O"], mask)

    def network(self, u):
        return ffn(u, self.p["W_1"], self.p["b_1"], self.p["W_2"], self.p["b_2"])


def rows(mask, count):
    return None if mask is None else np.broadcast_to(mask, (count, len(mask)))


def encoder_block(X, params, padding_mask=None):
    layer, X = Layer(params), f(X)
    U = layer.norm("norm_1", X + layer.heads("self", X, X, rows(padding_mask, len(X))))
    return layer.norm("norm_2", U + layer.network(U))


def cross_attention(X, memory, heads, W_O, memory_mask=None):
    return multi_head(X, memory, heads, W_O, rows(memory_mask, len(X)))


def decoder_layer(X, memory, params, memory_mask=None):
    layer, X = Layer(params), f(X)
    U = layer.norm("norm_1", X + layer.heads("self", X, X, np.tri(len(X)) > 0))
    C = layer.norm("norm_cross", U + layer.heads("cross", U, memory, rows(memory_mask, len(X))))
    return layer.norm("norm_2", C + layer.network(C))


def shift_targets(tokens):
    return np.delete(tokens, -1), np.delete(tokens, 0)
