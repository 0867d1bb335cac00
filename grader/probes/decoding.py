"""Knows how a submission's model decodes: a new one in the precision that its cache takes, and what a step costs."""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary, WeakSet

import numpy as np

from grader.compare import Array, first_gap
from grader.part import Part
from grader.probes.lm import Model, model
from grader.probes.module import Precision, student_of
from grader.student import Student
from grader.worker import BadResult, Raised

T = 6
SCHEDULES = ((1,) * T, (2, T - 2), (T - 2, 1, 1), (3, 1, 2))
_precisions: WeakKeyDictionary[Student, Precision] = WeakKeyDictionary()
_single: WeakSet[Student] = WeakSet()  # those whose forward takes double precision, and whose cache does not


def decoder(part: Part, seed: int, **changed: object) -> Model:
    """A new model, redrawn, in double precision where both forward and decode work in it."""
    return model(part, precision=decoder_precision(part), fresh=True, **changed).redraw(seed)


def decoder_precision(part: Part) -> Precision:
    """Double where forward and decode take it; a cache of single precision is right, too."""
    student = student_of(part)
    if student not in _precisions:
        found = model(part).instance.precision
        if found == "float64" and not _works(part, "float64") and _works(part, "float32"):
            found = "float32"
            _single.add(student)
        _precisions[student] = found
    if student in _single:
        part.note("the cache takes single precision only; accepted")
    return _precisions[student]


def _works(part: Part, precision: Precision) -> bool:
    try:
        model(part, precision=precision, fresh=True).decoded(np.zeros((1, 2), np.int64), (1, 1))
    except (Raised, BadResult):
        return False
    return True


def agree(part: Part, one: Array, other: Array) -> bool:
    """Whether two right implementations may differ so."""
    return first_gap(one, other, part.tolerance) is None or first_gap(one, other, part.loose) is None


def operations(one: Model, tokens: Array, prefixes: Sequence[int]) -> tuple[Array, Array]:
    """Floating-point operations of one more token after each prefix, and of forward on both.

    shapes: (B, T) -> (n), (n)
    errors: BadResult for another number of counts
    """
    part, asked = one.instance.part, {"model": one.handle, "tokens": tokens, "prefixes": list(prefixes)}
    form = {"steps": np.ndarray, "forwards": np.ndarray}
    told = student_of(part).ask(part.part, lambda w: w.told("cache_flops", form, **asked))
    if any(counts.shape != (len(prefixes),) or counts.dtype.kind != "i" for counts in told.values()):
        raise BadResult("gave counts of another form")
    return told["steps"].astype(float), told["forwards"].astype(float)
