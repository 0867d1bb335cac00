# I wrote everything with loops first and it works so I left it
import numpy as np


def softmax(x):
    x = np.array(x)
    if x.ndim > 1:
        out = np.empty(x.shape, dtype=x.dtype)
        for i in range(x.shape[0]):
            out[i] = softmax(x[i])
        return out
    big = x[0]
    for value in x:
        if value > big:
            big = value
    total = 0.0
    result = np.zeros(len(x), dtype=x.dtype)
    for i in range(len(x)):
        result[i] = np.exp(x[i] - big)
        total += result[i]
    for i in range(len(x)):
        result[i] = result[i] / total
    return result


def attention_scores(Q, K):
    T_q, d_k = Q.shape
    T_k = K.shape[0]
    S = np.zeros((T_q, T_k), dtype=Q.dtype)
    for t in range(T_q):
        for s in range(T_k):
            total = 0.0
            for i in range(d_k):
                total += Q[t, i] * K[s, i]
            S[t, s] = total / np.sqrt(d_k)
    return S


def causal_attention_weights(S):
    T = S.shape[0]
    A = np.zeros((T, T), dtype=S.dtype)
    for t in range(T):
        A[t, : t + 1] = softmax(S[t, : t + 1])
    return A


def matmul(X, W):
    n, k = X.shape
    _, m = W.shape
    out = np.zeros((n, m), dtype=X.dtype)
    for i in range(n):
        for j in range(m):
            for r in range(k):
                out[i, j] += X[i, r] * W[r, j]
    return out


def attention_head(H, W_Q, W_K, W_V):
    Q, K, V = matmul(H, W_Q), matmul(H, W_K), matmul(H, W_V)
    A = causal_attention_weights(attention_scores(Q, K))
    T = len(H)
    O = np.zeros((T, V.shape[1]), dtype=H.dtype)
    for t in range(T):
        for s in range(t + 1):
            for j in range(V.shape[1]):
                O[t, j] += A[t, s] * V[s, j]
    return O, A


def multi_head_attention(H, heads, W_O):
    T = H.shape[0]
    joined = np.zeros((T, W_O.shape[0]), dtype=H.dtype)
    start = 0
    for i in range(len(heads)):
        O, A = attention_head(H, heads[i][0], heads[i][1], heads[i][2])
        for t in range(T):
            for j in range(O.shape[1]):
                joined[t, start + j] = O[t, j]
        start += O.shape[1]
    return matmul(joined, W_O)


def layer_norm(H, gain, shift, eps):
    T, d = H.shape
    out = np.zeros((T, d), dtype=H.dtype)
    for t in range(T):
        mean = 0.0
        for j in range(d):
            mean += H[t, j] / d
        var = 0.0
        for j in range(d):
            var += (H[t, j] - mean) ** 2 / d
        for j in range(d):
            out[t, j] = gain[j] * (H[t, j] - mean) / (var + eps) ** 0.5 + shift[j]
    return out


def feed_forward(H, W_1, b_1, W_2, b_2):
    hidden = matmul(H, W_1)
    for t in range(hidden.shape[0]):
        for j in range(hidden.shape[1]):
            hidden[t, j] += b_1[j]
            if hidden[t, j] < 0:
                hidden[t, j] = 0
    out = matmul(hidden, W_2)
    for t in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[t, j] += b_2[j]
    return out


def decoder_block(H, block):
    A = multi_head_attention(
        layer_norm(H, block["norm_1"]["gain"], block["norm_1"]["shift"], block["eps"]), block["heads"], block["W_O"]
    )
    U = np.zeros(H.shape, dtype=H.dtype)
    for t in range(H.shape[0]):
        for j in range(H.shape[1]):
            U[t, j] = H[t, j] + A[t, j]
    F = feed_forward(
        layer_norm(U, block["norm_2"]["gain"], block["norm_2"]["shift"], block["eps"]),
        block["W_1"], block["b_1"], block["W_2"], block["b_2"],
    )
    for t in range(H.shape[0]):
        for j in range(H.shape[1]):
            U[t, j] += F[t, j]
    return U


def decoder(tokens, params):
    E = params["embedding"]
    d = E.shape[1]
    H = np.zeros((len(tokens), d), dtype=E.dtype)
    for t in range(len(tokens)):
        for j in range(d):
            H[t, j] = E[tokens[t], j]
            if "positions" in params:
                H[t, j] += params["positions"][t, j]
    for l in range(len(params["blocks"])):
        H = decoder_block(H, params["blocks"][l])
    H = layer_norm(H, params["norm_f"]["gain"], params["norm_f"]["shift"], params["eps"])
    Z = matmul(H, params["W_out"])
    for t in range(Z.shape[0]):
        for j in range(Z.shape[1]):
            Z[t, j] += params["b_out"][j]
    return Z


def next_token_probabilities(Z):
    P = np.zeros(Z.shape, dtype=Z.dtype)
    for t in range(len(Z)):
        P[t] = softmax(Z[t])
    return P


def loss(Z, targets):
    total = 0.0
    for t in range(len(Z)):
        big = max(Z[t])
        s = 0.0
        for z in Z[t]:
            s += np.exp(z - big)
        total += np.log(s) + big - Z[t][targets[t]]
    return total / len(Z)


def hand_calculation():
    w = 1 / (1 + np.e ** (1 / 2**0.5))
    p_B = 1 / (1 + np.e ** (-2 * (1 - w)))
    return {
        "w": w,
        "A": [[1, 0], [w, 1 - w]],
        "H_prime": [[2, 0], [w, 2 - w]],
        "p_B": p_B,
        "loss": -np.log(p_B),
        "p_B_without_residual": 1 / (1 + np.e ** (2 * w - 1)),
        "A_first_value_zeroed": [[1, 0], [w, 1 - w]],
        "last_row_first_value_zeroed": (0, 2 - w),
        "layer_norm_of_1_3": (-1, 1),
        "residual_of_1_3": (0, 4),
    }
