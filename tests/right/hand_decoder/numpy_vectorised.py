"""My decoder, NumPy, one array operation per formula."""
import math

import numpy as np


def softmax(x):
    biggest = np.max(x, axis=-1, keepdims=True)
    e = np.exp(x - biggest)
    return e / np.sum(e, axis=-1, keepdims=True)


def attention_scores(Q, K):
    d_k = Q.shape[-1]
    return Q @ K.T / math.sqrt(d_k)


def causal_attention_weights(S):
    T = S.shape[0]
    allowed = np.tril(np.ones((T, T), dtype=bool))
    masked = np.where(allowed, S, -np.inf)
    return softmax(masked)


def attention_head(H, W_Q, W_K, W_V):
    Q = H @ W_Q
    K = H @ W_K
    V = H @ W_V
    S = attention_scores(Q, K)
    A = causal_attention_weights(S)
    O = A @ V
    return O, A


def multi_head_attention(H, heads, W_O):
    outputs = []
    for W_Q, W_K, W_V in heads:
        O, _ = attention_head(H, W_Q, W_K, W_V)
        outputs.append(O)
    joined = np.concatenate(outputs, axis=-1)
    return joined @ W_O


def layer_norm(H, gain, shift, eps):
    mean = H.mean(axis=-1, keepdims=True)
    variance = H.var(axis=-1, keepdims=True)
    normalized = (H - mean) / np.sqrt(variance + eps)
    return gain * normalized + shift


def feed_forward(H, W_1, b_1, W_2, b_2):
    hidden = H @ W_1 + b_1
    active = np.maximum(hidden, 0)
    return active @ W_2 + b_2


def decoder_block(H, block):
    eps = block["eps"]
    n1 = block["norm_1"]
    n2 = block["norm_2"]
    X = layer_norm(H, n1["gain"], n1["shift"], eps)
    attended = multi_head_attention(X, block["heads"], block["W_O"])
    U = H + attended
    Y = layer_norm(U, n2["gain"], n2["shift"], eps)
    fed = feed_forward(Y, block["W_1"], block["b_1"], block["W_2"], block["b_2"])
    return U + fed


def decoder(tokens, params):
    T = len(tokens)
    X = params["embedding"][tokens]
    if "positions" in params:
        X = X + params["positions"][:T]
    for block in params["blocks"]:
        X = decoder_block(X, block)
    final = params["norm_f"]
    X = layer_norm(X, final["gain"], final["shift"], params["eps"])
    Z = X @ params["W_out"] + params["b_out"]
    return Z


def next_token_probabilities(Z):
    return softmax(Z)


def loss(Z, targets):
    T = Z.shape[0]
    top = Z.max(axis=-1, keepdims=True)
    log_total = np.log(np.exp(Z - top).sum(axis=-1, keepdims=True)) + top
    log_p = Z - log_total
    picked = log_p[np.arange(T), targets]
    return float(-picked.mean())


def hand_calculation():
    I = np.eye(2)
    w = 1 / (1 + np.exp(1 / np.sqrt(2)))
    A = np.array([[1.0, 0.0], [w, 1 - w]])
    H_prime = I + A @ I
    p_B = 1 / (1 + np.exp(-2 * (1 - w)))
    zeroed = I.copy()
    zeroed[0] = 0
    row = (zeroed + A @ zeroed)[1]
    return {
        "w": w,
        "A": A,
        "H_prime": H_prime,
        "p_B": p_B,
        "loss": -np.log(p_B),
        "p_B_without_residual": 1 / (1 + np.exp(2 * w - 1)),
        "A_first_value_zeroed": A,
        "last_row_first_value_zeroed": row,
        "layer_norm_of_1_3": np.array([-1.0, 1.0]),
        "residual_of_1_3": np.array([0.0, 4.0]),
    }
