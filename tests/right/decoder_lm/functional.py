"""Parameters in one dict, functions over them, einsum, gains stored as what is added to 1; a dict of lists as the cache."""

import base64
import collections
import functools
import hashlib
import itertools
import json

import torch
from torch import nn
from torch.nn import functional as F


class Tokenizer:
    """The merges are learned and applied within lines; a line's end stays with it."""

    def __init__(self, merges, special_tokens):
        self.merges, self.special_tokens = merges, special_tokens
        self.id_of = {bytes([b]): b for b in range(256)}
        self.table = [bytes([b]) for b in range(256)]
        for a, b in merges:
            self.table.append(self.table[a] + self.table[b])
        self.rank_of = {tuple(pair): rank for rank, pair in enumerate(merges)}
        self.specials = {token: 256 + len(merges) + i for i, token in enumerate(special_tokens)}
        self.table += [token.encode() for token in special_tokens]
        self.vocab_size = len(self.table)
        self.ids_of_word = functools.lru_cache(100_000)(self._ids_of_word)

    @classmethod
    def train(cls, text, vocab_size, special_tokens=()):
        special_tokens = sorted(set(special_tokens), key=lambda token: (-len(token), token))
        start = cls([], special_tokens)
        words = collections.Counter(
            word for kind, part in start.parts(text) if kind == "text" for word in start.words(part)
        )
        corpus = [(tuple(word.encode()), times) for word, times in sorted(words.items())]
        merges = []
        for new in range(256, vocab_size - len(special_tokens)):
            counts = collections.Counter()
            for ids, times in corpus:
                for pair in itertools.pairwise(ids):
                    counts[pair] += times
            if not counts:
                break
            top = counts.most_common(1)[0][0]
            merges.append(top)
            corpus = [(replaced(ids, top, new), times) for ids, times in corpus]
        return cls(merges, special_tokens)

    @staticmethod
    def words(part):
        return ["".join(group) for _, group in itertools.groupby(part, key=CountSpaces())]

    def parts(self, text):
        """("text", part) and ("special", token), in turn; the longest special token at the leftmost place."""
        rest = text
        while rest:
            places = [(rest.find(token), -len(token), token) for token in self.special_tokens if token in rest]
            if not places:
                yield "text", rest
                return
            at, _, token = min(places)
            if at:
                yield "text", rest[:at]
            yield "special", token
            rest = rest[at + len(token) :]

    def _ids_of_word(self, word):
        ids = tuple(word.encode())
        while len(ids) > 1:
            best = min(itertools.pairwise(ids), key=lambda pair: self.rank_of.get(pair, 1 << 30))
            if best not in self.rank_of:
                break
            ids = replaced(ids, best, 256 + self.rank_of[best])
        return ids

    def encode(self, text):
        out = []
        for kind, part in self.parts(text):
            if kind == "special":
                out.append(self.specials[part])
            else:
                out.extend(itertools.chain.from_iterable(map(self.ids_of_word, self.words(part))))
        return out

    def decode(self, ids):
        return b"".join(self.table[i] for i in ids).decode(errors="replace")

    def save(self, path):
        with open(path, "w", encoding="ascii") as f:
            json.dump([self.merges, self.special_tokens], f)

    @classmethod
    def load(cls, path):
        with open(path, encoding="ascii") as f:
            return cls(*json.load(f))


class CountSpaces:
    """A number for each character, which changes where a word begins: at a space after something else, or after a line."""

    def __init__(self):
        self.count, self.before = 0, "x"

    def __call__(self, char):
        if (char == " " and self.before != " ") or self.before == "\n":
            self.count += 1
        self.before = char
        return self.count


def replaced(ids, pair, new):
    out = []
    for i in ids:
        if out and not isinstance(out[-1], list) and (out[-1], i) == pair:
            out[-1] = [new]  # in a list: no part of a further pair in this pass
        else:
            out.append(i)
    return tuple(i[0] if isinstance(i, list) else i for i in out)


def norm(x, p):
    mean = x.mean(-1, keepdim=True)
    variance = ((x - mean) ** 2).mean(-1, keepdim=True)
    return (x - mean) * torch.rsqrt(variance + 1e-5) * (1 + p["gain"]) + p["shift"]


def rope(x, positions):
    """x (B, T, h, d_k), positions (T)"""
    half = x.shape[-1] // 2
    i = torch.arange(half, dtype=torch.float64)
    angles = torch.einsum("t,i->ti", positions.double(), torch.exp(-i / half * torch.log(torch.tensor(10000.0).double())))
    turn = torch.stack([torch.stack([angles.cos(), -angles.sin()], -1), torch.stack([angles.sin(), angles.cos()], -1)], -2)
    return torch.einsum("tiac,nthci->nthai", turn.to(x.dtype), x.unflatten(-1, (2, half))).flatten(-2)


