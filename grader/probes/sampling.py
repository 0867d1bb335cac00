"""Knows how a submission generates: what it draws from given logits, what it asks the model, and whether draws fit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from grader.compare import Array
from grader.misconceptions.sampling import PLAIN, WAYS, Asked, Drawn, right
from grader.part import Part, Unexpected
from grader.probes.lm import Model, model
from grader.probes.module import process, student_of
from grader.verdict import Violation
from grader.worker import BadResult, Worker

FALSE_ALARM = 1e-9  # of one comparison of draws with a distribution
DRAWS = 1000
SMALL: dict[str, Any] = {"context": DRAWS + 8, "width": 4, "heads": 1, "layers": 1, "hidden": 4, "vocab_size": 6}
FORM = {"value": np.ndarray, "prompt": object, "calls": np.ndarray, "fed": np.ndarray, "kept": bool}
_known: WeakKeyDictionary[Worker, dict[Any, Run]] = WeakKeyDictionary()


@dataclass(frozen=True)
class Run:
    """One call of generate.

    ids     the new ids, without the prompt where that was returned, too: (n)
    told    what it returned, as integers
    batch   whether they came in a batch of one
    prompt  the prompt after the call
    calls   one row a call: 0 forward or 1 decode, B, t, which call's cache was given (-1 None, -2 another), whether the
            model was in training
    fed     the tokens of each call, row by row
    kept    whether parameters and gradients are as before
    """

    ids: tuple[int, ...]
    told: tuple[int, ...]
    batch: bool
    prompt: Any
    calls: tuple[tuple[int, ...], ...]
    fed: tuple[tuple[int, ...], ...]
    kept: bool


def generated(
    part: Part,
    prompt: Sequence[int],
    count: int,
    *,
    rows: Array | None = None,
    other: Array | None = None,
    on: Model | None = None,
    globally: int = 1,
    hollow: bool = False,
    **kwargs: Any,
) -> Run:
    """What generate does on a small model that answers with these logits, or on a model as it is.

    rows (n, v)   the logits of the last position, call by call, counted around
    other (v)     those of every other position
    globally      seeds the global random generators
    hollow        decode gives logits and nothing that it could go on from
    errors        Unexpected for what is no list of ids; the worker's faults
    """
    one = on or model(part, precision="float32", **SMALL)
    rows = rows if rows is None else np.atleast_2d(np.asarray(rows, np.float64))
    other = np.zeros(one.vocab_size) if other is None else np.asarray(other, np.float64)
    asked_for = tuple(prompt), count, globally, hollow, repr(sorted(kwargs.items()))
    key = str(one.handle), asked_for, other.tobytes(), None if rows is None else rows.tobytes()
    known = _known.setdefault(process(part), {})
    if key not in known:
        asked = {"target": part.name, "model": one.handle, "prompt": list(prompt), "count": count, "kwargs": kwargs}
        asked |= {"seed": globally, "rows": rows, "other": other, "hollow": hollow}
        known[key] = _run(part, asked, one.vocab_size)
    return known[key]


def _run(part: Part, asked: Mapping[str, Any], v: int) -> Run:
    told = student_of(part).ask(part.part, lambda w: w.told("sampling_run", FORM, **asked))
    value, calls, fed = told["value"], told["calls"], told["fed"]
    good = calls.ndim == 2 and calls.shape[1] == 5 and calls.dtype.kind == "i" and fed.ndim == 1
    if not good or fed.dtype.kind != "i" or (calls[:, :3] < 0).any() or (calls[:, 1:3] > 1 << 20).any():
        raise BadResult("gave counts of another form")
    batch, prompt = value.ndim == 2 and len(value) == 1, tuple(asked["prompt"])
    if value.size > 4 * (asked["count"] + len(prompt)) + 100:
        raise Unexpected(Violation(f"returned {value.size} numbers for max_new_tokens={asked['count']}"))
    if not (value.ndim == 1 or batch) or (value.size and value.dtype.kind not in "iu"):
        raise Unexpected(
            Violation(
                f"returned {value.dtype} numbers of the shape {list(value.shape)}; a list of ids is wanted",
                hint="Collect int(id) of every step in a list, and return it.",
            )
        )
    drawn = tuple(int(i) for i in value.reshape(-1))
    if any(not 0 <= i < v for i in drawn):
        raise Unexpected(Violation(f"returned the id {next(i for i in drawn if not 0 <= i < v)} of {v} ids"))
    ends = np.cumsum(calls[:, 1] * calls[:, 2])
    pieces = tuple(tuple(int(i) for i in piece) for piece in np.split(fed, ends)[: len(calls)])
    longer = len(drawn) == len(prompt) + asked["count"] and drawn[: len(prompt)] == prompt
    ids = drawn[len(prompt) :] if longer else drawn
    return Run(ids, drawn, batch, told["prompt"], tuple(tuple(map(int, call)) for call in calls), pieces, told["kept"])


def fits(drawn: Sequence[int], p: Array) -> bool:
    """Whether draws can come from a distribution; a right sampler is refused once in 10^9 draws of a sequence.

    n · KL(counts / n, p) exceeds x with probability at most exp(-x) (e x / (k - 1))^(k - 1), for x > k - 1
    (Agrawal 2020, "Finite-sample concentration of the multinomial in relative entropy").
    """
    counts = np.bincount(drawn, minlength=len(p))[: len(p)].astype(float)
    if counts[p <= 0].any() or not len(drawn):
        return False
    seen = counts > 0
    statistic = float((counts[seen] * np.log(counts[seen] / len(drawn) / p[seen])).sum())
    return statistic <= _limit(int((p > 0).sum()))


def named(found: Sequence[tuple[Sequence[int] | None, Asked]], *, filters: bool) -> tuple[str, ...]:
    """The one known mistake from whose distributions all draws can come, and which has none where there are none.

    filters   look for mistakes in filters alone, where what is drawn without a filter is right
    """
    known = [(name, way) for name, way in WAYS if not filters or name not in PLAIN]
    names = {name for name, way in known if _explains(way, found)}
    return tuple(names) if len(names) == 1 and any(drawn for drawn, _ in found) else ()


def _explains(way: Drawn, found: Sequence[tuple[Sequence[int] | None, Asked]]) -> bool:
    apart = False
    for drawn, asked in found:
        p = way(asked)
        empty = p is None or np.isnan(p).any()
        if empty != (drawn is None) or (p is not None and drawn is not None and not fits(drawn, p)):
            return False
        apart = apart or p is None or not np.allclose(p, right(asked), atol=1e-6)
    return apart


def _limit(k: int) -> float:
    x = max(k - 1.0, 1e-6)
    while k > 1 and -x + (k - 1) * (1 + math.log(x / (k - 1))) > math.log(FALSE_ALARM):
        x += 0.25
    return x
