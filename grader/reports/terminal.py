"""What a student sees: points, then the failures in the order in which to mend them, then what to do next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from grader.reports import report

if TYPE_CHECKING:
    from grader.api import Result

WIDTH = 100


@report("text", file="report.txt", says="what `grader check` shows, as plain text")
def text(result: Result) -> str:
    """The report of the terminal, 100 columns wide, without colours."""
    return render(result)


def render(
    result: Result,
    *,
    only: Sequence[str] | None = None,
    width: int = WIDTH,
    color: bool = False,
    ascii: bool = False,
    seconds: bool = False,
) -> str:
    """The report as text for a terminal of that width.

    only   the pattern that chose the checks: the score is partial then, and every failure is shown in full
    color  with escape sequences for colours
    ascii  for a terminal that can print nothing else
    seconds  whether to say how long each criterion took, which differs from run to run
    """
    from io import StringIO

    from rich.console import Console

    from grader.reports._page import page

    console = Console(
        file=StringIO(),
        width=width,
        force_terminal=color,
        color_system="standard" if color else None,
        no_color=not color,
        legacy_windows=False,
        force_interactive=False,
        emoji=False,
        highlight=False,
        markup=False,
        _environ={},
    )
    for item in page(result, only, width, ascii, seconds):
        console.print(item)
    drawn = console.file.getvalue()  # type: ignore[attr-defined]  # it is the StringIO above
    return "\n".join(line.rstrip() for line in drawn.splitlines()) + "\n"