def attention(x, p, rotary, past):
    q, k, v = (torch.einsum("ntd,dhc->nthc", x, p[name]) for name in ("Q", "K", "V"))
    start = 0 if past is None else past[0].shape[1]
    positions = torch.arange(start, start + x.shape[1])
    if rotary:
        q, k = rope(q, positions), rope(k, positions)
    if past is not None:
        k, v = torch.cat([past[0], k], 1), torch.cat([past[1], v], 1)
    scores = torch.einsum("nthc,nshc->nhts", q, k) / q.shape[-1] ** 0.5
    later = torch.arange(k.shape[1]) > positions[:, None]
    weights = scores.masked_fill(later, -torch.inf)
    weights = (weights - weights.amax(-1, keepdim=True)).exp()
    weights = weights / weights.sum(-1, keepdim=True)
    return torch.einsum("nhts,nshc,hcd->ntd", weights, v, p["O"]), (k, v)


class DecoderLM(nn.Module):
    def __init__(self, vocab_size, context, width, heads, layers, hidden, rotary=True):
        super().__init__()
        self.arguments = [vocab_size, context, width, heads, layers, hidden, rotary]
        d, h, m, c = width, heads, hidden, width // heads
        shapes = {"E": (vocab_size, d), "f.gain": (d,), "f.shift": (d,), "out.W": (d, vocab_size), "out.b": (vocab_size,)}
        if not rotary:
            shapes["P"] = (context, d)
        for layer in range(layers):
            one = {"Q": (d, h, c), "K": (d, h, c), "V": (d, h, c), "O": (h, c, d)}
            one |= {"1.gain": (d,), "1.shift": (d,), "2.gain": (d,), "2.shift": (d,)}
            one |= {"W1": (d, m), "b1": (m,), "W2": (m, d), "b2": (d,)}
            shapes |= {f"{layer}.{name}": shape for name, shape in one.items()}
        self.p = nn.ParameterDict({name.replace(".", "_"): nn.Parameter(torch.zeros(shape)) for name, shape in shapes.items()})
        for name, value in self.p.items():
            if value.dim() > 1:
                nn.init.normal_(value, std=0.4 if name in ("E", "P") else (m if name.endswith("W2") else d) ** -0.5)

    def of(self, prefix):
        return {name[len(prefix) + 1 :]: value for name, value in self.p.items() if name.startswith(f"{prefix}_")}

    def forward(self, tokens):
        return self.decode(tokens, None)[0]

    def decode(self, tokens, cache=None):
        rotary, layers = self.arguments[6], self.arguments[4]
        past = cache["layers"] if cache else [None] * layers
        start = cache["length"] if cache else 0
        x = F.embedding(tokens, self.p["E"])
        if not rotary:
            x = x + self.p["P"][torch.arange(start, start + tokens.shape[1])]
        kept = []
        for layer in range(layers):
            p = self.of(f"{layer}")
            mixed, now = attention(norm(x, self.of(f"{layer}_1")), p, rotary, past[layer])
            x = x + mixed
            x = x + F.gelu(norm(x, self.of(f"{layer}_2")) @ p["W1"] + p["b1"]) @ p["W2"] + p["b2"]
            kept.append(now)
        f, out = self.of("f"), self.of("out")
        return norm(x, f) @ out["W"] + out["b"], {"layers": kept, "length": start + tokens.shape[1]}


    @torch.no_grad()
    def load_reference(self, weights):
        heads = self.arguments[3]
        for name, value in weights.items():
            name = name.replace("embedding", "E").replace("positions", "P").removeprefix("blocks.")
            name = name.replace("norm_", "").replace("W_out", "out_W").replace("b_out", "out_b").replace(".", "_")
            if name.endswith(("W_Q", "W_K", "W_V")):
                name, value = name.replace("W_", ""), value.unflatten(1, (heads, -1))
            elif name.endswith("W_O"):
                name, value = name.replace("W_", ""), value.unflatten(0, (heads, -1))
            else:
                name = name.replace("W_1", "W1").replace("W_2", "W2").replace("b_1", "b1").replace("b_2", "b2")
            self.p[name].copy_(value - 1 if name.endswith("gain") else value)


