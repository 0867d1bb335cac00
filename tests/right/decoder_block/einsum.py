import math

import torch
import torch.nn.functional as F
from torch import nn


class DecoderBlock(nn.Module):
    """Parameters as three-axis tensors, einsum, and no nn.Linear."""

    def __init__(self, width=64, heads=4):
        super().__init__()
        if width % heads:
            raise ValueError("heads")
        d = width // heads
        scale = width**-0.5
        self.w_q = nn.Parameter(torch.randn(heads, width, d) * scale)
        self.w_k = nn.Parameter(torch.randn(heads, width, d) * scale)
        self.w_v = nn.Parameter(torch.randn(heads, width, d) * scale)
        self.w_o = nn.Parameter(torch.randn(heads, d, width) * scale)
        self.w_1 = nn.Parameter(torch.randn(width, 4 * width) * scale)
        self.b_1 = nn.Parameter(torch.zeros(4 * width))
        self.w_2 = nn.Parameter(torch.randn(4 * width, width) * scale)
        self.gain_1, self.shift_1 = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))
        self.gain_2, self.shift_2 = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))

    @staticmethod
    def norm(x, gain, shift):
        mean = x.mean(-1, keepdim=True)
        variance = x.var(-1, keepdim=True, unbiased=False)
        return (x - mean) / torch.sqrt(variance + 1e-5) * gain + shift

    def forward(self, x):
        n = self.norm(x, self.gain_1, self.shift_1)
        q = torch.einsum("btw,hwd->bhtd", n, self.w_q)
        k = torch.einsum("btw,hwd->bhtd", n, self.w_k)
        v = torch.einsum("btw,hwd->bhtd", n, self.w_v)
        s = torch.einsum("bhtd,bhsd->bhts", q, k) / q.shape[-1] ** 0.5
        s = s + torch.full(s.shape[-2:], -torch.inf, dtype=s.dtype).triu(1)
        x = x + torch.einsum("bhts,bhsd,hdw->btw", s.softmax(-1), v, self.w_o)
        n = self.norm(x, self.gain_2, self.shift_2)
        return x + torch.relu(n @ self.w_1 + self.b_1) @ self.w_2


def temperature_lab(scores, temperature):
    logp = F.log_softmax(torch.as_tensor(scores) / temperature, dim=-1)
    p = logp.exp()
    entropy = -(p * logp).nan_to_num(0.0).sum() / torch.log(torch.tensor(2.0))
    return {"probabilities": p.tolist(), "entropy_bits": entropy.item(), "max_probability": float(p.max())}
