"""As most would write it: a BPE that counts words, three linear layers, a cache of pairs joined along time, AdamW."""

import hashlib
import io
import json
import math
import re
from collections import Counter, defaultdict

import torch
from torch import nn
from torch.nn import functional as F


def merge(ids, pair, new):
    """Every occurrence of a pair becomes one id, from left to right."""
    out, i = [], 0
    while i < len(ids):
        if i + 1 < len(ids) and ids[i] == pair[0] and ids[i + 1] == pair[1]:
            out.append(new)
            i += 2
        else:
            out.append(ids[i])
            i += 1
    return out


class Tokenizer:
    WORD = re.compile(r" ?[^\W\d_]+| ?\d+| ?[^\w\s]+| ?_+|\s+")

    def __init__(self, merges, special_tokens=()):
        self.merges = [tuple(pair) for pair in merges]
        self.special_tokens = list(special_tokens)
        self.ranks = {pair: rank for rank, pair in enumerate(self.merges)}
        self.bytes = [bytes([i]) for i in range(256)]
        for a, b in self.merges:
            self.bytes.append(self.bytes[a] + self.bytes[b])
        first = len(self.bytes)
        self.special_ids = {token: first + i for i, token in enumerate(self.special_tokens)}
        self.bytes += [token.encode("utf-8") for token in self.special_tokens]
        self.vocab_size = len(self.bytes)
        longest_first = sorted(self.special_tokens, key=len, reverse=True)
        self.splitter = re.compile("(" + "|".join(map(re.escape, longest_first)) + ")") if longest_first else None
        self.known = {}

    @classmethod
    def train(cls, text, vocab_size, special_tokens=()):
        special_tokens = list(dict.fromkeys(special_tokens))
        count = vocab_size - 256 - len(special_tokens)
        if count < 0:
            raise ValueError("vocab_size is less than 256 bytes and the special tokens")
        splitter = cls([], special_tokens)
        words = Counter()
        for piece in splitter.pieces(text):
            if piece not in splitter.special_ids:
                words.update(cls.WORD.findall(piece))
        tokens = [list(word.encode("utf-8")) for word in words]
        times = list(words.values())
        pairs, where = Counter(), defaultdict(set)
        for i, ids in enumerate(tokens):
            for pair in zip(ids, ids[1:]):
                pairs[pair] += times[i]
                where[pair].add(i)
        merges = []
        while len(merges) < count and pairs:
            best = max(pairs, key=lambda pair: (pairs[pair], pair))
            new = 256 + len(merges)
            merges.append(best)
            for i in where.pop(best):
                old = tokens[i]
                for pair in zip(old, old[1:]):
                    pairs[pair] -= times[i]
                    if pairs[pair] <= 0:
                        del pairs[pair]
                tokens[i] = merge(old, best, new)
                for pair in zip(tokens[i], tokens[i][1:]):
                    pairs[pair] += times[i]
                    where[pair].add(i)
        return cls(merges, special_tokens)

    def pieces(self, text):
        return [piece for piece in self.splitter.split(text) if piece] if self.splitter else [text]

    def encode(self, text):
        ids = []
        for piece in self.pieces(text):
            if piece in self.special_ids:
                ids.append(self.special_ids[piece])
            else:
                for word in self.WORD.findall(piece):
                    if word not in self.known:
                        self.known[word] = self.encode_word(word)
                    ids.extend(self.known[word])
        return ids

    def encode_word(self, word):
        ids = list(word.encode("utf-8"))
        while len(ids) > 1:
            pair = min(zip(ids, ids[1:]), key=lambda pair: self.ranks.get(pair, math.inf))
            if pair not in self.ranks:
                break
            ids = merge(ids, pair, 256 + self.ranks[pair])
        return ids

    def decode(self, ids):
        return b"".join(self.bytes[i] for i in ids).decode("utf-8", errors="replace")

    def state(self):
        return {"merges": self.merges, "special_tokens": self.special_tokens}

    def save(self, path):
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self.state(), file)

    @classmethod
    def load(cls, path):
        with open(path, encoding="utf-8") as file:
            return cls(**json.load(file))


