"""Scalars stay arrays: the loss is a 0-d array, so are the hand numbers."""
import numpy as np


def softmax(x):
    log_total = np.logaddexp.reduce(x, axis=-1, keepdims=True)
    return np.exp(x - log_total)


def attention_scores(Q, K):
    S = Q @ K.T
    S /= Q.shape[1] ** 0.5
    return S


def causal_attention_weights(S):
    S = np.array(S)
    T = S.shape[0]
    for t in range(T):
        S[t, t + 1 :] = -np.inf
    return softmax(S)


def attention_head(H, W_Q, W_K, W_V):
    A = causal_attention_weights(attention_scores(H @ W_Q, H @ W_K))
    return A @ (H @ W_V), A


def multi_head_attention(H, heads, W_O):
    O = np.stack([attention_head(H, *w)[0] for w in heads], axis=1)
    return O.reshape(len(H), -1) @ W_O


def layer_norm(H, gain, shift, eps):
    y = H - H.mean(axis=1, keepdims=True)
    y /= np.sqrt(H.var(axis=1, keepdims=True) + eps)
    y *= gain
    y += shift
    return y


def feed_forward(H, W_1, b_1, W_2, b_2):
    z = H @ W_1
    z += b_1
    np.maximum(z, 0, out=z)
    return z @ W_2 + b_2


def decoder_block(H, block):
    y = multi_head_attention(
        layer_norm(H, block["norm_1"]["gain"], block["norm_1"]["shift"], block["eps"]), block["heads"], block["W_O"]
    )
    y += H
    z = layer_norm(y, block["norm_2"]["gain"], block["norm_2"]["shift"], block["eps"])
    y += feed_forward(z, block["W_1"], block["b_1"], block["W_2"], block["b_2"])
    return y


def decoder(tokens, params):
    y = params["embedding"][tokens]
    if "positions" in params:
        y += params["positions"][: len(tokens)]
    for block in params["blocks"]:
        y = decoder_block(y, block)
    y = layer_norm(y, params["norm_f"]["gain"], params["norm_f"]["shift"], params["eps"])
    return y @ params["W_out"] + params["b_out"]


def next_token_probabilities(Z):
    return softmax(Z)


def loss(Z, targets):
    nll = np.logaddexp.reduce(Z, axis=1) - np.take_along_axis(Z, targets.reshape(-1, 1), 1).ravel()
    return np.asarray(nll.mean())


def hand_calculation():
    w = 1 / (1 + np.exp(1 / np.sqrt(2)))
    p = 1 / (1 + np.exp(-2 * (1 - w)))
    return {
        "w": np.asarray(w), "A": np.array([[1, 0], [w, 1 - w]]), "H_prime": np.array([[2, 0], [w, 2 - w]]),
        "p_B": np.asarray(p), "loss": np.asarray(-np.log(p)),
        "p_B_without_residual": np.asarray(1 / (1 + np.exp(2 * w - 1))),
        "A_first_value_zeroed": np.array([[1, 0], [w, 1 - w]]), "last_row_first_value_zeroed": np.array([0, 2 - w]),
        "layer_norm_of_1_3": np.array([-1, 1]), "residual_of_1_3": np.array([0, 4]),
    }
