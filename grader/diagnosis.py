"""Knows which mistake a part's outputs agree with.

Every known wrong function is compared on every case; a wrong guess is worse than none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from itertools import islice
from typing import Any

import numpy as np

from grader.carried import UNFIT, arrays, same
from grader.cases import BUILDERS, Case, generic, tree_map
from grader.compare import Array, Tolerance
from grader.memo import Memo, takes_the
from grader.misconceptions import Candidate, Misconception, pairs, singles
from grader.part import Part
from grader.verdict import Named
from grader.worker import StudentFault

MARGIN = 100  # tolerances between a named mistake and the right answer
MOST_PAIRS = 1500  # of each kind that are tried for one part: about 0.1 s


@dataclass(frozen=True)
class Found:
    """What a part's outputs agree with.

    names     the mistakes; none when they are right in the book that they are compared in
    function  makes them; it may take `the`
    extreme   whether ordinary numbers do not show them
    """

    names: tuple[Named, ...]
    function: Callable[..., Any]
    extreme: bool


def named(known: Misconception, where: str, alternatives: tuple[str, ...] = ()) -> Named:
    """A mistake as a verdict carries it."""
    return Named(known.id, where, known.title, known.formula, known.cure, alternatives)


@cache
def _prints(part: str, seed: int) -> tuple[Case, ...]:
    """The cases on which outputs are compared: all sizes of the generic family but the least and the largest.

    They are kept, so their arrays cannot be written to: a student's part that is called here may try.
    """
    cases = tuple(case for case in generic(part, seed) if 1 < case.sizes.T < 9)
    for case in cases:
        tree_map(lambda array: array.setflags(write=False), case.args)
    return cases


def diagnose(part: Part, books: tuple[Any, ...], seed: int, extreme: tuple[Case, ...] = ()) -> Found | None:
    """The mistake, or the two mistakes, that a part's outputs agree with on every case; None when there is none.

    books    what the part is compared in, one after the other; a part that is right in one of them makes no mistake
    extreme  further cases for what ordinary numbers do not show: they decide when the ordinary outputs are right, or
             when more than one mistake gives them
    """
    if part.name not in BUILDERS or part.part.returns == "dict":
        return None
    ordinary = _prints(part.name, seed)
    observed = _observed(part, ordinary)
    if observed is None:
        return None
    below = {name: part.spec.below(part.spec.part(name)) for name in part.spec.below(part.part)}
    prints = []
    more: list[Any] | None = None
    for book in books:
        with suppress(StudentFault, *UNFIT):  # its parts do not fit together
            prints.append(_Prints(part, Memo(book, below), ordinary, observed))
    ordinary_right = [each for each in prints if each.right]
    if not ordinary_right:
        return _search(prints, extreme, False)
    right = Found((), getattr(ordinary_right[0].memo.book, part.name), False)
    if not extreme or (more := _observed(part, extreme)) is None:
        return right
    further = [_Prints(part, each.memo, extreme, more) for each in ordinary_right]
    if any(each.right for each in further):
        return right
    return _search([one.then(other) for one, other in zip(ordinary_right, further, strict=True)], (), True) or right


def _search(prints: list[_Prints], extreme: tuple[Case, ...], only_extreme: bool) -> Found | None:
    """One mistake in any of the books before two mistakes in any of them."""
    for kinds in ((_of_the_part, _inlined), (_two_of_the_part, _with_sub_part)):
        for each in prints:
            for kind in kinds:
                found = each.best(kind(each.part, each.memo))
                if len(found) > 1 and extreme and (more := _observed(each.part, extreme)) is not None:
                    found = _Prints(each.part, each.memo, extreme, more).of_them(found) or found
                if found:
                    first, *others = found
                    also = tuple(sorted({m.id for c in others for m in c.mistakes} - {m.id for m in first.mistakes}))
                    names = tuple(named(mistake, each.part.name, also) for mistake in first.mistakes)
                    return Found(names, first.wrong, only_extreme)
    return None


def _observed(part: Part, cases: tuple[Case, ...]) -> list[Any] | None:
    """The student's outputs; None when one cannot be had or a fresh process gives another one: nothing to compare."""
    try:
        observed = [part.raw(*case.args) for case in cases]
        again = [part.fresh().raw(*case.args) for case in cases]
    except StudentFault:
        return None
    return observed if all(same(a, b, part.tolerance) for a, b in zip(observed, again, strict=True)) else None


def _of_the_part(part: Part, memo: Memo) -> Iterator[Candidate]:
    return singles(part.name)


