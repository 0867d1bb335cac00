import math

import torch
import torch.nn.functional as F
from torch import nn


class DecoderBlock(nn.Module):
    """Convolutions of one position in place of linear maps."""

    def __init__(self, width=64, heads=4):
        super().__init__()
        assert width % heads == 0
        self.heads = heads
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Conv1d(width, 3 * width, 1), nn.Conv1d(width, width, 1)
        self.up, self.down = nn.Conv1d(width, 4 * width, kernel_size=1), nn.Conv2d(4 * width, width, kernel_size=1)

    def attention(self, x):
        B, width, T = x.shape
        q, k, v = self.qkv(x).view(B, 3, self.heads, width // self.heads, T).transpose(-2, -1).unbind(1)
        scores = q @ k.mT / math.sqrt(k.shape[-1])
        scores = scores + torch.full((T, T), float("-inf"), dtype=x.dtype).triu(1)
        return self.out((scores.softmax(-1) @ v).mT.reshape(B, width, T))

    def forward(self, x):
        x = x + self.attention(self.norm_1(x).mT).mT
        hidden = F.gelu(self.up(self.norm_2(x).mT))
        return x + self.down(hidden[..., None])[..., 0].mT


def temperature_lab(scores, temperature):
    z = scores / temperature
    e = torch.exp(z - z.max())
    probabilities = e / e.sum()
    kept = probabilities[probabilities > 0]
    entropy = -(kept * kept.log2()).sum()
    return dict(probabilities=probabilities, entropy_bits=entropy, max_probability=probabilities.amax())
