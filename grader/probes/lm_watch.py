"""Knows what a submission's language model does while it runs: operators, scores before a softmax, projections."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.compare import Array
from grader.part import Part
from grader.probes.lm import Model
from grader.probes.module import student_of
from grader.worker import BadResult, Raised, StudentFault
from grader.worker.text import clean

WATCHED = {"modules": list, "operators": list, "scores": np.ndarray, "values": np.ndarray, "projections": list}
Place = tuple[str, str, int]


@dataclass(frozen=True)
class Watched:
    """One forward pass over tokens (B, T), as far as it could be seen.

    modules      (name, class) of transformer modules in the tree
    operators    (name, file, line) of transformer operators; an empty file where the submission did not call it itself
    scores       of the first softmax, queries by keys, at the rows asked for; none where nothing was seen
    values       what the weights were multiplied with
    projections  results of linear maps before the scores, at position 0

    shapes: scores (n, rows, T), values (n, T, ·), projections (B, ·)
    """

    modules: tuple[tuple[str, str], ...]
    operators: tuple[Place, ...]
    scores: Array
    values: Array
    projections: tuple[Array, ...]


def watch(
    model: Model,
    tokens: Array,
    *,
    method: str = "",
    training: bool = False,
    gradients: bool = False,
    matrices: int = 0,
    rows: Sequence[int] = (),
) -> Watched:
    """Run the model, or a method of it, once, and look. errors: the worker's faults.

    matrices  of scores that are wanted: the rows of the batch times the heads are the first layer's
    """
    part, (B, T) = model.instance.part, tokens.shape
    asked: dict[str, Any] = {
        "module": model.handle,
        "tokens": tokens,
        "method": method,
        "training": training,
        "gradients": gradients,
        "matrices": matrices,
        "rows": list(rows),
    }
    try:
        told = student_of(part).ask(part.part, lambda w: w.told("lm_watch", WATCHED, **asked, below=True))
    except Raised:  # what runs alone may not run with somebody below it: a mapped or compiled model
        told = student_of(part).ask(part.part, lambda w: w.told("lm_watch", WATCHED, **asked, below=False))
    scores, values = told["scores"], told["values"]
    if scores.ndim != 3 or values.ndim != 3 or (len(scores) and scores.shape[1:] != (len(rows), T)):
        raise BadResult("tells scores of another shape")
    projections = [p for p in told["projections"] if isinstance(p, np.ndarray) and p.ndim == 2 and len(p) == B]
    return Watched(
        tuple((_plain(item[0]), _plain(item[1])) for item in told["modules"] if _is(item, str, str)),
        tuple((_plain(item[0]), _plain(item[1]), item[2]) for item in told["operators"] if _is(item, str, str, int)),
        scores.astype(np.float64),
        values.astype(np.float64),
        tuple(p.astype(np.float64) for p in projections),
    )


def decoding(model: Model, tokens: Array) -> tuple[Place, ...]:
    """Transformer operators of `decode` without a cache; none where it cannot be called."""
    with suppress(StudentFault):
        return watch(model, tokens, method="decode").operators
    return ()


def in_sources(part: Part) -> tuple[Place, ...]:
    """(name, file, line) of the transformer modules in the submission's text, none of which is run for it."""
    student = student_of(part)
    modules = [name for name in (student.submission.adapters, student.submission.main) if name]
    told = student.apart(lambda w: w.told("lm_sources", {"found": list}, modules=modules))
    return tuple((_plain(item[2]), _plain(item[0]), item[1]) for item in told["found"] if _is(item, str, int, str))


def _is(item: Any, *kinds: type) -> bool:
    return isinstance(item, tuple) and len(item) == len(kinds) and all(map(isinstance, item, kinds))


def _plain(text: str) -> str:
    return clean(text, 120).replace("\n", " ").replace("\t", " ")
