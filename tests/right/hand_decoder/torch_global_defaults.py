"""Sets its world up at import: double as the default, a seed, one thread."""
import torch

torch.set_default_dtype(torch.float64)
torch.manual_seed(1234)
torch.set_num_threads(1)

WARM_UP = torch.randn(3, 3) @ torch.randn(3, 3)


def softmax(x):
    return torch.exp(torch.log_softmax(x, dim=-1))


def attention_scores(Q, K):
    S = []
    for q in Q:
        S.append(torch.stack([torch.dot(q, k) for k in K]))
    return torch.stack(S) / Q.shape[1] ** 0.5


def causal_attention_weights(S):
    rows = []
    T = len(S)
    for t in range(T):
        seen = torch.softmax(S[t, : t + 1], dim=0)
        rows.append(torch.nn.functional.pad(seen, (0, T - t - 1)))
    return torch.stack(rows)


def attention_head(H, W_Q, W_K, W_V):
    A = causal_attention_weights(attention_scores(H @ W_Q, H @ W_K))
    return A @ H @ W_V, A


def multi_head_attention(H, heads, W_O):
    out = torch.zeros_like(H)
    i = 0
    for W_Q, W_K, W_V in heads:
        n = W_V.shape[1]
        out = out + attention_head(H, W_Q, W_K, W_V)[0] @ W_O[i : i + n]
        i += n
    return out


def layer_norm(H, gain, shift, eps):
    rows = []
    for row in H:
        c = row - row.mean()
        rows.append(c / (c.pow(2).mean() + eps).sqrt() * gain + shift)
    return torch.stack(rows)


def feed_forward(H, W_1, b_1, W_2, b_2):
    return torch.stack([torch.where(z > 0, z, torch.zeros_like(z)) @ W_2 + b_2 for z in H @ W_1 + b_1])


def decoder_block(H, block):
    eps = block["eps"]
    U = H + multi_head_attention(layer_norm(H, block["norm_1"]["gain"], block["norm_1"]["shift"], eps), block["heads"], block["W_O"])
    N = layer_norm(U, block["norm_2"]["gain"], block["norm_2"]["shift"], eps)
    return U + feed_forward(N, block["W_1"], block["b_1"], block["W_2"], block["b_2"])


def decoder(tokens, params):
    x = torch.stack([params["embedding"][int(i)] for i in tokens])
    if "positions" in params:
        x = x + params["positions"][: len(tokens)]
    for block in params["blocks"]:
        x = decoder_block(x, block)
    x = layer_norm(x, params["norm_f"]["gain"], params["norm_f"]["shift"], params["eps"])
    return x @ params["W_out"] + params["b_out"]


def next_token_probabilities(Z):
    return torch.stack([softmax(z) for z in Z])


def loss(Z, targets):
    return torch.stack([torch.logsumexp(z, 0) - z[k] for z, k in zip(Z, targets)]).mean()


def hand_calculation():
    H = torch.eye(2)
    O, A = attention_head(H, H, H, H)
    V = torch.tensor([[0.0, 0.0], [0.0, 1.0]])
    x = torch.tensor([[1.0, 3.0]])
    n = layer_norm(x, torch.ones(2), torch.zeros(2), 0.0)
    P = softmax(H + O)
    return {"w": A[1, 0], "A": A, "H_prime": H + O, "p_B": P[1, 1], "loss": -torch.log(P[1, 1]),
            "p_B_without_residual": softmax(O)[1, 1], "A_first_value_zeroed": A,
            "last_row_first_value_zeroed": V[1] + A[1] @ V, "layer_norm_of_1_3": n[0], "residual_of_1_3": (x + n)[0]}
