"""torch's own attention does the work; its boolean mask means the same as ours (True = take part)."""
import torch
import torch.nn.functional as F
from torch import nn


def open_rows(mask, rows, columns):
    """A mask without empty rows, and the rows that were empty."""
    if mask is None:
        mask = torch.ones(rows, columns, dtype=torch.bool)
    empty = ~mask.any(dim=-1, keepdim=True)
    return mask | empty, empty


def attention(Q, K, V, mask=None):
    mask, empty = open_rows(mask, len(Q), len(K))
    eye = torch.eye(len(K), dtype=V.dtype)
    both = torch.cat([V, eye], dim=-1)
    out = F.scaled_dot_product_attention(Q[None], K[None], both[None], attn_mask=mask)[0].masked_fill(empty, 0.0)
    return out[:, : V.size(1)], out[:, V.size(1) :]


def multi_head(X_q, X_kv, heads, W_O, mask=None):
    mask, empty = open_rows(mask, len(X_q), len(X_kv))
    q, k, v = (torch.stack([x @ head[i] for head in heads]) for i, x in enumerate((X_q, X_kv, X_kv)))
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask).masked_fill(empty, 0.0)
    return out.transpose(0, 1).flatten(1) @ W_O


def layer_norm(z, gain, shift, eps):
    return F.layer_norm(z, gain.shape, gain, shift, eps)


def ffn(u, W_1, b_1, W_2, b_2):
    return F.linear(F.relu(F.linear(u, W_1.T, b_1)), W_2.T, b_2)


class AddAndNorm(nn.Module):
    def __init__(self, params, name):
        super().__init__()
        self.gain, self.shift, self.eps = params[name]["gain"], params[name]["shift"], params["eps"]

    def forward(self, x, sublayer):
        return layer_norm(x + sublayer(x), self.gain, self.shift, self.eps)


def network(params):
    return lambda u: ffn(u, params["W_1"], params["b_1"], params["W_2"], params["b_2"])


def for_all(mask, count):
    return mask if mask is None else mask.repeat(count, 1)


def encoder_block(X, params, padding_mask=None):
    mask = for_all(padding_mask, len(X))
    X = AddAndNorm(params, "norm_1")(X, lambda x: multi_head(x, x, params["self_heads"], params["self_W_O"], mask))
    return AddAndNorm(params, "norm_2")(X, network(params))


def cross_attention(X, memory, heads, W_O, memory_mask=None):
    return multi_head(X, memory, heads, W_O, for_all(memory_mask, len(X)))


def decoder_layer(X, memory, params, memory_mask=None):
    past = ~torch.ones(len(X), len(X), dtype=torch.bool).triu(1)
    p = params
    X = AddAndNorm(p, "norm_1")(X, lambda x: multi_head(x, x, p["self_heads"], p["self_W_O"], past))
    X = AddAndNorm(p, "norm_cross")(X, lambda x: cross_attention(x, memory, p["cross_heads"], p["cross_W_O"], memory_mask))
    return AddAndNorm(p, "norm_2")(X, network(p))


def shift_targets(tokens):
    return tokens.narrow(0, 0, len(tokens) - 1).clone(), tokens.narrow(0, 1, len(tokens) - 1).clone()
