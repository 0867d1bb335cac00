import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.parametrizations import weight_norm


class DecoderBlock(nn.Module):
    """Weight norm on every linear map, each a direction and lengths; dropout where it is usual."""

    def __init__(self, width=64, heads=4, dropout=0.1):
        super().__init__()
        assert width % heads == 0
        self.heads = heads
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = weight_norm(nn.Linear(width, 3 * width)), weight_norm(nn.Linear(width, width))
        self.up, self.down = weight_norm(nn.Linear(width, 4 * width)), weight_norm(nn.Linear(4 * width, width))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        B, T, width = x.shape
        q, k, v = self.qkv(self.norm_1(x)).view(B, T, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        scores = q @ k.mT * k.shape[-1] ** -0.5
        scores = scores.masked_fill(torch.ones(T, T, dtype=torch.bool).triu(1), torch.finfo(x.dtype).min)
        y = self.dropout(scores.softmax(-1)) @ v
        x = x + self.dropout(self.out(y.transpose(1, 2).reshape(B, T, width)))
        return x + self.dropout(self.down(F.silu(self.up(self.norm_2(x)))))


def temperature_lab(scores, temperature):
    z = scores / temperature
    e = torch.exp(z - z.max())
    probabilities = e / e.sum()
    kept = probabilities[probabilities > 0]
    entropy = -(kept * kept.log2()).sum()
    return dict(probabilities=probabilities, entropy_bits=entropy, max_probability=probabilities.amax())
