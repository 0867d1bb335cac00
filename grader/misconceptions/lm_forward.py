"""Knows a language model's forward pass with a choice at each of its places; each default is right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from reference.lm import LM, depth, layer

Array = np.ndarray[Any, Any]
Weights = Mapping[str, Any]


@dataclass(frozen=True)
class Forward:
    """One way to compute logits from tokens (B, T) and the reference's weights.

    shapes: (B, T), weights -> (B, T, v)
    errors: those of the reference; NaN where a row may consult nothing
    """

    embedded: str = "E"
    places: str = "t"
    turned: str = "q k"
    turn: str = "halves"
    frequencies: str = "book"
    mask: str = "causal"
    scale: str = "root"
    scores: str = "q k"
    weights: str = "softmax"
    split: str = "heads"
    merged: str = "heads"
    out: str = "W_O"
    matrices: str = "as given"
    norm: str = "layer"
    eps: float = 1e-5
    wiring: str = "pre"
    final: str = "norm_f"
    norms: str = "1 2"
    activation: str = "between"
    network: str = "own"
    biases: str = "both"
    layers: str = "in order"
    result: str = "logits"
    readout: str = "W_out"

    def __call__(self, tokens: Array, weights: Weights, heads: int, kind: str) -> Array:
        """The logits, or what stands in their place."""
        E = np.asarray(weights["embedding"])
        H = E[tokens] * (np.sqrt(E.shape[1]) if self.embedded == "times root" else 1.0)
        turned = weights.get("positions") is None
        if not turned:
            t = np.arange(tokens.shape[1])
            table = np.asarray(weights["positions"])
            rows = {"t": t, "one ahead": (t + 1) % len(table), "reversed": t[::-1], "first": 0 * t}.get(self.places)
            H = H if rows is None else H + table[rows]
        for number in self._order(depth(weights)):
            block = layer(weights, number)
            if self.network == "first":
                block |= {name: layer(weights, 0)[name] for name in ("W_1", "b_1", "W_2", "b_2")}
            H = self._block(H, block, heads, kind, turned or self.turned == "always")
        N = self._norm(H, weights, "norm_f") if self.final == "norm_f" else H
        Z = N @ (E.T if self.readout == "E" else np.asarray(weights["W_out"]))
        return self._told(Z + (0 if self.readout == "no bias" else np.asarray(weights["b_out"])))

    def _order(self, count: int) -> list[int]:
        order = list(range(count))
        ways = {"reversed": order[::-1], "no last": order[:-1], "no first": order[1:]}
        ways |= {"first again": [0] * count, "last again": order[-1:] * count, "twice": sorted(order * 2)}
        return ways.get(self.layers, order)

    def _told(self, Z: Array) -> Array:
        if self.result == "logits":
            return Z
        low = Z - Z.max(axis=-1, keepdims=True)
        log = low - np.log(np.exp(low).sum(axis=-1, keepdims=True))
        return np.asarray(np.exp(log) if self.result == "probabilities" else log)

    def _block(self, H: Array, block: Weights, heads: int, kind: str, turned: bool) -> Array:
        first, second = (f"norm_{number}" for number in self.norms.split())

        def one(x: Array) -> Array:
            return self._norm(x, block, first)

        def two(x: Array) -> Array:
            return self._norm(x, block, second)

        def M(x: Array) -> Array:
            return self._attention(x, block, heads, turned)

        def F(x: Array) -> Array:
            return self._network(x, block, kind)

        def both(attended: Array, fed: Any) -> Array:
            total: Array = attended + fed(attended)
            return total

        ways: dict[str, Any] = {
            "pre": lambda: both(H + M(one(H)), lambda U: F(two(U))),
            "post": lambda: two(both(one(H + M(H)), F)),
            "none": lambda: both(H + M(H), F),
            "no norm before attention": lambda: both(H + M(H), lambda U: F(two(U))),
            "no norm before feed-forward": lambda: both(H + M(one(H)), F),
            "norm on branch": lambda: both(H + one(M(H)), lambda U: two(F(U))),
            "from norm": lambda: both((N := one(H)) + M(N), lambda U: two(U) - U + F(two(U))),
            "attention from norm": lambda: both((N := one(H)) + M(N), lambda U: F(two(U))),
            "feed-forward from norm": lambda: both(H + M(one(H)), lambda U: two(U) - U + F(two(U))),
            "no residual around attention": lambda: both(M(one(H)), lambda U: F(two(U))),
            "no residual around feed-forward": lambda: F(two(H + M(one(H)))),
            "no residuals": lambda: F(two(M(one(H)))),
            "from the input": lambda: H + F(two(H + M(one(H)))),
            "doubled": lambda: both(2 * H + M(one(H)), lambda U: F(two(U))),
            "parallel": lambda: H + M(one(H)) + F(two(H)),
            "one norm": lambda: H + M(N := one(H)) + F(N),
            "feed-forward first": lambda: both(H + F(two(H)), lambda U: M(one(U))),
            "no attention": lambda: both(H, lambda U: F(two(U))),
            "no feed-forward": lambda: H + M(one(H)),
        }
        made: Array = ways[self.wiring]()
        return made

    def _norm(self, x: Array, weights: Weights, name: str) -> Array:
        gain, shift = np.asarray(weights[f"{name}.gain"]), np.asarray(weights[f"{name}.shift"])
        d, eps = x.shape[-1], self.eps
        X = x if self.norm == "rms" else x - x.mean(axis=-1, keepdims=True)
        variance = (X**2).sum(axis=-1, keepdims=True) / (d - 1 if self.norm == "unbiased" else d)
        spread = np.sqrt(variance + eps)
        if self.norm == "eps outside":
            spread = np.sqrt(variance) + eps
        elif self.norm == "variance":
            spread = variance + eps
        out: Array = X / spread * (1 if self.norm == "no gain" else gain)
        return out if self.norm in ("no shift", "rms") else out + shift

    def _network(self, N: Array, block: Weights, kind: str) -> Array:
        W_1, W_2 = np.asarray(block["W_1"]), np.asarray(block["W_2"])
        b_1 = 0 if self.biases == "no first" else np.asarray(block["b_1"])
        b_2 = 0 if self.biases == "no second" else np.asarray(block["b_2"])
        hidden = N @ W_1 + b_1
        if self.activation in ("between", "twice"):
            hidden = LM.activation(hidden, kind)
        out: Array = hidden @ W_2 + b_2
        return LM.activation(out, kind) if self.activation in ("last", "twice") else out

    def _attention(self, N: Array, block: Weights, heads: int, turned: bool) -> Array:
        B, T, d = N.shape
        names = {"q k": "QKV", "swapped": "KQV", "q q": "QQV", "k k": "KKV", "v is k": "QKK", "v is q": "QKQ"}
        names |= {"v is read": "QK-"}
        matrices = [np.asarray(block[f"W_{name}"]) if name != "-" else np.eye(d) for name in names[self.scores]]
        if self.matrices == "transposed":
            matrices = [W.T for W in matrices]
        Q, K, V = (self._heads(N @ W, heads) for W in matrices)
        if turned:
            Q = self._turned(Q, d) if "q" in self.turned or self.turned == "always" else Q
            K = self._turned(K, d) if "k" in self.turned or self.turned == "always" else K
            V = self._turned(V, d) if "v" in self.turned.split() else V
        d_k = d // heads
        factors = {"root": d_k**-0.5, "none": 1.0, "d_k": 1 / d_k, "times": d_k**0.5, "width": d**-0.5}
        factors |= {"heads": heads**-0.5, "length": T**-0.5, "fourth": d_k**-0.25, "times d_k": float(d_k)}
        O = self._weights(Q @ K.swapaxes(-1, -2) * factors[self.scale]) @ V
        if self.merged == "no transpose":
            joined = O.reshape(B, T, d)
        elif self.merged == "reversed":
            joined = O[:, ::-1].swapaxes(1, 2).reshape(B, T, d)
        elif self.merged == "inside out":
            joined = O.transpose(0, 2, 3, 1).reshape(B, T, d)
        else:
            joined = O.swapaxes(1, 2).reshape(B, T, d)
        W_O = np.asarray(block["W_O"])
        return joined if self.out == "missing" else joined @ (W_O.T if self.matrices == "transposed" else W_O)

    def _heads(self, x: Array, heads: int) -> Array:
        B, T, d = x.shape
        if self.split == "no transpose":
            return x.reshape(B, heads, T, d // heads)
        if self.split == "inside out":
            return x.reshape(B, T, d // heads, heads).transpose(0, 3, 1, 2)
        if self.split == "one":
            return x[:, None]
        return x.reshape(B, T, heads, d // heads).swapaxes(1, 2)

    def _turned(self, x: Array, d: int) -> Array:
        T, d_k = x.shape[-2:]
        i = np.arange(d_k // 2)
        angles = {
            "book": 10000.0 ** (-2 * i / d_k),
            "half exponent": 10000.0 ** (-i / d_k),
            "double exponent": 10000.0 ** (-4 * i / d_k),
            "of the width": 10000.0 ** (-2 * i / d),
            "base 1000": 1000.0 ** (-2 * i / d_k),
            "base 100000": 100000.0 ** (-2 * i / d_k),
            "base 500000": 500000.0 ** (-2 * i / d_k),
            "growing": 10000.0 ** (2 * i / d_k),
            "one": np.ones(d_k // 2),
        }[self.frequencies]
        phi = np.arange(T)[:, None] * angles
        if self.turn == "heads":
            phi = np.broadcast_to(np.arange(x.shape[1])[:, None, None] * angles, (x.shape[1], T, d_k // 2))
        cos, sin = np.cos(phi), np.sin(phi)
        sin = -sin if self.turn == "other way" else sin
        if self.turn == "interleaved":
            a, b = x[..., ::2], x[..., 1::2]
            return np.stack([a * cos - b * sin, a * sin + b * cos], axis=-1).reshape(x.shape)
        a, b = np.split(x, 2, axis=-1)
        if self.turn == "mixed":
            turned_by_half = np.concatenate([-b, a], axis=-1)
            return np.asarray(x * cos.repeat(2, axis=-1) + turned_by_half * sin.repeat(2, axis=-1))
        if self.turn == "no minus":
            return np.concatenate([a * cos + b * sin, a * sin + b * cos], axis=-1)
        return np.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)

    def _weights(self, S: Array) -> Array:
        T = S.shape[-1]
        past = np.tri(T, dtype=bool)
        allowed = {"none": past | True, "strict": np.tri(T, k=-1, dtype=bool), "one ahead": np.tri(T, k=1, dtype=bool)}
        allowed |= {"transposed": past.T, "inverted": ~past}
        if self.mask == "zero":
            return _softmax(S * past, -1)
        if self.mask == "after":
            return np.asarray(_softmax(S, -1) * past)
        S = np.where(allowed.get(self.mask, past), S, -np.inf)
        axis = {"over queries": -2, "over heads": 1}.get(self.weights, -1)
        A = _softmax(S, axis)
        return _softmax(A, -1) if self.weights == "twice" else A


def _softmax(S: Array, axis: int) -> Array:
    E = np.exp(S - S.max(axis=axis, keepdims=True))
    A: Array = E / E.sum(axis=axis, keepdims=True)
    return A
