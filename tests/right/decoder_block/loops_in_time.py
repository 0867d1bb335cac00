import math

import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.shape = (heads, width // heads)
        self.k_proj, self.q_proj = nn.Linear(width, width), nn.Linear(width, width)
        self.o_proj, self.v_proj = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x):
        k, q, v = (p(x).unflatten(-1, self.shape) for p in (self.k_proj, self.q_proj, self.v_proj))
        rows = []
        for t in range(x.shape[1]):
            s = torch.einsum("bhd,bshd->bhs", q[:, t], k[:, : t + 1]) / math.sqrt(self.shape[1])
            rows.append(torch.einsum("bhs,bshd->bhd", torch.softmax(s, -1), v[:, : t + 1]).flatten(1))
        return self.o_proj(torch.stack(rows, dim=1))


class FeedForward(nn.Sequential):
    def __init__(self, width):
        super().__init__(nn.Linear(width, 4 * width), nn.GELU(), nn.Dropout(0.3), nn.Linear(4 * width, width))


class Residual(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.norm, self.inner = nn.LayerNorm(width), inner

    def forward(self, x):
        return x + self.inner(self.norm(x))


class DecoderBlock(nn.Module):
    """No mask: each position attends to a slice of the past."""

    def __init__(self, width=64, heads=4):
        super().__init__()
        if width % heads:
            raise RuntimeError("heads")
        self.first = Residual(width, Attention(width, heads))
        self.second = Residual(width, FeedForward(width))

    def forward(self, x):
        return self.second(self.first(x))


def temperature_lab(scores, temperature):
    p = torch.softmax(scores / temperature, dim=-1)
    bits = torch.special.entr(p).sum() / math.log(2)
    return {"probabilities": p, "entropy_bits": bits, "max_probability": p.max()}
