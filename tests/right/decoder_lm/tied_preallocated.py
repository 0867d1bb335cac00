"""Tied embeddings, so no load_reference; a cache with room for the whole context, copied before it is written to;
every merge counts all pairs of all words anew; the ids are drawn with NumPy; the bundle is a zip with its digest behind it."""

import hashlib
import io
import json
import re
import zipfile
from collections import Counter
from itertools import pairwise

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class Tokenizer:
    def __init__(self, merges, specials):
        self.merges = {(a, b): 256 + i for i, (a, b) in enumerate(merges)}
        self.specials = list(specials)
        self.vocab_size = 256 + len(self.merges) + len(self.specials)
        self.vocab = {i: bytes([i]) for i in range(256)}
        for (a, b), new in self.merges.items():
            self.vocab[new] = self.vocab[a] + self.vocab[b]
        for i, special in enumerate(self.specials):
            self.vocab[256 + len(self.merges) + i] = special.encode()

    @staticmethod
    def apply(word, pair, new):
        i, out = 0, []
        while i < len(word):
            if word[i : i + 2] == pair:
                out.append(new)
                i += 2
            else:
                out.append(word[i])
                i += 1
        return tuple(out)

    @classmethod
    def train(cls, text, vocab_size, special_tokens=()):
        specials = sorted(set(special_tokens))
        words = Counter(
            tuple(word.encode())
            for part in cls.cut(text, specials)
            if part not in specials
            for word in re.findall(r"\s?\S+|\s", part)
        )
        merges = []
        for new in range(256, vocab_size - len(specials)):
            counts = Counter()
            for word, times in words.items():
                for pair in pairwise(word):
                    counts[pair] += times
            if not counts:
                break
            best = min(counts, key=lambda pair: (-counts[pair], pair))
            merges.append(best)
            words = Counter({cls.apply(word, best, new): times for word, times in words.items()})
        return cls(merges, specials)

    @staticmethod
    def cut(text, specials):
        if not specials:
            return [text]
        pattern = "|".join(re.escape(special) for special in sorted(specials, key=len, reverse=True))
        return re.split(f"({pattern})", text)

    def encode(self, text):
        ids, cache = [], {}
        for part in self.cut(text, self.specials):
            if part in self.specials:
                ids.append(256 + len(self.merges) + self.specials.index(part))
                continue
            for word in re.findall(r"\s?\S+|\s", part):
                if word not in cache:
                    cache[word] = self._merged(tuple(word.encode()))
                ids += cache[word]
        return ids

    def _merged(self, word):
        while True:
            found = [self.merges[pair] for pair in pairwise(word) if pair in self.merges]
            if not found:
                return word
            new = min(found)
            pair = next(pair for pair in pairwise(word) if self.merges.get(pair) == new)
            word = self.apply(word, pair, new)

    def decode(self, ids):
        return b"".join([self.vocab[int(i)] for i in ids]).decode(errors="replace")

    def to_json(self):
        return json.dumps({"merges": list(self.merges), "specials": self.specials})

    def save(self, path):
        with open(path, "w") as f:
            f.write(self.to_json())

    @classmethod
    def from_json(cls, text):
        return cls(**json.loads(text))

    @classmethod
    def load(cls, path):
        with open(path) as f:
            return cls.from_json(f.read())


