"""A module for each head and a loop over the heads, weights applied from the right, a mask that is added; its cache is a
list of lists; the tokenizer works on arrays; SGD with momentum; the bundle is JSON in text, numbers in base64."""

import base64
import hashlib
import json
import re
import zlib

import numpy as np
import torch
from torch import nn


def joined(ids, a, b, new):
    """ids (n) with every a, b from left to right as `new`."""
    hit = np.flatnonzero((ids[:-1] == a) & (ids[1:] == b))
    if a == b and len(hit):  # in a run of a's only every second one begins a pair
        run = np.flatnonzero(np.diff(hit, prepend=-9) > 1)
        inside = np.arange(len(hit)) - np.repeat(run, np.diff(run, append=len(hit)))
        hit = hit[inside % 2 == 0]
    ids = ids.copy()
    ids[hit] = new
    return np.delete(ids, hit + 1)


class Tokenizer:
    WALL = -1  # between the pieces of a text: no merge goes across

    def __init__(self, merges=(), special_tokens=()):
        self.merges = [(int(a), int(b)) for a, b in merges]
        self.special_tokens = tuple(special_tokens)
        self.pieces = [bytes([i]) for i in range(256)]
        for a, b in self.merges:
            self.pieces.append(self.pieces[a] + self.pieces[b])
        self.pieces.extend(special.encode() for special in self.special_tokens)

    @property
    def vocab_size(self):
        return 256 + len(self.merges) + len(self.special_tokens)

    def _cut(self, text):
        specials = sorted(self.special_tokens, key=len, reverse=True)
        return re.split("(" + "|".join(re.escape(special) for special in specials) + ")", text) if specials else [text]

    @classmethod
    def train(cls, text, vocab_size, special_tokens=()):
        special_tokens = list(dict.fromkeys(special_tokens))
        ids = []
        for piece in cls((), special_tokens)._cut(text):
            if piece not in special_tokens:
                ids.extend(piece.encode())
            ids.append(cls.WALL)
        ids, merges = np.array(ids, np.int64), []
        for new in range(256, vocab_size - len(special_tokens)):
            open_ = (ids[:-1] != cls.WALL) & (ids[1:] != cls.WALL)
            if not open_.any():
                break
            keys, counts = np.unique(ids[:-1][open_] * 2**20 + ids[1:][open_], return_counts=True)
            a, b = divmod(int(keys[counts.argmax()]), 2**20)
            merges.append((a, b))
            ids = joined(ids, a, b, new)
        return cls(merges, special_tokens)

    def encode(self, text):
        out = []
        for piece in self._cut(text):
            if piece in self.special_tokens:
                out.append(256 + len(self.merges) + self.special_tokens.index(piece))
            elif piece:
                ids = np.frombuffer(piece.encode(), np.uint8).astype(np.int64)
                for i, (a, b) in enumerate(self.merges):
                    ids = joined(ids, a, b, 256 + i)
                out.extend(ids.tolist())
        return out

    def decode(self, ids):
        return b"".join(self.pieces[int(i)] for i in ids).decode("utf-8", "replace")

    def save(self, path):
        merges = np.array(self.merges, np.int64).reshape(-1, 2)
        with open(path, "wb") as file:
            np.savez(file, merges=merges, special=json.dumps(self.special_tokens))

    @classmethod
    def load(cls, path):
        with np.load(path) as found:
            return cls(found["merges"], json.loads(str(found["special"])))