def turn(x, start):
    """x (B, h, T, d_k), turned by the angles of the positions start, start + 1, ..."""
    T, d_k = x.shape[-2:]
    frequency = 10000.0 ** (-2 * torch.arange(d_k // 2, dtype=torch.float64) / d_k)
    angle = torch.arange(start, start + T, dtype=torch.float64)[:, None] * frequency
    cos, sin = angle.cos().to(x), angle.sin().to(x)
    a, b = x[..., : d_k // 2], x[..., d_k // 2 :]
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)


class Attention(nn.Module):
    def __init__(self, width, heads, rotary):
        super().__init__()
        self.heads = heads
        self.rotary = rotary
        self.W_Q = nn.Linear(width, width)
        self.W_K = nn.Linear(width, width)
        self.W_V = nn.Linear(width, width)
        self.W_O = nn.Linear(width, width)

    def split(self, x):
        B, T, d = x.shape
        return x.view(B, T, self.heads, d // self.heads).transpose(1, 2)

    def forward(self, x, past=None):
        q, k, v = self.split(self.W_Q(x)), self.split(self.W_K(x)), self.split(self.W_V(x))
        start = 0 if past is None else past[0].shape[2]
        if self.rotary:
            q, k = turn(q, start), turn(k, start)
        if past is not None:
            k = torch.cat([past[0], k], dim=2)
            v = torch.cat([past[1], v], dim=2)
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        allowed = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool, device=x.device).tril(start)
        scores = scores.masked_fill(~allowed, float("-inf"))
        out = scores.softmax(dim=-1) @ v
        return self.W_O(out.transpose(1, 2).flatten(2)), (k, v)


class Block(nn.Module):
    def __init__(self, width, heads, hidden, rotary):
        super().__init__()
        self.norm_1 = nn.LayerNorm(width)
        self.attention = Attention(width, heads, rotary)
        self.norm_2 = nn.LayerNorm(width)
        self.inner = nn.Linear(width, hidden)
        self.outer = nn.Linear(hidden, width)

    def forward(self, x, past=None):
        attended, kept = self.attention(self.norm_1(x), past)
        x = x + attended
        return x + self.outer(torch.relu(self.inner(self.norm_2(x)))), kept


class DecoderLM(nn.Module):
    def __init__(self, vocab_size, context, width, heads, layers, hidden, rotary=True):
        super().__init__()
        self.arguments = {
            "vocab_size": vocab_size,
            "context": context,
            "width": width,
            "heads": heads,
            "layers": layers,
            "hidden": hidden,
            "rotary": rotary,
        }
        self.context = context
        self.embedding = nn.Embedding(vocab_size, width)
        self.positions = None if rotary else nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads, hidden, rotary) for _ in range(layers))
        self.norm_f = nn.LayerNorm(width)
        self.readout = nn.Linear(width, vocab_size)

    def forward(self, tokens):
        return self.decode(tokens)[0]

    def decode(self, tokens, cache=None):
        start = 0 if cache is None else cache[0][0].shape[2]
        T = tokens.shape[1]
        if start + T > self.context:
            raise ValueError(f"{start + T} tokens do not fit into a context of {self.context}")
        x = self.embedding(tokens)
        if self.positions is not None:
            x = x + self.positions(torch.arange(start, start + T, device=tokens.device))
        kept = []
        for i, block in enumerate(self.blocks):
            x, pair = block(x, None if cache is None else cache[i])
            kept.append(pair)
        return self.readout(self.norm_f(x)), kept

    @torch.no_grad()
    def load_reference(self, weights):
        def linear(layer, W, b=None):
            layer.weight.copy_(W.T)
            layer.bias.copy_(b) if b is not None else layer.bias.zero_()

        def norm(layer, name):
            layer.weight.copy_(weights[name + ".gain"])
            layer.bias.copy_(weights[name + ".shift"])

        self.embedding.weight.copy_(weights["embedding"])
        if self.positions is not None:
            self.positions.weight.copy_(weights["positions"])
        for i, block in enumerate(self.blocks):
            at = f"blocks.{i}."
            norm(block.norm_1, at + "norm_1")
            norm(block.norm_2, at + "norm_2")
            for name in ("W_Q", "W_K", "W_V", "W_O"):
                linear(getattr(block.attention, name), weights[at + name])
            linear(block.inner, weights[at + "W_1"], weights[at + "b_1"])
            linear(block.outer, weights[at + "W_2"], weights[at + "b_2"])
        norm(self.norm_f, "norm_f")
        linear(self.readout, weights["W_out"], weights["b_out"])


