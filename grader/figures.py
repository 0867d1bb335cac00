"""Knows which mistake a figure of a calculation by hand agrees with, each figure by itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from grader.carried import same
from grader.compare import Tolerance
from grader.diagnosis import MARGIN, named
from grader.memo import takes_the
from grader.misconceptions import Candidate, all_misconceptions, singles
from grader.part import Part
from grader.spec import slug
from grader.verdict import Named
from grader.worker import StudentFault

EXACT = Tolerance(1e-9, 1e-12, "computed")
SIX_DIGITS = Tolerance(0.0, 6e-7, "typed to six digits")


def diagnose_figures(part: Part, book: Any) -> dict[str, tuple[Named, ...]]:
    """The mistake of each wrong figure, by the figure's check; a mistake that explains more figures comes first."""
    try:
        observed = part()
    except StudentFault:
        return {}
    right = getattr(book, part.name)()
    wrong = [key for key in right if key in observed and not _agree(observed[key], right[key], SIX_DIGITS)]
    found: dict[str, list[tuple[int, int, Candidate]]] = {key: [] for key in wrong}
    for candidate in singles(part.name):
        function = candidate.wrong
        figures = function(the=book) if takes_the(function) else function()
        changed = [key for key in right if not _agree(figures[key], right[key], EXACT)]
        told = [key for key in wrong if _tells(observed[key], figures[key], right[key])]
        for key in told:
            found[key].append((len(told), len(told) - len(changed), candidate))
    return {slug(key): _best(found[key], part) or _by_pattern(key, observed, right, part) for key in wrong}


def _best(found: list[tuple[int, int, Candidate]], part: Part) -> tuple[Named, ...]:
    """The one that explains most and expects least besides; nothing when two do."""
    ranked = sorted(found, key=lambda each: each[:2], reverse=True)
    if not ranked or (len(ranked) > 1 and ranked[0][:2] == ranked[1][:2]):
        return ()
    return tuple(named(mistake, part.name) for mistake in ranked[0][2].mistakes)


def _tells(observed: Any, figure: Any, right: Any) -> bool:
    """Whether a figure is the candidate's and clearly not the right one."""
    for tolerance in (EXACT, SIX_DIGITS):
        clear = Tolerance(MARGIN * tolerance.relative, MARGIN * tolerance.absolute)
        if _agree(observed, figure, tolerance) and not _agree(figure, right, clear):
            return True
    return False


def _agree(left: Any, right: Any, tolerance: Tolerance) -> bool:
    return np.shape(left) == np.shape(right) and same(left, right, tolerance)


def _by_pattern(key: str, observed: Any, right: Any, part: Part) -> tuple[Named, ...]:
    mine, true = np.asarray(observed[key], np.float64), np.asarray(right[key], np.float64)
    name = ""
    if mine.shape != true.shape:
        return ()
    if _agree(mine, 100 * true, Tolerance(1e-5, 0.0)):
        name = "figure-in-percent"
    elif any(np.array_equal(mine, np.round(true, digits)) for digits in range(1, 6)):
        name = "figure-rounded"
    elif _agree(mine, np.trunc(true * 1e6) / 1e6, EXACT):
        name = "figure-cut"
    return (named(all_misconceptions().get(name), part.name),) if name else ()
