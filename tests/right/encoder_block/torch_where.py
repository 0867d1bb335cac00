"""Masks with torch.where; the maximum and the sum are taken over what is allowed only."""
import torch

BACKEND = "torch"


def softmax_where(scores, allowed):
    low = torch.finfo(scores.dtype).min
    top = torch.where(allowed, scores, low).amax(-1, keepdim=True).detach()
    weights = torch.where(allowed, torch.exp(torch.where(allowed, scores - top, 0.0)), 0.0)
    return weights / weights.sum(-1, keepdim=True).clamp_min(torch.finfo(scores.dtype).tiny)


def attention(Q, K, V, mask=None):
    scores = torch.einsum("td,sd->ts", Q * Q.shape[1] ** -0.25, K * K.shape[1] ** -0.25)
    A = softmax_where(scores, torch.ones_like(scores, dtype=torch.bool) if mask is None else mask)
    return torch.einsum("ts,sd->td", A, V), A


def multi_head(X_q, X_kv, heads, W_O, mask=None):
    rows = torch.chunk(W_O, len(heads))
    return sum(attention(X_q @ a, X_kv @ b, X_kv @ c, mask)[0] @ w for (a, b, c), w in zip(heads, rows))


def layer_norm(z, gain, shift, eps):
    centred = z - z.mean(1, keepdim=True)
    return torch.addcmul(shift, gain.expand_as(z), centred * torch.rsqrt(centred.square().mean(1, keepdim=True) + eps))


def ffn(u, W_1, b_1, W_2, b_2):
    return torch.addmm(b_2, torch.addmm(b_1, u, W_1).clamp(min=0), W_2)


def sublayers(params):
    eps = params["eps"]
    norms = {k: (lambda z, n=params[k]: layer_norm(z, n["gain"], n["shift"], eps)) for k in params if k.startswith("norm")}
    return norms, lambda u: ffn(u, *(params[k] for k in ("W_1", "b_1", "W_2", "b_2")))


def encoder_block(X, params, padding_mask=None):
    norms, network = sublayers(params)
    mask = padding_mask if padding_mask is None else padding_mask.expand(X.shape[0], X.shape[0])
    U = norms["norm_1"](multi_head(X, X, params["self_heads"], params["self_W_O"], mask) + X)
    return norms["norm_2"](network(U) + U)


def cross_attention(X, memory, heads, W_O, memory_mask=None):
    if memory_mask is not None:
        memory_mask = memory_mask.expand(X.shape[0], memory.shape[0])
    return multi_head(X, memory, heads, W_O, memory_mask)


def decoder_layer(X, memory, params, memory_mask=None):
    norms, network = sublayers(params)
    t = torch.arange(X.shape[0])
    U = norms["norm_1"](multi_head(X, X, params["self_heads"], params["self_W_O"], t[:, None] >= t) + X)
    C = norms["norm_cross"](cross_attention(U, memory, params["cross_heads"], params["cross_W_O"], memory_mask) + U)
    return norms["norm_2"](network(C) + C)


def shift_targets(tokens):
    pairs = tokens.unfold(0, 2, 1)
    return pairs[:, 0], pairs[:, 1]
