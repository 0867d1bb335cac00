"""Knows the runs of `train` that several checks look at: a small model, a text of different ids, everything watched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.compare import Array
from grader.part import Part
from grader.probes.lm import Model, model
from grader.probes.next_token import Batch
from grader.probes.watched import STEP, Call, Watched, kept, watch

SIZES = {"vocab_size": 61, "context": 9, "width": 12, "heads": 3, "layers": 2, "hidden": 20}
CONTEXT, VOCABULARY = SIZES["context"], SIZES["vocab_size"]
LONG = 41  # tokens of the text; it has 32 windows
STEPS, ROWS, RATE = 5, 3, 0.01


@dataclass(frozen=True)
class Text:
    """Pairwise different ids: each one tells where it stands. shapes: ids (n)"""

    ids: Array

    @property
    def follows(self) -> Array:
        """The id after each id, -1 after the last one and for ids that are not there. shapes: (v)"""
        found = np.full(VOCABULARY, -1)
        found[self.ids[:-1]] = self.ids[1:]
        return found

    @property
    def before(self) -> Array:
        """The id before each id, -1 where there is none. shapes: (v)"""
        found = np.full(VOCABULARY, -1)
        found[self.ids[1:]] = self.ids[:-1]
        return found

    def places(self, tokens: Array) -> Array:
        """Where ids stand in the text, -1 for those that do not. shapes: any -> the same"""
        found = np.full(VOCABULARY, -1)
        found[self.ids] = np.arange(len(self.ids))
        inside = (tokens >= 0) & (tokens < VOCABULARY)
        return np.where(inside, found[np.where(inside, tokens, 0)], -1)

    def batch(self, calls: list[Call]) -> Batch | None:
        """Windows of one length, pieces of the text, with their logits; None where they are no such."""
        lengths = {call.tokens.shape[1] for call in calls}
        if len(lengths) != 1 or not all(self.runs(call.tokens).all() for call in calls):
            return None
        logits = [call.logits for call in calls if call.logits is not None]
        if len(logits) != len(calls) or any(z.shape[2] != VOCABULARY or not np.isfinite(z).all() for z in logits):
            return None
        x = np.concatenate([call.tokens for call in calls])
        return Batch(np.concatenate(logits), x, self.follows, self.before)

    def runs(self, tokens: Array) -> Array:
        """For each row, whether it is a piece of the text. shapes: (B, T) -> (B)"""
        places = self.places(tokens)
        return np.asarray((places >= 0).all(axis=1) & (np.diff(places, axis=1) == 1).all(axis=1))


def text(seed: int, n: int = LONG) -> Text:
    """n ids, in an order of chance."""
    return Text(np.random.default_rng((seed, 73)).permutation(VOCABULARY)[:n].astype(np.int64))


def new(part: Part, seed: int) -> Model:
    """A model whose losses lie well apart from ln v, the same one each time."""
    sizes: dict[str, Any] = SIZES
    return model(part, fresh=True, **sizes).redraw(seed)


def run(
    part: Part,
    seed: int,
    *,
    n: int = LONG,
    steps: int = STEPS,
    rows: int = ROWS,
    lr: float = RATE,
    drawn: int = 0,
    around: int = 1,
) -> Watched:
    """One run of `train`, made once for a submission.

    drawn   the seed that `train` gets; around: that of the global random generators
    """

    def made() -> Watched:
        return watch(
            part,
            new(part, seed),
            text(seed, n).ids,
            around=around,
            steps=steps,
            batch_size=rows,
            lr=lr,
            seed=drawn,
        )

    found: Watched = kept(part, f"{seed} {n} {steps} {rows} {lr} {drawn} {around}", made)
    return found


def groups(found: Watched, steps: int) -> list[list[Call]] | None:
    """The calls of each step; None where they cannot be told apart."""
    trained = list(found.trained)
    numbers = {call.number for call in trained}
    taken = [event for event in found.events if event.kind == STEP]
    if taken and all(event.second for event in taken):  # a step that calls the model itself: its first call counts
        opened: list[list[Call]] = []
        for event in found.events:
            if event.kind == STEP:
                opened.append([])
            elif opened and event.call in numbers and not opened[-1]:
                opened[-1].append(found.calls[event.call])
        return opened if len(opened) == steps and all(opened) else None
    if trained and len(trained) % steps == 0:
        size = len(trained) // steps
        return [trained[i * size : (i + 1) * size] for i in range(steps)]
    return None


def drops_out(part: Part, seed: int) -> bool:
    """Whether the model is random in training."""

    def made() -> bool:
        one, x = new(part, seed), text(seed).ids[None, :CONTEXT]
        one.instance.train(True)
        try:
            first, second = (one.instance.forward(x, seed=place) for place in (1, 2))
        finally:
            one.instance.train(False)
        return first.shape == second.shape and not np.allclose(first, second, rtol=1e-6, atol=1e-6)

    return bool(kept(part, f"drops out {seed}", made))
