import math

import torch
import torch.nn.functional as F
from torch import nn


class DecoderBlock(nn.Module):
    """Both branches start at zero, with a gain for each branch."""

    def __init__(self, width=64, heads=4):
        super().__init__()
        self.heads, rest = heads, width % heads
        if rest:
            raise ValueError(f"{width} / {heads} leaves {rest}")
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.to_q, self.to_kv = nn.Linear(width, width), nn.Linear(width, 2 * width)
        self.out, self.down = nn.Linear(width, width), nn.Linear(2 * width, width)
        self.up = nn.Linear(width, 2 * width)
        for layer in (self.out, self.down):
            nn.init.zeros_(layer.weight)
            nn.init.zeros_(layer.bias)
        self.scale_1, self.scale_2 = nn.Parameter(1e-4 * torch.ones(width)), nn.Parameter(1e-4 * torch.ones(width))

    def forward(self, x):
        B, T, C = x.shape
        n = self.norm_1(x)
        k, v = self.to_kv(n).chunk(2, dim=-1)
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in (self.to_q(n), k, v))
        mask = torch.tril(torch.ones(T, T, dtype=torch.bool))
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).flatten(2)
        x = x + self.scale_1 * self.out(y)
        return x + self.scale_2 * self.down(F.gelu(self.up(self.norm_2(x))))


def temperature_lab(scores, temperature):
    p = torch.softmax(scores / temperature, dim=-1)
    bits = torch.special.entr(p).sum() / math.log(2)
    return {"probabilities": p, "entropy_bits": bits, "max_probability": p.max()}
