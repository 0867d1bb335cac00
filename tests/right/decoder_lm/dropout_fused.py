"""Dropout, fused projections, GELU, buffers for mask and angles; a BPE over the whole text with a heap and a linked list;
AdamW by hand with warm-up and clipping; ids by the Gumbel trick; the bundle is one dict of torch.save with a checksum."""

import hashlib
import heapq
import json
import math
import pickle
import re

import torch
from torch import nn
from torch.nn import functional as F


class Chain:
    """Bytes of a text as a linked list, in which pairs become one symbol. A text is several pieces; -1 is an end."""

    def __init__(self, pieces):
        self.symbol, self.after, self.before = [], [], []
        for piece in pieces:
            first, last = len(self.symbol), len(self.symbol) + len(piece) - 1
            self.symbol += piece
            self.after += [i + 1 if i < last else -1 for i in range(first, last + 1)]
            self.before += [i - 1 if i > first else -1 for i in range(first, last + 1)]

    def pair(self, i):
        j = self.after[i]
        return None if j < 0 or self.symbol[i] is None else (self.symbol[i], self.symbol[j])

    def join(self, i, new):
        j = self.after[i]
        self.symbol[i], self.symbol[j] = new, None
        self.after[i] = self.after[j]
        if self.after[i] >= 0:
            self.before[self.after[i]] = i

    def left(self):
        return [symbol for symbol in self.symbol if symbol is not None]


class Tokenizer:
    def __init__(self):
        self.merges = []
        self.special_tokens = []
        self._prepare()

    def _prepare(self):
        self.rank = {tuple(pair): i for i, pair in enumerate(self.merges)}
        self.spelled = [bytes((i,)) for i in range(256)]
        for a, b in self.merges:
            self.spelled.append(self.spelled[a] + self.spelled[b])
        self.first_special = len(self.spelled)
        self.spelled.extend(token.encode() for token in self.special_tokens)
        self.vocab_size = len(self.spelled)

    def _split(self, text):
        if not self.special_tokens:
            yield False, text
            return
        longest = sorted(self.special_tokens, key=lambda token: -len(token))
        at = 0
        for found in re.finditer("|".join(map(re.escape, longest)), text):
            yield False, text[at : found.start()]
            yield True, found.group()
            at = found.end()
        yield False, text[at:]

    @classmethod
    def train(cls, text, vocab_size, special_tokens=()):
        self = cls()
        self.special_tokens = [token for token in dict.fromkeys(special_tokens) if token]
        chain = Chain([list(piece.encode()) for special, piece in self._split(text) if not special])
        places = {}
        for i in range(len(chain.symbol)):
            if pair := chain.pair(i):
                places.setdefault(pair, set()).add(i)
        heap = [(-len(where), pair) for pair, where in places.items()]
        heapq.heapify(heap)
        room = vocab_size - 256 - len(self.special_tokens)
        while heap and len(self.merges) < room:
            count, pair = heapq.heappop(heap)
            if len(places.get(pair, ())) != -count:
                continue
            new = 256 + len(self.merges)
            self.merges.append(pair)
            changed = set()
            for i in sorted(places.pop(pair)):
                if chain.pair(i) != pair:
                    continue
                j, h = chain.after[i], chain.before[i]
                for at in (h, j):
                    if at >= 0 and (old := chain.pair(at)) and old in places:
                        places[old].discard(at)
                        changed.add(old)
                chain.join(i, new)
                for at in (h, i):
                    if at >= 0 and (now := chain.pair(at)):
                        places.setdefault(now, set()).add(at)
                        changed.add(now)
            for now in changed:
                if places.get(now):
                    heapq.heappush(heap, (-len(places[now]), now))
        self._prepare()
        return self

    def encode(self, text):
        ids = []
        for special, piece in self._split(text):
            if special:
                ids.append(self.first_special + self.special_tokens.index(piece))
            else:
                ids.extend(self._merged(list(piece.encode())))
        return ids

    def _merged(self, data):
        chain, waiting = Chain([data]), []

        def consider(i):
            rank = self.rank.get(chain.pair(i)) if i >= 0 else None
            if rank is not None:
                heapq.heappush(waiting, (rank, i))

        for i in range(len(data)):
            consider(i)
        while waiting:
            rank, i = heapq.heappop(waiting)
            if self.rank.get(chain.pair(i)) == rank:
                chain.join(i, 256 + rank)
                consider(chain.before[i])
                consider(i)
        return chain.left()

    def decode(self, ids):
        return b"".join(map(self.spelled.__getitem__, ids)).decode("utf-8", "replace")

    def save(self, path):
        with open(path, "wb") as file:
            pickle.dump((self.merges, self.special_tokens), file)

    @classmethod
    def load(cls, path):
        self = cls()
        with open(path, "rb") as file:
            self.merges, self.special_tokens = pickle.load(file)
        self._prepare()
        return self


