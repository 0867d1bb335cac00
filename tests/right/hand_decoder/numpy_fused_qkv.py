"""Decoder with one fused projection: all queries, keys and values of all heads in a single product."""
import numpy as np

BACKEND = "numpy"


def softmax(x):
    m = x.max(axis=-1, keepdims=True)
    e = np.exp(x - m)
    return e / e.sum(axis=-1, keepdims=True)


def attention_scores(Q, K):
    return np.matmul(Q, np.swapaxes(K, -1, -2)) / float(K.shape[-1]) ** 0.5


def causal_attention_weights(S):
    T = S.shape[-1]
    rows, cols = np.indices((T, T))
    return softmax(np.where(cols > rows, -np.inf, S))


def fuse(heads):
    # (d, h * d_k), (d, h * d_k), (d, h * d_v) next to each other
    W_q = np.concatenate([head[0] for head in heads], axis=1)
    W_k = np.concatenate([head[1] for head in heads], axis=1)
    W_v = np.concatenate([head[2] for head in heads], axis=1)
    return np.concatenate([W_q, W_k, W_v], axis=1), W_q.shape[1]


def attend(H, heads):
    T, d = H.shape
    h = len(heads)
    W, n = fuse(heads)
    qkv = H @ W
    q = qkv[:, :n].reshape(T, h, -1).transpose(1, 0, 2)
    k = qkv[:, n : 2 * n].reshape(T, h, -1).transpose(1, 0, 2)
    v = qkv[:, 2 * n :].reshape(T, h, -1).transpose(1, 0, 2)
    d_k = q.shape[-1]
    scores = q @ k.transpose(0, 2, 1) / float(d_k) ** 0.5
    keep = np.tri(T, dtype=bool)
    scores = np.where(keep, scores, -np.inf)
    A = np.exp(scores - scores.max(axis=-1, keepdims=True))
    A = A / A.sum(axis=-1, keepdims=True)
    return A @ v, A


def attention_head(H, W_Q, W_K, W_V):
    O, A = attend(H, [(W_Q, W_K, W_V)])
    return O[0], A[0]


def multi_head_attention(H, heads, W_O):
    O, A = attend(H, list(heads))
    merged = O.transpose(1, 0, 2).reshape(H.shape[0], -1)
    return merged @ W_O


def layer_norm(H, gain, shift, eps):
    centred = H - H.mean(1, keepdims=True)
    spread = (centred**2).mean(1, keepdims=True)
    return centred * (spread + eps) ** -0.5 * gain + shift


def feed_forward(H, W_1, b_1, W_2, b_2):
    z = H @ W_1 + b_1
    z = z * (z > 0)
    return z @ W_2 + b_2


def decoder_block(H, block):
    g1, s1 = block["norm_1"]["gain"], block["norm_1"]["shift"]
    g2, s2 = block["norm_2"]["gain"], block["norm_2"]["shift"]
    U = H + multi_head_attention(layer_norm(H, g1, s1, block["eps"]), block["heads"], block["W_O"])
    return U + feed_forward(layer_norm(U, g2, s2, block["eps"]), block["W_1"], block["b_1"], block["W_2"], block["b_2"])


def decoder(tokens, params):
    x = np.take(params["embedding"], tokens, axis=0)
    if "positions" in params:
        x = x + params["positions"][np.arange(len(tokens))]
    for layer in params["blocks"]:
        x = decoder_block(x, layer)
    x = layer_norm(x, params["norm_f"]["gain"], params["norm_f"]["shift"], params["eps"])
    return x @ params["W_out"] + params["b_out"]


def next_token_probabilities(Z):
    return softmax(Z)


def loss(Z, targets):
    m = Z.max(axis=1)
    lse = m + np.log(np.exp(Z - m[:, None]).sum(axis=1))
    right = np.take_along_axis(Z, np.asarray(targets)[:, None], axis=1)[:, 0]
    return np.mean(lse - right)


def hand_calculation():
    E = np.eye(2)
    O, A = attention_head(E, E, E, E)
    out = E + O
    zero_first = np.diag([0.0, 1.0])
    probs = next_token_probabilities(out)
    bare = next_token_probabilities(O)
    ln = layer_norm(np.array([[1.0, 3.0]]), np.ones(2), np.zeros(2), 0)[0]
    return {
        "w": A[1, 0], "A": A, "H_prime": out, "p_B": probs[1, 1], "loss": -np.log(probs[1, 1]),
        "p_B_without_residual": bare[1, 1], "A_first_value_zeroed": A.copy(),
        "last_row_first_value_zeroed": (zero_first + A @ zero_first)[1],
        "layer_norm_of_1_3": ln, "residual_of_1_3": np.array([1.0, 3.0]) + ln,
    }
