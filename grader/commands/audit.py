"""`grader audit`: grade the grader."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from grader.audit import Audit


@click.command(short_help="Grade the grader: every wrong variant caught and named, every right one passed.")
@click.argument("assignment", required=False)
@click.option(
    "--out", metavar="DIR", type=click.Path(path_type=Path, file_okay=False), help="Write audit.json and audit.md."
)
@click.option("--jobs", "-j", default=0, type=click.IntRange(0), help="Processes.  [default: one a core]")
@click.option(
    "--right",
    multiple=True,
    metavar="PATH",
    type=click.Path(exists=True, path_type=Path),
    help="Another right submission.",
)
@click.option("--only", multiple=True, metavar="GLOB", help="Variants whose ids match, such as `cache.*`.")
def command(assignment: str | None, out: Path | None, jobs: int, right: tuple[Path, ...], only: tuple[str, ...]) -> int:
    """Turn every known mistake of ASSIGNMENT (default: of all) into a submission, grade it, and print what is wrong.

    The exit status is 0 when nothing is.
    """
    from grader.spec import available

    found = [_one(name, out, jobs, right, only) for name in ([assignment] if assignment else available())]
    return 0 if all(audit.clean for audit in found) else 1


def _one(assignment: str, out: Path | None, jobs: int, right: tuple[Path, ...], only: tuple[str, ...]) -> Audit:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from grader.audit import audit
    from grader.audit.matrix import markdown, summary
    from grader.audit.run import as_dict

    columns = TextColumn(assignment), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(assignment, total=None)
        found = audit(
            assignment,
            jobs=jobs,
            right=right,
            only=only,
            progress=lambda done, total, _: bar.update(task, completed=done, total=total),
        )
    click.echo(summary(found))
    if out is not None:
        folder = out / found.spec.id
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(as_dict(found), indent=1, sort_keys=True, allow_nan=False) + "\n"
        (folder / "audit.json").write_text(text, "utf-8")
        (folder / "audit.md").write_text(markdown(found), "utf-8")
        click.echo(f"written to {folder}")
    return found
