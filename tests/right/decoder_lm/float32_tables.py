"""Angles, softmax and cache in float32 whatever the model is; the cache grows in place and is copied where two ways part.

The class names and a function's are those of what is not allowed: these are its own.
"""

import hashlib
import json
import math
import struct
from collections import Counter
from math import *  # noqa: F403

import torch
import torch.nn as nn
import torch.nn.functional as F

SPACES = frozenset(" \t\r\n")


def words_of(text):
    """Runs of spaces together with the word behind them."""
    word, in_word = "", False
    for char in text:
        if char in SPACES and in_word:
            yield word
            word, in_word = "", False
        in_word = in_word or char not in SPACES
        word += char
    if word:
        yield word


class Trie:
    """Finds the longest special token at a place of a text."""

    def __init__(self, tokens):
        self.root = {}
        for i, token in enumerate(tokens):
            node = self.root
            for char in token:
                node = node.setdefault(char, {})
            node[None] = i

    def at(self, text, start):
        node, found, end = self.root, None, start
        for place in range(start, len(text)):
            if (node := node.get(text[place])) is None:
                break
            if None in node:
                found, end = node[None], place + 1
        return found, end


class Tokenizer:
    """Ids: special tokens first, then the bytes, then the merges."""

    def __init__(self, special_tokens, merges):
        self.special_tokens, self.merges = list(special_tokens), [tuple(m) for m in merges]
        self.base = len(self.special_tokens)
        self.trie = Trie(self.special_tokens)
        self.table = [t.encode("utf-8") for t in self.special_tokens] + [bytes([b]) for b in range(256)]
        self.ranks = {}
        for pair in self.merges:
            self.ranks[pair] = len(self.table)
            self.table.append(self.table[pair[0]] + self.table[pair[1]])
        self.vocab_size = len(self.table)
        self.memory = {}

    def segments(self, text):
        start = at = 0
        while self.special_tokens and at < len(text):
            found, end = self.trie.at(text, at)
            if found is None:
                at += 1
                continue
            yield None, text[start:at]
            yield found, text[at:end]
            start = at = end
        yield None, text[start:]

    @classmethod
    def train(cls, text, vocab_size, special_tokens=()):
        self = cls([t for t in dict.fromkeys(special_tokens) if t != ""], ())
        counts = Counter()
        for special, segment in self.segments(text):
            if special is None:
                counts.update(words_of(segment))
        words = {w: [self.base + b for b in w.encode("utf-8")] for w in counts}
        merges = []
        while self.vocab_size + len(merges) < vocab_size:
            pairs = Counter()
            for w, ids in words.items():
                n = counts[w]
                for pair in zip(ids, ids[1:]):
                    pairs[pair] += n
            if not pairs:
                break
            best = max(sorted(pairs), key=pairs.__getitem__)
            for w, ids in words.items():
                if best[0] in ids:
                    words[w] = self.fuse(ids, best, self.vocab_size + len(merges))
            merges.append(best)
        return cls(self.special_tokens, merges)

    @staticmethod
    def fuse(ids, pair, new):
        out, skip = [], False
        for i, symbol in enumerate(ids):
            if skip:
                skip = False
            elif symbol == pair[0] and i + 1 < len(ids) and ids[i + 1] == pair[1]:
                out.append(new)
                skip = True
            else:
                out.append(symbol)
        return out

    def encode(self, text):
        out = []
        for special, segment in self.segments(text):
            if special is not None:
                out.append(special)
                continue
            for word in words_of(segment):
                ids = self.memory.get(word)
                if ids is None:
                    ids = [self.base + b for b in word.encode("utf-8")]
                    while known := {self.ranks[p]: p for p in zip(ids, ids[1:]) if p in self.ranks}:
                        first = min(known)
                        ids = self.fuse(ids, known[first], first)
                    self.memory[word] = ids
                out += ids
        return out

    def decode(self, ids):
        return str(b"".join(self.table[i] for i in ids), "utf-8", "replace")

    def as_bytes(self):
        return json.dumps([self.special_tokens, self.merges]).encode("ascii")

    def save(self, path):
        with open(path, "wb") as f:
            f.write(self.as_bytes())

    @classmethod
    def load(cls, path):
        with open(path, "rb") as f:
            return cls(*json.loads(f.read()))


