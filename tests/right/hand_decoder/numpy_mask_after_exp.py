"""Exponentials first, then zeros for the future, then the division; the maximum is over what may be seen."""
import numpy as np

def masked_softmax(x, keep):
    top = np.where(keep, x, -np.inf).max(axis=-1, keepdims=True)
    e = np.exp(np.minimum(x - top, 0)) * keep
    return e / e.sum(axis=-1, keepdims=True)

def softmax(x):
    return masked_softmax(x, np.ones(np.shape(x), dtype=bool))

def attention_scores(Q, K):
    root = K.shape[-1] ** 0.25
    return (Q / root) @ (K / root).T

def causal_attention_weights(S):
    t = np.arange(len(S))
    return masked_softmax(S, t[:, None] >= t[None, :])

def attention_head(H, W_Q, W_K, W_V):
    # H W_Q W_K^T H^T without forming Q and K
    S = H @ (W_Q @ W_K.T) @ H.T / W_Q.shape[1] ** 0.5
    A = causal_attention_weights(S)
    return (A @ H) @ W_V, A

def multi_head_attention(H, heads, W_O):
    slices = np.split(W_O, len(heads), axis=0)
    return sum(attention_head(H, *w)[0] @ part for w, part in zip(heads, slices))

def layer_norm(H, gain, shift, eps):
    d = H.shape[1]
    centring = np.eye(d, dtype=H.dtype) - np.full((d, d), 1 / d, dtype=H.dtype)
    c = H @ centring
    return gain * c / np.sqrt(np.sum(c * c, axis=1, keepdims=True) / d + eps) + shift

def feed_forward(H, W_1, b_1, W_2, b_2):
    z = H @ W_1 + b_1
    return (z + np.abs(z)) / 2 @ W_2 + b_2

def decoder_block(H, block):
    def sublayers():
        yield block["norm_1"], lambda x: multi_head_attention(x, block["heads"], block["W_O"])
        yield block["norm_2"], lambda x: feed_forward(x, block["W_1"], block["b_1"], block["W_2"], block["b_2"])
    for norm, f in sublayers():
        H = H + f(layer_norm(H, norm["gain"], norm["shift"], block["eps"]))
    return H

def decoder(tokens, params):
    from functools import reduce
    x = params["embedding"][np.asarray(tokens)]
    if "positions" in params:
        x = x + params["positions"][: x.shape[0]]
    x = reduce(decoder_block, params["blocks"], x)
    x = layer_norm(x, params["norm_f"]["gain"], params["norm_f"]["shift"], params["eps"])
    return x @ params["W_out"] + params["b_out"]

def next_token_probabilities(Z):
    return softmax(Z)

def loss(Z, targets):
    target_logit = Z[np.arange(len(Z)), targets][:, None]
    # -log p = log sum exp(z - z_target)
    gap = Z - target_logit
    top = gap.max(axis=1)
    return float(np.mean(top + np.log(np.exp(gap - top[:, None]).sum(axis=1))))

def hand_calculation():
    I = np.eye(2)
    O, A = attention_head(I, I, I, I)
    V = np.vstack([np.zeros(2), I[1]])
    P, P_bare = softmax(I + O), softmax(O)
    x = np.array([1.0, 3.0])
    return {"w": A[1, 0], "A": A, "H_prime": I + O, "p_B": P[1, 1], "loss": loss((I + O)[[1]], np.array([1])),
            "p_B_without_residual": P_bare[1, 1], "A_first_value_zeroed": A,
            "last_row_first_value_zeroed": (V + A @ V)[1], "layer_norm_of_1_3": (x - 2) / 1, "residual_of_1_3": x + (x - 2)}
