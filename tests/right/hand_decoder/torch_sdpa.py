"""Output from scaled_dot_product_attention(is_causal=True); the weights, which it does not return, computed beside it."""
import torch
from torch.nn.functional import scaled_dot_product_attention as sdpa


def softmax(x):
    return x.softmax(-1)


def attention_scores(Q, K):
    return Q @ K.T / Q.shape[-1] ** 0.5


def causal_attention_weights(S):
    keep = torch.ones_like(S, dtype=torch.bool).tril()
    return torch.where(keep, S, -torch.inf).softmax(-1)


def attention_head(H, W_Q, W_K, W_V):
    q, k, v = H @ W_Q, H @ W_K, H @ W_V
    O = sdpa(q[None, None], k[None, None], v[None, None], is_causal=True)[0, 0]
    return O, causal_attention_weights(attention_scores(q, k))


def multi_head_attention(H, heads, W_O):
    q = torch.stack([H @ head[0] for head in heads])
    k = torch.stack([H @ head[1] for head in heads])
    v = torch.stack([H @ head[2] for head in heads])
    O = sdpa(q, k, v, is_causal=True)  # (h, T, d_v)
    return O.transpose(0, 1).reshape(H.shape[0], -1) @ W_O


def layer_norm(H, gain, shift, eps):
    var, mean = torch.var_mean(H, dim=-1, correction=0, keepdim=True)
    return (H - mean) * torch.rsqrt(var + eps) * gain + shift


def feed_forward(H, W_1, b_1, W_2, b_2):
    return torch.addmm(b_2, torch.addmm(b_1, H, W_1).clamp(min=0), W_2)


def decoder_block(H, block):
    def ln(x, name):
        return layer_norm(x, block[name]["gain"], block[name]["shift"], block["eps"])

    U = H + multi_head_attention(ln(H, "norm_1"), block["heads"], block["W_O"])
    return U + feed_forward(ln(U, "norm_2"), block["W_1"], block["b_1"], block["W_2"], block["b_2"])


def decoder(tokens, params):
    x = params["embedding"].index_select(0, tokens)
    if "positions" in params:
        x = x + params["positions"].narrow(0, 0, len(tokens))
    for block in params["blocks"]:
        x = decoder_block(x, block)
    x = layer_norm(x, params["norm_f"]["gain"], params["norm_f"]["shift"], params["eps"])
    return torch.addmm(params["b_out"], x, params["W_out"])


def next_token_probabilities(Z):
    return Z.softmax(-1)


def loss(Z, targets):
    return -Z.log_softmax(-1).gather(1, targets[:, None]).mean()


def hand_calculation():
    I = torch.eye(2, dtype=torch.double)
    O, A = attention_head(I, I, I, I)
    V = torch.diag(torch.tensor([0.0, 1.0], dtype=torch.double))
    O_zeroed = sdpa(I[None], I[None], V[None], is_causal=True)[0]
    Z = I + O
    return {
        "w": A[1, 0].item(), "A": A.numpy(), "H_prime": Z.numpy(), "p_B": Z.softmax(-1)[1, 1].item(),
        "loss": loss(Z[1:], torch.tensor([1])).item(), "p_B_without_residual": O.softmax(-1)[1, 1].item(),
        "A_first_value_zeroed": A.numpy(), "last_row_first_value_zeroed": (V + O_zeroed)[1].numpy(),
        "layer_norm_of_1_3": [-1, 1], "residual_of_1_3": [0, 4],
    }
