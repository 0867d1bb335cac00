"""Knows which keys a decoder consults that decodes wrongly, in a model of one layer with learned positions.

There the student's own forward can be made to consult any tokens at any positions, and gives the same numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from grader.compare import Array
from grader.misconceptions.cached_decoding import RIGHT, How, consulted
from grader.misconceptions.caches import WAYS
from grader.part import Part
from grader.probes.decoding import SCHEDULES, T, agree, decoder
from grader.probes.lm import SIZES, ids
from grader.probes.module import Raised


@dataclass(frozen=True)
class Setting:
    """A kind of model that is decoded."""

    rotary: bool
    layers: int


Wrong = dict[Setting, dict[tuple[int, ...], str]]  # the schedules that go wrong, and what they raise


def settled(found: list[set[str]]) -> tuple[str, ...]:
    """The one mistake that explains all, or one for each of what was found, if each has one."""
    both = set.intersection(*found) if found else set()
    if len(both) == 1:
        return tuple(both)
    return tuple(sorted(set.union(*found))) if found and all(len(one) == 1 for one in found) else ()


def by_consulted(part: Part, seed: int, wrong: Wrong) -> tuple[str, ...]:
    """The student's own forward on what a wrong decoder consults, where positions can be put anywhere."""
    if Setting(False, 1) not in wrong:
        return ()
    ways = [(name, how) for name, how in WAYS if _expressible(how)]
    return _among(part, seed, ways, SCHEDULES)


def by_window(part: Part, seed: int) -> tuple[str, ...]:
    """Whether a number of the newest keys is all that is consulted, where short texts are decoded rightly."""
    long = SIZES["context"]
    ways = [("cache-window", How(window=width)) for width in range(1, long)]
    return _among(part, seed, ways, ((1,) * long, (long - 1, 1)))


def _among(
    part: Part, seed: int, ways: Sequence[tuple[str, How]], schedules: Sequence[tuple[int, ...]]
) -> tuple[str, ...]:
    """The one of some mistakes that gives the logits of all schedules that can be decoded."""
    settings = {"rotary": False, "layers": 1}
    own = decoder(part, seed, **settings)
    shape = (SIZES["context"], SIZES["width"])
    places = [i for i, parameter in enumerate(own.instance.parameters) if parameter.shape == shape]
    if len(places) != 1 or not own.instance.parameters[places[0]].trainable:
        return ()
    tokens, observed = ids((seed, 3), 2, sum(schedules[0])), {}
    for schedule in schedules:
        with suppress(Raised):
            observed[schedule] = decoder(part, seed, **settings).decoded(tokens, schedule)
    if len(observed) < 2:
        return ()
    table = np.asarray(own.instance.values[places[0]])

    def holds(how: How) -> bool:
        for schedule, logits in observed.items():
            for t, (rows, places_of, _) in enumerate(consulted(tokens, schedule, how)):
                values = list(own.instance.values)
                values[places[0]] = np.concatenate([table[places_of], table[len(places_of) :]])
                own.instance.fill(values)
                if not agree(part, logits[:, t], own.logits(rows)[:, -1]):
                    return False
        return True

    return settled([{name for name, how in ways if holds(how)}])


def _expressible(how: How) -> bool:
    """Whether forward can be made to do it: a query consults itself, and every key is that of a token."""
    return _of_one_layer(how) and how.mask not in ("strict", "corner") and how.keep != "late"


def _of_one_layer(how: How) -> bool:
    plain = how.turned == "right" and how.layers == "own" and not how.ghost and not how.swapped and not how.rounded
    return plain and how.start not in ("early", "bumped") and how.rows in ("own", "first")


def by_dependence(part: Part, seed: int, wrong: Wrong) -> tuple[str, ...]:
    """From which tokens move the logits of which, in a model of one layer."""
    if Setting(False, 1) not in wrong or any(wrong[Setting(False, 1)].values()):
        return ()
    tokens = ids((seed, 6), 2, T)

    def moves(schedule: tuple[int, ...]) -> Array:
        def logits(x: Array) -> Array:
            return decoder(part, seed, rotary=False, layers=1).decoded(x, schedule)

        before, D = logits(tokens), np.zeros((T, T), dtype=bool)
        for s in range(T):
            other = tokens.copy()
            other[:, s] = (tokens[:, s] + 1 + s % 2) % SIZES["vocab_size"]
            after = logits(other)
            D[:, s] = [not agree(part, after[:, t], before[:, t]) for t in range(T)]
        return D

    seen = {schedule: moves(schedule) for schedule in SCHEDULES}

    def holds(how: How) -> bool:
        for schedule, D in seen.items():
            pattern = np.eye(T, dtype=bool)
            for t, (_, _, owners) in enumerate(consulted(tokens, schedule, how)):
                pattern[t, owners] = True
            if not np.array_equal(D, pattern):
                return False
        return True

    if holds(RIGHT):
        return ()
    return settled([{name for name, how in WAYS if _of_one_layer(how) and how.rows == "own" and holds(how)}])
