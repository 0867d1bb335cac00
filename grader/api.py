"""Knows the whole way from a path to a result: what the command line, pytest and other programs call."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from grader import rubric as rubrics
from grader.engine import Session, selected, unreadable
from grader.spec import Spec, load
from grader.student import Hosts, Student, limits_of
from grader.submission import Submission, Unreadable, read
from grader.verdict import Verdict
from grader.worker import LoadFailed, Tampered

Progress = Callable[[int, int, Verdict], None]


@dataclass(frozen=True)
class Result:
    """One graded submission.

    rubric    the dict that `rubric.json` holds
    verdicts  in the order of the plan
    printed   what the submission's code wrote, cut to a few thousand characters
    problem   why it is unreadable or tampered, else empty
    """

    spec: Spec
    name: str
    rubric: dict[str, Any]
    verdicts: tuple[Verdict, ...]
    printed: str = ""
    problem: str = ""

    @property
    def score(self) -> float:
        """Points earned."""
        return float(self.rubric["score"])

    @property
    def passed(self) -> bool:
        """At or above the passing percentage with every gate passed."""
        return bool(self.rubric["passed"])

    def to_json(self) -> str:
        """The rubric as strict JSON with sorted keys."""
        return json.dumps(self.rubric, indent=2, sort_keys=True, allow_nan=False, ensure_ascii=False) + "\n"


def grade(
    path: str | Path,
    *,
    assignment: str | Path | Spec,
    seed: int = 0,
    only: str | None = None,
    hosts: Hosts | None = None,
    name: str | None = None,
    progress: Progress | None = None,
) -> Result:
    """Grade one submission.

    assignment  an id, the path of a spec, or a Spec
    only        a pattern of check ids; the others count as not run, so the score is partial
    hosts       warm parents to share; without them they are started and ended here
    errors      SpecError; GraderFault when the machine or the grader fails. A submission cannot cause an error.
    """
    spec = assignment if isinstance(assignment, Spec) else load(assignment)
    began, started = time.perf_counter(), datetime.now(UTC)
    own = hosts or Hosts(limits=limits_of(spec))
    try:
        outcome = _outcome(path, spec, seed, only, own, progress)
    finally:
        if hosts is None:
            own.close()
    submission, verdicts, status, problem, student = outcome
    identity = {
        "name": name or (submission.name if submission else Path(path).stem),
        "sha256": submission.sha256 if submission else None,
        "backend": student.backend if student and status != "unreadable" else None,
    }
    timing = {
        "started": started.isoformat(timespec="seconds").replace("+00:00", "Z"),
        "seconds": round(time.perf_counter() - began, 3),
    }
    versions = student.loaded.versions if student and status != "unreadable" else {}
    rubric = rubrics.rubric(
        spec,
        verdicts,
        submission=identity,
        status=status,
        origin=rubrics.provenance(own.level, seed, versions),
        timing=timing,
    )
    return Result(spec, identity["name"] or "", rubric, tuple(verdicts), student.printed if student else "", problem)


_Outcome = tuple[Submission | None, list[Verdict], rubrics.SubmissionStatus, str, Student | None]


def _outcome(
    path: str | Path, spec: Spec, seed: int, only: str | None, hosts: Hosts, progress: Progress | None
) -> _Outcome:
    try:
        submission = read(path, spec.file)
    except Unreadable as error:
        return None, unreadable(spec, str(error), {}), "unreadable", str(error), None
    student = Student(submission, hosts)
    try:
        student.load()
        session = Session(spec, student, seed)
        verdicts: list[Verdict] = []
        count = len(selected(session.items, only))
        for verdict in session.verdicts(only):
            verdicts.append(verdict)
            if progress:
                progress(len(verdicts), count, verdict)
        student.close()
        return submission, verdicts, "graded", "", student
    except LoadFailed as fault:
        evidence: dict[str, Any] = {}
        if fault.file:
            evidence = {"file": fault.file, "line": fault.line, "code": fault.source_line}
        if fault.frames:
            evidence["traceback"] = [vars(frame) for frame in fault.frames]
        student.printed = fault.printed
        return submission, unreadable(spec, fault.message, evidence), "unreadable", fault.message, student
    except Tampered as fault:
        verdicts = unreadable(spec, fault.message, {"tampering": fault.evidence})
        return submission, verdicts, "tampered", fault.message, student
    finally:
        with suppress(Tampered):
            student.close()
