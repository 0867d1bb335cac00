"""Prints what it does and warns about what it thinks of it."""
import sys
import warnings

import numpy as np

print("decoder.py loaded")
warnings.warn("this is my first transformer")
DEBUG = True


def show(name, x):
    if DEBUG:
        print(name, np.shape(x), file=sys.stderr)
        print(name, "=", np.array2string(np.asarray(x), precision=3, threshold=20))


def softmax(x):
    show("x", x)
    with np.errstate(all="warn"):
        np.log(np.zeros(1))  # RuntimeWarning: divide by zero
    e = np.exp(x - np.max(x, -1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def attention_scores(Q, K):
    S = Q @ K.T / Q.shape[1] ** 0.5
    show("S", S)
    return S


def causal_attention_weights(S):
    warnings.warn("masking the future", UserWarning, stacklevel=2)
    A = softmax(np.where(np.tri(len(S), dtype=bool), S, -np.inf))
    show("A", A)
    return A


def attention_head(H, W_Q, W_K, W_V):
    A = causal_attention_weights(attention_scores(H @ W_Q, H @ W_K))
    return A @ (H @ W_V), A


def multi_head_attention(H, heads, W_O):
    out = np.concatenate([attention_head(H, *w)[0] for w in heads], 1) @ W_O
    show("MHA", out)
    return out


def layer_norm(H, gain, shift, eps):
    y = (H - H.mean(1, keepdims=True)) / (H.var(1, keepdims=True) + eps) ** 0.5
    return y * gain + shift


def feed_forward(H, W_1, b_1, W_2, b_2):
    return np.maximum(H @ W_1 + b_1, 0) @ W_2 + b_2


def decoder_block(H, block):
    def ln(x, i):
        return layer_norm(x, block[f"norm_{i}"]["gain"], block[f"norm_{i}"]["shift"], block["eps"])

    H = H + multi_head_attention(ln(H, 1), block["heads"], block["W_O"])
    return H + feed_forward(ln(H, 2), block["W_1"], block["b_1"], block["W_2"], block["b_2"])


def decoder(tokens, params):
    print("tokens:", list(tokens))
    x = params["embedding"][tokens]
    if "positions" in params:
        x = x + params["positions"][: len(tokens)]
    for i, block in enumerate(params["blocks"]):
        print(f"block {i}")
        x = decoder_block(x, block)
    x = layer_norm(x, params["norm_f"]["gain"], params["norm_f"]["shift"], params["eps"])
    return x @ params["W_out"] + params["b_out"]


def next_token_probabilities(Z):
    return softmax(Z)


def loss(Z, targets):
    m = Z.max(1, keepdims=True)
    nll = (m + np.log(np.exp(Z - m).sum(1, keepdims=True)))[:, 0] - Z[np.arange(len(Z)), targets]
    print("loss per position", nll)
    return nll.mean()


def hand_calculation():
    I = np.eye(2)
    O, A = attention_head(I, I, I, I)
    p = softmax(I + O)
    print(f"w = {A[1, 0]:.6f}")
    return {"w": A[1, 0], "A": A, "H_prime": I + O, "p_B": p[1, 1], "loss": -np.log(p[1, 1]),
            "p_B_without_residual": softmax(O)[1, 1], "A_first_value_zeroed": A,
            "last_row_first_value_zeroed": np.array([0, 2 - A[1, 0]]),
            "layer_norm_of_1_3": np.array([-1.0, 1.0]), "residual_of_1_3": np.array([0.0, 4.0])}