def _two_of_the_part(part: Part, memo: Memo) -> Iterator[Candidate]:
    return islice(pairs(part.name), MOST_PAIRS)


def _inlined(part: Part, memo: Memo) -> Iterator[Candidate]:
    """The mistakes of sub-parts, made inside this part."""
    for name in part.spec.below(part.part):
        for candidate in singles(name):
            yield Candidate(candidate.mistakes, getattr(memo.put(**{name: candidate.wrong}), part.name))


def _with_sub_part(part: Part, memo: Memo) -> Iterator[Candidate]:
    """A mistake of the part and one of a direct sub-part that is made inside it."""
    tried = 0
    for name in part.part.uses:
        for inner in singles(name):
            inside = Memo(memo.put(**{name: inner.wrong}), memo.below)
            for outer in singles(part.name):
                if takes_the(outer.wrong):
                    tried += 1
                    yield Candidate(outer.mistakes + inner.mistakes, partial(outer.wrong, the=inside.plain))
                if tried >= MOST_PAIRS:
                    return


class _Prints:
    """A student's outputs on some cases, beside the right ones."""

    def __init__(self, part: Part, memo: Memo, cases: tuple[Case, ...], observed: list[Any]) -> None:
        self.part, self.memo, self.cases = part, memo, list(cases)
        self.observed = [arrays(results) for results in observed]
        with np.errstate(all="ignore"):
            self.expected = [arrays(getattr(memo.book, part.name)(*case.args)) for case in cases]
        self.last = len(self.cases)  # up to here differences count only between finite numbers
        self.right = all(
            same(tuple(o), tuple(r), part.tolerance, part.loose)
            for o, r in zip(self.observed, self.expected, strict=True)
        )

    def then(self, more: _Prints) -> _Prints:
        """The same after further cases, which tell more and so come first."""
        more.cases, more.observed = [*more.cases, *self.cases], [*more.observed, *self.observed]
        more.expected, more.last = [*more.expected, *self.expected], 0
        return more

    def best(self, candidates: Iterable[Candidate]) -> list[Candidate]:
        """Those that agree to float64's precision; when there are none, those that agree to float32's."""
        with np.errstate(all="ignore"):
            near = [candidate for candidate in candidates if self._holds(candidate, self.part.loose, 0)]
            exact = [candidate for candidate in near if self._holds(candidate, self.part.tolerance, MARGIN)]
            return exact or [candidate for candidate in near if self._holds(candidate, self.part.loose, MARGIN)]

    def of_them(self, candidates: list[Candidate]) -> list[Candidate]:
        """Those that agree on these cases too."""
        with np.errstate(all="ignore"):
            return [candidate for candidate in candidates if self._holds(candidate, self.part.loose, 0)]

    def _holds(self, candidate: Candidate, tolerance: Tolerance, margin: int) -> bool:
        """True when all agree and, with a margin, at least one case tells the candidate from the right answer."""
        clear = Tolerance(margin * tolerance.relative, margin * tolerance.absolute)
        wrong = self.memo.bound(candidate.wrong)
        apart = not margin
        for i, (case, observed, expected) in enumerate(zip(self.cases, self.observed, self.expected, strict=True)):
            produced = _produced(wrong, case)
            if produced is None or not _may_agree(observed, produced):
                return False
            if not same(tuple(observed), tuple(produced), tolerance):
                return False
            apart = apart or _apart(produced, expected, clear, finite=i < self.last)
        return apart


def _produced(wrong: Any, case: Case) -> list[Array] | None:
    """What a wrong function gives; None when it raises on these sizes."""
    try:
        return arrays(wrong(*case.args))
    except (StudentFault, *UNFIT):
        return None


def _may_agree(observed: list[Array], produced: list[Array]) -> bool:
    """A quick look at shapes and at one entry, which rules most candidates out."""
    left, right = observed[0], produced[0]
    if len(observed) != len(produced) or left.shape != right.shape:
        return False
    if not left.size:
        return True
    a, b = float(left.flat[-1]), float(right.flat[-1])
    room = 1e-5 + 1e-3 * float(np.abs(left).max())
    return not abs(a - b) > room  # NaN decides nothing here


def _apart(produced: list[Array], expected: list[Array], clear: Tolerance, *, finite: bool) -> bool:
    """Whether results differ clearly; with `finite` a NaN is no difference: it does not tell where it comes from."""
    for left, right in zip(produced, expected, strict=True):
        if left.shape != right.shape:
            return True
        if finite:
            both = ~np.isnan(left) & ~np.isnan(right)
            left, right = np.where(both, left, 0.0), np.where(both, right, 0.0)
        if not same(left, right, clear):
            return True
    return False
