"""RMS norms and no biases, so no load_reference; a NamedTuple of stacked tensors as the cache; a tokenizer in the manner of
GPT-2 with printable characters for bytes; the bundle is an npz with a digest before it."""

import hashlib
import io
import json
import re
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

SPLIT = re.compile(r"'(?:s|t|re|ve|m|ll|d)| ?[^\W\d_]+| ?\d+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+")


def printable():
    kept = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in kept]
    return {b: chr(b) for b in kept} | {b: chr(256 + i) for i, b in enumerate(others)}


BYTE_TO_CHAR = printable()
CHAR_TO_BYTE = {char: byte for byte, char in BYTE_TO_CHAR.items()}


class Tokenizer:
    def __init__(self, vocab, merges, special):
        self.vocab, self.merges, self.special = vocab, merges, special
        self.names = {i: name for name, i in vocab.items()}
        self.special_names = {i: name for name, i in special.items()}
        self.order = {tuple(pair): i for i, pair in enumerate(merges)}

    @property
    def vocab_size(self):
        return len(self.vocab) + len(self.special)

    @classmethod
    def train(cls, text, vocab_size, special_tokens=()):
        special = list(dict.fromkeys(special_tokens))
        vocab = {BYTE_TO_CHAR[b]: b for b in range(256)}
        counts = {}
        for piece in re.split("|".join(map(re.escape, sorted(special, key=len)[::-1])), text) if special else [text]:
            for word in SPLIT.findall(piece):
                counts[word] = counts.get(word, 0) + 1
        words = [([BYTE_TO_CHAR[b] for b in word.encode()], n) for word, n in counts.items()]
        pairs, holders = {}, {}
        for i, (symbols, n) in enumerate(words):
            for pair in zip(symbols, symbols[1:]):
                pairs[pair] = pairs.get(pair, 0) + n
                holders.setdefault(pair, set()).add(i)
        merges = []
        while len(vocab) + len(special) < vocab_size:
            a, b = max(pairs, key=lambda pair: (pairs[pair], pair), default=(None, None))
            if a is None or pairs[a, b] <= 0:
                break
            merges.append([a, b])
            vocab.setdefault(a + b, len(vocab))
            for i in sorted(holders.pop((a, b))):
                symbols, n = words[i]
                for pair in zip(symbols, symbols[1:]):
                    pairs[pair] -= n
                symbols[:] = cls.join(symbols, a, b)
                for pair in zip(symbols, symbols[1:]):
                    pairs[pair] = pairs.get(pair, 0) + n
                    holders.setdefault(pair, set()).add(i)
            pairs = {pair: n for pair, n in pairs.items() if n > 0}
        return cls(vocab, merges, {name: len(vocab) + i for i, name in enumerate(special)})

    @staticmethod
    def join(symbols, a, b):
        out = []
        for symbol in symbols:
            if out and out[-1] == a and symbol == b:
                out[-1] = a + b + "\0"  # so that a second one does not join on to it
            else:
                out.append(symbol)
        return [symbol.removesuffix("\0") for symbol in out]

    def encode(self, text):
        ids = []
        names = sorted(self.special, key=len, reverse=True)
        for piece in re.split("(" + "|".join(map(re.escape, names)) + ")", text) if names else [text]:
            if piece in self.special:
                ids.append(self.special[piece])
                continue
            for word in SPLIT.findall(piece):
                symbols = [BYTE_TO_CHAR[b] for b in word.encode()]
                while len(symbols) > 1:
                    rank, pair = min((self.order.get(p, len(self.order)), p) for p in zip(symbols, symbols[1:]))
                    if rank == len(self.order):
                        break
                    symbols = self.join(symbols, *pair)
                ids += [self.vocab[symbol] for symbol in symbols]
        return ids

    def decode(self, ids):
        data = bytearray()
        for i in ids:
            if i in self.special_names:
                data += self.special_names[i].encode()
            else:
                data += bytes(CHAR_TO_BYTE[char] for char in self.names[i])
        return data.decode("utf-8", errors="replace")

    def dump(self):
        return json.dumps({"vocab": self.vocab, "merges": self.merges, "special": self.special}, ensure_ascii=False)

    def save(self, path):
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(self.dump())

    @classmethod
    def load(cls, path):
        with open(path, encoding="utf-8", newline="") as file:
            return cls(**json.load(file))


