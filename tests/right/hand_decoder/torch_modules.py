"""nn.Module classes inside, the required functions outside."""
import torch
from torch import nn


class Norm(nn.Module):
    def __init__(self, eps):
        super().__init__()
        self.eps = eps

    def forward(self, x, gain, shift):
        x = x - x.mean(-1, keepdim=True)
        return x / torch.sqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * gain + shift


class CausalAttention(nn.Module):
    def forward(self, q, k, v):
        # q, k (h, T, d_k); v (h, T, d_v)
        T = q.shape[-2]
        scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
        scores = scores + torch.triu(torch.full((T, T), -1e30, dtype=q.dtype), 1)
        A = scores.softmax(-1)
        return A @ v, A


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.act = nn.ReLU(inplace=True)

    def forward(self, x, W_1, b_1, W_2, b_2):
        return self.act(x @ W_1 + b_1) @ W_2 + b_2


attention = CausalAttention()
mlp = Mlp()


def softmax(x):
    return nn.Softmax(dim=-1)(x)


def attention_scores(Q, K):
    return Q @ K.transpose(-1, -2) * Q.shape[-1] ** -0.5


def causal_attention_weights(S):
    T = S.shape[-1]
    return torch.softmax(S + torch.triu(torch.full((T, T), -1e30, dtype=S.dtype), 1), -1)


def attention_head(H, W_Q, W_K, W_V):
    O, A = attention((H @ W_Q)[None], (H @ W_K)[None], (H @ W_V)[None])
    return O.squeeze(0), A.squeeze(0)


def multi_head_attention(H, heads, W_O):
    q, k, v = (torch.einsum("td,hdk->htk", H, torch.stack([head[i] for head in heads])) for i in range(3))
    O, _ = attention(q, k, v)
    return torch.cat(O.unbind(0), dim=-1) @ W_O


def layer_norm(H, gain, shift, eps):
    return Norm(eps)(H, gain, shift)


def feed_forward(H, W_1, b_1, W_2, b_2):
    return mlp(H, W_1, b_1, W_2, b_2)


class Block(nn.Module):
    def __init__(self, block):
        super().__init__()
        self.block = block
        self.norm = Norm(block["eps"])

    def forward(self, x):
        b = self.block
        x = x + multi_head_attention(self.norm(x, **b["norm_1"]), b["heads"], b["W_O"])
        return x + mlp(self.norm(x, **b["norm_2"]), b["W_1"], b["b_1"], b["W_2"], b["b_2"])


def decoder_block(H, block):
    return Block(block)(H)


def decoder(tokens, params):
    x = params["embedding"][tokens]
    if "positions" in params:
        x = x + params["positions"][: x.shape[0]]
    x = nn.Sequential(*[Block(b) for b in params["blocks"]])(x)
    return Norm(params["eps"])(x, **params["norm_f"]) @ params["W_out"] + params["b_out"]


def next_token_probabilities(Z):
    return nn.Softmax(dim=-1)(Z)


def loss(Z, targets):
    return nn.CrossEntropyLoss(reduction="mean")(Z, targets)


def hand_calculation():
    with torch.no_grad():
        I = torch.eye(2, dtype=torch.float64)
        O, A = attention_head(I, I, I, I)
        Z = I + O
        V = torch.diag(torch.tensor([0.0, 1.0], dtype=torch.float64))
        x = torch.tensor([[1.0, 3.0]], dtype=torch.float64)
        n = Norm(0.0)(x, 1.0, 0.0)
    return {
        "w": A[1, 0].item(), "A": A, "H_prime": Z, "p_B": Z.softmax(-1)[1, 1].item(),
        "loss": loss(Z[1:], torch.tensor([1])).item(), "p_B_without_residual": O.softmax(-1)[1, 1].item(),
        "A_first_value_zeroed": A.clone(), "last_row_first_value_zeroed": (V + A @ V)[1],
        "layer_norm_of_1_3": n[0], "residual_of_1_3": (x + n)[0],
    }
