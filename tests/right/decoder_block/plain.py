import math

import torch
import torch.nn.functional as F
from torch import nn


class DecoderBlock(nn.Module):
    """Everything written out: three projections, scores, mask, softmax."""

    def __init__(self, width=64, heads=4):
        super().__init__()
        if width % heads != 0:
            raise ValueError("width must be a multiple of heads")
        self.heads, self.d_k = heads, width // heads
        self.norm_1 = nn.LayerNorm(width)
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.out = nn.Linear(width, width)
        self.norm_2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def split(self, x):
        B, T, _ = x.shape
        return x.view(B, T, self.heads, self.d_k).transpose(1, 2)

    def attention(self, x):
        B, T, width = x.shape
        q, k, v = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.d_k)
        mask = torch.ones(T, T, device=x.device).tril().bool()
        scores = scores.masked_fill(~mask, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        joined = (weights @ v).transpose(1, 2).reshape(B, T, width)
        return self.out(joined)

    def feed_forward(self, x):
        return self.down(F.gelu(self.up(x)))

    def forward(self, x):
        attended = self.attention(self.norm_1(x))
        u = x + attended
        fed = self.feed_forward(self.norm_2(u))
        return u + fed


def temperature_lab(scores, temperature):
    z = scores / temperature
    e = torch.exp(z - z.max())
    probabilities = e / e.sum()
    kept = probabilities[probabilities > 0]
    entropy = -(kept * kept.log2()).sum()
    return dict(probabilities=probabilities, entropy_bits=entropy, max_probability=probabilities.amax())