def train(model, tokens, steps, batch_size, lr, seed):
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    length = min(model.context + 1, len(tokens))
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    model.train()
    losses = []
    for _ in range(steps):
        starts = torch.randint(0, len(tokens) - length + 1, (batch_size,), generator=generator)
        batch = torch.stack([tokens[start : start + length] for start in starts.tolist()])
        logits = model(batch[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@torch.no_grad()
def evaluate(model, tokens):
    was_training = model.training
    model.eval()
    total = 0.0
    for start in range(0, len(tokens) - 1, model.context):
        inputs = tokens[start : start + model.context]
        targets = tokens[start + 1 : start + 1 + model.context]
        logits = model(inputs[None, : len(targets)])[0]
        total += F.cross_entropy(logits, targets, reduction="sum").item()
    model.train(was_training)
    return total / (len(tokens) - 1)


def choose(logits, temperature, top_k, top_p, generator):
    """One id from the logits (v) of one position."""
    if temperature == 0:
        return int(logits.argmax())
    logits = logits.double() / temperature
    if top_k is not None:
        least = logits.topk(min(top_k, len(logits))).values[-1]
        logits = logits.masked_fill(logits < least, float("-inf"))
    probabilities = logits.softmax(-1)
    if top_p is not None:
        ordered, order = probabilities.sort(descending=True)
        before = ordered.cumsum(-1) - ordered
        probabilities[order[before >= top_p]] = 0
    return int(torch.multinomial(probabilities, 1, generator=generator))


@torch.no_grad()
def generate(model, prompt, max_new_tokens, temperature=1.0, top_k=None, top_p=None, seed=None, use_cache=True):
    generator = torch.Generator()
    generator.seed() if seed is None else generator.manual_seed(seed)
    was_training = model.training
    model.eval()
    ids, cache, new = [int(i) for i in prompt], None, []
    step = ids
    while len(new) < max_new_tokens:
        if use_cache:
            logits, cache = model.decode(torch.tensor([step]), cache)
        else:
            logits = model(torch.tensor([ids + new]))
        new.append(choose(logits[0, -1], temperature, top_k, top_p, generator))
        step = new[-1:]
    model.train(was_training)
    return new


MAGIC = b"decoder-lm bundle\n"
VERSION = 1


def save_bundle(path, model, tokenizer, generation):
    content = {
        "tokenizer": tokenizer.state(),
        "arguments": model.arguments,
        "weights": model.state_dict(),
        "generation": dict(generation),
    }
    buffer = io.BytesIO()
    torch.save(content, buffer)
    data = buffer.getvalue()
    header = {"version": VERSION, "sha256": hashlib.sha256(data).hexdigest()}
    with open(path, "wb") as file:
        file.write(MAGIC + json.dumps(header).encode() + b"\n" + data)


def load_bundle(path):
    with open(path, "rb") as file:
        if file.readline() != MAGIC:
            raise ValueError(f"{path} is no bundle of a decoder-lm")
        first, data = file.readline(), file.read()
    try:
        header = json.loads(first)
        version, checksum = header["version"], header["sha256"]
    except (ValueError, KeyError, TypeError):
        raise ValueError(f"the header of {path} is damaged") from None
    if version != VERSION:
        raise ValueError(f"{path} has version {version}; only version {VERSION} can be read")
    if hashlib.sha256(data).hexdigest() != checksum:
        raise ValueError(f"{path} was cut off or changed: its checksum is another one")
    content = torch.load(io.BytesIO(data), weights_only=True)
    tokenizer = Tokenizer(**content["tokenizer"])
    model = DecoderLM(**content["arguments"])
    model.to(content["weights"]["embedding.weight"].dtype)
    model.load_state_dict(content["weights"])
    return model.eval(), tokenizer, content["generation"]