class CausalSelfAttention(nn.Module):
    def __init__(self, width, heads, context, rotary, dropout):
        super().__init__()
        self.heads, self.rotary, self.dropout = heads, rotary, dropout
        self.c_attn = nn.Linear(width, 3 * width)
        self.c_proj = nn.Linear(width, width)
        self.attn_drop, self.resid_drop = nn.Dropout(dropout), nn.Dropout(dropout)
        self.register_buffer("mask", torch.tril(torch.ones(context, context)).bool(), persistent=False)
        d_k = width // heads
        inv = 1.0 / 10000 ** (torch.arange(0, d_k, 2, dtype=torch.float64) / d_k)
        angles = torch.outer(torch.arange(context, dtype=torch.float64), inv).repeat(1, 2)
        self.angles = angles  # stays float64 whatever the module becomes

    def rope(self, x, at):
        angles = self.angles[at : at + x.size(-2)]
        a, b = x.chunk(2, dim=-1)
        return x * angles.cos().to(x.dtype) + torch.cat((-b, a), dim=-1) * angles.sin().to(x.dtype)

    def forward(self, x, past=None):
        B, T, C = x.size()
        q, k, v = (y.view(B, T, self.heads, C // self.heads).transpose(1, 2) for y in self.c_attn(x).split(C, dim=2))
        at = past[0].size(2) if past is not None else 0
        if self.rotary:
            q, k = self.rope(q, at), self.rope(k, at)
        if past is not None:
            k, v = torch.cat((past[0], k), dim=2), torch.cat((past[1], v), dim=2)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.mask[at : at + T, : at + T].logical_not(), torch.finfo(att.dtype).min)
        att = self.attn_drop(F.softmax(att, dim=-1))
        return self.resid_drop(self.c_proj((att @ v).transpose(1, 2).contiguous().view(B, T, C))), (k, v)


class Block(nn.Module):
    def __init__(self, width, heads, hidden, context, rotary, dropout):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = CausalSelfAttention(width, heads, context, rotary, dropout)
        self.mlp = nn.ModuleDict({"c_fc": nn.Linear(width, hidden), "c_proj": nn.Linear(hidden, width)})
        self.drop = nn.Dropout(dropout)

    def forward(self, x, past=None):
        a, now = self.attn(self.ln_1(x), past)
        x = x + a
        x = x + self.drop(self.mlp["c_proj"](F.relu(self.mlp["c_fc"](self.ln_2(x)))))
        return x, now


class DecoderLM(nn.Module):
    def __init__(self, vocab_size, context, width, heads, layers, hidden, rotary=True):
        super().__init__()
        self.init = (vocab_size, context, width, heads, layers, hidden, rotary)
        self.wte = nn.Embedding(vocab_size, width)
        self.wpe = None if rotary else nn.Embedding(context, width)
        self.drop = nn.Dropout(0.1)
        self.h = nn.ModuleList([Block(width, heads, hidden, context, rotary, 0.1) for _ in range(layers)])
        self.ln_f = nn.LayerNorm(width)
        self.lm_head = nn.Linear(width, vocab_size)
        self.apply(self._init_weights)

    @staticmethod
    def _init_weights(module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=0.05)
        if isinstance(module, nn.Linear):
            nn.init.zeros_(module.bias)

    def forward(self, tokens):
        return self._run(tokens, [None] * len(self.h))[0]

    def decode(self, tokens, cache=None):
        with torch.no_grad():
            return self._run(tokens, cache or [None] * len(self.h))

    def _run(self, tokens, cache):
        at = 0 if cache[0] is None else cache[0][0].size(2)
        x = self.wte(tokens)
        if self.wpe is not None:
            x = x + self.wpe.weight[at : at + tokens.size(1)]
        x, kept = self.drop(x), []
        for block, past in zip(self.h, cache):
            x, now = block(x, past)
            kept.append(now)
        return self.lm_head(self.ln_f(x)), tuple(kept)

    def load_reference(self, weights):
        w = weights
        state = {"wte.weight": w["embedding"], "ln_f.weight": w["norm_f.gain"], "ln_f.bias": w["norm_f.shift"]}
        state |= {"lm_head.weight": w["W_out"].T, "lm_head.bias": w["b_out"]}
        if self.wpe is not None:
            state["wpe.weight"] = w["positions"]
        for i in range(len(self.h)):
            s, t = f"blocks.{i}.", f"h.{i}."
            for mine, its in (("ln_1", "norm_1"), ("ln_2", "norm_2")):
                state[f"{t}{mine}.weight"], state[f"{t}{mine}.bias"] = w[f"{s}{its}.gain"], w[f"{s}{its}.shift"]
            qkv = torch.cat([w[s + "W_Q"], w[s + "W_K"], w[s + "W_V"]], dim=1)
            state[t + "attn.c_attn.weight"], state[t + "attn.c_attn.bias"] = qkv.T, torch.zeros(qkv.shape[1])
            state[t + "attn.c_proj.weight"] = w[s + "W_O"].T
            state[t + "attn.c_proj.bias"] = torch.zeros(w[s + "W_O"].shape[1])
            state[t + "mlp.c_fc.weight"], state[t + "mlp.c_fc.bias"] = w[s + "W_1"].T, w[s + "b_1"]
            state[t + "mlp.c_proj.weight"], state[t + "mlp.c_proj.bias"] = w[s + "W_2"].T, w[s + "b_2"]
        self.load_state_dict(state)


class OwnAdamW:
    def __init__(self, parameters, lr, decay=0.01, warm_up=5, clip=1.0):
        self.parameters = [p for p in parameters if p.requires_grad]
        self.m = [torch.zeros_like(p) for p in self.parameters]
        self.v = [torch.zeros_like(p) for p in self.parameters]
        self.lr, self.decay, self.warm_up, self.clip, self.t = lr, decay, warm_up, clip, 0

    @torch.no_grad()
    def step(self):
        self.t += 1
        lr = self.lr * min(1.0, self.t / self.warm_up)
        size = math.sqrt(sum(float(p.grad.square().sum()) for p in self.parameters))
        factor = min(1.0, self.clip / (size + 1e-6))
        for p, m, v in zip(self.parameters, self.m, self.v):
            g = p.grad * factor
            m.mul_(0.9).add_(g, alpha=0.1)
            v.mul_(0.999).addcmul_(g, g, value=0.001)
            p.mul_(1 - lr * self.decay)
            p.sub_(lr * (m / (1 - 0.9**self.t)) / ((v / (1 - 0.999**self.t)).sqrt() + 1e-8))
            p.grad = None


def train(model, tokens, steps, batch_size, lr, seed):
    torch.manual_seed(seed)
    T = min(model.init[1], len(tokens) - 1)
    windows = tokens.unfold(0, T + 1, 1)
    optimizer = OwnAdamW(model.parameters(), lr)
    losses = []
    model.train()
    for _ in range(steps):
        batch = windows[torch.randint(len(windows), (batch_size,))]
        log_p = model(batch[:, :-1]).log_softmax(dim=-1)
        loss = -log_p.gather(2, batch[:, 1:, None]).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def evaluate(model, tokens):
    mode, T, total = model.training, model.init[1], 0.0
    model.eval()
    with torch.inference_mode():
        for i in range(1, len(tokens), T):
            piece = tokens[i - 1 : i + T]
            log_p = model(piece[:-1].unsqueeze(0)).log_softmax(-1).squeeze(0)
            total -= log_p[torch.arange(len(piece) - 1), piece[1:]].sum().item()
    model.train(mode)
    return total / (len(tokens) - 1)


@torch.no_grad()
def generate(model, prompt, max_new_tokens, temperature=1.0, top_k=None, top_p=None, seed=None, use_cache=True):
    generator = torch.Generator()
    if seed is not None:
        generator.manual_seed(seed)
    else:
        generator.seed()
    mode = model.training
    model.eval()
    ids = torch.as_tensor(list(prompt), dtype=torch.long)[None]
    start, cache = ids.size(1), None
    for _ in range(max_new_tokens):
        if use_cache:
            z, cache = model.decode(ids if cache is None else ids[:, -1:], cache)
        else:
            z = model(ids)
        z = z[:, -1, :].double()
        if temperature == 0:
            new = z.argmax(-1, keepdim=True)
        else:
            z = z / temperature
            if top_k:
                kept = torch.zeros_like(z, dtype=torch.bool).scatter(1, z.topk(min(top_k, z.size(1))).indices, True)
                z[~kept] = -math.inf
            if top_p is not None and top_p < 1:
                p, order = z.softmax(-1).sort(descending=True)
                out = p.cumsum(-1) >= top_p
                out[:, 1:] = out[:, :-1].clone()
                out[:, 0] = False
                z[:, order[0][out[0]]] = -math.inf
            noise = -torch.log(-torch.log(torch.rand(z.shape, generator=generator, dtype=torch.float64)))
            new = (z + noise).argmax(-1, keepdim=True)
        ids = torch.cat([ids, new], dim=1)
    model.train(mode)
    return ids[0, start:].tolist()


def _digest(content):
    sha = hashlib.sha256(json.dumps([content[key] for key in sorted(content) if key != "weights"]).encode())
    for name, tensor in sorted(content["weights"].items()):
        sha.update(f"{name}{tuple(tensor.shape)}{tensor.dtype}".encode() + tensor.numpy().tobytes())
    return sha.hexdigest()


def save_bundle(path, model, tokenizer, generation):
    content = {
        "version": 1,
        "init": list(model.init),
        "weights": {name: tensor.detach().contiguous() for name, tensor in model.state_dict().items()},
        "merges": [list(pair) for pair in tokenizer.merges],
        "special_tokens": tokenizer.special_tokens,
        "generation": generation,
    }
    torch.save({"content": content, "checksum": _digest(content)}, path)


def load_bundle(path):
    try:
        bundle = torch.load(path, weights_only=True)
        content = bundle["content"]
        right = content["version"] == 1 and _digest(content) == bundle["checksum"]
    except FileNotFoundError:
        raise
    except Exception as error:
        raise ValueError(f"{path} is cut off or damaged: {error}") from error
    if not right:
        raise ValueError(f"{path}: another version, or changed after it was written")
    model = DecoderLM(*content["init"]).to(content["weights"]["wte.weight"].dtype)
    model.load_state_dict(content["weights"])
    tokenizer = Tokenizer()
    tokenizer.merges = [tuple(pair) for pair in content["merges"]]
    tokenizer.special_tokens = content["special_tokens"]
    tokenizer._prepare()
    return model.eval(), tokenizer, content["generation"]