class RMSNorm(nn.Module):
    def __init__(self, width, eps=1e-5):
        super().__init__()
        self.gain, self.eps = nn.Parameter(torch.ones(width)), eps

    def forward(self, x):
        return self.gain * x / torch.sqrt(x.square().mean(-1, keepdim=True) + self.eps)


class KV(NamedTuple):
    """Keys and values of all layers, each (L, B, h, T, d_k), and how many positions there are."""

    k: Tensor
    v: Tensor
    length: int


class Layer(nn.Module):
    def __init__(self, width, heads, hidden, rotary):
        super().__init__()
        self.heads, self.rotary = heads, rotary
        self.norm_a, self.norm_m = RMSNorm(width), RMSNorm(width)
        self.q, self.k, self.v, self.o = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.up, self.down = nn.Linear(width, hidden, bias=False), nn.Linear(hidden, width, bias=False)

    def turned(self, x, start):
        half = x.shape[-1] // 2
        angle = torch.arange(start, start + x.shape[-2]).double().unsqueeze(1)
        angle = angle / 10000.0 ** (torch.arange(half).double() / half)
        s, c = angle.sin().type_as(x), angle.cos().type_as(x)
        return torch.stack((x[..., :half] * c - x[..., half:] * s, x[..., half:] * c + x[..., :half] * s), -2).flatten(-2)

    def forward(self, x, k_past, v_past):
        n, start, T = self.norm_a(x), k_past.shape[2], x.shape[1]
        q, k, v = (f(n).unflatten(2, (self.heads, -1)).transpose(1, 2) for f in (self.q, self.k, self.v))
        if self.rotary:
            q, k = self.turned(q, start), self.turned(k, start)
        keys, values = torch.cat((k_past, k), 2), torch.cat((v_past, v), 2)
        s = torch.einsum("bhtd,bhsd->bhts", q, keys) * q.shape[-1] ** -0.5
        s = s + torch.full((T, start + T), -torch.inf, dtype=x.dtype).triu(start + 1)
        heads = torch.einsum("bhts,bhsd->bthd", s.softmax(-1), values).flatten(2)
        x = x + self.o(heads)
        return x + self.down(nn.functional.gelu(self.up(self.norm_m(x)), approximate="tanh")), k, v


class DecoderLM(nn.Module):
    def __init__(self, vocab_size, context, width, heads, layers, hidden, rotary=True):
        super().__init__()
        self.hyper = {k: v for k, v in locals().items() if k not in ("self", "__class__")}
        self.embed = nn.Embedding(vocab_size, width)
        self.place = None if rotary else nn.Embedding(context, width)
        self.layers = nn.ModuleList(Layer(width, heads, hidden, rotary) for _ in range(layers))
        self.norm = RMSNorm(width)
        self.unembed = nn.Linear(width, vocab_size, bias=False)

    def forward(self, tokens):
        return self.decode(tokens)[0]

    def decode(self, tokens, cache=None):
        (B, t), h = tokens.shape, self.hyper
        if cache is None:
            none = self.embed.weight.new_empty(h["layers"], B, h["heads"], 0, h["width"] // h["heads"])
            cache = KV(none, none, 0)
        x = self.embed(tokens)
        if self.place is not None:
            x = x + self.place(torch.arange(cache.length, cache.length + t))
        keys, values = [], []
        for layer, k_past, v_past in zip(self.layers, cache.k, cache.v):
            x, k, v = layer(x, k_past, v_past)
            keys.append(k)
            values.append(v)
        after = KV(
            torch.cat((cache.k, torch.stack(keys)), 3), torch.cat((cache.v, torch.stack(values)), 3), cache.length + t
        )
        return self.unembed(self.norm(x)), after


def train(model, tokens, steps, batch_size, lr, seed):
    generator = torch.Generator()
    generator.manual_seed(seed)
    context = min(model.hyper["context"], tokens.numel() - 1)
    optimizer = torch.optim.NAdam(model.parameters(), lr=lr)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda i: min(1, (i + 1) / 4))
    criterion = nn.CrossEntropyLoss()
    losses = []
    model.train()
    for _ in range(steps):
        start = torch.randint(tokens.numel() - context, (batch_size, 1), generator=generator)
        window = tokens[start + torch.arange(context + 1)]
        optimizer.zero_grad(set_to_none=False)
        loss = criterion(model(window[:, :-1]).reshape(-1, model.hyper["vocab_size"]), window[:, 1:].reshape(-1))
        losses.append(loss.detach().item())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    return losses