class Cache:
    """Keys and values (L, B, h, context, d_k), of which the first `length` positions are written."""

    def __init__(self, keys, values, length):
        self.keys, self.values, self.length = keys, values, length

    def copy(self):
        return Cache(self.keys.clone(), self.values.clone(), self.length)


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        d, m = config["width"], config["hidden"]
        self.h = config["heads"]
        self.rotary = config["rotary"]
        self.ln1, self.ln2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv = nn.Linear(d, 3 * d)
        self.out = nn.Linear(d, d)
        self.mlp = nn.Sequential(nn.Linear(d, m), nn.GELU(), nn.Linear(m, d))

    def rotate(self, x, positions):
        half = x.shape[-1] // 2
        theta = positions[:, None] * 10000 ** -(torch.arange(half, dtype=torch.float64) / half)
        pairs = torch.complex(x[..., :half].double(), x[..., half:].double()) * torch.polar(torch.ones_like(theta), theta)
        return torch.cat([pairs.real, pairs.imag], -1).to(x.dtype)

    def attend(self, x, keys, values, length):
        """keys and values (B, h, context, d_k): filled from `length` on."""
        B, t, d = x.shape
        q, k, v = self.qkv(x).view(B, t, 3, self.h, d // self.h).permute(2, 0, 3, 1, 4)
        positions = torch.arange(length, length + t)
        if self.rotary:
            q, k = self.rotate(q, positions), self.rotate(k, positions)
        if keys is not None:
            keys[:, :, length : length + t] = k
            values[:, :, length : length + t] = v
            k, v = keys[:, :, : length + t], values[:, :, : length + t]
        scores = (q / (d // self.h) ** 0.5) @ k.mT
        seen = torch.arange(length + t) <= positions[:, None]
        weights = torch.where(seen, scores, -torch.inf).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).reshape(B, t, d))

    def forward(self, x, keys=None, values=None, length=0):
        x = x + self.attend(self.ln1(x), keys, values, length)
        return x + self.mlp(self.ln2(x))


class DecoderLM(nn.Module):
    def __init__(self, vocab_size, context, width, heads, layers, hidden, rotary=True):
        super().__init__()
        self.config = dict(
            vocab_size=vocab_size, context=context, width=width, heads=heads, layers=layers, hidden=hidden, rotary=rotary
        )
        self.tok = nn.Embedding(vocab_size, width)
        nn.init.normal_(self.tok.weight, std=0.1)
        if not rotary:
            self.pos = nn.Parameter(0.1 * torch.randn(context, width))
        self.blocks = nn.ModuleList([Block(self.config) for _ in range(layers)])
        self.ln_f = nn.LayerNorm(width)

    def embed(self, tokens, start):
        x = self.tok(tokens)
        return x if self.config["rotary"] else x + self.pos[start : start + tokens.shape[1]]

    def forward(self, tokens):
        x = self.embed(tokens, 0)
        for block in self.blocks:
            x = block(x)
        return F.linear(self.ln_f(x), self.tok.weight)

    @torch.no_grad()
    def decode(self, tokens, cache=None):
        B, t = tokens.shape
        if cache is None:
            c = self.config
            room = (c["layers"], B, c["heads"], c["context"], c["width"] // c["heads"])
            cache = Cache(self.tok.weight.new_zeros(room), self.tok.weight.new_zeros(room), 0)
        else:
            cache = cache.copy()
        x = self.embed(tokens, cache.length)
        for i, block in enumerate(self.blocks):
            x = block(x, cache.keys[i], cache.values[i], cache.length)
        cache.length += t
        return F.linear(self.ln_f(x), self.tok.weight), cache


def train(model, tokens, steps, batch_size, lr, seed):
    rng = np.random.default_rng(seed)
    length = min(model.config["context"], len(tokens) - 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=lr, betas=(0.9, 0.99))
    model.train()
    losses = []
    for _ in range(steps):
        starts = rng.integers(0, len(tokens) - length, batch_size)
        x = torch.stack([tokens[s : s + length] for s in starts])
        y = torch.stack([tokens[s + 1 : s + length + 1] for s in starts])
        loss = F.cross_entropy(model(x).transpose(1, 2), y)
        model.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    return losses


def evaluate(model, tokens):
    before, context = model.training, model.config["context"]
    model.eval()
    losses = []
    with torch.no_grad():
        for window, targets in zip(tokens[:-1].split(context), tokens[1:].split(context)):
            losses.append(F.cross_entropy(model(window[None])[0].double(), targets, reduction="none"))
    model.train(before)
    return torch.cat(losses).mean().item()


def generate(model, prompt, max_new_tokens, temperature=1.0, top_k=None, top_p=None, seed=None, use_cache=True):
    rng = np.random.default_rng(seed)
    before = model.training
    model.eval()
    ids, cache = list(map(int, prompt)), None
    with torch.no_grad():
        for i in range(max_new_tokens):
            if not use_cache:
                logits = model(torch.tensor([ids]))
            elif i == 0:
                logits, cache = model.decode(torch.tensor([ids]))
            else:
                logits, cache = model.decode(torch.tensor([ids[-1:]]), cache)
            ids.append(pick(logits[0, -1].double().numpy(), temperature, top_k, top_p, rng))
    model.train(before)
    return ids[len(prompt) :]


def pick(z, temperature, top_k, top_p, rng):
    if temperature == 0:
        return int(np.argmax(z))
    order = np.argsort(-z, kind="stable")[:top_k]
    p = np.exp((z[order] - z[order[0]]) / temperature)
    p /= p.sum()
    if top_p is not None:
        count = int(np.searchsorted(np.cumsum(p), top_p)) + 1
        order, p = order[:count], p[:count] / p[:count].sum()
    place = int(np.searchsorted(np.cumsum(p), rng.random(), side="right"))
    return int(order[min(place, len(order) - 1)])


FORMAT = "decoder-lm-bundle/3"


def save_bundle(path, model, tokenizer, generation):
    weights = io.BytesIO()
    torch.save(model.state_dict(), weights)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        z.writestr("format", FORMAT)
        z.writestr("tokenizer.json", tokenizer.to_json())
        z.writestr("config.json", json.dumps(model.config))
        z.writestr("generation.json", json.dumps(generation))
        z.writestr("weights.pt", weights.getvalue())
    with open(path, "wb") as f:
        f.write(out.getvalue() + hashlib.sha256(out.getvalue()).digest())


def load_bundle(path):
    with open(path, "rb") as f:
        data = f.read()
    if hashlib.sha256(data[:-32]).digest() != data[-32:]:
        raise ValueError("this bundle is damaged: its digest does not fit its content")
    with zipfile.ZipFile(io.BytesIO(data[:-32])) as z:
        if z.read("format").decode() != FORMAT:
            raise ValueError(f"this bundle has the format {z.read('format').decode()!r}, not {FORMAT!r}")
        tokenizer = Tokenizer.from_json(z.read("tokenizer.json"))
        model = DecoderLM(**json.loads(z.read("config.json")))
        weights = torch.load(io.BytesIO(z.read("weights.pt")), weights_only=True)
        model.to(next(iter(weights.values())).dtype).load_state_dict(weights)
        return model.eval(), tokenizer, json.loads(z.read("generation.json"))
