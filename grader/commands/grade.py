"""`grader grade`: grade one submission or many, for CI and instructors."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from grader.batch import Outcome
    from grader.reports import Report


@click.command(short_help="Grade many submissions: a rubric each, and a gradebook.")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--assignment", "-a", required=True, help="An id from `grader list`, or the path of a spec.")
@click.option("--out", "-o", metavar="DIR", required=True, type=click.Path(path_type=Path, file_okay=False))
@click.option("--format", "formats", metavar="F", multiple=True, help="Another report for each: text, markdown, html.")
@click.option("--jobs", "-j", metavar="N", default=1, show_default=True, type=click.IntRange(1, 256))
@click.option("--isolation", metavar="LEVEL", help="How a submission's process is confined.  [default: the strongest]")
@click.option("--resume", is_flag=True, help="Leave what is graded already and has not changed.")
@click.option(
    "--json",
    "json_",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="One PATH's rubric; - prints it, and nothing else.",
)
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Other numbers in the cases.")
@click.option("--cluster", metavar="ADDRESS", help="Grade on the workers of a Dask scheduler, such as tcp://host:8786.")
def command(
    paths: tuple[Path, ...],
    assignment: str,
    out: Path,
    formats: tuple[str, ...],
    jobs: int,
    isolation: str | None,
    resume: bool,
    json_: Path | None,
    seed: int,
    cluster: str | None,
) -> int:
    """Grade each PATH and write DIR/<submission>/rubric.json and DIR/gradebook.csv.

    Where a job or the run itself ends early, what is written stays, and --resume goes on from there.
    What the grader or the machine failed on is listed as not graded, never as 0; the exit status is 3 then.
    """
    from grader.cli import BELOW, FAULT, INTERRUPTED, PASSED, Unusable

    level = _level(isolation)
    if jobs == 1 and cluster is None:
        from grader.hosts import start_early

        start_early(paths[0], level)
    from grader import batch, names
    from grader.engine import plan
    from grader.output import pour, say
    from grader.progress import progress
    from grader.spec import load
    from grader.submission.crowd import refusal
    from grader.worker import GraderFault

    tasks = names.tasks(paths)
    if json_ is not None and len(tasks) != 1:
        raise Unusable(f"--json takes one PATH, {len(tasks)} are given; every rubric is in {out} anyway")
    spec = load(assignment)
    plan(spec)  # a spec that cannot be used is said before anything is graded
    if why := refusal(paths, spec):
        raise Unusable(why)
    printed = json_ is not None and str(json_) == "-"
    order = batch.Order(spec, out, _reports(formats), seed, level, resume, cluster)
    done: dict[str, Outcome] = {}
    try:
        with _terminable():
            out.mkdir(parents=True, exist_ok=True)
            if json_ is not None and not printed:
                _without(json_, out / tasks[0].name / "rubric.json")
            with progress(tasks, err=printed) as tell, closing(batch.run(tasks, order, jobs)) as running:
                for outcome in running:
                    done[outcome.task.name] = outcome
                    tell(outcome)
    except (KeyboardInterrupt, GraderFault) as error:
        reason = str(error) or "interrupted"
        if isinstance(error, GraderFault) and not done:
            raise
        _gradebook(out, [done.get(task.name) or batch.Outcome(task, reason=reason) for task in tasks])
        if isinstance(error, GraderFault):
            raise
        graded = sum(outcome.rubric is not None for outcome in done.values())
        say(
            f"interrupted: {graded} of {len(tasks)} are graded, and stay; the same command with --resume goes on from"
            " there",
            err=True,
        )
        return INTERRUPTED
    except OSError as error:
        raise Unusable(f"{error.filename or out}: cannot be written: {error.strerror or error}") from error
    outcomes = [done[task.name] for task in tasks]
    _gradebook(out, outcomes)
    if json_ is not None and outcomes[0].rubric is not None:
        rubric = (out / outcomes[0].task.name / "rubric.json").read_text("utf-8")
        if printed:
            pour(rubric)
        else:
            _written(json_, rubric)
    if faults := [outcome for outcome in outcomes if outcome.rubric is None]:
        say(_remedy(faults), err=True)
        return FAULT
    return PASSED if all(outcome.rubric and outcome.rubric["passed"] for outcome in outcomes) else BELOW


@contextmanager
def _terminable() -> Iterator[None]:
    """SIGTERM, which ends a job on a cluster or in CI, is an interruption like Ctrl-C."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    old = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, old)


def _level(isolation: str | None) -> str:
    from grader.cli import Unusable
    from grader.worker.launch import LEVELS

    if isolation not in (None, *LEVELS):
        raise Unusable(f"--isolation {isolation!r} is not to be had; there are: {', '.join(LEVELS)}")
    return isolation or LEVELS[0]


def _reports(formats: Sequence[str]) -> list[Report]:
    from grader.cli import Unusable
    from grader.reports import all_reports

    if not formats:
        return []
    known = all_reports()
    if unknown := [name for name in formats if name not in known]:
        there = ", ".join(sorted(report.name for report in known))
        raise Unusable(f"--format {unknown[0]!r} is not known; there are: {there}")
    return [known.get(name) for name in dict.fromkeys(formats)]


def _gradebook(out: Path, outcomes: Sequence[Outcome]) -> None:
    """These submissions' rows, and those of earlier ones whose results still lie there."""
    from grader.gradebook import cell, merged
    from grader.output import write_whole

    file, old = out / "gradebook.csv", ""
    with suppress(OSError, UnicodeDecodeError):
        old = file.read_text("utf-8")
    there = {cell(rubric.parent.name) for rubric in out.glob("*/rubric.json")}
    write_whole(file, merged((outcome.row for outcome in outcomes), old, there.__contains__))


def _written(path: Path, text: str) -> None:
    from grader.cli import Unusable
    from grader.output import write_whole

    try:
        write_whole(path, text)
    except OSError as error:
        raise Unusable(f"{path}: cannot be written: {error.strerror or error}") from error


def _without(target: Path, rubric: Path) -> None:
    """An earlier result must not pass for this one, should it not be graded; the rubric itself is seen to elsewhere."""
    if os.path.realpath(target) != os.path.realpath(rubric):
        target.unlink(missing_ok=True)


def _remedy(faults: Sequence[Outcome]) -> str:
    from grader import __version__

    listed = "\n".join(f"  {outcome.task.name}: {outcome.reason}" for outcome in faults)
    return (
        f"not graded, through no fault of the submission:\n{listed}\n"
        "Run the same command with --resume. If it happens again, run it with GRADER_DEBUG=1 and report what it prints,"
        f" with the version (grader {__version__})."
    )