def train(model, tokens, steps, batch_size, lr, seed):
    torch.manual_seed(seed)
    context = model.arguments[1]
    inputs_of = [tokens[i : i + context] for i in range(max(1, len(tokens) - context))]
    targets_of = [tokens[i + 1 : i + 1 + context] for i in range(max(1, len(tokens) - context))]
    inputs_of[0] = inputs_of[0][: len(targets_of[0])]
    moments = [(torch.zeros_like(p), torch.zeros_like(p)) for p in model.parameters()]
    losses = []
    model.train()
    for step in range(1, steps + 1):
        chosen = torch.randint(0, len(inputs_of), (batch_size,))
        x, y = torch.stack([inputs_of[i] for i in chosen]), torch.stack([targets_of[i] for i in chosen])
        hits = F.one_hot(y, model.arguments[0])
        loss = -(hits * model(x).log_softmax(-1)).sum(-1).mean()
        gradients = torch.autograd.grad(loss, list(model.parameters()))
        with torch.no_grad():
            for p, g, (a, b) in zip(model.parameters(), gradients, moments):
                a.lerp_(g, 0.1)
                b.lerp_(g * g, 0.01)
                p -= lr * (a / (1 - 0.9**step)) / ((b / (1 - 0.99**step)) ** 0.5 + 1e-8)
        losses.append(loss.item())
    return losses


@torch.no_grad()
def evaluate(model, tokens):
    training = model.training
    model.eval()
    surprises = []
    context = model.arguments[1]
    for i in range(0, len(tokens) - 1, context):
        targets = tokens[i + 1 : i + 1 + context]
        logits = model(tokens[None, i : i + len(targets)])[0]
        surprises += [-logits[t].log_softmax(-1)[y].item() for t, y in enumerate(targets)]
    model.train(training)
    return sum(surprises) / len(surprises)


@torch.no_grad()
def generate(model, prompt, max_new_tokens, temperature=1.0, top_k=None, top_p=None, seed=None, use_cache=True):
    numbers = torch.Generator()
    numbers.manual_seed(seed) if seed is not None else numbers.seed()
    training = model.training
    model.eval()
    context, new, cache = [int(i) for i in prompt], [], None
    for step in range(max_new_tokens):
        if use_cache:
            given = context if step == 0 else new[-1:]
            logits, cache = model.decode(torch.tensor(given).reshape(1, -1), cache)
        else:
            logits = model(torch.tensor(context + new).reshape(1, -1))
        z = logits[0, -1].double()
        u = torch.rand(1, generator=numbers, dtype=torch.float64)
        new.append(draw(z, temperature, top_k, top_p, u))
    model.train(training)
    return new


def draw(z, temperature, top_k, top_p, u):
    if not temperature:
        return z.max(0).indices.item()
    z, order = (z / temperature).sort(descending=True, stable=True)
    p = z[:top_k].softmax(0)
    mass = p.cumsum(0)
    if top_p is not None:
        p = p[: int((mass < top_p).sum()) + 1]
        mass = p.cumsum(0)
    return order[min(int((mass <= u * mass[-1]).sum()), len(p) - 1)].item()


def save_bundle(path, model, tokenizer, generation):
    weights = {
        name: {"dtype": str(x.dtype), "shape": list(x.shape), "data": base64.b85encode(x.numpy().tobytes()).decode()}
        for name, x in model.state_dict().items()
    }
    parts = {
        "format_version": 1,
        "model": {"arguments": model.arguments, "weights": weights},
        "tokenizer": {"merges": tokenizer.merges, "special_tokens": tokenizer.special_tokens},
        "generation": generation,
    }
    with open(path, "w") as f:
        json.dump({**parts, "sha256": {name: sha256(part) for name, part in parts.items()}}, f, indent=1)


def sha256(part):
    return hashlib.sha256(json.dumps(part, sort_keys=True).encode()).hexdigest()


def load_bundle(path):
    with open(path) as f:
        text = f.read()
    try:
        bundle = json.loads(text)
        sums = bundle.pop("sha256")
    except (ValueError, KeyError, AttributeError) as error:
        raise ValueError(f"{path} is no bundle, or cut off: {error}") from error
    if bundle.get("format_version") != 1:
        raise ValueError(f"a bundle of version {bundle.get('format_version')}")
    for part in ("format_version", "model", "tokenizer", "generation"):
        if part not in bundle or not isinstance(sums, dict) or sums.get(part) != sha256(bundle[part]):
            raise ValueError(f"{part} of the bundle is missing or was changed")
    model = DecoderLM(*bundle["model"]["arguments"])
    state = {}
    for name, x in bundle["model"]["weights"].items():
        flat = torch.frombuffer(bytearray(base64.b85decode(x["data"])), dtype=getattr(torch, x["dtype"].split(".")[1]))
        state[name] = flat.reshape(x["shape"])
    model.to(state["p.E"].dtype).load_state_dict(state)
    merges = [tuple(pair) for pair in bundle["tokenizer"]["merges"]]
    return model.eval(), Tokenizer(merges, bundle["tokenizer"]["special_tokens"]), bundle["generation"]
