"""A GPT with other names and another order of arguments."""

import math

import torch
import torch.nn as nn


class Mixer(nn.Module):
    """Keys and values are held as (B, T, d) and split anew at every step."""

    def __init__(self, n_embd, n_head, rope):
        super().__init__()
        self.n_head, self.rope = n_head, rope
        self.query, self.key, self.value = (nn.Linear(n_embd, n_embd, bias=False) for _ in range(3))
        self.proj = nn.Linear(n_embd, n_embd)

    def rotate(self, x, first):
        """x (T, B, h, d_k)"""
        d_k = x.shape[-1]
        pos = torch.arange(first, first + len(x), dtype=torch.double)
        out = x.clone()
        for i in range(d_k // 2):
            a = pos / math.pow(10000, 2 * i / d_k)
            a = a[:, None, None]
            c, s = a.cos().to(x), a.sin().to(x)
            out[..., i] = x[..., i] * c - x[..., i + d_k // 2] * s
            out[..., i + d_k // 2] = x[..., i] * s + x[..., i + d_k // 2] * c
        return out

    def forward(self, x, memory=None):
        B, T, C = x.shape
        k, v = self.key(x), self.value(x)
        if memory is not None:
            k, v = torch.cat([memory[0], k], 1), torch.cat([memory[1], v], 1)
        memory = k, v
        n = k.shape[1]
        q, k, v = (y.transpose(0, 1).reshape(y.shape[1], B, self.n_head, -1) for y in (self.query(x), k, v))
        if self.rope:
            q, k = self.rotate(q, n - T), self.rotate(k, 0)
        scores = torch.einsum("tbhc,sbhc->bhts", q / math.sqrt(C // self.n_head), k)
        hidden = torch.ones(T, n, dtype=torch.bool).triu(n - T + 1)
        weights = nn.functional.softmax(scores.masked_fill(hidden, -1e30), dim=3)
        return self.proj(torch.einsum("bhts,sbhc->bthc", weights, v).reshape(B, T, C)), memory


class GPT(nn.Module):
    def __init__(self, n_layer, n_head, n_embd, n_inner, block_size, n_vocab, rope):
        super().__init__()
        self.settings = [n_layer, n_head, n_embd, n_inner, block_size, n_vocab, rope]
        self.block_size, self.rope = block_size, rope
        self.wte = nn.Embedding(n_vocab, n_embd)
        self.wpe = nn.Embedding(block_size, n_embd) if not rope else nn.Identity()
        self.layers = nn.ModuleList(
            nn.ModuleDict(
                {
                    "ln_a": nn.LayerNorm(n_embd),
                    "mix": Mixer(n_embd, n_head, rope),
                    "ln_b": nn.LayerNorm(n_embd),
                    "mlp": nn.Sequential(nn.Linear(n_embd, n_inner), nn.ReLU(), nn.Linear(n_inner, n_embd)),
                }
            )
            for _ in range(n_layer)
        )
        self.ln_f = nn.LayerNorm(n_embd)
        self.head = nn.Linear(n_embd, n_vocab)

    def run(self, idx, memories):
        first = 0 if memories is None else memories[0][0].shape[1]
        x = self.wte(idx)
        if not self.rope:
            x = x + self.wpe(torch.arange(first, first + idx.shape[1]))
        after = []
        for i, layer in enumerate(self.layers):
            y, memory = layer["mix"](layer["ln_a"](x), memories[i] if memories else None)
            x = x + y
            x = x + layer["mlp"](layer["ln_b"](x))
            after.append(memory)
        return self.head(self.ln_f(x)), after

    def forward(self, idx):
        return self.run(idx, None)[0]

    def nll(self, idx):
        """idx (B, T + 1) -> (B, T)"""
        z = self(idx[:, :-1])
        return z.logsumexp(-1) - z.gather(-1, idx[:, 1:, None])[..., 0]
