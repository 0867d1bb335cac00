"""Knows one submission being graded: verdicts on demand, what ends a grading early, and the rubric at the end."""

from __future__ import annotations

import os
import time
from collections import defaultdict
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from grader import rubric as rubrics
from grader.engine import Session, plan, unreadable
from grader.hosts import Hosts
from grader.spec import Spec
from grader.student import Student, hosts_of
from grader.submission import Submission, Unreadable, read, shown
from grader.verdict import Verdict
from grader.worker import LoadFailed, StudentFault, Tampered


class _Discreet(Session):
    """Keeps nothing of what is printed while a hidden check is asked, also on the way to another one."""

    def verdict(self, key: str) -> Verdict:
        """The verdict of one check."""
        criterion = self.spec.criterion_of(key)
        with self.student.hushed(criterion is not None and criterion.hides(key)):
            return super().verdict(key)


class Grading:
    """One submission before one assignment; a context manager, nothing is started before the first verdict.

    items     the plan: every check on every part
    status    graded, unreadable or tampered, as far as is known
    problem   why it is unreadable or tampered, else empty
    errors    GraderFault from `verdict` and `settle`; whatever the submission does becomes a verdict
    """

    def __init__(
        self,
        path: str | Path | Submission,
        spec: Spec,
        *,
        seed: int = 0,
        hosts: Hosts | None = None,
        name: str | None = None,
    ) -> None:
        self._submission = path if isinstance(path, Submission) else None
        self.path = path.path if isinstance(path, Submission) else Path(path)
        self.spec, self.seed = spec, seed
        self.items = plan(spec)
        self.status: rubrics.SubmissionStatus = "graded"
        self.problem = ""
        self._name = name
        self._own = None if hosts else hosts_of(spec)
        self._hosts = hosts or self._own
        self._began, self._started = time.perf_counter(), datetime.now(UTC)
        self._student: Student | None = None
        self._session: Session | None = None
        self._verdicts: dict[str, Verdict] = {}
        self._seconds: defaultdict[str, float] = defaultdict(float)  # by criterion

    def verdict(self, key: str) -> Verdict:
        """The verdict of one check of the plan; the first call reads and imports the submission."""
        self.load()
        if self.status == "graded" and key not in self._verdicts:
            assert self._session is not None
            began, criterion = time.perf_counter(), self.spec.criterion_of(key)
            try:
                self._verdicts[key] = self._session.verdict(key)
            except Tampered as fault:
                self._end("tampered", fault.message, {"tampering": fault.evidence})
            if criterion:
                self._seconds[criterion.id] += time.perf_counter() - began
        return self._verdicts[key]

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Those that were asked for, in the plan's order; all of them for what is not graded."""
        return tuple(self._verdicts[item.id] for item in self.items if item.id in self._verdicts)

    @property
    def complete(self) -> bool:
        """Whether every check of the plan has its verdict."""
        return len(self._verdicts) == len(self.items)

    @property
    def printed(self) -> str:
        """What the submission's code has written so far, cut to a few thousand characters."""
        return self._student.printed if self._student else ""

    @property
    def name(self) -> str:
        """Of the submission."""
        if self._name or self._submission:
            return self._name or str(self._submission and self._submission.name)
        place = Path(os.path.abspath(self.path))
        return shown(place.name if os.path.isdir(place) else place.stem)

    def load(self) -> None:
        """Read and import the submission, once."""
        if self._session or self.status != "graded":
            return
        assert self._hosts is not None
        try:
            self._submission = self._submission or read(self.path, self.spec.file)
            self._student = Student(self._submission, self._hosts)
            self._student.load()
            self._session = _Discreet(self.spec, self._student, self.seed)
        except Unreadable as error:
            self._end("unreadable", str(error), {})
        except Tampered as fault:
            self._end("tampered", fault.message, {"tampering": fault.evidence})
        except StudentFault as fault:
            evidence: dict[str, Any] = {}
            if isinstance(fault, LoadFailed) and fault.file:
                evidence = {"file": fault.file, "line": fault.line, "code": fault.source_line}
            if isinstance(fault, LoadFailed) and fault.frames:
                evidence["traceback"] = [vars(frame) for frame in fault.frames]
            assert self._student is not None
            self._student.printed = fault.printed
            self._end("unreadable", fault.message, evidence)

    def settle(self) -> None:
        """End the submission's processes, with a last look for bytes that were written out of turn."""
        try:
            if self._student:
                self._student.close()
        except Tampered as fault:
            self._end("tampered", fault.message, {"tampering": fault.evidence})

    def _end(self, status: rubrics.SubmissionStatus, message: str, evidence: dict[str, Any]) -> None:
        if self.status == "graded":
            self.status, self.problem = status, message
            self._verdicts = {verdict.id: verdict for verdict in unreadable(self.spec, message, evidence)}

    def rubric(self) -> dict[str, Any]:
        """The dict that `rubric.json` holds, of the verdicts so far."""
        loaded = self._student.loaded if self._student and self._session else None
        identity = {
            "name": self.name,
            "sha256": self._submission.sha256 if self._submission else None,
            "backend": loaded.backend if loaded else None,
        }
        assert self._hosts is not None
        return rubrics.rubric(
            self.spec,
            self.verdicts,
            submission=identity,
            status=self.status,
            origin=rubrics.provenance(self._hosts.isolation, self.seed, loaded.versions if loaded else {}),
            timing={
                "started": self._started.isoformat(timespec="seconds").replace("+00:00", "Z"),
                "seconds": round(time.perf_counter() - self._began, 3),
                "criteria": {key: round(seconds, 3) for key, seconds in self._seconds.items()},
            },
        )

    def close(self) -> None:
        """End every process that was started for it; safe to call twice."""
        try:
            if self._student:
                with suppress(Tampered):
                    self._student.close()
        finally:
            if self._own:
                self._own.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
