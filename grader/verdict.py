"""Knows what the outcome of one check is; knows neither points nor printing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Status = Literal["passed", "failed", "error", "missing", "timeout", "crashed", "blocked", "skipped"]


@dataclass(frozen=True)
class Violation:
    """A counterexample that a check has found.

    message   what was seen and where, one sentence
    expected, observed   the small arrays or numbers that belong to it, when they help
    hint      what to do about this symptom
    where     index of the greatest difference; size and allowed say how great
    picture   data for a drawing, such as {"kind": "influence", "matrix": [[...]]}
    names     ids of misconceptions that the check itself recognizes by their pattern
    """

    message: str
    expected: Any = None
    observed: Any = None
    hint: str = ""
    where: tuple[int, ...] | None = None
    size: float | None = None
    allowed: float | None = None
    picture: dict[str, Any] | None = None
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Named:
    """A known mistake that a part's outputs agree with.

    `where` is the part; `alternatives` are mistakes that no input tells apart from this one.
    """

    id: str
    where: str
    title: str
    formula: str
    cure: str
    alternatives: tuple[str, ...] = ()


@dataclass(frozen=True)
class Verdict:
    """One check on one part."""

    id: str
    title: str
    part: str
    status: Status
    message: str = ""
    hint: str = ""
    evidence: dict[str, Any] = field(default_factory=dict)
    misconceptions: tuple[Named, ...] = ()
    carried: tuple[str, ...] = ()
    printed: str = ""

    @property
    def passed(self) -> bool:
        """Whether it counts."""
        return self.status == "passed"

    @property
    def fine(self) -> bool:
        """Whether it stands against nothing: it has passed, or the spec skips it and it counts neither way."""
        return self.status in ("passed", "skipped")
