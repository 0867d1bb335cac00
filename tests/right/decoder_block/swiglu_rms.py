import math

import torch
import torch.nn.functional as F
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, width, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return self.weight * (x.float() * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x)


class DecoderBlock(nn.Module):
    """Llama's way: RMS norm in single precision, rotary positions, SwiGLU, no biases."""

    def __init__(self, width=64, heads=4):
        super().__init__()
        if width % heads:
            raise ValueError("width % heads")
        self.n_heads, self.head_dim = heads, width // heads
        self.wq, self.wk = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.wv, self.wo = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        hidden = int(8 * width / 3)
        self.w1, self.w3 = nn.Linear(width, hidden, bias=False), nn.Linear(width, hidden, bias=False)
        self.w2 = nn.Linear(hidden, width, bias=False)
        self.attention_norm, self.ffn_norm = RMSNorm(width), RMSNorm(width)

    def rotate(self, x):
        T, d = x.shape[-2], x.shape[-1] // 2 * 2
        angle = torch.arange(T, dtype=x.dtype)[:, None] / 10000.0 ** (torch.arange(0, d, 2, dtype=x.dtype) / max(d, 1))
        a, b = x[..., : d // 2], x[..., d // 2 : d]
        turned = [a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos(), x[..., d:]]
        return torch.cat(turned, dim=-1)

    def forward(self, x):
        B, T, C = x.shape
        n = self.attention_norm(x)
        q, k, v = (w(n).view(B, T, self.n_heads, self.head_dim).transpose(1, 2) for w in (self.wq, self.wk, self.wv))
        scores = self.rotate(q) @ self.rotate(k).transpose(2, 3) / math.sqrt(self.head_dim)
        scores = scores + torch.triu(torch.full((T, T), float("-inf")), diagonal=1)
        scores = F.softmax(scores.float(), dim=-1).type_as(q)
        h = x + self.wo((scores @ v).transpose(1, 2).contiguous().view(B, T, -1))
        n = self.ffn_norm(h)
        return h + self.w2(F.silu(self.w1(n)) * self.w3(n))


def temperature_lab(scores, temperature):
    z = scores / temperature
    e = torch.exp(z - z.max())
    probabilities = e / e.sum()
    kept = probabilities[probabilities > 0]
    entropy = -(kept * kept.log2()).sum()
    return dict(probabilities=probabilities, entropy_bits=entropy, max_probability=probabilities.amax())
