"""`grader check`: grade one submission for the one who wrote it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from grader.api import Result
    from grader.hosts import Hosts
    from grader.spec import Spec


SLOW = 15.0  # seconds from which on it is said where they went


@click.command(short_help="Grade what you have written, and say what to mend first.")
@click.argument("path", default=".", type=click.Path(exists=True, path_type=Path))
@click.option("--assignment", "-a", help="An id from `grader list`, or the path of a spec.  [default: grader.toml's]")
@click.option(
    "--only",
    "-k",
    metavar="GLOB",
    multiple=True,
    help="Only checks whose id matches, or one function: 'softmax', '*.value'. May be given several times.",
)
@click.option("--watch", "-w", is_flag=True, help="Grade again whenever a .py file of the folder changes.")
@click.option("--html", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False), help="Also write a page.")
@click.option("--json", "json_", metavar="FILE", help="Also write the rubric as JSON; - prints it, and nothing else.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Other numbers in the cases.")
def command(
    path: Path,
    assignment: str | None,
    only: tuple[str, ...],
    watch: bool,
    html: Path | None,
    json_: str | None,
    seed: int,
) -> int:
    """Grade PATH: a .py file, or a folder that holds the assignment's file (default: this folder)."""
    from grader.cli import Unusable
    from grader.hosts import start_early

    if html is not None and str(html) == "-":
        raise Unusable("--html writes a page into a file, and - is none; name one, such as report.html")
    start_early(path)
    from grader.engine import plan
    from grader.spec import load
    from grader.student import hosts_of

    spec = load(_assignment(path, assignment))
    plan(spec)  # a spec that cannot be used is said before anything starts
    for pattern in only:
        _matches_something(spec, pattern)
    chosen = only or None

    def once(hosts: Hosts) -> int:
        result = _graded(path, spec, chosen, seed, hosts)
        _shown(result, chosen, html, json_)
        return _status(result, chosen)

    with hosts_of(spec) as hosts:
        if watch:
            from grader.watch import watch as repeatedly

            return repeatedly(path if path.is_dir() else path.parent, lambda: once(hosts))
        return once(hosts)


def _assignment(path: Path, given: str | None) -> str:
    """The assignment of a folder: what was given, what its grader.toml says, or the only one whose file it holds."""
    if given is not None:
        return given
    from grader.catalogue import entries
    from grader.cli import Unusable
    from grader.settings import SETTINGS, assignment_in

    folder = path if path.is_dir() else path.parent
    if found := assignment_in(folder):
        return found
    known = entries()
    fitting = [e for e in known if (path.name == e.file if path.is_file() else (path / e.file).is_file())]
    if len(fitting) == 1:
        return fitting[0].id
    listed = "\n".join(f"  --assignment {entry.id:20} {entry.file}" for entry in fitting or known)
    none = "has no assignment's name" if path.is_file() else "holds no assignment's file"
    what = "could be several assignments" if fitting else none
    raise Unusable(f"{path} {what}, and there is no {SETTINGS} with it. Say which one it is:\n{listed}")


def _matches_something(spec: Spec, only: str) -> None:
    from grader.cli import Unusable
    from grader.engine import plan, selected
    from grader.near import near

    items = plan(spec)
    if not selected(items, only):
        names = [*(item.id for item in items), *(part.name for part in spec.parts)]
        close = near(only, names)
        functions = ", ".join(part.name for part in spec.parts)
        hint = f"close to it: {', '.join(close)}" if close else f"the functions of {spec.id} are {functions}"
        raise Unusable(f"--only {only!r} matches no check; {hint}")


def _graded(path: Path, spec: Spec, only: tuple[str, ...] | None, seed: int, hosts: Hosts) -> Result:
    from grader.api import grade
    from grader.output import Waiting

    with Waiting("starting") as waiting:

        def progress(done: int, count: int, verdict: object) -> None:
            waiting.text = f"{done} of {count} checks"

        return grade(path, assignment=spec, seed=seed, only=only, hosts=hosts, progress=progress)


def _shown(result: Result, only: tuple[str, ...] | None, html: Path | None, json_: str | None) -> None:
    from grader.output import pour, say, sheet
    from grader.reports.terminal import render

    if json_ == "-":
        pour(result.to_json())
    else:
        paper = sheet()
        slow = result.rubric["timing"]["seconds"] >= SLOW
        shown = {"width": paper.width, "color": paper.color, "ascii": paper.ascii, "seconds": slow}
        say(render(result, only=only, **shown), end="")
    if json_ not in (None, "-"):
        _written(Path(str(json_)), result.to_json())
    if html is not None:
        from grader.reports.html import page

        _written(html, page(result))
        say(f"\nThe page: {html}", err=json_ == "-")


def _written(path: Path, text: str) -> None:
    from grader.cli import Unusable
    from grader.output import write_whole

    try:
        write_whole(path, text)
    except OSError as error:
        raise Unusable(f"{path}: cannot be written: {error.strerror or error}") from error


def _status(result: Result, only: tuple[str, ...] | None) -> int:
    from grader.cli import BELOW, PASSED

    if only is None or result.problem:
        return PASSED if result.passed else BELOW
    return PASSED if all(verdict.fine for verdict in result.verdicts) else BELOW
