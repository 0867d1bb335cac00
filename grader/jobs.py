"""Knows a class that is graded side by side: some processes of ours, each with a lane and warm parents of its own.

The trusted side computes, too, so threads would wait for each other. A job that dies touches one submission.
"""

from __future__ import annotations

import multiprocessing
import signal
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

from grader.lane import Answer, Fault, Lane, Parcel
from grader.names import Task
from grader.worker import folders

TRIES = 2
END_SECONDS = 10.0  # for a job to end its submission's processes


@dataclass
class _Job:
    """One process, what it works on, and its folder of temporary files, which does not outlive it however it ends."""

    process: SpawnProcess
    pipe: Any  # a Connection, or what Windows has for it
    folder: Path
    task: Task | None = field(default=None)

    def end(self) -> None:
        self.pipe.close()  # an idle one ends by itself
        if self.task is not None:
            self.process.terminate()
        self.process.join(END_SECONDS)
        self.process.kill()
        self.process.join()
        folders.remove(self.folder)

    def ended(self) -> str:
        """How it ended, in words."""
        self.process.join(END_SECONDS)
        status = self.process.exitcode
        return f"killed by signal {-status}" if status is not None and status < 0 else f"exit status {status}"


def answers(
    tasks: Sequence[Task], parcel: Callable[[Task], Parcel | Fault], count: int
) -> Generator[tuple[Task, Answer], None, None]:
    """The answer for every task as soon as it is there, from `count` processes.

    A task whose process dies gets a fresh one, and a Fault when that dies, too. Closing the generator ends all of them.
    """
    waiting = deque(tasks)
    tries = dict.fromkeys((task.name for task in tasks), 0)
    jobs: list[_Job] = []
    try:
        jobs.extend(_start() for _ in range(min(count, len(tasks))))
        while waiting or any(job.task for job in jobs):
            for job in jobs:
                while job.task is None and waiting:
                    following = waiting.popleft()
                    made = parcel(following)
                    if isinstance(made, Fault):
                        yield following, made
                        continue
                    job.task = following
                    with suppress(OSError):  # it has died; `wait` tells
                        job.pipe.send(made)
            busy = {job.pipe: job for job in jobs if job.task}
            for pipe in wait(list(busy)) if busy else ():
                job = busy[pipe]
                task = job.task
                assert task is not None
                try:
                    answer: Answer = job.pipe.recv()
                except (EOFError, OSError):
                    how = job.ended()
                    job.end()
                    jobs[jobs.index(job)] = _start()
                    tries[task.name] += 1
                    if tries[task.name] < TRIES:
                        waiting.appendleft(task)
                        continue
                    answer = Fault(f"the grader's process has ended {TRIES} times while it graded this ({how})")
                job.task = None
                yield task, answer
    finally:
        for job in jobs:
            job.end()


def _start() -> _Job:
    folder = folders.new("decoder-grader-job-")
    folder.chmod(0o711)  # a submission's own user passes through
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(theirs, str(folder)), name="grader-job", daemon=True)
    with _held(), theirs:
        process.start()
    return _Job(process, ours, folder)


@contextmanager
def _held() -> Iterator[None]:
    """Ctrl-C goes to the whole group: a process of ours that has just begun is not to answer it."""
    if sys.platform == "win32":
        yield
        return
    old = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, old)


def _work(pipe: Any, folder: str) -> None:
    """A job: answer parcels until the other side closes."""
    signal.signal(signal.SIGINT, lambda *_: None)  # a handler, for what is ignored would be ignored by submissions, too
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    if sys.platform != "win32":
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    tempfile.tempdir = folder
    with suppress(EOFError, OSError), Lane() as lane:
        while True:
            pipe.send(lane.answer(pipe.recv()))
