import math

import torch
import torch.nn.functional as F
from torch import nn


class DecoderBlock(nn.Module):
    """Each head comes back to the width by itself; the heads are summed."""

    def __init__(self, width=64, heads=4):
        super().__init__()
        if width % heads:
            raise ValueError("no multiple")
        d = width // heads
        self.d = d
        self.norm_a, self.norm_b = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qs = nn.ModuleList(nn.Linear(width, d, bias=False) for _ in range(heads))
        self.ks = nn.ModuleList(nn.Linear(width, d, bias=False) for _ in range(heads))
        self.vs = nn.ModuleList(nn.Linear(width, d, bias=False) for _ in range(heads))
        self.os = nn.ModuleList(nn.Linear(d, width, bias=False) for _ in range(heads))
        self.w1, self.w2 = nn.Linear(width, 3 * width), nn.Linear(3 * width, width)

    def forward(self, x):
        T = x.shape[1]
        n = self.norm_a(x)
        hidden = torch.ones(T, T, dtype=torch.bool).triu(1)
        total = torch.zeros_like(x)
        for q, k, v, o in zip(self.qs, self.ks, self.vs, self.os):
            s = (q(n) / self.d**0.5) @ k(n).mT
            total = total + o(s.masked_fill(hidden, -torch.inf).softmax(-1) @ v(n))
        u = x + total
        return u + self.w2(F.silu(self.w1(self.norm_b(u))))


def temperature_lab(scores, temperature):
    p = torch.softmax(scores / temperature, dim=-1)
    bits = torch.special.entr(p).sum() / math.log(2)
    return {"probabilities": p, "entropy_bits": bits, "max_probability": p.max()}
