import math

import torch
import torch.nn.functional as F
from torch import nn


class DecoderBlock(nn.Module):
    """torch's own attention, with its mask: True = may not be consulted."""

    def __init__(self, width=64, heads=4):
        super().__init__()
        self.ln1 = nn.LayerNorm(width)
        self.attn = nn.MultiheadAttention(width, heads, batch_first=True)
        self.ln2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.ReLU(), nn.Linear(4 * width, width))

    def forward(self, x):
        T = x.size(1)
        mask = torch.triu(torch.ones(T, T, dtype=torch.bool, device=x.device), diagonal=1)
        n = self.ln1(x)
        a, _ = self.attn(n, n, n, attn_mask=mask, need_weights=False)
        x = x + a
        x = x + self.mlp(self.ln2(x))
        return x


def temperature_lab(scores, temperature):
    p = torch.softmax(scores / temperature, dim=-1)
    bits = torch.special.entr(p).sum() / math.log(2)
    return {"probabilities": p, "entropy_bits": bits, "max_probability": p.max()}
