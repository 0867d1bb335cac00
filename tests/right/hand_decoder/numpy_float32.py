"""Single precision throughout: inputs are converted on entry, results are float32."""
import numpy as np

f32 = np.float32


def softmax(x):
    x = np.asarray(x, f32)
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def attention_scores(Q, K):
    return np.asarray(Q, f32) @ np.asarray(K, f32).T / f32(Q.shape[-1] ** 0.5)


def causal_attention_weights(S):
    S = np.asarray(S, f32)
    return softmax(np.where(np.tril(np.ones(S.shape, bool)), S, f32(-np.inf)))


def attention_head(H, W_Q, W_K, W_V):
    H, W_Q, W_K, W_V = (np.asarray(a, f32) for a in (H, W_Q, W_K, W_V))
    A = causal_attention_weights(attention_scores(H @ W_Q, H @ W_K))
    return A @ (H @ W_V), A


def multi_head_attention(H, heads, W_O):
    return np.concatenate([attention_head(H, *w)[0] for w in heads], axis=1) @ W_O.astype(f32)


def layer_norm(H, gain, shift, eps):
    H = np.asarray(H, f32)
    mean, var = H.mean(1, keepdims=True), H.var(1, keepdims=True)
    return (H - mean) / np.sqrt(var + f32(eps)) * np.asarray(gain, f32) + np.asarray(shift, f32)


def feed_forward(H, W_1, b_1, W_2, b_2):
    H, W_1, b_1, W_2, b_2 = (np.asarray(a, f32) for a in (H, W_1, b_1, W_2, b_2))
    return np.maximum(H @ W_1 + b_1, f32(0)) @ W_2 + b_2


def decoder_block(H, block):
    H = np.asarray(H, f32)
    n, m = block["norm_1"], block["norm_2"]
    U = H + multi_head_attention(layer_norm(H, n["gain"], n["shift"], block["eps"]), block["heads"], block["W_O"])
    X = layer_norm(U, m["gain"], m["shift"], block["eps"])
    return U + feed_forward(X, block["W_1"], block["b_1"], block["W_2"], block["b_2"])


def decoder(tokens, params):
    x = params["embedding"].astype(f32)[tokens]
    if "positions" in params:
        x = x + params["positions"].astype(f32)[: len(tokens)]
    for block in params["blocks"]:
        x = decoder_block(x, block)
    x = layer_norm(x, params["norm_f"]["gain"], params["norm_f"]["shift"], params["eps"])
    return x @ params["W_out"].astype(f32) + params["b_out"].astype(f32)


def next_token_probabilities(Z):
    return softmax(Z)


def loss(Z, targets):
    Z = np.asarray(Z, f32)
    m = Z.max(1)
    return np.mean(m + np.log(np.exp(Z - m[:, None]).sum(1)) - Z[np.arange(len(Z)), targets])


def hand_calculation():
    I = np.eye(2, dtype=f32)
    O, A = attention_head(I, I, I, I)
    p = softmax(I + O)
    return {"w": A[1, 0], "A": A, "H_prime": I + O, "p_B": p[1, 1], "loss": -np.log(p[1, 1]),
            "p_B_without_residual": softmax(O)[1, 1], "A_first_value_zeroed": A,
            "last_row_first_value_zeroed": np.array([0, 2 - A[1, 0]], f32),
            "layer_norm_of_1_3": np.array([-1, 1], f32), "residual_of_1_3": np.array([0, 4], f32)}
