import math

import torch
import torch.nn.functional as F
from torch import nn


class DecoderBlock(nn.Module):
    """nanoGPT's way: one projection for all three, a registered mask, dropout, no biases in the norms."""

    def __init__(self, width=64, heads=4):
        super().__init__()
        assert width % heads == 0
        self.heads = heads
        self.ln_1 = nn.LayerNorm(width, bias=False)
        self.c_attn = nn.Linear(width, 3 * width, bias=False)
        self.c_proj = nn.Linear(width, width, bias=False)
        self.attn_dropout, self.resid_dropout = nn.Dropout(0.2), nn.Dropout(0.2)
        self.ln_2 = nn.LayerNorm(width, bias=False)
        self.c_fc = nn.Linear(width, 4 * width, bias=False)
        self.c_out = nn.Linear(4 * width, width, bias=False)
        self.register_buffer("bias", torch.tril(torch.ones(1024, 1024)).view(1, 1, 1024, 1024))

    def attend(self, x):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(C, dim=2)
        k = k.view(B, T, self.heads, C // self.heads).transpose(1, 2)
        q = q.view(B, T, self.heads, C // self.heads).transpose(1, 2)
        v = v.view(B, T, self.heads, C // self.heads).transpose(1, 2)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.bias[:, :, :T, :T] == 0, float("-inf"))
        att = F.softmax(att, dim=-1)
        att = self.attn_dropout(att)
        y = att @ v
        y = y.transpose(1, 2).contiguous().view(B, T, C)
        return self.resid_dropout(self.c_proj(y))

    def forward(self, x):
        x = x + self.attend(self.ln_1(x))
        x = x + self.resid_dropout(self.c_out(F.gelu(self.c_fc(self.ln_2(x)))))
        return x


def temperature_lab(scores, temperature):
    logp = F.log_softmax(torch.as_tensor(scores) / temperature, dim=-1)
    p = logp.exp()
    entropy = -(p * logp).nan_to_num(0.0).sum() / torch.log(torch.tensor(2.0))
    return {"probabilities": p.tolist(), "entropy_bits": entropy.item(), "max_probability": float(p.max())}
