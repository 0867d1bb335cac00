"""Grades one submission's text, in the parts that its mistake can reach, and keeps what a test asks of the verdicts."""

from __future__ import annotations

import tempfile
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from grader.engine import Session
from grader.misconceptions import all_misconceptions
from grader.rubric import score
from grader.spec import Spec, load
from grader.student import Hosts, Student, limits_of
from grader.submission import read
from grader.verdict import Verdict


@cache
def spec(assignment: str = "hand-decoder") -> Spec:
    return load(assignment)


@dataclass(frozen=True)
class Outcome:
    """What came of one submission."""

    verdicts: tuple[Verdict, ...]
    assignment: str = "hand-decoder"

    @property
    def lost(self) -> set[str]:
        """The parts of which a check did not pass."""
        return {verdict.part for verdict in self.verdicts if not verdict.passed}

    @property
    def named(self) -> set[tuple[str, str]]:
        """(id, part) of every mistake that was named."""
        return {(name.id, name.where) for verdict in self.verdicts for name in verdict.misconceptions}

    def ids(self, *parts: str) -> set[str]:
        """The mistakes that were named in some parts."""
        return {key for key, where in self.named if where in parts}

    def points(self) -> dict[str, float]:
        """Earned points by criterion."""
        return {line.criterion.id: line.earned for line in score(spec(self.assignment), self.verdicts)}


def above(*parts: str, assignment: str = "hand-decoder") -> set[str]:
    """The parts themselves and all that are built on them."""
    return {p.name for p in spec(assignment).parts if {p.name, *spec(assignment).below(p)} & set(parts)}


def users(*parts: str) -> set[str]:
    """The parts themselves and those that use them directly."""
    return {p.name for p in spec().parts if {p.name, *p.uses} & set(parts)}


def grade(text: str, hosts: Hosts, parts: Collection[str] | None = None, assignment: str = "hand-decoder") -> Outcome:
    """The verdicts on some parts, on all without `parts`; the others are taken to be right."""
    of = spec(assignment)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / of.file
        path.write_text(text, "utf-8")
        student = Student(read(path, of.file), hosts)
    try:
        student.load()
        session = Session(of, student)
        if parts is not None:
            session.assume_right({p.name for p in of.parts} - set(parts))
        items = [item for item in session.items if parts is None or item.part.name in parts]
        return Outcome(tuple(session.verdict(item.id) for item in items), assignment)
    finally:
        student.close()


def expected(misconception: str | tuple[str, ...] | None) -> set[str]:
    """The ids under which a mistake is to be reported."""
    ids = set() if misconception is None else {misconception} if isinstance(misconception, str) else set(misconception)
    assert all(key in all_misconceptions() for key in ids), ids
    return ids


def hosts() -> Hosts:
    """Warm parents with the assignment's limits."""
    return Hosts(limits=limits_of(spec()))
