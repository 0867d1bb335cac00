"""A student's decoder with one mistake, which the README shows being graded."""

import numpy as np


def softmax(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def attention_scores(Q, K):
    d_k = Q.shape[1]
    return Q @ K.T / d_k


def causal_attention_weights(S):
    allowed = np.tril(np.ones(S.shape, dtype=bool))
    return softmax(np.where(allowed, S, -np.inf))


def attention_head(H, W_Q, W_K, W_V):
    A = causal_attention_weights(attention_scores(H @ W_Q, H @ W_K))
    return A @ (H @ W_V), A


def multi_head_attention(H, heads, W_O):
    return np.concatenate([attention_head(H, *head)[0] for head in heads], axis=1) @ W_O


def layer_norm(H, gain, shift, eps):
    centred = H - H.mean(axis=1, keepdims=True)
    return gain * centred / np.sqrt(H.var(axis=1, keepdims=True) + eps) + shift


def feed_forward(H, W_1, b_1, W_2, b_2):
    return np.maximum(H @ W_1 + b_1, 0) @ W_2 + b_2


def decoder_block(H, block):
    eps = block["eps"]
    U = H + multi_head_attention(layer_norm(H, **block["norm_1"], eps=eps), block["heads"], block["W_O"])
    N = layer_norm(U, **block["norm_2"], eps=eps)
    return U + feed_forward(N, block["W_1"], block["b_1"], block["W_2"], block["b_2"])


def decoder(tokens, params):
    H = params["embedding"][tokens]
    if "positions" in params:
        H = H + params["positions"][: len(tokens)]
    for block in params["blocks"]:
        H = decoder_block(H, block)
    return layer_norm(H, **params["norm_f"], eps=params["eps"]) @ params["W_out"] + params["b_out"]


def next_token_probabilities(Z):
    return softmax(Z)


def loss(Z, targets):
    shifted = Z - Z.max(axis=1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return -log_p[np.arange(len(targets)), targets].mean()


def hand_calculation():
    I = np.eye(2)
    A = causal_attention_weights(attention_scores(I, I))
    H_prime = I + A
    without_first = np.array([[0.0, 0.0], [0.0, 1.0]])
    return {
        "w": A[1, 0],
        "A": A,
        "H_prime": H_prime,
        "p_B": softmax(H_prime)[1, 1],
        "loss": -np.log(softmax(H_prime)[1, 1]),
        "p_B_without_residual": softmax(A)[1, 1],
        "A_first_value_zeroed": A,
        "last_row_first_value_zeroed": without_first[1] + A[1] @ without_first,
        "layer_norm_of_1_3": np.array([-1.0, 1.0]),
        "residual_of_1_3": np.array([0.0, 4.0]),
    }
