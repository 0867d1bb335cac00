import math

import torch
import torch.nn.functional as F
from torch import nn


class Head(nn.Module):
    def __init__(self, width, d_k):
        super().__init__()
        self.q = nn.Linear(width, d_k)
        self.k = nn.Linear(width, d_k)
        self.v = nn.Linear(width, d_k)

    def forward(self, x):
        T = x.shape[1]
        s = torch.bmm(self.q(x), self.k(x).transpose(1, 2)) * self.q.out_features**-0.5
        s = s.masked_fill(torch.tril(torch.ones(T, T)) == 0, -1e9)
        return torch.bmm(s.softmax(-1), self.v(x))


class DecoderBlock(nn.Module):
    """A module for each head."""

    def __init__(self, width=64, heads=4):
        super().__init__()
        if width % heads != 0:
            raise ValueError(f"width {width} is no multiple of {heads}")
        self.heads = nn.ModuleList(Head(width, width // heads) for _ in range(heads))
        self.proj = nn.Linear(width, width)
        self.ln1 = nn.LayerNorm(width)
        self.ln2 = nn.LayerNorm(width)
        self.ffn = nn.Sequential(nn.Linear(width, 4 * width), nn.ReLU(), nn.Linear(4 * width, width))

    def forward(self, x):
        n = self.ln1(x)
        x = x + self.proj(torch.cat([head(n) for head in self.heads], dim=-1))
        return x + self.ffn(self.ln2(x))


def temperature_lab(scores, temperature):
    z = scores / temperature
    e = torch.exp(z - z.max())
    probabilities = e / e.sum()
    kept = probabilities[probabilities > 0]
    entropy = -(kept * kept.log2()).sum()
    return dict(probabilities=probabilities, entropy_bits=entropy, max_probability=probabilities.amax())
