"""Keeps a trainable temperature (1.0) around, so that everything returned has requires_grad=True."""
import torch

temperature = torch.nn.Parameter(torch.ones(()))


def softmax(x):
    return torch.softmax(x / temperature, dim=-1)


def attention_scores(Q, K):
    return Q @ K.T / Q.shape[1] ** 0.5 / temperature


def causal_attention_weights(S):
    T = len(S)
    S = S.clone()
    S[torch.tril(torch.ones(T, T)) == 0] = float("-inf")
    return softmax(S)


def attention_head(H, W_Q, W_K, W_V):
    A = causal_attention_weights(attention_scores(H @ W_Q, H @ W_K))
    return [A @ (H @ W_V), A]


def multi_head_attention(H, heads, W_O):
    return torch.hstack([attention_head(H, *w)[0] for w in heads]) @ W_O


def layer_norm(H, gain, shift, eps):
    mean = H.mean(-1, keepdim=True)
    std = torch.sqrt(H.var(-1, unbiased=False, keepdim=True) + eps)
    return temperature * (H - mean) / std * gain + shift


def feed_forward(H, W_1, b_1, W_2, b_2):
    return temperature * torch.maximum(H @ W_1 + b_1, torch.zeros(())) @ W_2 + b_2


def decoder_block(H, block):
    U = H + multi_head_attention(layer_norm(H, **block["norm_1"], eps=block["eps"]), block["heads"], block["W_O"])
    return U + feed_forward(layer_norm(U, **block["norm_2"], eps=block["eps"]),
                            block["W_1"], block["b_1"], block["W_2"], block["b_2"])


def decoder(tokens, params):
    x = params["embedding"][tokens]
    if "positions" in params:
        x = x + params["positions"][: len(x)]
    for block in params["blocks"]:
        x = decoder_block(x, block)
    return layer_norm(x, **params["norm_f"], eps=params["eps"]) @ params["W_out"] + params["b_out"]


def next_token_probabilities(Z):
    return softmax(Z)


def loss(Z, targets):
    log_p = torch.log_softmax(Z / temperature, dim=-1)
    return -sum(log_p[t, k] for t, k in enumerate(targets)) / len(targets)


def hand_calculation():
    H = torch.eye(2, dtype=torch.float64, requires_grad=True)
    O, A = attention_head(H, H, H, H)
    Z = H + O
    x = torch.tensor([[1.0, 3.0]], dtype=torch.float64)
    ln = layer_norm(x, torch.ones(2), torch.zeros(2), 0)
    p = softmax(Z[1])
    return {"w": A[1, 0], "A": A, "H_prime": Z, "p_B": p[1], "loss": -torch.log(p[1]),
            "p_B_without_residual": softmax(O)[1, 1], "A_first_value_zeroed": A,
            "last_row_first_value_zeroed": torch.stack([0 * Z[1, 0], Z[1, 1]]),
            "layer_norm_of_1_3": ln[0], "residual_of_1_3": (x + ln)[0]}
