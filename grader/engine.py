"""Knows how verdicts come about: plan the checks, ask each case, stop at the first counterexample.

Knows no pytest, no points, no printing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from grader.cases import Case
from grader.checks import Check, all_checks
from grader.diagnosis import named
from grader.explained import Explained
from grader.hints import hint
from grader.misconceptions import all_misconceptions
from grader.part import Part, Unexpected, small
from grader.patterns import name_fault
from grader.sound import examine
from grader.spec import PartSpec, Spec, SpecError
from grader.student import Student
from grader.verdict import Status, Verdict, Violation
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

Only = str | Sequence[str] | None  # patterns of check ids, or names of functions


@dataclass(frozen=True)
class Item:
    """One check on one part, with the id that its verdict gets."""

    id: str
    part: PartSpec
    check: Check


def plan(spec: Spec) -> tuple[Item, ...]:
    """Every check that some criterion of the spec wants, part by part in the spec's order.

    errors: SpecError where the spec names what does not exist; so this is asked before anything is graded.
    """
    key = id(spec), len(all_checks())
    if key not in _PLANS:
        if len(_PLANS) >= KEPT:
            _PLANS.clear()
        _PLANS[key] = spec, _plan(spec)  # the spec is kept so that its id stays its own
    return _PLANS[key][1]


KEPT = 16
_PLANS: dict[tuple[int, int], tuple[Spec, tuple[Item, ...]]] = {}


def _plan(spec: Spec) -> tuple[Item, ...]:
    checks = (*all_checks(), *spec.checks)
    every = [
        Item(f"{part.slug}.{check.name}", part, check)
        for part in spec.parts
        for check in checks
        if check.applies_to(part)
    ]
    examine(spec, [item.id for item in every])
    items = [item for item in every if spec.criterion_of(item.id)]
    # parts in the spec's order; of one part, what the others wait for comes first
    place = {part.name: number for number, part in enumerate(spec.parts)}
    items.sort(key=lambda item: (place[item.part.name], bool(item.check.needs)))
    return tuple(items)


def selected(items: Sequence[Item], only: Only = None) -> tuple[Item, ...]:
    """The items whose id or part matches a pattern, or one of several; all without one."""
    if only is None:
        return tuple(items)
    patterns = (only,) if isinstance(only, str) else tuple(only)
    return tuple(item for item in items if any(_fits(item, pattern) for pattern in patterns))


def _fits(item: Item, pattern: str) -> bool:
    written = pattern.replace("_", "-")  # as the functions are
    named = pattern in (item.part.name, item.part.slug)
    return named or fnmatchcase(item.id, pattern) or fnmatchcase(item.id, written)


def checked_seed(seed: object) -> int:
    """A seed as it is; errors: ValueError for what is none."""
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise ValueError(f"the seed is {seed!r}; it is a whole number from 0 on")
    return seed


class Session:
    """One submission before one assignment's checks: verdicts on demand, each made once."""

    def __init__(self, spec: Spec, student: Student, seed: int = 0) -> None:
        self.spec, self.student, self.seed = spec, student, seed
        self.items = plan(spec)
        self._by_id = {item.id: item for item in self.items}
        self._verdicts: dict[str, Verdict] = {}
        self._judging: set[str] = set()
        self._explained = Explained(self, run)

    def verdicts(self, only: Only = None) -> Iterator[Verdict]:
        """The verdicts in the plan's order, made while they are asked for."""
        for item in selected(self.items, only):
            yield self.verdict(item.id)

    def verdict(self, key: str) -> Verdict:
        """The verdict of one check; errors: Tampered and GraderFault, which end the grading."""
        if key not in self._verdicts:
            self._judging.add(key)
            self._verdicts[key] = self._judge(self._by_id[key])
            self._judging.discard(key)
        return self._verdicts[key]

    def _judge(self, item: Item) -> Verdict:
        if reason := self.spec.skip.get(item.id):
            return _verdict(item, "skipped", reason)
        if not self.student.defines(item.part.name):
            return _verdict(item, "missing", f"{item.part.name} is not defined", f"Write {item.part.stub}: ...")
        for name in item.check.needs:
            needed = f"{item.part.slug}.{name}"
            if needed != item.id and needed in self._by_id and not self.verdict(needed).fine:
                return _verdict(item, "blocked", f"waits for {needed}, which has not passed")
        part = Part(self.spec, item.part, self.student, [])
        verdict = run(item, part, self.seed)
        with np.errstate(all="ignore"):
            return self._explained(item, part, verdict)

    def assume_right(self, names: Iterable[str]) -> None:
        """Parts that are known to be right: they are not judged for the sake of what is built on them."""
        self._explained.right.update(names)

    def settled(self, key: str) -> bool:
        """Whether a check is in the plan and neither it nor one that it waits for is being judged right now."""
        item = self._by_id.get(key)
        waits = {key, *(f"{item.part.slug}.{name}" for name in item.check.needs)} if item else set()
        return item is not None and not waits & self._judging


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
        return _fault(item, fault, case, part)
    except (WorkerFault, SpecError):
        raise
    except Exception as error:
        where = f"{item.check.file}: the check {item.check.name!r}"
        raise GraderFault(f"{where} failed on {item.part.name}: {type(error).__name__}: {error}") from error
    notes = "; ".join(part.notes) if item.check.noted else ""
    return _verdict(item, "passed", notes, "", {"picture": _plain(part.pictures[-1])} if part.pictures else {})


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
    return _with_names(_verdict(item, "failed", found.message, found.hint, evidence), found.names)


def _with_names(verdict: Verdict, ids: tuple[str, ...]) -> Verdict:
    known = [all_misconceptions().get(key) for key in ids if key]
    return replace(verdict, misconceptions=tuple(named(mistake, verdict.part) for mistake in known))


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


def _fault(item: Item, fault: StudentFault, case: Case | None, part: Part) -> Verdict:
    evidence: dict[str, Any] = {"case": case.label} if case and case.label else {}
    said = ""
    status: Status
    if isinstance(fault, Raised):
        status = "error"
        evidence["traceback"] = [
            {"file": f.file, "line": f.line, "function": f.function, "code": f.code} for f in fault.frames
        ]
        said = hint(fault, part)
    elif isinstance(fault, TimedOut):
        status = "timeout"
    elif isinstance(fault, Crashed | LoadFailed):
        status = "crashed"
    elif isinstance(fault, Missing):
        status = "blocked"
    else:
        assert isinstance(fault, BadResult | NoGradient)
        status = "failed"
    verdict = _verdict(item, status, fault.message, said, evidence)
    return _with_names(verdict, (name_fault(fault) or "",))


def _verdict(
    item: Item, status: Status, message: str = "", hint: str = "", evidence: dict[str, Any] | None = None
) -> Verdict:
    return Verdict(item.id, item.check.says, item.part.name, status, message, hint, evidence or {})


def unreadable(spec: Spec, message: str, evidence: dict[str, Any]) -> list[Verdict]:
    """Verdicts of a submission that could not be imported: the same message on every check."""
    return [_verdict(item, "error", message, "", dict(evidence)) for item in plan(spec)]


__all__ = ["Item", "Session", "plan", "run", "selected", "unreadable"]