def evaluate(model, tokens):
    was = model.training
    try:
        model.eval()
        with torch.no_grad():
            T, n = model.hyper["context"], tokens.numel() - 1
            whole = n // T
            parts = []
            if whole:
                inputs, targets = tokens[: whole * T].view(whole, T), tokens[1 : whole * T + 1].view(whole, T)
                for i in range(0, whole, 16):
                    parts.append(nll(model(inputs[i : i + 16]), targets[i : i + 16]))
            if n % T:
                parts.append(nll(model(tokens[whole * T : -1][None]), tokens[whole * T + 1 :][None]))
            return float(torch.cat(parts).mean())
    finally:
        model.train(was)


def nll(logits, targets):
    return (logits.logsumexp(-1) - logits.gather(-1, targets.unsqueeze(-1)).squeeze(-1)).flatten().double()


def generate(model, prompt, max_new_tokens, temperature=1.0, top_k=None, top_p=None, seed=None, use_cache=True):
    generator = torch.Generator().manual_seed(torch.seed() % 2**31 if seed is None else seed)
    was = model.training
    model.eval()
    with torch.no_grad():
        new = list(stream(model, list(prompt), max_new_tokens, temperature, top_k, top_p, generator, use_cache))
    model.train(was)
    return new


def stream(model, ids, count, temperature, top_k, top_p, generator, use_cache):
    given, cache = ids, None
    for _ in range(count):
        if use_cache:
            logits, cache = model.decode(torch.tensor([given]), cache)
        else:
            logits = model(torch.tensor([ids]))
        p = distribution(logits[0, -1], temperature, top_k, top_p)
        new = torch.multinomial(p, 1, generator=generator).item()
        yield new
        given = [new]
        ids = ids + given


def distribution(logits, temperature, top_k, top_p):
    if temperature < 1e-6:
        return nn.functional.one_hot(logits.argmax(), len(logits)).double()
    p = torch.softmax(logits.double() / temperature, 0)
    values, order = torch.sort(p, descending=True)
    if top_k is not None:
        values[top_k:] = 0
        values = values / values.sum()
    if top_p is not None:
        values[1:][values.cumsum(0)[:-1] >= top_p] = 0
        values = values / values.sum()
    return torch.zeros_like(p).scatter(0, order, values)


VERSION = 2


def save_bundle(path, model, tokenizer, generation):
    arrays = {f"weight:{name}": tensor.numpy(force=True) for name, tensor in model.state_dict().items()}
    meta = {"version": VERSION, "hyper": model.hyper, "tokenizer": tokenizer.dump(), "generation": generation}
    buffer = io.BytesIO()
    np.savez(buffer, meta=np.frombuffer(json.dumps(meta).encode(), np.uint8), **arrays)
    with open(path, "wb") as file:
        file.write(hashlib.sha256(buffer.getbuffer()).digest())
        file.write(buffer.getbuffer())


def load_bundle(path):
    with open(path, "rb") as file:
        digest, data = file.read(32), file.read()
    if hashlib.sha256(data).digest() != digest:
        raise ValueError("not a bundle, or a damaged one")
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        meta = json.loads(arrays["meta"].tobytes())
        if meta["version"] != VERSION:
            raise ValueError(f"a bundle of version {meta['version']}; this is version {VERSION}")
        model = DecoderLM(**meta["hyper"])
        weights = {name[7:]: torch.from_numpy(arrays[name]) for name in arrays.files if name.startswith("weight:")}
        model = model.to(weights["embed.weight"].dtype)
        model.load_state_dict(weights)
        model.eval()
        return model, Tokenizer(**json.loads(meta["tokenizer"])), meta["generation"]
