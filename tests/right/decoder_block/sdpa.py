import math

import torch
import torch.nn.functional as F
from torch import nn


class DecoderBlock(nn.Module):
    """torch's fused attention function."""

    def __init__(self, width=64, heads=4, dropout=0.1):
        super().__init__()
        if width % heads:
            raise AssertionError(f"{heads} heads do not divide {width}")
        self.heads, self.dropout = heads, dropout
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width), nn.Dropout(dropout)
        )

    def forward(self, x):
        B, T, C = x.shape
        qkv = self.qkv(self.norms[0](x)).reshape(B, T, 3, self.heads, C // self.heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        p = self.dropout if self.training else 0.0
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=p)
        x = x + self.proj(y.transpose(1, 2).reshape(B, T, C))
        return x + self.mlp(self.norms[1](x))


def temperature_lab(scores, temperature):
    p = torch.softmax(scores / temperature, dim=-1)
    bits = torch.special.entr(p).sum() / math.log(2)
    return {"probabilities": p, "entropy_bits": bits, "max_probability": p.max()}
