"""Knows how a submission's logits compare with the reference's once it has loaded the reference's weights."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from weakref import WeakKeyDictionary

import numpy as np

from grader.compare import Array, Tolerance, first_gap
from grader.misconceptions import all_misconceptions
from grader.misconceptions.lm_forward import Forward
from grader.misconceptions.lm_models import WAYS
from grader.part import Part
from grader.probes.lm import SIZES, ids, model
from grader.probes.module import Raised, process
from grader.worker import Missing, StudentFault, Worker
from reference.lm import ACTIVATIONS, LM, draw

HEADS = SIZES["heads"]
MOST_PAIRS = 6000
_known: WeakKeyDictionary[Worker, dict[int, Compared | None]] = WeakKeyDictionary()


@dataclass(frozen=True)
class Question:
    """Tokens (2, 7), and weights for them: with learned positions or without, ordinary or with tiny embeddings."""

    label: str
    rotary: bool
    tiny: bool

    def tokens(self, seed: int) -> Array:
        """shapes: (2, 7)"""
        return ids((seed, 67, self.rotary, self.tiny), 2, 7)

    def weights(self, seed: int) -> dict[str, Array]:
        """The reference's, seeded; tiny embeddings show what eps does."""
        sizes = {key: value for key, value in SIZES.items() if key not in ("heads", "context")}
        drawn = draw(seed + 100 * self.tiny, **sizes, context=0 if self.rotary else SIZES["context"])
        for name in ("embedding", "positions") if self.tiny else ():
            if name in drawn:
                drawn[name] = 0.02 * drawn[name]
        return drawn


QUESTIONS = (
    Question("rotary positions", rotary=True, tiny=False),
    Question("learned positions", rotary=False, tiny=False),
    Question("rotary positions, small embeddings", rotary=True, tiny=True),
)


@dataclass(frozen=True)
class Compared:
    """The submission's logits beside the reference's, question by question.

    kind   the activation with which they agree best
    names  the mistakes that make them, on all questions
    shapes: observed and expected (2, 7, v)
    """

    observed: tuple[Array, ...]
    expected: tuple[Array, ...]
    kind: str
    right: bool
    names: tuple[str, ...]


@cache
def expected(seed: int, kind: str) -> tuple[Array, ...]:
    """The reference's logits for all questions."""
    return tuple(LM.DecoderLM(q.tokens(seed), q.weights(seed), HEADS, kind) for q in QUESTIONS)


def compare(part: Part, seed: int) -> Compared | None:
    """The comparison, made once in each process; None where `load_reference` is left out. errors: the worker's."""
    known = _known.setdefault(process(part), {})
    if seed not in known:
        known[seed] = _compared(part, seed)
    return known[seed]


def names(part: Part, seed: int) -> tuple[str, ...]:
    """The mistakes that the numbers show; none where they cannot be had or are right."""
    with suppress(StudentFault):
        found = compare(part, seed)
        return found.names if found else ()
    return ()


def _compared(part: Part, seed: int) -> Compared | None:
    observed = []
    for question in QUESTIONS:
        m = model(part, rotary=question.rotary, fresh=True)
        try:
            m.load_reference(question.weights(seed))
        except Missing:
            return None
        except Raised as fault:
            if fault.type == "NotImplementedError":
                return None
            raise
        observed.append(m.logits(question.tokens(seed)))
    near = {kind: _distance(observed, expected(seed, kind)) for kind in ACTIVATIONS}
    kind = min(near, key=lambda kind: (not np.isfinite(near[kind]), near[kind]))
    right = _agree(observed, expected(seed, kind), part.tolerance) or _agree(observed, expected(seed, kind), part.loose)
    found = () if right else _mistakes(part, seed, observed)
    return Compared(tuple(observed), expected(seed, kind), kind, right, found)


def _distance(left: list[Array], right: tuple[Array, ...]) -> float:
    return float(max(np.abs(a - b).max() for a, b in zip(left, right, strict=True)))


def _agree(left: list[Array], right: tuple[Array, ...] | list[Array], tolerance: Tolerance) -> bool:
    return all(first_gap(a, b, tolerance) is None for a, b in zip(left, right, strict=True))


def _mistakes(part: Part, seed: int, observed: list[Array]) -> tuple[str, ...]:
    """The one mistake that gives all of the logits, or else the two."""
    given = [(q.tokens(seed), q.weights(seed)) for q in QUESTIONS]
    for several in (_one(), _two()):
        exact, near = set[tuple[str, ...]](), set[tuple[str, ...]]()
        for key, way in several:
            for kind in ACTIVATIONS:
                if _gives(way, kind, given, observed, part.loose):
                    near.add(key)
                    if _gives(way, kind, given, observed, part.tolerance):
                        exact.add(key)
        found = sorted(exact or near)
        if found:
            return found[0] if len(found) == 1 else ()
    return ()


def _one() -> Iterator[tuple[tuple[str, ...], Forward]]:
    all_misconceptions()
    for key, way in WAYS:
        yield (key,), Forward(**way)


def _two() -> Iterator[tuple[tuple[str, ...], Forward]]:
    tried = 0
    for (key, way), (other, more) in combinations(WAYS, 2):
        if key != other and not way.keys() & more.keys() and tried < MOST_PAIRS:
            tried += 1
            yield tuple(sorted((key, other))), Forward(**way, **more)


def _gives(
    way: Forward, kind: str, given: list[tuple[Array, dict[str, Array]]], observed: list[Array], tolerance: Tolerance
) -> bool:
    """Whether a wrong way gives the observed logits; the last position of the first question rules most of them out."""
    with np.errstate(all="ignore"):
        for (tokens, weights), found in zip(given, observed, strict=True):
            made = way(tokens, weights, HEADS, kind)
            if made.shape != found.shape or not np.isfinite(made).all() or first_gap(found, made, tolerance):
                return False
    return True
