"""Knows how many submissions are graded: one by one or side by side, each result written whole as it is there.

A fault of the grader or the machine leaves one submission not graded and the others as they are.
"""

from __future__ import annotations

import json
import os
import threading
import traceback
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grader import __version__
from grader.api import grade
from grader.cli import fault_text
from grader.gradebook import NOT_GRADED, Row
from grader.hosts import Hosts
from grader.names import Task
from grader.output import write_whole
from grader.reports import Report
from grader.spec import Spec
from grader.student import limits_of
from grader.submission import Unreadable, read
from grader.worker import GraderFault
from grader.worker.levels import resolve

RUBRIC = "rubric.json"


@dataclass(frozen=True)
class Order:
    """What is done to each submission.

    out      the folder in which each submission gets a folder of its own
    formats  reports that are written beside `rubric.json`
    level    isolation of the submission's process
    resume   leave what has been graded already: same submission, spec, grader and seed
    """

    spec: Spec
    out: Path
    formats: Sequence[Report] = ()
    seed: int = 0
    level: str = "auto"
    resume: bool = False


@dataclass(frozen=True)
class Outcome:
    """One submission afterwards: its rubric, or the reason why it is not graded."""

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
        return f"{self.task.name}: {round(r['score'], 2):g} of {r['max_score']:g} ({r['percent']:g} %), {passed}{again}"


@dataclass
class _Lanes:
    """The warm parents of each thread: a conversation belongs to one thread alone."""

    order: Order
    _local: threading.local = field(default_factory=threading.local)
    _all: list[Hosts] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def hosts(self) -> Hosts:
        if getattr(self._local, "hosts", None) is None:
            self._local.hosts = Hosts(self.order.level, limits_of(self.order.spec))
            with self._lock:
                self._all.append(self._local.hosts)
        hosts: Hosts = self._local.hosts
        return hosts

    def renew(self) -> None:
        """After a fault, the next submission of this thread gets new parents."""
        with suppress(Exception):
            self._local.hosts.close()
        self._local.hosts = None

    def close(self) -> None:
        for hosts in self._all:
            hosts.close()


def run(tasks: Sequence[Task], order: Order, jobs: int = 1) -> Generator[Outcome, None, None]:
    """The outcome of every task in the order of the tasks, each as soon as it and those before it are there.

    Closing the iterator ends what has not begun; what is written stays.
    """
    lanes = _Lanes(order)
    try:
        if jobs == 1:
            for task in tasks:
                yield one(task, order, lanes.hosts, lanes.renew)
            return
        pool = ThreadPoolExecutor(jobs, thread_name_prefix="grader")
        try:
            waiting: list[Future[Outcome]] = [pool.submit(one, task, order, lanes.hosts, lanes.renew) for task in tasks]
            for future in waiting:
                yield future.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
    finally:
        lanes.close()


def one(task: Task, order: Order, hosts: Callable[[], Hosts], renew: Callable[[], None]) -> Outcome:
    """Grade one submission and write its files; a fault of ours becomes an outcome without a rubric."""
    folder = order.out / task.name
    try:
        if order.resume and (before := _graded_before(task, order, folder)):
            return Outcome(task, before, resumed=True)
        result = grade(task.path, assignment=order.spec, seed=order.seed, hosts=hosts(), name=task.name)
        for report in order.formats:
            if report.file_name != RUBRIC:
                write_whole(folder / report.file_name, report.write(result))
        write_whole(folder / RUBRIC, result.to_json())  # last: where it is, everything is
        return Outcome(task, result.rubric)
    except Exception as error:  # noqa: BLE001 - whatever it is, the other submissions are graded
        if isinstance(error, GraderFault):
            renew()
        if os.environ.get("GRADER_DEBUG") == "1":
            traceback.print_exc()
        with suppress(OSError):
            (folder / RUBRIC).unlink()  # an earlier one says nothing of this submission
        return Outcome(task, reason=fault_text(error))


def _graded_before(task: Task, order: Order, folder: Path) -> dict[str, Any] | None:
    """The rubric that lies there, when it is of the same submission, spec, grader, seed and isolation."""
    try:
        rubric: dict[str, Any] = json.loads((folder / RUBRIC).read_bytes())
        same = (
            rubric["submission"]["sha256"] == read(task.path, order.spec.file).sha256
            and rubric["submission"]["name"] == task.name
            and rubric["assignment"]["spec_sha256"] == order.spec.sha256
            and rubric["provenance"]["grader"] == __version__
            and rubric["provenance"]["seed"] == order.seed
            and rubric["provenance"]["isolation"] == str(resolve(order.level))
            and all((folder / report.file_name).is_file() for report in order.formats)
        )
    except (OSError, ValueError, KeyError, TypeError, Unreadable):
        return None
    return rubric if same else None
