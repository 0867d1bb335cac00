"""tril == 0 filled with -inf on a copy; divides by np.sqrt, so float32 comes back as float64."""
import numpy as np

def softmax(x):
    y = np.exp(x - x.max(axis=-1, keepdims=True)).astype(np.float64)
    y /= y.sum(axis=-1, keepdims=True)
    return y

def attention_scores(Q, K):
    return (Q @ K.T) / np.sqrt(K.shape[1])

def causal_attention_weights(S):
    S = np.array(S, dtype=np.float64)
    tril = np.tril(np.ones_like(S))
    S[tril == 0] = -np.inf
    return softmax(S)

def attention_head(H, W_Q, W_K, W_V):
    A = causal_attention_weights(attention_scores(H @ W_Q, H @ W_K))
    return A @ (H @ W_V), A

def multi_head_attention(H, heads, W_O):
    joined = None
    for W_Q, W_K, W_V in heads:
        O, _ = attention_head(H, W_Q, W_K, W_V)
        joined = O if joined is None else np.column_stack([joined, O])
    return joined @ W_O

def layer_norm(H, gain, shift, eps):
    std = np.sqrt(np.var(H, axis=1, ddof=0) + np.float64(eps))
    return np.diag(1 / std) @ (H - H.mean(axis=1)[:, np.newaxis]) @ np.diag(gain) + shift

def feed_forward(H, W_1, b_1, W_2, b_2):
    a = np.float64(H) @ W_1 + b_1
    a[a < 0] = 0
    return a @ W_2 + b_2

def decoder_block(H, block):
    U = H + multi_head_attention(layer_norm(H, block["norm_1"]["gain"], block["norm_1"]["shift"], block["eps"]),
                                 block["heads"], block["W_O"])
    return U + feed_forward(layer_norm(U, block["norm_2"]["gain"], block["norm_2"]["shift"], block["eps"]),
                            block["W_1"], block["b_1"], block["W_2"], block["b_2"])

def decoder(tokens, params):
    one_hot = np.eye(len(params["embedding"]))[tokens]
    H = one_hot @ params["embedding"]
    if "positions" in params.keys():
        H = H + params["positions"][0:len(tokens), :]
    for l in range(len(params["blocks"])):
        H = decoder_block(H, params["blocks"][l])
    H = layer_norm(H, params["norm_f"]["gain"], params["norm_f"]["shift"], params["eps"])
    return H @ params["W_out"] + params["b_out"]

def next_token_probabilities(Z):
    return softmax(Z)

def loss(Z, targets):
    one_hot = np.zeros(Z.shape)
    one_hot[np.arange(len(targets)), targets] = 1
    shifted = Z - Z.max(1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(1, keepdims=True))
    return -(one_hot * log_p).sum() / len(targets)

def hand_calculation():
    H = np.eye(2)
    A = causal_attention_weights(attention_scores(H, H))
    H_prime = H + A @ H
    V = np.array([[0.0, 0.0], [0.0, 1.0]])
    ln = layer_norm(np.array([[1.0, 3.0]]), np.ones(2), np.zeros(2), 0.0)
    return {
        "w": A[1][0], "A": A, "H_prime": H_prime, "p_B": softmax(H_prime[1])[1],
        "loss": loss(H_prime[1:2], np.array([1])), "p_B_without_residual": softmax((A @ H)[1])[1],
        "A_first_value_zeroed": causal_attention_weights(attention_scores(H, H)),
        "last_row_first_value_zeroed": V[1] + (A @ V)[1],
        "layer_norm_of_1_3": ln[0], "residual_of_1_3": np.array([1.0, 3.0]) + ln[0],
    }
