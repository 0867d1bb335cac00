"""Knows how a class is told while it is graded: a line for each in the order given, and a bar on a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from grader.names import Task
from grader.output import is_terminal, say

if TYPE_CHECKING:
    from grader.batch import Outcome

PATIENCE = 2.0


@contextmanager
def progress(tasks: Sequence[Task], *, err: bool = False) -> Iterator[Callable[[Outcome], None]]:
    """Tell each outcome once all before it are there, so that two runs read the same; the bar counts what is done."""
    waiting: dict[str, Outcome] = {}
    told = 0
    with _bar(len(tasks)) as advance:

        def tell(outcome: Outcome) -> None:
            nonlocal told
            waiting[outcome.task.name] = outcome
            while told < len(tasks) and tasks[told].name in waiting:
                _line(waiting.pop(tasks[told].name), err)
                told += 1
            advance()

        try:
            yield tell
        finally:
            for task in tasks:
                if task.name in waiting:
                    _line(waiting.pop(task.name), err)


def _line(outcome: Outcome, err: bool) -> None:
    from grader.reports._text import clean

    say(clean(str(outcome)), err=err)


@contextmanager
def _bar(count: int) -> Iterator[Callable[[], None]]:
    """From two seconds on, on a terminal."""
    if count == 1 or not is_terminal(sys.stderr):
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("grading"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task, begun = bar.add_task("grading", total=count), time.monotonic()

    def advance() -> None:
        bar.advance(task)
        if time.monotonic() - begun > PATIENCE and not bar.live.is_started:
            bar.start()

    try:
        yield advance
    finally:
        if bar.live.is_started:
            bar.stop()
