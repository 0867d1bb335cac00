import math

import torch
import torch.nn.functional as F
from torch import nn


class DecoderBlock(nn.TransformerEncoderLayer):
    """torch's own layer, pre-norm, with a causal mask."""

    def __init__(self, width=64, heads=4):
        super().__init__(width, heads, 4 * width, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)

    def forward(self, x):
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1], dtype=x.dtype)
        return super().forward(x, src_mask=mask, is_causal=True)


def temperature_lab(scores, temperature):
    z = scores / temperature
    e = torch.exp(z - z.max())
    probabilities = e / e.sum()
    kept = probabilities[probabilities > 0]
    entropy = -(kept * kept.log2()).sum()
    return dict(probabilities=probabilities, entropy_bits=entropy, max_probability=probabilities.amax())
