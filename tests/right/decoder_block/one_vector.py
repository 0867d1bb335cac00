import math

import torch
import torch.nn.functional as F
from torch import nn


class DecoderBlock(nn.Module):
    """One vector holds every number that is learned."""

    def __init__(self, width=64, heads=4):
        super().__init__()
        assert width % heads == 0
        d, m = width, 2 * width
        self.heads = heads
        self.shapes = [(d, 3 * d), (3 * d,), (d, d), (d,), (d, m), (m,), (m, d), (d,)]
        sizes = [math.prod(shape) for shape in self.shapes]
        self.theta = nn.Parameter(torch.randn(sum(sizes)) / math.sqrt(d))
        self.sizes = sizes

    def forward(self, x):
        B, T, d = x.shape
        parts = zip(self.theta.split(self.sizes), self.shapes)
        W_qkv, b_qkv, W_o, b_o, W_1, b_1, W_2, b_2 = (part.view(shape) for part, shape in parts)
        qkv = F.layer_norm(x, (d,)) @ W_qkv + b_qkv
        q, k, v = qkv.view(B, T, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(B, T, d)
        x = x + y @ W_o + b_o
        return x + F.gelu(F.layer_norm(x, (d,)) @ W_1 + b_1) @ W_2 + b_2


def temperature_lab(scores, temperature):
    z = scores / temperature
    e = torch.exp(z - z.max())
    probabilities = e / e.sum()
    kept = probabilities[probabilities > 0]
    entropy = -(kept * kept.log2()).sum()
    return dict(probabilities=probabilities, entropy_bits=entropy, max_probability=probabilities.amax())
