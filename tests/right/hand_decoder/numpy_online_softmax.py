"""Attention in one pass over the positions, as in the online softmax: running maximum and running sum."""
import numpy as np


def softmax(x):
    x = np.asarray(x)
    running_max = np.full(x.shape[:-1], -np.inf, dtype=x.dtype)
    running_sum = np.zeros(x.shape[:-1], dtype=x.dtype)
    for i in range(x.shape[-1]):
        new_max = np.maximum(running_max, x[..., i])
        safe = np.where(np.isneginf(new_max), 0, new_max)
        running_sum = running_sum * np.exp(running_max - safe) + np.exp(x[..., i] - safe)
        running_max = new_max
    return np.exp(x - running_max[..., None]) / running_sum[..., None]


def attention_scores(Q, K):
    return np.inner(Q, K) / Q.shape[-1] ** 0.5


def causal_attention_weights(S):
    A = np.zeros_like(S)
    for t, row in enumerate(S):
        A[t, : t + 1] = softmax(row[: t + 1])
    return A


def attention_head(H, W_Q, W_K, W_V):
    Q, K, V = H @ W_Q, H @ W_K, H @ W_V
    S = attention_scores(Q, K)
    T = len(H)
    O = np.zeros((T, V.shape[1]), dtype=H.dtype)
    for t in range(T):
        m, total, acc = S[t, 0], 1.0, V[0]
        for s in range(1, t + 1):
            m_new = max(m, S[t, s])
            shrink, add = np.exp(m - m_new), np.exp(S[t, s] - m_new)
            total = total * shrink + add
            acc = acc * shrink + add * V[s]
            m = m_new
        O[t] = acc / total
    return O, causal_attention_weights(S)


def multi_head_attention(H, heads, W_O):
    out = 0
    row = 0
    for head in heads:
        O = attention_head(H, *head)[0]
        out = out + O @ W_O[row : row + O.shape[1]]
        row += O.shape[1]
    return out


def layer_norm(H, gain, shift, eps):
    # Welford: mean and variance while walking over the coordinates
    count, mean, m2 = 0, np.zeros(len(H), H.dtype), np.zeros(len(H), H.dtype)
    for column in H.T:
        count += 1
        delta = column - mean
        mean = mean + delta / count
        m2 = m2 + delta * (column - mean)
    return ((H.T - mean) / np.sqrt(m2 / count + eps)).T * gain + shift


def feed_forward(H, W_1, b_1, W_2, b_2):
    return np.stack([(row @ W_1 + b_1).clip(min=0) @ W_2 + b_2 for row in H])


def decoder_block(H, block):
    U = H + multi_head_attention(layer_norm(H, **block["norm_1"], eps=block["eps"]), block["heads"], block["W_O"])
    return U + feed_forward(
        layer_norm(U, **block["norm_2"], eps=block["eps"]), block["W_1"], block["b_1"], block["W_2"], block["b_2"]
    )


def decoder(tokens, params):
    X = np.stack([params["embedding"][token] for token in tokens])
    if "positions" in params:
        X = np.stack([x + p for x, p in zip(X, params["positions"])])
    for block in params["blocks"]:
        X = decoder_block(X, block)
    return layer_norm(X, **params["norm_f"], eps=params["eps"]) @ params["W_out"] + params["b_out"]


def next_token_probabilities(Z):
    return softmax(Z)


def loss(Z, targets):
    return np.mean([np.logaddexp.reduce(z) - z[target] for z, target in zip(Z, targets)])


def hand_calculation():
    I = np.eye(2)
    O, A = attention_head(I, I, I, I)
    V = I * [[0], [1]]
    P = softmax(I + O)
    return {
        "w": float(A[1, 0]),
        "A": A,
        "H_prime": I + O,
        "p_B": float(P[1, 1]),
        "loss": loss((I + O)[1:], [1]),
        "p_B_without_residual": float(softmax(O)[1, 1]),
        "A_first_value_zeroed": A,
        "last_row_first_value_zeroed": (V + A @ V)[-1],
        "layer_norm_of_1_3": layer_norm(np.array([[1.0, 3.0]]), 1, 0, 0).ravel(),
        "residual_of_1_3": [1 + -1, 3 + 1],
    }
