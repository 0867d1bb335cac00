"""Knows one lane of a class: a submission goes in, its files come out; the same here, in a job, and on a cluster.

What a lane is given and gives back can be sent to another process of ours; a submission never sees either.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Self

from grader.api import grade
from grader.cli import fault_text
from grader.fingerprint import grader_sha256
from grader.hosts import Hosts
from grader.reports import all_reports
from grader.spec import Spec, SpecError, available, load
from grader.student import hosts_of
from grader.submission import Submission
from grader.worker import GraderFault

RUBRIC = "rubric.json"


@dataclass(frozen=True)
class Parcel:
    """One submission with all that decides its result.

    submission  what was handed in; the path of what cannot be read
    assignment  an id, or the path of a spec, with the hash of what it said where the parcel was made
    grader      the hash of the grader there: another grader would give other results
    """

    submission: Submission | Path
    name: str
    assignment: str
    spec_sha256: str
    grader: str
    formats: tuple[str, ...] = ()
    seed: int = 0
    level: str = "auto"


@dataclass(frozen=True)
class Fault:
    """Not graded, through no fault of the submission."""

    reason: str


Answer = Mapping[str, str] | Fault  # name of a file -> its text


class Lane:
    """The warm parents of one thread or process, for one submission after another; a context manager."""

    def __init__(self) -> None:
        self._hosts: dict[tuple[str, str], Hosts] = {}

    def answer(self, parcel: Parcel) -> Answer:
        """The submission's files. Raises nothing but what ends the process: a fault of ours is an answer, too."""
        try:
            return self._files(parcel)
        except Exception as error:  # noqa: BLE001 - whatever it is, the other submissions are graded
            if os.environ.get("GRADER_DEBUG") == "1":
                traceback.print_exc()
            with suppress(Exception):
                self.close()  # the next one gets new parents
            return Fault(fault_text(error))

    def _files(self, parcel: Parcel) -> dict[str, str]:
        if parcel.grader != grader_sha256():
            raise GraderFault("another version of the grader is installed where this was to be graded")
        spec = _spec(parcel.assignment, parcel.spec_sha256)
        key = (parcel.level, parcel.spec_sha256)
        if key not in self._hosts:
            self._hosts[key] = hosts_of(spec, parcel.level)
        hosts = self._hosts[key]
        result = grade(parcel.submission, assignment=spec, seed=parcel.seed, hosts=hosts, name=parcel.name)
        if not result.counts:
            raise GraderFault('the isolation "none" is for a debugger, and what it finds is no grade')
        reports = [all_reports().get(name) for name in parcel.formats]
        files = {report.file_name: report.write(result) for report in reports if report.file_name != RUBRIC}
        return {**files, RUBRIC: result.to_json()}

    def close(self) -> None:
        """End every process; safe to call twice."""
        while self._hosts:
            self._hosts.popitem()[1].close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def address(spec: Spec) -> str:
    """What another process can load a spec by: its id where it comes with a package, else its file."""
    known = spec.id in available() and load(spec.id).sha256 == spec.sha256
    return spec.id if known else str(Path(spec.origin).resolve())


@lru_cache(maxsize=8)
def _spec(assignment: str, sha256: str) -> Spec:
    spec = load(assignment)
    if spec.sha256 != sha256:
        raise SpecError(f"{spec.origin}: is not the spec that this was to be graded by; has it been changed meanwhile?")
    return spec
