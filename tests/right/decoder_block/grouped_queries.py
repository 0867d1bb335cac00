import math

import torch
import torch.nn.functional as F
from torch import nn


class DecoderBlock(nn.Module):
    """One pair of keys and values for all heads, and a squared ReLU."""

    def __init__(self, width=64, heads=4):
        super().__init__()
        if width % heads:
            raise ValueError("heads")
        self.heads, d = heads, width // heads
        self.pre_attention, self.pre_mlp = nn.RMSNorm(width, eps=1e-6), nn.RMSNorm(width, eps=1e-6)
        self.q, self.kv = nn.Linear(width, width, bias=False), nn.Linear(width, 2 * d, bias=False)
        self.o = nn.Linear(width, width, bias=False)
        self.into, self.out_of = nn.Linear(width, 4 * width, bias=False), nn.Linear(4 * width, width, bias=False)

    def forward(self, x):
        print("block called with", tuple(x.shape))
        B, T, C = x.shape
        n = self.pre_attention(x)
        q = self.q(n).view(B, T, self.heads, -1).transpose(1, 2)
        k, v = self.kv(n)[:, None].expand(-1, self.heads, -1, -1).chunk(2, -1)
        s = q @ k.transpose(-1, -2) * k.shape[-1] ** -0.5
        s = torch.where(torch.ones(T, T).tril() > 0, s, torch.finfo(s.dtype).min)
        x = x + self.o((s.softmax(-1) @ v).transpose(1, 2).reshape(B, T, C))
        return x + self.out_of(F.relu(self.into(self.pre_mlp(x))).square())


def temperature_lab(scores, temperature):
    logp = F.log_softmax(torch.as_tensor(scores) / temperature, dim=-1)
    p = logp.exp()
    entropy = -(p * logp).nan_to_num(0.0).sum() / torch.log(torch.tensor(2.0))
    return {"probabilities": p.tolist(), "entropy_bits": entropy.item(), "max_probability": float(p.max())}
