"""Knows the smallest input on which a misconception gives another number than the right function."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.carried import same
from grader.cases import BUILDERS, EXTREMES, Case, Sizes, make, tree_map
from grader.checks.stability import extremes
from grader.compare import Tolerance
from grader.misconceptions import Misconception

VISIBLE = Tolerance(0.05, 0.02)  # a difference that a reader sees in numbers of two digits
SMALL = tuple(
    Sizes(T=T, d=d, d_k=d_k, d_v=d_v, h=h, m=2, v=v, L=L, T_q=T)
    for T, d, d_k, d_v, h, v, L in (
        (1, 1, 1, 1, 1, 2, 1),
        (1, 2, 1, 1, 1, 2, 1),
        (1, 2, 2, 1, 1, 2, 1),
        (2, 1, 1, 1, 1, 2, 1),
        (2, 2, 1, 1, 1, 2, 1),
        (2, 2, 2, 1, 1, 3, 1),
        (1, 2, 1, 1, 2, 2, 2),
        (2, 2, 2, 1, 2, 3, 2),
        (3, 2, 2, 2, 2, 3, 2),
        (4, 3, 2, 2, 2, 5, 3),
    )
)


@dataclass(frozen=True)
class Apart:
    """One input, what is right there, and what the misconception gives (an error's text when it raises)."""

    case: Case
    right: Any
    wrong: Any


def smallest(known: Misconception, part: str, book: Any) -> Apart | None:
    """The first small input that tells a misconception from the right answer; None for one known by its pattern."""
    if known.wrong is None or part not in BUILDERS:
        return None
    right, wrong = getattr(book, part), getattr(book.replace(**{part: known.wrong}), part)
    for case in _cases(part):
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = right(*case.args)
            try:
                produced = wrong(*case.args)
            except (ValueError, IndexError, TypeError) as error:
                return Apart(case, expected, f"{type(error).__name__}: {error}")
        if not same(produced, expected, VISIBLE):
            return Apart(case, expected, produced)
    return None


def _cases(part: str) -> Iterator[Case]:
    """Small sizes with numbers of one digit after the point, then the extreme ones."""
    for sizes in SMALL:
        case = make(part, sizes, seed=1)
        args = tree_map(lambda x: np.round(x, 1) if x.dtype.kind == "f" else x, case.args)
        yield Case(case.label, args, case.key, sizes)
    if part in EXTREMES:
        yield from (case for case in extremes(part, 1) if case.extra["width"] == "float64")
