"""Knows which mistake a part's outputs agree with.

Every known wrong function is compared on every case; a wrong guess is worse than none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice
from typing import Any

import numpy as np

from grader.carried import closure, same
from grader.cases import BUILDERS, Case, generic
from grader.compare import Tolerance
from grader.misconceptions import Candidate, Misconception, pairs, singles
from grader.part import Part
from grader.verdict import Named
from grader.worker import StudentFault

MARGIN = 100  # tolerances between a named mistake and the right answer
MOST_PAIRS = 900  # pairs that are tried for one part: about 0.3 s


def named(known: Misconception, where: str, alternatives: tuple[str, ...] = ()) -> Named:
    """A mistake as a verdict carries it."""
    return Named(known.id, where, known.title, known.formula, known.cure, alternatives)


@cache
def _prints(part: str, seed: int) -> tuple[Case, ...]:
    """The cases on which outputs are compared: all sizes of the generic family but the largest."""
    return tuple(case for case in generic(part, seed) if 1 < case.sizes.T < 9)


def diagnose(
    part: Part, book: Any, seed: int, extreme: tuple[Case, ...] = (), *, quick: bool = True
) -> tuple[Named, ...]:
    """The mistake, or the two mistakes, that a part's outputs agree with on every case; empty when none does.

    book     what the part is compared in: the reference, with the student's own wrong sub-parts where there are some
    quick    whether the book computes here; through the student's process only single mistakes are tried
    extreme  further cases for what ordinary numbers do not show; they decide when the ordinary outputs are right
    """
    if part.name not in BUILDERS:
        return ()
    ordinary = _prints(part.name, seed)
    observed = _observed(part, ordinary)
    if observed is None:
        return ()
    right = [_right(book, part.name, case) for case in ordinary]
    cases = ordinary
    if all(same(o, r, part.tolerance, part.loose) for o, r in zip(observed, right, strict=True)):
        more = _observed(part, extreme)
        if not extreme or more is None:
            return ()
        cases, observed = (*ordinary, *extreme), [*observed, *more]
        right += [_right(book, part.name, case) for case in extreme]
    order = sorted(range(len(cases)), key=lambda i: -i if len(cases) > len(ordinary) else abs(i - 1))
    matching = _Matching(part, book, [cases[i] for i in order], [observed[i] for i in order], [right[i] for i in order])
    many = MOST_PAIRS if quick else 0
    for candidates in (
        singles(part.name),
        islice(_inlined(part, book), None if quick else 0),
        islice(pairs(part.name), many),
        islice(_with_sub_part(part, book), many),
    ):
        if found := matching.best(candidates):
            first, *others = found
            also = tuple(sorted({m.id for c in others for m in c.mistakes} - {m.id for m in first.mistakes}))
            return tuple(named(mistake, part.name, also) for mistake in first.mistakes)
    return ()


def _observed(part: Part, cases: tuple[Case, ...]) -> list[Any] | None:
    """The student's outputs; None when one cannot be had or a fresh process gives another one: nothing to compare."""
    try:
        observed = [part(*case.args) for case in cases]
        again = [part.fresh()(*case.args) for case in cases]
    except StudentFault:
        return None
    return observed if all(same(a, b, part.tolerance) for a, b in zip(observed, again, strict=True)) else None


def _right(book: Any, name: str, case: Case) -> Any:
    with np.errstate(all="ignore"):
        return getattr(book, name)(*case.args)


def _inlined(part: Part, book: Any) -> Iterator[Candidate]:
    """The mistakes of sub-parts, made inside this part."""
    for name in closure(part.spec, part.part):
        for candidate in singles(name):
            yield Candidate(candidate.mistakes, getattr(book.replace(**{name: candidate.wrong}), part.name))


def _with_sub_part(part: Part, book: Any) -> Iterator[Candidate]:
    """A mistake of the part and one of a direct sub-part that is made inside it."""
    for name in part.part.uses:
        for inner in singles(name):
            inside = book.replace(**{name: inner.wrong})
            for outer in singles(part.name):
                both = inside.replace(**{part.name: outer.wrong})
                yield Candidate(outer.mistakes + inner.mistakes, getattr(both, part.name))


class _Matching:
    """Whether a candidate gives the observed outputs on every case, well apart from the right ones."""

    def __init__(self, part: Part, book: Any, cases: list[Case], observed: list[Any], right: list[Any]) -> None:
        self.part, self.book, self.cases, self.observed, self.right = part, book, cases, observed, right

    def best(self, candidates: Iterable[Candidate]) -> list[Candidate]:
        """Those that agree to float64's precision; when there are none, those that agree to float32's."""
        found = [candidate for candidate in candidates if self._holds(candidate, self.part.loose)]
        return [candidate for candidate in found if self._holds(candidate, self.part.tolerance)] or found

    def _holds(self, candidate: Candidate, tolerance: Tolerance) -> bool:
        """True when all agree and at least one case tells the candidate from the right answer by the margin."""
        clear = Tolerance(MARGIN * tolerance.relative, MARGIN * tolerance.absolute)
        book = self.book.replace(**{self.part.name: candidate.wrong})
        wrong = getattr(book, self.part.name)
        apart = False
        for case, observed, right in zip(self.cases, self.observed, self.right, strict=True):
            produced = _produced(wrong, case)
            if produced is None or not same(observed, produced, tolerance):
                return False
            apart = apart or not same(produced, right, clear)
        return apart


def _produced(wrong: Any, case: Case) -> Any:
    """What a wrong function gives; None when it raises on these sizes."""
    try:
        with np.errstate(all="ignore"):
            return wrong(*case.args)
    except (StudentFault, ValueError, IndexError, TypeError, ZeroDivisionError, FloatingPointError):
        return None