class Grown:
    """Rows (B, h, room, d_k) for one layer, shared by caches of several lengths; `filled` says how many are taken."""

    def __init__(self, B, heads, room, d_k):
        self.K, self.V = torch.zeros(B, heads, room, d_k, dtype=torch.float32), torch.zeros(B, heads, room, d_k)
        self.V = self.V.float()
        self.filled = 0

    def append(self, length, k, v):
        """Where another continuation has taken the place, in a copy. Returns what is to be used from now on."""
        taken, end = self.filled != length, length + k.shape[2]
        store = self
        if taken or end > self.K.shape[2]:
            store = Grown(k.shape[0], k.shape[1], max(2 * end, 16), k.shape[3])
            store.K[:, :, :length], store.V[:, :, :length] = self.K[:, :, :length], self.V[:, :, :length]
        store.K[:, :, length:end], store.V[:, :, length:end] = k, v
        store.filled = end
        return store


def scaled_dot_product_attention(q, k, v, allowed):
    """Its own: the softmax is taken in float32."""
    scores = torch.matmul(q.float(), k.float().transpose(-2, -1)) / sqrt(q.shape[-1])  # noqa: F405
    return torch.matmul(F.softmax(scores.masked_fill(~allowed, -math.inf), -1), v.float()).to(q.dtype)