class Norm(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.gain, self.shift = nn.Parameter(torch.ones(d)), nn.Parameter(torch.zeros(d))

    def forward(self, x):
        centred = x - x.mean(-1, keepdim=True)
        return centred / (centred.pow(2).mean(-1, keepdim=True) + 1e-5).sqrt() * self.gain + self.shift


class Head(nn.Module):
    def __init__(self, d, d_k, rotary):
        super().__init__()
        self.W_Q, self.W_K, self.W_V = (nn.Parameter(torch.randn(d, d_k) / d**0.5) for _ in range(3))
        self.rotary = rotary

    def turn(self, x, start):
        T, d_k = x.shape[1:]
        out = torch.empty_like(x)
        t = torch.arange(start, start + T, dtype=torch.float64)
        for i in range(d_k // 2):
            angle = t * 10000 ** (-2 * i / d_k)
            c, s = torch.cos(angle).to(x.dtype), torch.sin(angle).to(x.dtype)
            out[..., i] = x[..., i] * c - x[..., i + d_k // 2] * s
            out[..., i + d_k // 2] = x[..., i] * s + x[..., i + d_k // 2] * c
        return out

    def forward(self, H, past):
        Q, K, V = H @ self.W_Q, H @ self.W_K, H @ self.W_V
        start = past[0].shape[1] if past else 0
        if self.rotary:
            Q, K = self.turn(Q, start), self.turn(K, start)
        if past:
            K, V = torch.cat([past[0], K], 1), torch.cat([past[1], V], 1)
        S = Q @ K.transpose(1, 2) / Q.shape[-1] ** 0.5
        later = torch.arange(K.shape[1])[None, :] > torch.arange(start, K.shape[1])[:, None]
        A = torch.softmax(S + later * -1e9, dim=-1)
        return A @ V, [K, V]


class Block(nn.Module):
    def __init__(self, d, h, m, rotary):
        super().__init__()
        self.norm_1, self.norm_2 = Norm(d), Norm(d)
        self.heads = nn.ModuleList([Head(d, d // h, rotary) for _ in range(h)])
        self.W_O = nn.Parameter(torch.randn(d, d) / d**0.5)
        self.W_1, self.b_1 = nn.Parameter(torch.randn(d, m) / d**0.5), nn.Parameter(torch.zeros(m))
        self.W_2, self.b_2 = nn.Parameter(torch.randn(m, d) / m**0.5), nn.Parameter(torch.zeros(d))

    def forward(self, H, past):
        N, outs, kept = self.norm_1(H), [], []
        for i, head in enumerate(self.heads):
            out, now = head(N, past[i] if past else None)
            outs.append(out)
            kept.append(now)
        H = H + torch.cat(outs, -1) @ self.W_O
        return H + torch.clamp(self.norm_2(H) @ self.W_1 + self.b_1, min=0) @ self.W_2 + self.b_2, kept


class DecoderLM(nn.Module):
    def __init__(self, vocab_size, context, width, heads, layers, hidden, rotary=True):
        super().__init__()
        self.sizes = [vocab_size, context, width, heads, layers, hidden, rotary]
        self.E = nn.Parameter(0.3 * torch.randn(vocab_size, width))
        self.P = None if rotary else nn.Parameter(0.3 * torch.randn(context, width))
        self.blocks = nn.ModuleList([Block(width, heads, hidden, rotary) for _ in range(layers)])
        self.norm_f = Norm(width)
        self.W_out = nn.Parameter(torch.randn(width, vocab_size) / width**0.5)
        self.b_out = nn.Parameter(torch.zeros(vocab_size))

    def forward(self, tokens):
        logits, _ = self.decode(tokens)
        return logits

    def decode(self, tokens, cache=None):
        start = cache[0][0][0].shape[1] if cache else 0
        H = self.E[tokens]
        if self.P is not None:
            H = H + self.P[start : start + tokens.shape[1]]
        kept = []
        for i, block in enumerate(self.blocks):
            H, now = block(H, cache[i] if cache else None)
            kept.append(now)
        return self.norm_f(H) @ self.W_out + self.b_out, kept

    def load_reference(self, weights):
        mine = {"E": weights["embedding"], "W_out": weights["W_out"], "b_out": weights["b_out"]}
        if self.P is not None:
            mine["P"] = weights["positions"]
        for name, value in weights.items():
            if "norm" in name or name.endswith((".W_O", ".W_1", ".b_1", ".W_2", ".b_2")):
                mine[name] = value
            elif name.endswith((".W_Q", ".W_K", ".W_V")):
                block, which = name.rsplit(".", 1)
                for i, columns in enumerate(value.chunk(self.sizes[3], dim=1)):
                    mine[f"{block}.heads.{i}.{which}"] = columns
        self.load_state_dict(mine)


def train(model, tokens, steps, batch_size, lr, seed):
    rng = np.random.default_rng(seed)
    context = model.sizes[1]
    optimizer = torch.optim.SGD(model.parameters(), lr=30 * lr, momentum=0.9, nesterov=True)
    model.train()
    history = []
    for _ in range(steps):
        starts = rng.integers(0, max(1, len(tokens) - context), batch_size)
        windows = torch.stack([tokens[start : start + context + 1] for start in starts])
        inputs, targets = windows[:, :-1].reshape(batch_size, -1), windows[:, 1:].flatten()
        Z = model(inputs).flatten(0, 1)
        loss = (torch.logsumexp(Z, -1) - Z[torch.arange(len(Z)), targets]).mean()
        for parameter in model.parameters():
            parameter.grad = None
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        history.append(loss.item())
    return history


def evaluate(model, tokens):
    was, context, sums = model.training, model.sizes[1], []
    model.eval()
    for start in range(0, len(tokens) - 1, context):
        window = tokens[start : start + context + 1]
        with torch.no_grad():
            p = torch.softmax(model(window[:-1].reshape(1, -1))[0].double(), -1)
        sums.append(-torch.log(p[range(len(p)), window[1:]]).sum())
    model.train(was)
    return (sum(sums) / (len(tokens) - 1)).item()


def generate(model, prompt, max_new_tokens, temperature=1.0, top_k=None, top_p=None, seed=None, use_cache=True):
    rng = np.random.RandomState(seed)
    was = model.training
    model.eval()
    ids, new, cache, given = list(prompt), [], None, list(prompt)
    while len(new) != max_new_tokens:
        with torch.no_grad():
            if use_cache:
                Z, cache = model.decode(torch.tensor([given]), cache)
            else:
                Z = model(torch.tensor([ids + new]))
        z = Z[0, -1].tolist()
        ranked = sorted(range(len(z)), key=lambda i: -z[i])
        if temperature == 0:
            chosen = ranked[0]
        else:
            ranked = ranked[: top_k or len(z)]
            weights = np.exp([(z[i] - z[ranked[0]]) / temperature for i in ranked])
            weights /= weights.sum()
            if top_p is not None:
                kept, mass = 0, 0.0
                while kept < len(ranked) and mass < top_p:
                    mass += weights[kept]
                    kept += 1
                ranked, weights = ranked[:kept], weights[:kept] / mass
            chosen = ranked[rng.choice(len(ranked), p=weights / weights.sum())]
        new.append(chosen)
        given = [chosen]
    model.train(was)
    return new


def save_bundle(path, model, tokenizer, generation):
    weights = {}
    for name, value in model.state_dict().items():
        data = zlib.compress(value.numpy().tobytes())
        weights[name] = [str(value.dtype).split(".")[1], list(value.shape), base64.b64encode(data).decode()]
    body = json.dumps(
        {
            "sizes": model.sizes,
            "weights": weights,
            "merges": tokenizer.merges,
            "special_tokens": tokenizer.special_tokens,
            "generation": generation,
        }
    )
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.write(f"decoder-lm 1 {hashlib.sha256(body.encode()).hexdigest()}\n{body}")


def load_bundle(path):
    try:
        with open(path, encoding="utf-8", newline="\n") as file:
            first, body = file.read().split("\n", 1)
        name, version, digest = first.split(" ")
    except ValueError:
        raise ValueError(f"{path} is no bundle") from None
    if (name, version) != ("decoder-lm", "1"):
        raise ValueError(f"{path}: version {version!r} of {name!r} cannot be read")
    if hashlib.sha256(body.encode()).hexdigest() != digest:
        raise ValueError(f"{path}: the checksum does not fit")
    found = json.loads(body)
    model, state = DecoderLM(*found["sizes"]), {}
    for name, (dtype, shape, data) in found["weights"].items():
        array = np.frombuffer(zlib.decompress(base64.b64decode(data)), dtype).reshape(shape)
        state[name] = torch.from_numpy(array.copy())
    model.to(state["E"].dtype).load_state_dict(state)
    return model.eval(), Tokenizer(found["merges"], found["special_tokens"]), found["generation"]
