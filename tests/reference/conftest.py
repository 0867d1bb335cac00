"""Draws decoders of any size: every gain, shift and bias is random, so that nothing hides behind a default."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest


@dataclass(frozen=True)
class Sizes:
    T: int = 4
    d: int = 6
    d_k: int = 2
    d_v: int = 3
    h: int = 2
    m: int = 5
    v: int = 7
    L: int = 2
    positions: bool = True

    def __str__(self):
        return "-".join(f"{name}{int(value)}" for name, value in vars(self).items())


class Draw:
    """The arguments of every reference function, seeded."""

    def __init__(self, sizes: Sizes = Sizes(), seed: int = 0) -> None:
        self.s, self.rng = sizes, np.random.default_rng(seed)

    def normal(self, *shape: int) -> np.ndarray:
        return self.rng.standard_normal(shape)

    def H(self) -> np.ndarray:
        return self.normal(self.s.T, self.s.d)

    def ids(self) -> np.ndarray:
        return self.rng.integers(self.s.v, size=self.s.T)

    def head(self) -> tuple[np.ndarray, ...]:
        s = self.s
        return self.normal(s.d, s.d_k), self.normal(s.d, s.d_k), self.normal(s.d, s.d_v)

    def heads(self) -> list[tuple[np.ndarray, ...]]:
        return [self.head() for _ in range(self.s.h)]

    def W_O(self) -> np.ndarray:
        return self.normal(self.s.h * self.s.d_v, self.s.d)

    def norm(self) -> dict[str, np.ndarray]:
        return {"gain": self.normal(self.s.d), "shift": self.normal(self.s.d)}

    def network(self) -> dict[str, np.ndarray]:
        d, m = self.s.d, self.s.m
        return {"W_1": self.normal(d, m), "b_1": self.normal(m), "W_2": self.normal(m, d), "b_2": self.normal(d)}

    def block(self) -> dict[str, Any]:
        attention = {"heads": self.heads(), "W_O": self.W_O()}
        return {"norm_1": self.norm(), "norm_2": self.norm(), **attention, **self.network(), "eps": 0.01}

    def params(self) -> dict[str, Any]:
        s = self.s
        params = {
            "embedding": self.normal(s.v, s.d),
            "blocks": [self.block() for _ in range(s.L)],
            "norm_f": self.norm(),
            "W_out": self.normal(s.d, s.v),
            "b_out": self.normal(s.v),
            "eps": 0.02,
        }
        return {**params, "positions": self.normal(s.T + 2, s.d)} if s.positions else params

    def arguments(self) -> dict[str, tuple[Any, ...]]:
        """Arguments for each function of the book, by name."""
        s = self.s
        return {
            "softmax": (self.normal(s.T, s.v),),
            "attention_scores": (self.normal(s.T, s.d_k), self.normal(s.T + 1, s.d_k)),
            "causal_attention_weights": (3 * self.normal(s.T, s.T),),
            "attention_head": (self.H(), *self.head()),
            "multi_head_attention": (self.H(), self.heads(), self.W_O()),
            "layer_norm": (self.H(), self.normal(s.d), self.normal(s.d), 0.01),
            "feed_forward": (self.H(), *self.network().values()),
            "decoder_block": (self.H(), self.block()),
            "decoder": (self.ids(), self.params()),
            "next_token_probabilities": (self.normal(s.T, s.v),),
            "loss": (self.normal(s.T, s.v), self.ids()),
            "hand_calculation": (),
        }


@pytest.fixture
def draw():
    return Draw


@pytest.fixture
def sizes():
    return Sizes
