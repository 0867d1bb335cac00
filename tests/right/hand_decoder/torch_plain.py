"""Decoder by hand in torch: only tensor operations, masked_fill for the mask."""
import math

import torch


def softmax(x):
    x = x - x.max(dim=-1, keepdim=True).values
    e = torch.exp(x)
    return e / e.sum(dim=-1, keepdim=True)


def attention_scores(Q, K):
    return torch.matmul(Q, K.transpose(-2, -1)) / math.sqrt(Q.size(-1))


def causal_attention_weights(S):
    T = S.size(-1)
    future = torch.triu(torch.ones(T, T, dtype=torch.bool, device=S.device), diagonal=1)
    S = S.masked_fill(future, float("-inf"))
    return softmax(S)


def attention_head(H, W_Q, W_K, W_V):
    Q, K, V = H @ W_Q, H @ W_K, H @ W_V
    A = causal_attention_weights(attention_scores(Q, K))
    return A @ V, A


def multi_head_attention(H, heads, W_O):
    outs = [attention_head(H, W_Q, W_K, W_V)[0] for W_Q, W_K, W_V in heads]
    return torch.cat(outs, dim=-1) @ W_O


def layer_norm(H, gain, shift, eps):
    mu = H.mean(dim=-1, keepdim=True)
    var = ((H - mu) ** 2).mean(dim=-1, keepdim=True)
    x_hat = (H - mu) / torch.sqrt(var + eps)
    return x_hat * gain + shift


def feed_forward(H, W_1, b_1, W_2, b_2):
    hidden = torch.relu(H @ W_1 + b_1)
    return hidden @ W_2 + b_2


def decoder_block(H, block):
    eps = block["eps"]
    normed = layer_norm(H, block["norm_1"]["gain"], block["norm_1"]["shift"], eps)
    U = H + multi_head_attention(normed, block["heads"], block["W_O"])
    normed_2 = layer_norm(U, block["norm_2"]["gain"], block["norm_2"]["shift"], eps)
    out = U + feed_forward(normed_2, block["W_1"], block["b_1"], block["W_2"], block["b_2"])
    return out


def decoder(tokens, params):
    H = params["embedding"][tokens]
    if "positions" in params:
        H = H + params["positions"][: tokens.shape[0]]
    for block in params["blocks"]:
        H = decoder_block(H, block)
    H = layer_norm(H, params["norm_f"]["gain"], params["norm_f"]["shift"], params["eps"])
    return H @ params["W_out"] + params["b_out"]


def next_token_probabilities(Z):
    return softmax(Z)


def loss(Z, targets):
    log_p = Z - torch.logsumexp(Z, dim=-1, keepdim=True)
    return -log_p[torch.arange(Z.size(0)), targets].mean()


def hand_calculation():
    H = torch.eye(2, dtype=torch.float64)
    O, A = attention_head(H, H, H, H)
    H_prime = H + O
    p = next_token_probabilities(H_prime)
    V = H.clone()
    V[0] = 0.0
    x = torch.tensor([[1.0, 3.0]], dtype=torch.float64)
    ln = layer_norm(x, torch.ones(2), torch.zeros(2), 0.0)
    return {
        "w": A[1, 0],
        "A": A,
        "H_prime": H_prime,
        "p_B": p[1, 1],
        "loss": loss(H_prime[1:], torch.tensor([1])),
        "p_B_without_residual": next_token_probabilities(O)[1, 1],
        "A_first_value_zeroed": A,
        "last_row_first_value_zeroed": (V + A @ V)[1],
        "layer_norm_of_1_3": ln[0],
        "residual_of_1_3": (x + ln)[0],
    }
