"""My transformer, with my own names and argument orders; adapters.py has the required ones."""
import torch


def soft(x):
    return torch.softmax(x, -1)


def dot_scores(keys, queries):
    return queries @ keys.T / keys.shape[1] ** 0.5


def only_past(scores):
    return soft(scores.masked_fill(torch.ones_like(scores).triu(1) > 0, -torch.inf))


def my_attn(x, wq, wk, wv):
    p = only_past(dot_scores(keys=x @ wk, queries=x @ wq))
    return p @ (x @ wv), p


def many_heads(x, weights, out):
    return torch.cat([my_attn(x, *w)[0] for w in weights], 1) @ out


def norm(x, eps, gamma, beta):
    return gamma * (x - x.mean(1, keepdim=True)) / (x.var(1, correction=0, keepdim=True) + eps).sqrt() + beta


def mlp(x, w1, b1, w2, b2):
    return torch.relu(x @ w1 + b1) @ w2 + b2


def block(x, p):
    x = x + many_heads(norm(x, p["eps"], p["norm_1"]["gain"], p["norm_1"]["shift"]), p["heads"], p["W_O"])
    return x + mlp(norm(x, p["eps"], p["norm_2"]["gain"], p["norm_2"]["shift"]), p["W_1"], p["b_1"], p["W_2"], p["b_2"])


def gpt(p, ids):
    x = p["embedding"][ids]
    if "positions" in p:
        x = x + p["positions"][: len(ids)]
    for layer in p["blocks"]:
        x = block(x, layer)
    return norm(x, p["eps"], p["norm_f"]["gain"], p["norm_f"]["shift"]) @ p["W_out"] + p["b_out"]


def nll(logits, targets):
    return torch.nn.functional.cross_entropy(logits, targets)


def by_hand():
    I = torch.eye(2, dtype=torch.float64)
    o, a = my_attn(I, I, I, I)
    z = I + o
    return a, o, z
