"""Knows a class: every submission's outcome as soon as it is there, graded here, in jobs or on a cluster.

A fault of the grader or the machine leaves one submission not graded and the others as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from grader import kept
from grader.cli import fault_text
from grader.fingerprint import grader_sha256
from grader.gradebook import NOT_GRADED, Row, problem
from grader.lane import Answer, Fault, Lane, Parcel, address
from grader.names import Task
from grader.reports import Report
from grader.spec import Spec
from grader.submission import Submission, Unreadable, read
from grader.worker.levels import resolve

LONGEST_REASON = 160  # characters of a line; the gradebook has the rest


@dataclass(frozen=True)
class Order:
    """What is done to each submission.

    out      the folder in which each submission gets a folder of its own
    formats  reports that are written beside `rubric.json`
    level    isolation of the submission's process
    resume   leave what has been graded already: same submission, spec, grader, seed and isolation
    cluster  the address of a Dask scheduler, whose workers grade
    """

    spec: Spec
    out: Path
    formats: Sequence[Report] = ()
    seed: int = 0
    level: str = "auto"
    resume: bool = False
    cluster: str | None = None


@dataclass(frozen=True)
class Outcome:
    """One submission afterwards: its rubric without the criteria, or the reason why it is not graded."""

    task: Task
    rubric: dict[str, Any] | None = None
    reason: str = ""
    resumed: bool = False

    @property
    def row(self) -> Row:
        """Its line in the gradebook."""
        return Row(self.task.name, self.rubric, self.reason)

    def __str__(self) -> str:
        if self.rubric is None:
            return f"{self.task.name}: {NOT_GRADED}: {self.reason}"
        r = self.rubric
        passed = "passed" if r["passed"] else "not passed" if r["status"] == "graded" else str(r["status"])
        again = " (graded before)" if self.resumed else ""
        why = f": {_short(problem(r))}" if problem(r) else ""
        score = f"{round(r['score'], 2):g} of {r['max_score']:g} ({r['percent']:g} %)"
        return f"{self.task.name}: {score}, {passed}{again}{why}"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_REASON else f"{line[:LONGEST_REASON]}…"


def run(tasks: Sequence[Task], order: Order, jobs: int = 1) -> Generator[Outcome, None, None]:
    """The outcome of every task as soon as it is there; what is left from before comes first.

    Closing the iterator ends what has not been done; what is written stays.
    errors: GraderFault for an isolation that is not to be had or a cluster that is not there; OSError while writing.
    """
    parcel_of = _parcels(order)
    with _way(order, min(jobs, len(tasks))) as way:
        isolation, todo = way.isolation(order.level), []
        for task in tasks:
            parcel = parcel_of(task)
            if isinstance(parcel, Fault):
                yield _kept(task, parcel, order)
            elif isinstance(parcel.submission, Path):  # it cannot be read: nothing is to be run
                with Lane() as lane:
                    yield _kept(task, lane.answer(parcel), order)
            elif order.resume and (rubric := _before(task, parcel, order, isolation)):
                yield Outcome(task, rubric, resumed=True)
            else:
                todo.append(task)
        with closing(way.answers(todo, parcel_of)) as answers:
            for task, answer in answers:
                yield _kept(task, answer, order)


class Way(Protocol):
    """Where the lanes are; a context manager."""

    def isolation(self, level: str) -> str:
        """What a level is there."""

    def answers(
        self, tasks: Sequence[Task], parcel: Callable[[Task], Parcel | Fault]
    ) -> Generator[tuple[Task, Answer], None, None]:
        """The answer for every task as soon as it is there."""


def _way(order: Order, jobs: int) -> AbstractContextManager[Way]:
    if order.cluster is not None:
        from grader.cluster import Cluster

        return Cluster(order.cluster)
    return nullcontext(Jobs(jobs) if jobs > 1 else Here())


class Here:
    """One lane, in this process."""

    def isolation(self, level: str) -> str:
        """What a level is on this machine."""
        return str(resolve(level))

    def answers(
        self, tasks: Sequence[Task], parcel: Callable[[Task], Parcel | Fault]
    ) -> Generator[tuple[Task, Answer], None, None]:
        """One after the other."""
        with Lane() as lane:
            for task in tasks:
                made = parcel(task)
                yield task, made if isinstance(made, Fault) else lane.answer(made)


class Jobs(Here):
    """Several processes on this machine."""

    def __init__(self, count: int) -> None:
        self.count = count

    def answers(
        self, tasks: Sequence[Task], parcel: Callable[[Task], Parcel | Fault]
    ) -> Generator[tuple[Task, Answer], None, None]:
        """Side by side."""
        from grader import jobs

        return jobs.answers(tasks, parcel, self.count)


def _parcels(order: Order) -> Callable[[Task], Parcel | Fault]:
    """What makes a parcel of a task; whatever happens while it is read touches that task alone."""
    spec, where = order.spec, address(order.spec)
    formats = tuple(report.name for report in order.formats)

    def parcel(task: Task) -> Parcel | Fault:
        submission: Submission | Path
        try:
            submission = read(task.path, spec.file)
        except Unreadable:
            submission = task.path
        except Exception as error:  # noqa: BLE001 - the machine's, and the others are graded
            return Fault(fault_text(error))
        return Parcel(submission, task.name, where, spec.sha256, grader_sha256(), formats, order.seed, order.level)

    return parcel


def _before(task: Task, parcel: Parcel, order: Order, isolation: str) -> dict[str, Any] | None:
    names = [report.file_name for report in order.formats]
    return kept.before(order.out / task.name, kept.origin(parcel, isolation), names)


def _kept(task: Task, answer: Answer, order: Order) -> Outcome:
    folder = order.out / task.name
    if isinstance(answer, Fault):
        kept.forget(folder)
        return Outcome(task, reason=answer.reason)
    return Outcome(task, kept.keep(folder, answer, grader_sha256()))
