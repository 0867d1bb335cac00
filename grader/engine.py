"""Knows how verdicts come about: plan the checks, ask each case, stop at the first counterexample.

Knows no pytest, no points, no printing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from grader.carried import Composed, closure, own_book, same
from grader.cases import Case, generic
from grader.checks import Check, all_checks
from grader.checks.stability import FAMILIES, extremes
from grader.compare import Tolerance
from grader.diagnosis import diagnose, named
from grader.misconceptions import all_misconceptions
from grader.part import Caller, Part, Unexpected, small
from grader.spec import PartSpec, Spec, slug
from grader.student import Student
from grader.verdict import Named, Status, Verdict, Violation
from grader.worker import (
    BadResult,
    Crashed,
    GraderFault,
    LoadFailed,
    Missing,
    NoGradient,
    Raised,
    StudentFault,
    TimedOut,
    WorkerFault,
)


PRINTED = Tolerance(0.0, 5e-6, "half a unit of the last of six printed digits")


@dataclass(frozen=True)
class Item:
    """One check on one part, with the id that its verdict gets."""

    id: str
    part: PartSpec
    check: Check


def plan(spec: Spec) -> tuple[Item, ...]:
    """Every check that some criterion of the spec wants, part by part in the spec's order."""
    items = []
    for part in spec.parts:
        for check in all_checks():
            key = f"{part.slug}.{check.name}"
            if check.applies_to(part) and spec.criterion_of(key):
                items.append(Item(key, part, check))
        # what a part is needed for comes first, so that a failure is explained before it is referred to
    items.sort(key=lambda item: (spec.parts.index(item.part), bool(item.check.needs)))
    return tuple(items)


def selected(items: Sequence[Item], only: str | None) -> tuple[Item, ...]:
    """The items whose id, part or criterion-like prefix matches a pattern; all without one."""
    if only is None:
        return tuple(items)
    return tuple(i for i in items if fnmatchcase(i.id, only) or only in (i.part.name, i.part.slug))


class Session:
    """One submission before one assignment's checks: verdicts on demand, each made once."""

    def __init__(self, spec: Spec, student: Student, seed: int = 0) -> None:
        self.spec, self.student, self.seed = spec, student, seed
        self.items = plan(spec)
        self._by_id = {item.id: item for item in self.items}
        self._verdicts: dict[str, Verdict] = {}
        self._wrongs: dict[str, bool] = {}
        self._agreements: dict[str, bool] = {}
        self._diagnoses: dict[tuple[str, bool], tuple[Named, ...]] = {}

    def verdicts(self, only: str | None = None) -> Iterator[Verdict]:
        """The verdicts in the plan's order, made while they are asked for."""
        for item in selected(self.items, only):
            yield self.verdict(item.id)

    def verdict(self, key: str) -> Verdict:
        """The verdict of one check; errors: Tampered and GraderFault, which end the grading."""
        if key not in self._verdicts:
            self._verdicts[key] = self._judge(self._by_id[key])
        return self._verdicts[key]

    def _judge(self, item: Item) -> Verdict:
        if reason := self.spec.skip.get(item.id):
            return _verdict(item, "skipped", reason)
        if not self.student.defines(item.part.name):
            return _verdict(
                item, "missing", f"{item.part.name} is not defined", f"Write def {item.part.signature}: ..."
            )
        for name in item.check.needs:
            needed = f"{item.part.slug}.{name}"
            if needed != item.id and needed in self._by_id and not self.verdict(needed).passed:
                return _verdict(item, "blocked", f"waits for {needed}, which has not passed")
        part = Part(self.spec, item.part, self.student, [])
        verdict = run(item, part, self.seed)
        if verdict.status != "failed":
            return verdict
        return self._carried(item, verdict) or self._named(item, part, verdict)

    def _wrong(self, name: str) -> bool:
        """Whether a part fails by a mistake of its own that shows in its results."""
        if name not in self._wrongs:
            self._wrongs[name] = False  # while it is being found out
            verdicts = [self.verdict(i.id) for i in self.items if i.part.name == name]
            self._wrongs[name] = any(v.status == "failed" for v in verdicts)
        return self._wrongs[name]

    def _own_book(self, part: PartSpec) -> tuple[Any, tuple[str, ...]]:
        """The reference with the student's own wrong sub-parts in it, and their names."""
        names = tuple(name for name in closure(self.spec, part) if self._wrong(name))
        return (own_book(self.spec, self.student, names) if names else self.spec.book), names

    def _known_book(self, part: PartSpec) -> tuple[Any, bool]:
        """The same, with a known wrong function in place of each sub-part whose mistake is known; whether all are."""
        book, quick = self.spec.book, True
        for name in closure(self.spec, part):
            if self._wrong(name):
                known = self._function_of(name)
                quick = quick and known is not None
                book = book.replace(**{name: known or getattr(own_book(self.spec, self.student, [name]), name)})
        return book, quick

    def _function_of(self, name: str) -> Any:
        """The wrong function that a part agrees with, when it is a single known one."""
        verdicts = [self.verdict(i.id) for i in self.items if i.part.name == name]
        ids = {n.id for v in verdicts for n in v.misconceptions if n.where == name}
        known = [all_misconceptions().get(key) for key in ids]
        return known[0].wrong if len(known) == 1 and name in known[0].parts else None

    def _carried(self, item: Item, verdict: Verdict) -> Verdict | None:
        """A passed verdict when the failure is no other than that of the student's own sub-parts, rightly put together."""
        criterion = self.spec.criterion_of(item.id)
        if not item.check.carried or criterion is None or criterion.carried == "none" or not item.part.uses:
            return None
        book, names = self._own_book(item.part)
        if not names or not self._agrees(item, book):
            return None
        if item.check.name == "gradient" and self.student.backend == "torch":
            inherited = any(self._failed_at(name, "gradient") for name in names)
        else:
            inherited = run(item, Part(self.spec, item.part, Composed(book, "numpy"), []), self.seed).status == "failed"
        if not inherited:
            return None
        whose = " and ".join(f"`{name}`" for name in names)
        return replace(
            verdict, status="passed", message=f"right, given your {whose}", hint="", evidence={}, carried=names
        )

    def _failed_at(self, name: str, check: str) -> bool:
        key = f"{self.spec.part(name).slug}.{check}"
        return key in self._by_id and self.verdict(key).status == "failed"

    def _agrees(self, item: Item, book: Any) -> bool:
        """Whether the student's composite gives what the book gives with the student's parts in it."""
        part, composed = (Part(self.spec, item.part, who, []) for who in (self.student, Composed(book, "numpy")))
        try:
            if item.part.returns == "dict":
                mine, theirs = part(), composed()
                return all(
                    key in mine and np.shape(mine[key]) == np.shape(value) and same(mine[key], value, PRINTED)
                    for key, value in theirs.items()
                    if slug(key) == item.check.name
                )
            if item.part.name not in self._agreements:
                self._agreements[item.part.name] = all(
                    same(part(*case.args), composed(*case.args), part.tolerance, part.loose)
                    for case in generic(item.part.name, self.seed)
                )
        except (StudentFault, ValueError, IndexError, TypeError):
            self._agreements[item.part.name] = False
        return self._agreements[item.part.name]

    def _named(self, item: Item, part: Part, verdict: Verdict) -> Verdict:
        """The verdict with the mistake's name, where there is one."""
        if verdict.misconceptions:
            return verdict
        key = item.part.name, item.check.name == "extreme-values" or item.check.name == "zeros-above-diagonal"
        if key not in self._diagnoses:
            book, quick = self._known_book(item.part)
            extreme = tuple(extremes(item.part.name, self.seed)) if key[1] and item.part.name in FAMILIES else ()
            extreme = tuple(case for case in extreme if case.extra["width"] == "float64")
            self._diagnoses[key] = diagnose(part, book, self.seed, extreme, quick=quick)
        return replace(verdict, misconceptions=self._diagnoses[key])


