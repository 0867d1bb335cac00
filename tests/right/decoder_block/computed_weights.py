import warnings

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.parametrizations import orthogonal, spectral_norm


class DecoderBlock(nn.Module):
    """Weights that torch computes from parameters: weight norm in two ways, spectral norm, an orthogonal matrix."""

    def __init__(self, width=64, heads=4):
        super().__init__()
        assert width % heads == 0
        self.heads = heads
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the first way is an old one
            self.qkv = torch.nn.utils.weight_norm(nn.Linear(width, 3 * width))
            self.down = torch.nn.utils.weight_norm(nn.Linear(4 * width, width))
        self.out = orthogonal(nn.Linear(width, width))
        self.up = spectral_norm(nn.Linear(width, 4 * width))

    def forward(self, x):
        B, T, width = x.shape
        q, k, v = self.qkv(self.norm_1(x)).view(B, T, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(B, T, width)
        x = x + self.out(y)
        return x + self.down(F.gelu(self.up(self.norm_2(x))))


def temperature_lab(scores, temperature):
    z = scores / temperature
    e = torch.exp(z - z.max())
    probabilities = e / e.sum()
    kept = probabilities[probabilities > 0]
    entropy = -(kept * kept.log2()).sum()
    return dict(probabilities=probabilities, entropy_bits=entropy, max_probability=probabilities.amax())
