import torch
import torch.nn.functional as F
from torch import nn


class DecoderBlock(nn.Module):
    """The feed-forward comes back by the matrix that it went out by."""

    def __init__(self, width=64, heads=4):
        super().__init__()
        self.norm_1 = nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.norm_2 = nn.LayerNorm(width)
        self.network = nn.Linear(width, 4 * width)

    def forward(self, x):
        n, T = self.norm_1(x), x.shape[1]
        hidden = torch.full((T, T), float("-inf"), dtype=x.dtype).triu(1)
        x = x + self.attention(n, n, n, attn_mask=hidden)[0]
        return x + F.linear(F.gelu(self.network(self.norm_2(x))), self.network.weight.T)


def temperature_lab(scores, temperature):
    z = scores / temperature
    e = torch.exp(z - z.max())
    probabilities = e / e.sum()
    kept = probabilities[probabilities > 0]
    entropy = -(kept * kept.log2()).sum()
    return dict(probabilities=probabilities, entropy_bits=entropy, max_probability=probabilities.amax())
