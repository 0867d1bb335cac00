"""The contract's names for what is in bpe.py and gpt.py."""

import hashlib
import io
import random

import torch
from bpe import BytePairs, learn
from gpt import GPT


class Tokenizer(BytePairs):
    @classmethod
    def train(cls, text, vocab_size, special_tokens=()):
        reserved = list(dict.fromkeys(special_tokens))
        return cls(learn(text, vocab_size - 256 - len(reserved), reserved), reserved)

    @property
    def vocab_size(self):
        return self.size

    encode, decode = BytePairs.to_ids, BytePairs.to_text

    def save(self, path):
        with open(path, "w") as f:
            f.write(self.dumps())

    @classmethod
    def load(cls, path):
        with open(path) as f:
            return cls.loads(f.read())


class DecoderLM(GPT):
    def __init__(self, vocab_size, context, width, heads, layers, hidden, rotary=True):
        super().__init__(layers, heads, width, hidden, context, vocab_size, rotary)

    def decode(self, tokens, cache=None):
        return self.run(tokens, cache)

    def load_reference(self, weights):
        places = {"wte.weight": "embedding", "ln_f.weight": "norm_f.gain", "ln_f.bias": "norm_f.shift"}
        places |= {"head.weight": "W_out", "head.bias": "b_out", "wpe.weight": "positions"}
        for i in range(len(self.layers)):
            a, b = f"layers.{i}.", f"blocks.{i}."
            places |= {a + "ln_a.weight": b + "norm_1.gain", a + "ln_a.bias": b + "norm_1.shift"}
            places |= {a + "ln_b.weight": b + "norm_2.gain", a + "ln_b.bias": b + "norm_2.shift"}
            places |= {a + "mix.query.weight": b + "W_Q", a + "mix.key.weight": b + "W_K"}
            places |= {a + "mix.value.weight": b + "W_V", a + "mix.proj.weight": b + "W_O"}
            places |= {a + "mlp.0.weight": b + "W_1", a + "mlp.0.bias": b + "b_1"}
            places |= {a + "mlp.2.weight": b + "W_2", a + "mlp.2.bias": b + "b_2"}
        linear = ("W_Q", "W_K", "W_V", "W_O", "W_1", "W_2", "W_out")
        with torch.no_grad():
            for name, parameter in self.named_parameters():
                if name not in places:
                    parameter.zero_()
                    continue
                value = weights[places[name]]
                parameter.copy_(value.T if places[name].endswith(linear) else value)


def train(model, tokens, steps, batch_size, lr, seed):
    rng = random.Random(seed)
    length = min(model.block_size + 1, len(tokens))
    groups = [
        {"params": [p for p in model.parameters() if p.dim() > 1], "weight_decay": 0.01},
        {"params": [p for p in model.parameters() if p.dim() <= 1], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=lr, betas=(0.9, 0.95))
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps, eta_min=lr / 5)
    losses = []
    for _ in range(steps):
        model.train()
        starts = [rng.randrange(len(tokens) - length + 1) for _ in range(batch_size)]
        optimizer.zero_grad()
        whole = 0.0
        for half in (starts[::2], starts[1::2]):  # two parts, weighed by their sizes
            if half:
                loss = model.nll(torch.stack([tokens[s : s + length] for s in half])).mean() * (len(half) / batch_size)
                loss.backward()
                whole += loss.item()
        optimizer.step()
        scheduler.step()
        losses.append(whole)
    return losses


def evaluate(model, tokens):
    training, parts = model.training, []
    model.eval()
    with torch.no_grad():
        for start in range(0, len(tokens) - 1, model.block_size):
            parts.append(model.nll(tokens[None, start : start + model.block_size + 1])[0])
    model.train(training)
    return torch.cat(parts).double().mean().item()


@torch.no_grad()
def generate(model, prompt, max_new_tokens, temperature=1.0, top_k=None, top_p=None, seed=None, use_cache=True):
    rng = random.Random(seed)
    training = model.training
    model.eval()
    ids, cache, fresh = list(prompt), None, list(prompt)
    for _ in range(max_new_tokens):
        if use_cache:
            z, cache = model.decode(torch.tensor(fresh)[None], cache)
        else:
            z = model(torch.tensor(ids)[None])
        z = z[0, -1].double()
        if temperature == 0:
            fresh = [z.argmax().item()]
        else:
            order = z.argsort(descending=True)[: len(z) if top_k is None else top_k]
            p = (z[order] / temperature).softmax(-1)
            n = len(p) if top_p is None else 1 + sum((p.cumsum(-1) < top_p).tolist())
            fresh = rng.choices(order[:n].tolist(), p[:n].tolist())
        ids += fresh
    model.train(training)
    return ids[len(prompt) :]


HEADER = b"GPT bundle, version 1\n"


def save_bundle(path, model, tokenizer, generation):
    buffer = io.BytesIO()
    torch.save([tokenizer.dumps(), model.settings, model.state_dict(), generation], buffer)
    with open(path, "wb") as f:
        f.write(HEADER + hashlib.md5(buffer.getvalue()).digest() + buffer.getvalue())


def load_bundle(path):
    with open(path, "rb") as f:
        header, digest, body = f.read(len(HEADER)), f.read(16), f.read()
    if header != HEADER:
        raise ValueError("this is no bundle of version 1")
    if hashlib.md5(body).digest() != digest:
        raise ValueError("this bundle is damaged")
    tokenizer, (n_layer, n_head, n_embd, n_inner, block_size, n_vocab, rope), weights, generation = torch.load(
        io.BytesIO(body), weights_only=True
    )
    model = DecoderLM(n_vocab, block_size, n_embd, n_head, n_layer, n_inner, rope)
    model.to(weights["wte.weight"].dtype)
    model.load_state_dict(weights)
    return model.eval(), Tokenizer.loads(tokenizer), generation
