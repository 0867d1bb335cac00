"""Knows what a submission does to a model while it trains or evaluates it: every call, gradient and step, as values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from grader.compare import Array
from grader.part import Part
from grader.probes.lm import Model
from grader.probes.module import student_of
from grader.student import Student
from grader.worker import BadResult

FORM = {"value": np.ndarray, "tokens": object, "calls": list, "pulled": list, "events": np.ndarray,
        "reached": np.ndarray, "learning": np.ndarray, "first": list, "before": list, "after": list, "modes": list,
        "grads": bool}  # fmt: skip
FORWARD, BACKWARD, STEP = 0, 1, 2
_kept: WeakKeyDictionary[Student, dict[str, Any]] = WeakKeyDictionary()


@dataclass(frozen=True)
class Call:
    """One call of the model. `pulled` is the gradient that came back to its logits.

    shapes: tokens (B, T), logits (B, T, v) or None, pulled (B, T, v) or None
    """

    number: int
    tokens: Array
    logits: Array | None
    pulled: Array | None
    graph: bool
    training: bool
    own: bool


@dataclass(frozen=True)
class Event:
    """What happened, in order. For BACKWARD and STEP see `grader/worker/inside/stepping.py`."""

    kind: int
    call: int
    first: bool
    second: bool


@dataclass(frozen=True)
class Watched:
    """One run of `train` or `evaluate`.

    value             what was returned
    tokens            the ids as they are afterwards, or None where they are no array any more
    reached           for each parameter, the greatest entry of its gradient at any step
    learning          for each parameter, whether it could learn throughout
    before, first, after   the parameters, before, at the first call of the model, and after
    modes             whether each module trains, before and after
    """

    value: Array
    tokens: Array | None
    calls: tuple[Call, ...]
    events: tuple[Event, ...]
    reached: Array
    learning: Array
    before: tuple[Array, ...]
    first: tuple[Array, ...]
    after: tuple[Array, ...]
    modes: tuple[tuple[bool, ...], tuple[bool, ...]]
    grads: bool

    @property
    def trained(self) -> tuple[Call, ...]:
        """The calls that a gradient came back to; where none did, those with a graph."""
        return tuple(c for c in self.calls if c.pulled is not None) or tuple(c for c in self.calls if c.graph)

    @property
    def moved(self) -> tuple[float, ...]:
        """By how much each parameter has changed at most since the model was called for the first time."""
        return _distances(self.first, self.after)

    @property
    def replaced(self) -> tuple[float, ...]:
        """By how much each parameter has changed when the model is called for the first time."""
        return _distances(self.before, self.first)


def watch(
    part: Part,
    model: Model,
    tokens: Array,
    *,
    around: int = 0,
    training: bool = False,
    **arguments: Any,
) -> Watched:
    """Run `train` or `evaluate`, whichever the part is, on a model and ids.

    around, training the seed of the global random generators, and the mode of the model before
    errors           the worker's faults
    """
    asked: dict[str, Any] = {
        "target": part.name,
        "model": model.handle,
        "tokens": np.asarray(tokens, np.int64),
        "kwargs": arguments,
        "seed": around,
        "training": training,
    }
    told = student_of(part).ask(part.part, lambda w: w.told("training_watched", FORM, **asked))
    try:
        return _read(told)
    except (TypeError, ValueError, IndexError, KeyError):
        raise BadResult("did to the model what cannot be told") from None


def kept(part: Part, key: str, run: Callable[[], Any]) -> Any:
    """What `run` gives, computed once for a submission; errors: those of `run`, each time."""
    known = _kept.setdefault(student_of(part), {})
    if key not in known:
        known[key] = run()
    return known[key]


def _read(told: dict[str, Any]) -> Watched:
    calls = tuple(
        Call(i, _ids(tokens), _cube(logits, tokens), _cube(pulled, tokens), bool(graph), bool(training), bool(own))
        for i, ((tokens, logits, graph, training, own), pulled) in enumerate(
            zip(told["calls"], told["pulled"], strict=True)
        )
    )
    if any(c.logits is not None and c.pulled is not None and c.logits.shape != c.pulled.shape for c in calls):
        raise ValueError("a gradient of another shape")
    events = told["events"].reshape(-1, 3).tolist()
    if any(kind != STEP and not 0 <= call < len(calls) for kind, call, _ in events):
        raise ValueError("an event of no call")
    modes = tuple(tuple(bool(mode) for mode in side) for side in told["modes"])
    before, first, after = (tuple(np.asarray(p, np.float64) for p in told[key]) for key in ("before", "first", "after"))
    reached, learning = told["reached"], told["learning"]
    if len(modes) != 2 or not _shapes(before) == _shapes(first) == _shapes(after):
        raise ValueError("another model")
    if before and not len(before) == reached.size == learning.size:
        raise ValueError("another number of parameters")
    return Watched(
        value=told["value"],
        tokens=told["tokens"] if isinstance(told["tokens"], np.ndarray) else None,
        calls=calls,
        events=tuple(Event(int(k), int(c), bool(int(f) & 1), bool(int(f) & 2)) for k, c, f in events),
        reached=reached.astype(np.float64),
        learning=learning,
        before=before,
        first=first,
        after=after,
        modes=(modes[0], modes[1]),
        grads=told["grads"],
    )


def _shapes(arrays: tuple[Array, ...]) -> list[tuple[int, ...]]:
    return [array.shape for array in arrays]


def _distances(one: tuple[Array, ...], other: tuple[Array, ...]) -> tuple[float, ...]:
    return tuple(float(np.abs(a - b).max()) if a.size else 0.0 for a, b in zip(one, other, strict=True))


def _ids(tokens: Any) -> Array:
    if not isinstance(tokens, np.ndarray) or tokens.ndim != 2 or tokens.dtype.kind not in "iu" or not tokens.size:
        raise ValueError("no ids")
    return tokens


def _cube(values: Any, tokens: Array) -> Array | None:
    if values is None:
        return None
    if not isinstance(values, np.ndarray) or values.ndim != 3 or values.shape[:2] != tokens.shape:
        raise ValueError("no logits")
    return values.astype(np.float64)
