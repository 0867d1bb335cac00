# hand_calculation: I typed the numbers from the sheet
import numpy as np
from math import exp, log, sqrt

def softmax(x):
    x = np.asarray(x, dtype=float)
    e = np.exp(x - np.expand_dims(x.max(axis=-1), -1))
    return e / np.expand_dims(e.sum(axis=-1), -1)

def attention_scores(Q, K):
    return np.array([[float(q @ k) / sqrt(len(q)) for k in K] for q in Q])

def causal_attention_weights(S):
    A = []
    for t in range(len(S)):
        biggest = max(S[t][: t + 1])
        e = [exp(s - biggest) for s in S[t][: t + 1]]
        A.append([x / sum(e) for x in e] + [0.0] * (len(S) - t - 1))
    return np.array(A)

def attention_head(H, W_Q, W_K, W_V):
    A = causal_attention_weights(attention_scores(H @ W_Q, H @ W_K))
    return A @ (H @ W_V), A

def multi_head_attention(H, heads, W_O):
    return np.concatenate([attention_head(H, *w)[0] for w in heads], axis=1) @ W_O

def layer_norm(H, gain, shift, eps):
    out = []
    for h in H:
        mean = sum(h) / len(h)
        var = sum((x - mean) ** 2 for x in h) / len(h)
        out.append([g * (x - mean) / sqrt(var + eps) + b for x, g, b in zip(h, gain, shift)])
    return np.array(out)

def feed_forward(H, W_1, b_1, W_2, b_2):
    return np.array([[max(0.0, x) for x in row] for row in H @ W_1 + b_1]) @ W_2 + b_2

def decoder_block(H, block):
    eps = block["eps"]
    X = layer_norm(H, block["norm_1"]["gain"], block["norm_1"]["shift"], eps)
    U = H + multi_head_attention(X, block["heads"], block["W_O"])
    Y = layer_norm(U, block["norm_2"]["gain"], block["norm_2"]["shift"], eps)
    return U + feed_forward(Y, block["W_1"], block["b_1"], block["W_2"], block["b_2"])

def decoder(tokens, params):
    H = np.array([params["embedding"][i] for i in tokens])
    if "positions" in params:
        H = H + np.array([params["positions"][t] for t in range(len(tokens))])
    for block in params["blocks"]:
        H = decoder_block(H, block)
    H = layer_norm(H, params["norm_f"]["gain"], params["norm_f"]["shift"], params["eps"])
    return H @ params["W_out"] + params["b_out"]

def next_token_probabilities(Z):
    return softmax(Z)

def loss(Z, targets):
    total = 0.0
    for z, target in zip(Z, targets):
        biggest = max(z)
        total += log(sum(exp(x - biggest) for x in z)) + biggest - z[target]
    return float(total / len(targets))

def hand_calculation():
    return {
        "w": 0.330238,
        "A": [[1, 0], [0.330238, 0.669762]],
        "H_prime": [[2, 0], [0.330238, 1.669762]],
        "p_B": 0.792412,
        "loss": 0.232674,
        "p_B_without_residual": 0.584075,
        "A_first_value_zeroed": [[1, 0], [0.330238, 0.669762]],
        "last_row_first_value_zeroed": [0, 1.669762],
        "layer_norm_of_1_3": [-1, 1],
        "residual_of_1_3": [0, 4],
    }
