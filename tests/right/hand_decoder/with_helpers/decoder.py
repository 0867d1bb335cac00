"""The rest of the decoder; the attention functions live in attention_parts.py."""
import attention_parts
import numpy as np
from attention_parts import attention_head, attention_scores, causal_attention_weights, multi_head_attention, softmax


def layer_norm(H, gain, shift, eps):
    mean = H.mean(axis=1, keepdims=True)
    return (H - mean) / np.sqrt(((H - mean) ** 2).mean(axis=1, keepdims=True) + eps) * gain + shift


def feed_forward(H, W_1, b_1, W_2, b_2):
    return np.maximum(H @ W_1 + b_1, 0) @ W_2 + b_2


def decoder_block(H, block):
    n_1, n_2 = block["norm_1"], block["norm_2"]
    U = H + attention_parts.multi_head_attention(layer_norm(H, n_1["gain"], n_1["shift"], block["eps"]), block["heads"], block["W_O"])
    return U + feed_forward(layer_norm(U, n_2["gain"], n_2["shift"], block["eps"]), block["W_1"], block["b_1"], block["W_2"], block["b_2"])


def decoder(tokens, params):
    X = params["embedding"][tokens]
    if "positions" in params:
        X = X + params["positions"][: len(tokens)]
    for block in params["blocks"]:
        X = decoder_block(X, block)
    X = layer_norm(X, params["norm_f"]["gain"], params["norm_f"]["shift"], params["eps"])
    return X @ params["W_out"] + params["b_out"]


def next_token_probabilities(Z):
    return softmax(Z)


def loss(Z, targets):
    Z = Z - Z.max(axis=1, keepdims=True)
    return float(np.mean(np.log(np.exp(Z).sum(axis=1)) - Z[np.arange(len(Z)), targets]))


def hand_calculation():
    I = np.eye(2)
    O, A = attention_head(I, I, I, I)
    P = softmax(I + O)
    V = np.diag([0.0, 1.0])
    return {
        "w": A[1, 0], "A": A, "H_prime": I + O, "p_B": P[1, 1], "loss": -np.log(P[1, 1]),
        "p_B_without_residual": softmax(O)[1, 1],
        "A_first_value_zeroed": causal_attention_weights(attention_scores(I, I)),
        "last_row_first_value_zeroed": (V + A @ V)[1],
        "layer_norm_of_1_3": np.array([-1.0, 1.0]), "residual_of_1_3": np.array([0.0, 4.0]),
    }