def run(item: Item, part: Part, seed: int) -> Verdict:
    """Search a counterexample among a check's cases; whatever the student's code does becomes a verdict."""
    case: Case | None = None
    try:
        for case in item.check.cases(item.part.name, seed):
            with np.errstate(all="ignore"):
                found = item.check.judge(part, case)
            if found:
                return _failed(item, found, case)
    except Unexpected as unexpected:
        return _failed(item, unexpected.violation, case)
    except StudentFault as fault:
        return _fault(item, fault, case)
    except WorkerFault:
        raise
    except Exception as error:
        where = f"{item.check.file}: the check {item.check.name!r}"
        raise GraderFault(f"{where} failed on {item.part.name}: {type(error).__name__}: {error}") from error
    return _verdict(item, "passed", "; ".join(part.notes))


def _failed(item: Item, found: Violation, case: Case | None) -> Verdict:
    evidence: dict[str, Any] = {}
    if case and case.label:
        evidence["case"] = case.label
    if case and (arguments := _readable(item, case)):
        evidence["arguments"] = arguments
    for key in ("expected", "observed", "where", "size", "allowed", "picture"):
        value = getattr(found, key)
        if value is not None:
            evidence[key] = _plain(value)
    verdict = _verdict(item, "failed", found.message, found.hint, evidence)
    known = [all_misconceptions().get(key) for key in found.names]
    return replace(verdict, misconceptions=tuple(named(mistake, item.part.name) for mistake in known))


def _readable(item: Item, case: Case) -> dict[str, Any]:
    """The arguments that are small enough to read."""
    shown = {name: small(value, entries=24) for name, value in zip(item.part.arguments, case.args, strict=False)}
    return {name: value for name, value in shown.items() if value is not None}


def _plain(value: Any) -> Any:
    """Evidence as JSON can hold it: NaN and infinities as text, also inside pictures."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return float(f"{value:.6g}") if np.isfinite(value) else str(value)
    return value


def _fault(item: Item, fault: StudentFault, case: Case | None) -> Verdict:
    evidence: dict[str, Any] = {"case": case.label} if case and case.label else {}
    hint = ""
    status: Status
    if isinstance(fault, Raised):
        status = "error"
        evidence["traceback"] = [
            {"file": f.file, "line": f.line, "function": f.function, "code": f.code} for f in fault.frames
        ]
        if fault.type == "NotImplementedError":
            inner = fault.frames[-1].function if fault.frames else item.part.name
            hint = f"Write {inner} first." if inner != item.part.name else f"Write {item.part.name}."
    elif isinstance(fault, TimedOut):
        status = "timeout"
    elif isinstance(fault, Crashed | LoadFailed):
        status = "crashed"
    elif isinstance(fault, Missing):
        status = "blocked"
    else:
        assert isinstance(fault, BadResult | NoGradient)
        status = "failed"
    return _verdict(item, status, fault.message, hint, evidence)


def _verdict(
    item: Item, status: Status, message: str = "", hint: str = "", evidence: dict[str, Any] | None = None
) -> Verdict:
    return Verdict(item.id, item.check.says, item.part.name, status, message, hint, evidence or {})


def unreadable(spec: Spec, message: str, evidence: dict[str, Any]) -> list[Verdict]:
    """Verdicts of a submission that could not be imported: the same message on every check."""
    return [_verdict(item, "error", message, "", dict(evidence)) for item in plan(spec)]


__all__ = ["Caller", "Item", "Session", "plan", "run", "selected", "unreadable"]
