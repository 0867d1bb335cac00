"""Knows in which settings a block is asked besides the small one: wide, long, one head, single, training."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from grader.compare import Array
from grader.part import Part
from grader.probes.module import HEADS, WIDTH, Instance, Precision, Raised, build, process, student_of
from grader.student import Student
from grader.worker import Crashed, Worker

R = TypeVar("R")


@dataclass(frozen=True)
class Setting:
    """Sizes that a block is made in and asked for: `label` says which, in a sentence's end."""

    label: str
    B: int
    T: int
    width: int = WIDTH
    heads: int = HEADS
    precision: Precision | None = None

    def x(self, key: tuple[int, ...], stream: int = 0) -> Array:
        """Random vectors. shapes: (B, T, d)"""
        drawn: Array = np.random.default_rng((*key, stream)).standard_normal((self.B, self.T, self.width))
        return drawn


# From 16 positions on, torch's own attention is wrong for float64 and a mask of float32, which is right for float32.
WIDE = Setting("width 64, 4 heads, 12 positions", 4, 12, 64, 4)
LONE = Setting("one head", 2, 9, 10, 1)
LONG = Setting("200 positions", 1, 200, precision="float32")
SINGLE = Setting("float32", 2, 8, precision="float32")
_training: WeakKeyDictionary[Worker, dict[tuple[str, int], Instance | None]] = WeakKeyDictionary()
_failed: WeakKeyDictionary[Student, set[Setting]] = WeakKeyDictionary()


def asked(part: Part, setting: Setting, seed: int, question: Callable[[Instance], R]) -> R | None:
    """What a redrawn block answers in a setting; None where it does not work there, which other checks say."""
    failed = _failed.setdefault(student_of(part), set())
    if setting in failed:
        return None
    try:
        block = build(part, width=setting.width, heads=setting.heads, precision=setting.precision)
        return question(block.redraw(seed))
    except (Raised, Crashed):
        failed.add(setting)
        return None


def in_training(part: Part, seed: int, x: Array) -> Instance | None:
    """A redrawn block in training; None where two calls that begin with the same random numbers disagree.

    Dropout draws the same numbers for the same shapes, so what holds in evaluation holds here. None also where training
    changes what evaluation gives, as another check says.
    """
    known = _training.setdefault(process(part), {})
    key = part.name, seed
    if key not in known:
        known[key] = _in_training(build(part, fresh=True, plain=True).redraw(seed), x)
    return known[key]


def _in_training(block: Instance, x: Array) -> Instance | None:
    before = block.forward(x)
    try:
        block.train(True)
        once, twice = block.forward(x), block.forward(x)
        block.train(False)
        after = block.forward(x)
        block.train(True)
    except Raised:
        return None
    return block if np.array_equal(once, twice) and np.array_equal(before, after) else None
