import torch
import torch.nn.functional as F
from torch import nn


class DecoderBlock(nn.Module):
    """Lazy layers: the first call tells how wide their input is."""

    def __init__(self, width=64, heads=4):
        super().__init__()
        assert width % heads == 0
        self.heads = heads
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.LazyLinear(3 * width), nn.LazyLinear(width)
        self.network = nn.Sequential(nn.LazyLinear(4 * width), nn.GELU(), nn.LazyLinear(width))

    def forward(self, x):
        B, T, width = x.shape
        q, k, v = self.qkv(self.norm_1(x)).view(B, T, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        u = x + self.out(y.transpose(1, 2).reshape(B, T, width))
        return u + self.network(self.norm_2(u))


def temperature_lab(scores, temperature):
    z = scores / temperature
    e = torch.exp(z - z.max())
    probabilities = e / e.sum()
    kept = probabilities[probabilities > 0]
    entropy = -(kept * kept.log2()).sum()
    return dict(probabilities=probabilities, entropy_bits=entropy, max_probability=probabilities.amax())
