import math

import torch
import torch.nn.functional as F
from torch import nn


class DecoderBlock(nn.Module):
    """Two parameters hold all six matrices: one behind the other, and one above the other."""

    def __init__(self, width=64, heads=4):
        super().__init__()
        if width % heads:
            raise ValueError("width is no multiple of heads")
        self.heads, self.width = heads, width
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention_weights = nn.Parameter(torch.randn(4, width, width) / math.sqrt(width))
        self.network_weights = nn.Parameter(torch.randn(2 * width, 4 * width) / math.sqrt(width))

    def split(self, x):
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, x):
        W_q, W_k, W_v, W_o = self.attention_weights
        n = self.norm_1(x)
        y = F.scaled_dot_product_attention(*(self.split(n @ W) for W in (W_q, W_k, W_v)), is_causal=True)
        x = x + y.transpose(1, 2).flatten(2) @ W_o
        W_1, W_2 = self.network_weights.split(self.width)
        return x + F.relu(self.norm_2(x) @ W_1) @ W_2.T


def temperature_lab(scores, temperature):
    z = scores / temperature
    e = torch.exp(z - z.max())
    probabilities = e / e.sum()
    kept = probabilities[probabilities > 0]
    entropy = -(kept * kept.log2()).sum()
    return dict(probabilities=probabilities, entropy_bits=entropy, max_probability=probabilities.amax())
