"""Knows what verdicts are worth: Verdicts and a Spec become a score.

The denominator comes from the spec, never from what ran.
"""

from __future__ import annotations

import math
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from grader import __version__
from grader.engine import Item, plan
from grader.spec import Criterion, Spec
from grader.verdict import Named, Verdict

SCHEMA_VERSION = 1
SubmissionStatus = Literal["graded", "unreadable", "tampered"]


@dataclass(frozen=True)
class Scored:
    """One criterion with what was earned.

    exact   the points before they are rounded
    """

    criterion: Criterion
    verdicts: tuple[Verdict, ...]
    exact: float

    @property
    def earned(self) -> float:
        """The points as they are written."""
        return round(self.exact, 6)

    @property
    def holds(self) -> bool:
        """Whether every check passed; one that the spec skips counts neither way."""
        return any(verdict.passed for verdict in self.verdicts) and all(verdict.fine for verdict in self.verdicts)


def score(spec: Spec, verdicts: Sequence[Verdict]) -> tuple[Scored, ...]:
    """Every criterion of the spec; a check of the plan that did not run counts as one that did not pass."""
    made = {verdict.id: verdict for verdict in verdicts}
    planned: dict[str, list[Item]] = {criterion.id: [] for criterion in spec.criteria}
    for item in plan(spec):
        if criterion := spec.criterion_of(item.id):
            planned[criterion.id].append(item)
    return tuple(
        Scored(
            criterion,
            tuple(made[item.id] for item in planned[criterion.id] if item.id in made),
            criterion.points * _share(criterion, planned[criterion.id], made),
        )
        for criterion in spec.criteria
    )


def _share(criterion: Criterion, planned: Sequence[Item], made: Mapping[str, Verdict]) -> float:
    """Between 0 and 1; a check that the spec skips counts neither way."""
    counted = [item for item in planned if item.id not in made or made[item.id].status != "skipped"]
    if not counted:
        return 0.0
    worth = {item.id: _worth(criterion, made.get(item.id)) for item in counted}
    if criterion.rule == "all":
        return min(worth.values())
    if criterion.rule == "each":
        weights = {item.id: criterion.weights.get(item.id, 1.0) for item in counted}
        return sum(weights[key] * worth[key] for key in worth) / sum(weights.values())
    parts = dict.fromkeys(item.part.name for item in counted)
    return sum(min(worth[item.id] for item in counted if item.part.name == name) for name in parts) / len(parts)


def _worth(criterion: Criterion, verdict: Verdict | None) -> float:
    if verdict is None or not verdict.passed:
        return 0.0
    return criterion.carried_share if verdict.carried else 1.0


def provenance(isolation: str, seed: int, versions: Mapping[str, str | None]) -> dict[str, Any]:
    """What the numbers depend on; the worker's libraries where it has told, else ours."""
    return {
        "grader": __version__,
        "numpy": versions.get("numpy") or np.__version__,
        "torch": versions.get("torch"),
        "python": versions.get("python") or platform.python_version(),
        "isolation": isolation,
        "seed": seed,
    }


def rubric(
    spec: Spec,
    verdicts: Sequence[Verdict],
    *,
    submission: Mapping[str, Any],
    status: SubmissionStatus,
    origin: Mapping[str, Any],
    timing: Mapping[str, Any],
) -> dict[str, Any]:
    """`rubric.json` as a dict, fields as in `specs/rubric.schema.json`."""
    scored = score(spec, verdicts)
    earned = round(sum(line.earned for line in scored), 6) if status == "graded" else 0.0
    percent, enough = _percent(spec, math.fsum(line.exact for line in scored) if status == "graded" else 0.0)
    gates = [{"criterion": line.criterion.id, "passed": line.holds} for line in scored if line.criterion.gate]
    passed = status == "graded" and enough and all(gate["passed"] for gate in gates)
    return {
        "schema_version": SCHEMA_VERSION,
        "assignment": {"id": spec.id, "title": spec.title, "version": spec.version, "spec_sha256": spec.sha256},
        "submission": dict(submission),
        "score": earned,
        "max_score": spec.max_score,
        "percent": percent,
        "passed": passed,
        "passing_percent": spec.passing_percent,
        "status": status,
        "gates": gates,
        "criteria": [_criterion(line, status) for line in scored],
        "misconceptions": _misconceptions(verdicts),
        "provenance": dict(origin),
        "timing": dict(timing),
    }


def _percent(spec: Spec, exact: float) -> tuple[float, bool]:
    """The percentage as it is written, and whether it is enough: 79.996 is not 80, and is not written as 80 either."""
    percent = 100 * exact / spec.max_score
    enough = percent >= spec.passing_percent - 1e-9  # thirds add up to whole points but for the last binary digit
    shown = round(percent, 2)
    return (shown if enough or shown < spec.passing_percent else math.floor(100 * percent) / 100), enough


def _criterion(line: Scored, status: SubmissionStatus) -> dict[str, Any]:
    criterion = line.criterion
    return {
        "id": criterion.id,
        "title": criterion.title,
        "points": criterion.points,
        "earned": line.earned if status == "graded" else 0.0,
        "kind": criterion.kind,
        "checks": [_check(criterion, verdict) for verdict in line.verdicts],
    }


def _check(criterion: Criterion, verdict: Verdict) -> dict[str, Any]:
    hidden = criterion.hides(verdict.id)
    evidence = dict(verdict.evidence)
    if verdict.hint:
        evidence["hint"] = verdict.hint
    if verdict.carried:
        evidence["carried"] = list(verdict.carried)
    return {
        "id": verdict.id,
        "title": verdict.title,
        "weight": criterion.weights.get(verdict.id, 1.0),
        "status": verdict.status,
        "visibility": "hidden" if hidden else "visible",
        "message": verdict.message,
        "evidence": evidence,
        "misconceptions": [named.id for named in verdict.misconceptions],
    }


def _misconceptions(verdicts: Sequence[Verdict]) -> list[dict[str, Any]]:
    """Each mistake once, where it was first met."""
    found: dict[tuple[str, str], Named] = {}
    for verdict in verdicts:
        for named in verdict.misconceptions:
            found.setdefault((named.id, named.where), named)
    return [
        {"id": named.id, "where": named.where, "explanation": f"{named.title}: {named.formula}. {named.cure}"}
        for named in found.values()
    ]
