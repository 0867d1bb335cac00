"""Works with columns as positions; so the results are transposed (Fortran-ordered) views."""
import numpy as np


def softmax(x):
    y = np.moveaxis(x, -1, 0)
    e = np.exp(y - y.max(axis=0))
    return np.moveaxis(e / e.sum(axis=0), 0, -1)


def attention_scores(Q, K):
    return (K @ Q.T / Q.shape[1] ** 0.5).T


def causal_attention_weights(S):
    columns = S.T  # column t: what position t consults
    columns = np.where(np.triu(np.ones(S.shape)) == 1, columns, -np.inf)
    return softmax(columns.T)


def attention_head(H, W_Q, W_K, W_V):
    x = H.T
    A = causal_attention_weights(attention_scores((W_Q.T @ x).T, (W_K.T @ x).T))
    return ((W_V.T @ x) @ A.T).T, A


def multi_head_attention(H, heads, W_O):
    stacked = np.vstack([attention_head(H, *head)[0].T for head in heads])
    return (W_O.T @ stacked).T


def layer_norm(H, gain, shift, eps):
    x = H.T
    x = (x - x.mean(axis=0)) / np.sqrt(x.var(axis=0) + eps)
    return (x * gain[:, None] + shift[:, None]).T


def feed_forward(H, W_1, b_1, W_2, b_2):
    return (W_2.T @ np.maximum(W_1.T @ H.T + b_1[:, None], 0) + b_2[:, None]).T


def decoder_block(H, block):
    U = H + multi_head_attention(layer_norm(H, block["norm_1"]["gain"], block["norm_1"]["shift"], block["eps"]), block["heads"], block["W_O"])
    V = layer_norm(U, block["norm_2"]["gain"], block["norm_2"]["shift"], block["eps"])
    return np.add(U, feed_forward(V, block["W_1"], block["b_1"], block["W_2"], block["b_2"]), order="F")


def decoder(tokens, params):
    x = params["embedding"].T[:, tokens]
    if "positions" in params:
        x = x + params["positions"].T[:, : x.shape[1]]
    for block in params["blocks"]:
        x = decoder_block(x.T, block).T
    x = layer_norm(x.T, params["norm_f"]["gain"], params["norm_f"]["shift"], params["eps"]).T
    padded = np.empty((x.shape[1], 2 * params["W_out"].shape[1]), dtype=x.dtype)
    padded[:, ::2] = (params["W_out"].T @ x + params["b_out"][:, None]).T
    return padded[:, ::2]


def next_token_probabilities(Z):
    return softmax(Z[::-1])[::-1]


def loss(Z, targets):
    top = Z.max(axis=1)
    return (top + np.log(np.exp(Z.T - top).sum(axis=0)) - Z[np.arange(len(Z)), targets]).mean()


def hand_calculation():
    I = np.eye(2)
    O, A = attention_head(I, I, I, I)
    Z = (I + O).T.copy().T
    p = softmax(Z)
    return {"w": A[1, 0], "A": A, "H_prime": Z, "p_B": p[1, 1], "loss": -np.log(p[1, 1]),
            "p_B_without_residual": softmax(O)[1, 1], "A_first_value_zeroed": A,
            "last_row_first_value_zeroed": np.array([9.0, 2 - A[1, 0], 9.0, 0.0])[::-2][:2],
            "layer_norm_of_1_3": np.array([1, -1])[::-1], "residual_of_1_3": np.array([4.0, 0.0])[::-1]}
