"""Knows a submission's language model as checks see it: made there, asked for logits, decoded with its cache."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.compare import Array
from grader.part import Part
from grader.probes.module import Instance, Precision, build, student_of
from grader.worker import BadResult, Handle, Reply

MODEL = "DecoderLM"
# B = 2, T = 7, v = 11, d = 12, h = 3, d_k = 4, m = 20, L = 2 and the context 16 differ pairwise
SIZES = {"vocab_size": 11, "context": 16, "width": 12, "heads": 3, "layers": 2, "hidden": 20}


@dataclass(frozen=True)
class Model:
    """A DecoderLM in the submission's process, in evaluation mode.

    errors: the worker's faults, which the engine turns into verdicts; BadResult for another shape
    """

    instance: Instance
    arguments: Mapping[str, Any]

    @property
    def handle(self) -> Handle:
        """Its name in the submission's process, to be given as an argument of calls."""
        return self.instance.modules[0]

    @property
    def vocab_size(self) -> int:
        """v."""
        return int(self.arguments["vocab_size"])

    def logits(self, tokens: Array) -> Array:
        """forward. shapes: (B, T) -> (B, T, v), float64"""
        return self._checked(self.instance.forward(tokens), tokens)

    def decode(self, tokens: Array, cache: Handle | None = None) -> tuple[Array, Handle]:
        """The logits of the new positions, and the new cache. shapes: (B, t) -> (B, t, v), float64"""
        reply = self.call(f"{self.handle}.decode", (tokens, cache), ("array", "handle"))
        logits, after = reply.value
        return self._checked(logits, tokens), after

    def decoded(self, tokens: Array, schedule: tuple[int, ...]) -> Array:
        """The logits of all positions, decoded in chunks of these lengths. shapes: (B, T) -> (B, T, v)"""
        cache, found, at = None, [], 0
        for length in schedule:
            logits, cache = self.decode(tokens[:, at : at + length], cache)
            found.append(logits)
            at += length
        return np.concatenate(found, axis=1)

    def call(self, target: str, args: tuple[Any, ...] = (), want: Any = "array", **kwargs: Any) -> Reply:
        """Call a function or method there; handles name objects that stay there."""
        part = self.instance.part
        return student_of(part).ask(part.part, lambda w: w.call(target, args, want, kwargs=kwargs))

    def load_reference(self, weights: Mapping[str, Array]) -> None:
        """Copy the reference's weights in; where `load_reference` is not there, Missing."""
        given = {name: np.asarray(value, self.instance.precision) for name, value in weights.items()}
        self.call(f"{self.handle}.load_reference", (given,), "none")

    def redraw(self, seed: int, scale: float = 1.0) -> Model:
        """Numbers of ordinary size in every parameter that learns."""
        self.instance.redraw(seed, scale)
        return self

    def _checked(self, logits: Array, tokens: Array) -> Array:
        wanted = (*tokens.shape, self.vocab_size)
        if logits.shape != wanted:
            raise BadResult(
                f"returned the shape {list(logits.shape)} for tokens {list(tokens.shape)}; {list(wanted)} is wanted"
            )
        return logits.astype(np.float64)


def model(part: Part, *, precision: Precision | None = None, fresh: bool = False, **changed: Any) -> Model:
    """A model of the sizes in `SIZES`, or of others; rotary=False for learned positions.

    One that was made before is used again, with whatever its parameters hold, unless a `fresh` one is asked for.
    """
    part = part if part.name == MODEL else part.sibling(MODEL)
    arguments = {**SIZES, **changed}
    probe = np.zeros((1, 2), np.int64)
    return Model(build(part, arguments=arguments, probe=probe, precision=precision, fresh=fresh), arguments)


def ids(key: tuple[int, ...], *shape: int, vocab_size: int = SIZES["vocab_size"]) -> Array:
    """Random token ids of a shape."""
    drawn: Array = np.random.default_rng(key).integers(0, vocab_size, shape)
    return drawn