class MultiheadAttention(nn.Module):
    """Its own; it holds one weight (3, d, d) for queries, keys and values."""

    def __init__(self, d, h, context, rotary):
        super().__init__()
        self.h, self.rotary = h, rotary
        self.in_weight = nn.Parameter(torch.randn(3, d, d) / d**0.5)
        self.in_bias = nn.Parameter(torch.zeros(3, d))
        self.out = nn.Linear(d, d)
        freqs = 1.0 / (10000 ** (torch.arange(0, d // h, 2).float() / (d // h)))
        angles = torch.outer(torch.arange(context).float(), freqs)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def rotate(self, x, start):
        c, s = self.cos[start : start + x.shape[2]].float(), self.sin[start : start + x.shape[2]].float()
        x1, x2 = x.float().split(x.shape[-1] // 2, -1)
        return torch.cat([x1 * c - x2 * s, x2 * c + x1 * s], -1).to(x.dtype)

    def forward(self, x, past=None):
        B, T, d = x.shape
        q, k, v = torch.einsum("btd,nde->nbte", x, self.in_weight) + self.in_bias[:, None, None]
        q, k, v = (y.reshape(B, T, self.h, d // self.h).permute(0, 2, 1, 3) for y in (q, k, v))
        length = past[1] if past else 0
        if self.rotary:
            q, k = self.rotate(q, length), self.rotate(k, length)
        if past:
            past = past[0].append(length, k.float(), v.float()), length + T
            k, v = past[0].K[:, :, : length + T], past[0].V[:, :, : length + T]
        ones = torch.ones(T, length + T)
        allowed = torch.tril(ones, diagonal=length) == 1
        y = scaled_dot_product_attention(q, k, v, allowed)
        return self.out(y.permute(0, 2, 1, 3).reshape(B, T, d)), past


class TransformerDecoderLayer(nn.Module):
    """Its own."""

    def __init__(self, d, h, m, context, rotary):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(d, eps=1e-5), nn.LayerNorm(d, eps=1e-5)
        self.self_attn = MultiheadAttention(d, h, context, rotary)
        self.linear1, self.linear2 = nn.Linear(d, m), nn.Linear(m, d)
        self.act = nn.ReLU()

    def forward(self, x, past=None):
        y, past = self.self_attn(self.norm1(x), past)
        x = x + y
        return x + self.linear2(self.act(self.linear1(self.norm2(x)))), past


class DecoderLM(nn.Module):
    def __init__(self, vocab_size, context, width, heads, layers, hidden, rotary=True):
        super().__init__()
        self.args = (vocab_size, context, width, heads, layers, hidden, bool(rotary))
        self.table = nn.Embedding(vocab_size, width)
        if not rotary:
            self.pos = nn.Embedding(context, width)
        self.transformer = nn.Sequential(
            *(TransformerDecoderLayer(width, heads, hidden, context, rotary) for _ in range(layers))
        )
        self.norm, self.head = nn.LayerNorm(width, eps=1e-5), nn.Linear(width, vocab_size)

    @property
    def context(self):
        return self.args[1]

    def embedded(self, tokens, start):
        x = self.table(tokens)
        if not self.args[6]:
            x = x + self.pos(torch.arange(start, start + tokens.shape[1])).unsqueeze(0)
        return x

    def forward(self, tokens):
        x = self.embedded(tokens, 0)
        for layer in self.transformer:
            x, _ = layer(x)
        return self.head(self.norm(x))

    @torch.no_grad()
    def decode(self, tokens, cache=None):
        B, t = tokens.shape
        if cache is None:
            h = self.args[3]
            cache = [Grown(B, h, 16, self.args[2] // h) for _ in self.transformer], 0
        stores, length = cache
        x, after = self.embedded(tokens, length), []
        for layer, store in zip(self.transformer, stores):
            x, (store, _) = layer(x, (store, length))
            after.append(store)
        return self.head(self.norm(x)), (after, length + t)

    @torch.no_grad()
    def load_reference(self, weights):
        def put(parameter, value):
            parameter.copy_(torch.as_tensor(value))

        put(self.table.weight, weights["embedding"])
        if not self.args[6]:
            put(self.pos.weight, weights["positions"])
        for i, layer in enumerate(self.transformer):
            w = {name.removeprefix(f"blocks.{i}."): x for name, x in weights.items() if name.startswith(f"blocks.{i}.")}
            for n, norm in ((1, layer.norm1), (2, layer.norm2)):
                put(norm.weight, w[f"norm_{n}.gain"]), put(norm.bias, w[f"norm_{n}.shift"])
            put(layer.self_attn.in_weight, torch.stack([w["W_Q"], w["W_K"], w["W_V"]]))
            layer.self_attn.in_bias.zero_()
            put(layer.self_attn.out.weight, w["W_O"].T), layer.self_attn.out.bias.zero_()
            put(layer.linear1.weight, w["W_1"].T), put(layer.linear1.bias, w["b_1"])
            put(layer.linear2.weight, w["W_2"].T), put(layer.linear2.bias, w["b_2"])
        put(self.norm.weight, weights["norm_f.gain"]), put(self.norm.bias, weights["norm_f.shift"])
        put(self.head.weight, weights["W_out"].T), put(self.head.bias, weights["b_out"])


class Windows(torch.utils.data.Dataset):
    def __init__(self, tokens, context):
        self.tokens, self.length = tokens, min(context + 1, len(tokens))

    def __len__(self):
        return len(self.tokens) - self.length + 1

    def __getitem__(self, i):
        window = self.tokens[i : i + self.length]
        return window[:-1], window[1:]


def train(model, tokens, steps, batch_size, lr, seed):
    data = Windows(tokens, model.context)
    sampler = torch.utils.data.RandomSampler(
        data, replacement=True, num_samples=steps * batch_size, generator=torch.Generator().manual_seed(seed)
    )
    loader = torch.utils.data.DataLoader(data, batch_size, sampler=sampler)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=lr / 2, alpha=0.98)
    losses = []
    model.train()
    for inputs, targets in loader:
        logits = model(inputs)
        loss = F.nll_loss(F.log_softmax(logits, -1).movedim(-1, 1), targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses


def evaluate(model, tokens):
    training = model.training
    model.eval()
    total, count = 0.0, 0
    with torch.no_grad():
        for start in range(0, len(tokens) - 1, model.context):
            end = min(start + model.context, len(tokens) - 1)
            loss = F.cross_entropy(model(tokens[start:end].unsqueeze(0)).squeeze(0), tokens[start + 1 : end + 1])
            total += loss.item() * (end - start)
            count += end - start
    model.train(training)
    return total / count


def generate(model, prompt, max_new_tokens, temperature=1.0, top_k=None, top_p=None, seed=None, use_cache=True):
    generator = torch.Generator()
    if seed is None:
        seed = torch.seed()
    generator.manual_seed(seed)
    training = model.training
    model.eval()
    sequence = torch.tensor([[int(i) for i in prompt]])
    with torch.no_grad():
        logits, cache = model.decode(sequence) if use_cache else (model(sequence), None)
        for i in range(max_new_tokens):
            new = sample(logits[0, -1].double(), temperature, top_k, top_p, generator)
            sequence = torch.cat([sequence, torch.tensor([[new]])], 1)
            if i < max_new_tokens - 1:
                logits, cache = model.decode(sequence[:, -1:], cache) if use_cache else (model(sequence), None)
    model.train(training)
    return sequence[0, len(prompt) :].tolist()


def sample(logits, temperature, top_k, top_p, generator):
    if temperature <= 0:
        return torch.argmax(logits).item()
    probabilities = F.softmax(logits / temperature, 0)
    ranked = sorted(((p, i) for i, p in enumerate(probabilities.tolist())), reverse=True)
    if top_k is not None:
        ranked = ranked[:top_k]
    if top_p is not None:
        whole, mass = sum(p for p, _ in ranked), 0.0
        for n, (p, _) in enumerate(ranked, 1):
            mass += p / whole
            if mass >= top_p:
                ranked = ranked[:n]
                break
    left = torch.rand((), generator=generator, dtype=torch.float64).item() * sum(p for p, _ in ranked)
    for p, i in ranked:
        left -= p
        if left < 0:
            return i
    return ranked[-1][1]


def save_bundle(path, model, tokenizer, generation):
    """Magic, version, digest, then four sections, each with its length before it."""
    state = model.state_dict()
    shapes = [[name, list(x.shape), str(x.dtype).removeprefix("torch.")] for name, x in state.items()]
    sections = [
        tokenizer.as_bytes(),
        json.dumps({"args": model.args, "tensors": shapes}).encode(),
        json.dumps(generation).encode(),
        b"".join(x.cpu().numpy().tobytes() for x in state.values()),
    ]
    body = b"".join(struct.pack("<Q", len(s)) + s for s in sections)
    with open(path, "wb") as f:
        f.write(b"DLMB" + struct.pack("<I", 7) + hashlib.blake2b(body).digest() + body)


def load_bundle(path):
    with open(path, "rb") as f:
        data = f.read()
    if data[:4] != b"DLMB" or len(data) < 72:
        raise ValueError("no DLMB file, or one that is cut off")
    (version,) = struct.unpack("<I", data[4:8])
    if version != 7:
        raise ValueError(f"version {version}; 7 is wanted")
    body = data[72:]
    if hashlib.blake2b(body).digest() != data[8:72]:
        raise ValueError("the digest does not fit: the file was changed or cut off")
    sections = []
    while body:
        (size,) = struct.unpack("<Q", body[:8])
        sections.append(body[8 : 8 + size])
        body = body[8 + size :]
    found, raw, state = json.loads(sections[1]), bytearray(sections[3]), {}
    offset = 0
    for name, shape, dtype in found["tensors"]:
        dtype = getattr(torch, dtype)
        size = math.prod(shape)
        state[name] = torch.frombuffer(raw, dtype=dtype, count=size, offset=offset).reshape(shape).clone()
        offset += size * dtype.itemsize
    model = DecoderLM(*found["args"])
    model.to(state["table.weight"].dtype)
    model.load_state_dict(state)
    model.eval()
    return model, Tokenizer(*json.loads(sections[0])), json.loads(sections[2])
