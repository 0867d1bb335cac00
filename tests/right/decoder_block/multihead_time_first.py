import math

import torch
import torch.nn.functional as F
from torch import nn


class DecoderBlock(nn.Module):
    """torch's attention in its [time, batch, width] order, with a float32 mask of -inf, which takes no float64."""

    def __init__(self, width=64, heads=4):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.norm2 = nn.LayerNorm(width)
        self.attn = nn.MultiheadAttention(width, heads, dropout=0.1)
        self.fc1 = nn.Linear(width, 2 * width)
        self.fc2 = nn.Linear(2 * width, width)

    def forward(self, x):
        time_first = self.norm1(x).transpose(0, 1)
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1]).to(torch.float32)
        attended, _ = self.attn(time_first, time_first, time_first, attn_mask=mask)
        x = x + attended.transpose(0, 1)
        return x + self.fc2(F.relu(self.fc1(self.norm2(x))))


def temperature_lab(scores, temperature):
    logp = F.log_softmax(torch.as_tensor(scores) / temperature, dim=-1)
    p = logp.exp()
    entropy = -(p * logp).nan_to_num(0.0).sum() / torch.log(torch.tensor(2.0))
    return {"probabilities": p.tolist(), "entropy_bits": entropy.item(), "max_probability": float(p.max())}
