"""Knows the hostile submissions: what each tries, what may happen, and the honest functions around it.

One file of data for each kind. A submission is honest in all parts but `next_token_probabilities`, which nothing else
uses, unless its `code` replaces more.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
KINDS = ("leave", "stay", "grow", "read", "write", "lie", "remember", "detect", "escape")
LEVELS = ("sandbox", "process")
TARGET = "next_token_probabilities"

HONEST = {
    "numpy": """
import numpy as np
def attention_scores(Q, K):
    return Q @ K.T / np.sqrt(Q.shape[1])
def layer_norm(H, gain, shift, eps):
    c = H - H.mean(-1, keepdims=True)
    return gain * c / np.sqrt((c * c).mean(-1, keepdims=True) + eps) + shift
def right(Z):
    e = np.exp(Z - Z.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)
def wrong(Z):
    return np.zeros(np.shape(Z))
def next_token_probabilities(Z):
    return right(Z)
def loss(Z, targets):
    c = Z - Z.max(-1, keepdims=True)
    logs = c - np.log(np.exp(c).sum(-1, keepdims=True))
    return -logs[np.arange(len(targets)), targets].mean()
""",
    "torch": """
import torch
def attention_scores(Q, K):
    return Q @ K.T / Q.shape[1] ** 0.5
def layer_norm(H, gain, shift, eps):
    c = H - H.mean(-1, keepdim=True)
    return gain * c / torch.sqrt((c * c).mean(-1, keepdim=True) + eps) + shift
def right(Z):
    return torch.softmax(Z, -1)
def wrong(Z):
    return Z * 0
def next_token_probabilities(Z):
    return right(Z)
def loss(Z, targets):
    return torch.nn.functional.cross_entropy(Z, targets)
""",
}


@dataclass(frozen=True)
class Hostile:
    """One submission of a kind.

    may      what may happen, for a reader
    status   what the grading may end with
    earns    whether the numbers of the attacked part are right, so that it must keep its points; else it earns none
    verdict  what its checks may end with when they do not pass; empty: anything
    loses    other parts that it spoils for itself
    levels   where the promise is given
    """

    kind: str
    name: str
    may: str
    code: str
    base: str = "numpy"
    status: tuple[str, ...] = ("graded",)
    earns: bool = False
    verdict: tuple[str, ...] = ()
    loses: tuple[str, ...] = ()
    levels: tuple[str, ...] = LEVELS

    @property
    def source(self) -> str:
        """The module that is handed in."""
        return f"{HONEST[self.base]}\n{self.code}"


def submissions() -> tuple[Hostile, ...]:
    """All of them, kind by kind, in the order of their files."""
    found = []
    for kind in KINDS:
        for entry in tomllib.loads((HERE / f"{kind}.toml").read_text("utf-8"))["submission"]:
            lists = {key: tuple(value) for key, value in entry.items() if isinstance(value, list)}
            found.append(Hostile(kind=kind, **{**entry, **lists}))
    return tuple(found)
