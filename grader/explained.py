"""Knows why a check failed: sub-parts that are wrong and rightly put together, or a mistake that has a name."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from grader.carried import UNFIT, Composed, own_book, same
from grader.cases import EXTREMES, HANDOUT, Case, generic, letters_of, make
from grader.checks.stability import extremes
from grader.compare import Tolerance, each
from grader.diagnosis import Found, diagnose, named
from grader.figures import diagnose_figures
from grader.misconceptions import all_misconceptions
from grader.part import Part
from grader.patterns import name_dependence, name_numbers
from grader.spec import PartSpec, slug
from grader.verdict import Named, Verdict
from grader.worker import StudentFault

if TYPE_CHECKING:
    from grader.engine import Item, Session

PRINTED = Tolerance(0.0, 5e-6, "half a unit of the last of six printed digits")
LOOKS = {"results-integer", "results-rounded", "half-precision"}
MISSING = "result-missing"
RunCheck = Callable[["Item", Part, int], Verdict]


class Explained:
    """The explanations of one session, each part's found out once."""

    def __init__(self, session: Session, run: RunCheck) -> None:
        self.session, self.run = session, run
        self.spec, self.student, self.seed = session.spec, session.student, session.seed
        self.right: set[str] = set()  # parts that are known to be right
        self._wrongs: dict[str, bool] = {}
        self._agreements: dict[tuple[str, tuple[str, ...]], bool] = {}
        self._diagnoses: dict[str, Found | None] = {}
        self._looks: dict[str, str | None] = {}
        self._alone: dict[str, tuple[Named, ...]] = {}
        self._figures: dict[str, tuple[Named, ...]] | None = None

    def __call__(self, item: Item, part: Part, verdict: Verdict) -> Verdict:
        """The verdict as it counts: carried forward, or with the mistake's name, or as it is."""
        if verdict.status not in ("failed", "error"):
            return verdict
        carried = self._carried(item, verdict) if verdict.status == "failed" or item.check.name == "gradient" else None
        return carried or self._told(item, self._named(item, part, verdict))

    def _told(self, item: Item, verdict: Verdict) -> Verdict:
        """With a hint that fits the cause, where the check's own is that of another one."""
        if LOOKS & {name.id for name in verdict.misconceptions}:
            return replace(verdict, hint="")  # numbers that were rounded afterwards come of no wrong formula
        for name in () if verdict.misconceptions else item.part.uses:
            key, outputs = f"{self.spec.part(name).slug}.shape", self.spec.part(name).returns
            if self.session.settled(key) and MISSING in {m.id for m in self.session.verdict(key).misconceptions}:
                asked = f"Mend {name} first: it gives one result where {' and '.join(outputs)} are asked"
                return replace(verdict, hint=f"{asked}, and whoever takes the first of it gets its first row.")
        return verdict

    # what is wrong below a part

    def _verdicts(self, name: str) -> list[Verdict]:
        if name in self.right:
            return []
        return [self.session.verdict(item.id) for item in self.session.items if item.part.name == name]

    def _wrong(self, name: str) -> bool:
        """Whether a part fails by a mistake of its own that shows in its results."""
        if name not in self._wrongs:
            self._wrongs[name] = False  # while it is being found out
            self._wrongs[name] = any(verdict.status in ("failed", "error") for verdict in self._verdicts(name))
        return self._wrongs[name]

    def _wrong_below(self, part: PartSpec) -> tuple[tuple[str, ...], ...]:
        """The wrong parts below this one, in one or two ways; in none when there is none.

        First those that are not behind a part that passes everything, for it may do their work itself; then all, for
        its checks may not show what is behind it.
        """
        below = self.spec.below(part)
        everything = tuple(name for name in below if self._wrong(name))
        reaching = self._reaching(part)
        return tuple(dict.fromkeys(names for names in (reaching, everything) if names))

    def _reaching(self, part: PartSpec) -> tuple[str, ...]:
        found: set[str] = set()
        waiting = list(part.uses)
        while waiting:
            name = waiting.pop()
            if self._wrong(name):
                found.add(name)
            if any(not verdict.fine or verdict.carried for verdict in self._verdicts(name)):
                waiting.extend(self.spec.part(name).uses)
        return tuple(name for name in self.spec.below(part) if name in found)

    def _known_book(self, names: tuple[str, ...]) -> tuple[Any, bool]:
        """The reference with some parts as the student's, a known wrong function where one is known.

        Also whether all of them are known: then nothing is computed in the student's process.
        """
        book, all_known = self.spec.book, True
        for name in names:
            found = self._diagnosed(name)
            all_known = all_known and found is not None
            own = found.function if found else getattr(own_book(self.spec, self.student, [name]), name)
            book = book.replace(**{name: own})
        return book, all_known

    def _compared_in(self, part: PartSpec) -> tuple[Any, ...]:
        """The books of its own wrong sub-parts, then the reference: it may do their work itself."""
        return (*(self._known_book(names)[0] for names in self._wrong_below(part)), self.spec.book)

    # errors carried forward

    def _carried(self, item: Item, verdict: Verdict) -> Verdict | None:
        """A passed verdict when the failure is that of the student's own sub-parts, rightly put together."""
        criterion = self.spec.criterion_of(item.id)
        if not item.check.carried or criterion is None or criterion.carried == "none" or not item.part.uses:
            return None
        return next(filter(None, (self._given(item, verdict, names) for names in self._wrong_below(item.part))), None)

    def _given(self, item: Item, verdict: Verdict, names: tuple[str, ...]) -> Verdict | None:
        """The passed verdict when the composite is right with these parts as they are, and fails as they make it."""
        if not self._agrees(item, names):
            return None
        automatic = item.check.automatic and self.student.backend == "torch"
        inherited = automatic and any(self._failed_at(name, item.check.name) for name in names)
        # a composition has no graph, but finite differences tell whether its results still follow every argument
        if not inherited and not any(
            self.run(item, Part(self.spec, item.part, Composed(book, "numpy"), []), self.seed).status == "failed"
            for book in self._books(names)
        ):
            return None
        whose = " and ".join(f"`{name}`" for name in names)
        return replace(
            verdict,
            status="passed",
            message=f"right, given your {whose}",
            hint="",
            evidence={},
            misconceptions=(),
            carried=names,
        )

    def _books(self, names: tuple[str, ...]) -> Any:
        """Known wrong functions first, which compute here; then the student's own, whatever else those do."""
        book, all_known = self._known_book(names)
        if all_known:
            yield book
        yield own_book(self.spec, self.student, names)

    def _failed_at(self, name: str, check: str) -> bool:
        key = f"{self.spec.part(name).slug}.{check}"
        if name in self.right:
            return False
        return self.session.settled(key) and self.session.verdict(key).status in ("failed", "error")

    def _agrees(self, item: Item, names: tuple[str, ...]) -> bool:
        """Whether the student's composite gives what the book gives with the student's parts `names` in it."""
        key, book = (item.part.name, names), own_book(self.spec, self.student, names)
        part, composed = (Part(self.spec, item.part, who, []) for who in (self.student, Composed(book, "numpy")))
        try:
            if item.part.returns == "dict":
                mine, theirs = part(), composed()
                return all(
                    key in mine and np.shape(mine[key]) == np.shape(value) and same(mine[key], value, PRINTED)
                    for key, value in theirs.items()
                    if slug(key) == item.check.name
                )
            if key not in self._agreements:
                self._agreements[key] = all(
                    same(part.raw(*case.args), composed.raw(*case.args), part.tolerance, part.loose)
                    for case in generic(item.part.name, self.seed)
                ) and _responds(part, self.seed)
        except (StudentFault, *UNFIT):
            self._agreements[key] = False
        return self._agreements[key]

    # names

    def _named(self, item: Item, part: Part, verdict: Verdict) -> Verdict:
        """The verdict with the mistake's name, where there is one."""
        if verdict.misconceptions:
            return replace(verdict, misconceptions=self._own(item, verdict.misconceptions))
        if not item.check.numbers:
            return verdict
        if item.check.name == "gradient" and self.student.backend == "torch":
            return verdict
        return replace(verdict, misconceptions=self._names(item, part, verdict))

    def _own(self, item: Item, names: tuple[Named, ...]) -> tuple[Named, ...]:
        """Without what a part shows only because one below it does."""
        below = self.spec.below(item.part)
        if item.check.name == "gradient" and (
            any(self._failed_at(name, "gradient") for name in below)
            or any(self._failed_at(item.part.name, check) for check in ("value", "repeatable", "inputs-unchanged"))
        ):
            return ()  # a consequence
        seen = {n.id for name in below for verdict in self._verdicts(name) for n in verdict.misconceptions}
        return tuple(name for name in names if name.id not in seen)

    def _names(self, item: Item, part: Part, verdict: Verdict) -> tuple[Named, ...]:
        if item.part.returns == "dict":
            if self._figures is None:
                self._figures = diagnose_figures(part, self._compared_in(item.part)[0])
            return self._figures.get(item.check.name, ())
        found = self._diagnosed(item.part.name)
        if found and (item.check.extreme or not found.extreme):
            return found.names
        if verdict.status == "error":
            return self._own(item, self._after_calls(part))
        if found or not self._repeatable(item.part) or self._wrong_below(item.part):
            return ()
        key = self._numbers(part)
        matrix = (verdict.evidence.get("picture") or {}).get("matrix")
        if key is None and matrix and "@causal" in item.check.parts:
            heads = [case.sizes.h for case in item.check.cases(part.name, self.seed)] if "h" in _letters(part) else []
            key = name_dependence(_pattern(matrix, part.tolerance), heads)
        return (named(all_misconceptions().get(key), item.part.name),) if key else ()

    def _numbers(self, part: Part) -> str | None:
        """What the numbers of every ordinary case look like, if they look alike in all."""
        if part.name not in self._looks:
            self._looks[part.name] = None
            with suppress(StudentFault):
                cases = list(generic(part.name, self.seed))
                observed = [result for case in cases for result in each(part.raw(*case.args))]
                expected = [result for case in cases for result in each(part.expected(*case.args))]
                self._looks[part.name] = name_numbers(tuple(observed), tuple(expected), part.tolerance)
        return self._looks[part.name]

    def _diagnosed(self, name: str) -> Found | None:
        """What a part's outputs agree with; nothing where they depend on what was called before."""
        if name not in self._diagnoses:
            self._diagnoses[name] = None  # while it is being found out
            spec = self.spec.part(name)
            if self._repeatable(spec):
                part = Part(self.spec, spec, self.student, [])
                extreme = tuple(extremes(name, self.seed)) if name in EXTREMES else ()
                extreme = tuple(case for case in extreme if case.extra["width"] == "float64")
                self._diagnoses[name] = diagnose(part, self._compared_in(spec), self.seed, extreme)
        found = self._diagnoses[name]
        return found if found and found.names else None

    def _repeatable(self, part: PartSpec) -> bool:
        """Outputs that depend on what was called before are not compared with anything."""
        return not any(self._failed_at(name, "repeatable") for name in (part.name, *self.spec.below(part)))

    def _after_calls(self, part: Part) -> tuple[Named, ...]:
        """For a part that raises: whether it does so only after it was called before."""
        if part.name not in self._alone:
            self._alone[part.name] = ()
            for case in generic(part.name, self.seed):
                try:
                    part.raw(*case.args)
                except StudentFault:
                    self._alone[part.name] = self._works_alone(part, case)
                    break
        return self._alone[part.name]

    def _works_alone(self, part: Part, case: Case) -> tuple[Named, ...]:
        try:
            alone = part.anew().raw(*case.args)
        except StudentFault:
            return ()
        if same(alone, part.expected(*case.args), part.tolerance, part.loose):
            return (named(all_misconceptions().get("remembers-calls"), part.name),)
        return ()


def _responds(part: Part, seed: int) -> bool:
    """Whether other numbers in the same shapes give other results: agreement in emptiness carries nothing."""
    one, other = (part.raw(*make(part.name, HANDOUT, seed, stream).args) for stream in (0, 9))
    return not same(one, other, part.loose)


def _letters(part: Part) -> list[str]:
    """The sizes that describe a part's cases."""
    return letters_of(part.name).split()


def _pattern(matrix: list[list[Any]], tolerance: Tolerance) -> Any:
    """Who depends on whom, from a picture's numbers; nothing is said of rows that are NaN."""
    D = np.array([[np.nan if x is None else float(x) for x in row] for row in matrix])
    return np.zeros(0) if np.isnan(D).any() else tolerance.allowed(D) < D
