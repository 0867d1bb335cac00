"""Knows the order of the terminal's page: heading, criteria, what did not pass, notes, prints, what next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group as Together
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from grader.reports import _view as view
from grader.reports._failure import failures
from grader.reports._paint import Ink
from grader.reports._text import clean, head

if TYPE_CHECKING:
    from grader.api import Result

PRINTED_LINES = 8
NOTES = 12
MARK = {"ok": "green", "bad": "red", "part": "yellow"}


def page(
    result: Result, only: Sequence[str] | None, width: int, ascii: bool, seconds: bool = False
) -> Iterator[RenderableType]:
    """The page, piece by piece."""
    ink = Ink(ascii)
    yield _heading(result, ink, width)
    if result.problem:
        yield _problem(result, ink)
    else:
        yield ""
        yield _criteria(result, only, ink, result.rubric["timing"]["criteria"] if seconds else {})
    yield ""
    yield _score(result, only, ink)
    if not result.problem:
        yield from failures(result, ink, width, full=only is not None)
        yield from _notes(result, ink)
    yield from _printed(result.printed, ink)
    step, shows = view.next_step(result)
    if step:
        yield Text.assemble("\n", ink.text("Next: ", "bold"), ink.text(step))
    if shows:
        yield Text.assemble(ink.text("      " + shows, "cyan"))


def _heading(result: Result, ink: Ink, width: int) -> RenderableType:
    rubric = result.rubric
    backend = {"numpy": ", NumPy", "torch": ", torch"}.get(str(rubric["submission"]["backend"]), "")
    return Together(
        ink.text(rubric["assignment"]["title"], "bold"),
        ink.text(f"{clean(result.name)}{backend}, {rubric['assignment']['id']}", "dim"),
        ink.text(ink["rule"] * min(width, 100), "dim"),
    )


def _problem(result: Result, ink: Ink) -> RenderableType:
    """Why nothing could be graded, with the student's own line."""
    evidence = result.verdicts[0].evidence if result.verdicts else {}
    lines: list[RenderableType] = [ink.text(f"{ink['bad']} {clean(result.problem, lines=True)}", "bold red")]
    frames = evidence.get("traceback") or [evidence] * bool(evidence.get("code"))
    for frame in frames[-6:]:
        lines.append(ink.text(f"  {clean(frame.get('file', ''))}, line {frame.get('line', '?')}", "dim"))
        lines.append(ink.text(f"      {clean(frame.get('code', ''))}"))
    return Together(*lines)


def _criteria(result: Result, only: Sequence[str] | None, ink: Ink, seconds: Mapping[str, float]) -> RenderableType:
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False, pad_edge=False)
    table.add_column(width=1)
    table.add_column(ratio=None)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    if seconds:
        table.add_column(justify="right", no_wrap=True)
    for criterion in result.rubric["criteria"]:
        counted = [check for check in criterion["checks"] if check["status"] != "skipped"]
        if only is not None and not counted:
            continue
        title = ink.text(clean(criterion["title"]))
        if any(gate["criterion"] == criterion["id"] for gate in result.rubric["gates"]):
            title.append_text(ink.text("  needed to pass", "dim"))
        passed = sum(check["status"] == "passed" for check in counted)
        share = passed / len(counted) if only is not None else criterion["earned"] / criterion["points"]
        right = f"{passed} of {len(counted)} checks" if only is not None else _points(criterion)
        if criterion["kind"] == "manual":
            right, share = f"to be marked, of {criterion['points']:g}", 0.0
        mark = "ok" if share == 1 else "part" if share > 0 else "bad"
        took = [ink.text(f"{seconds[criterion['id']]:.1f} s", "dim")] if criterion["id"] in seconds else []
        table.add_row(ink.text(ink[mark], MARK[mark]), title, ink.bar(share), ink.text(right), *took)
    return table


def _points(criterion: dict[str, Any]) -> str:
    return f"{round(criterion['earned'], 2):g} / {criterion['points']:g}"


def _score(result: Result, only: Sequence[str] | None, ink: Ink) -> RenderableType:
    rubric = result.rubric
    if only is not None and not result.problem:
        passed = sum(verdict.passed for verdict in result.verdicts)
        return Text.assemble(
            ink.text(f"{passed} of the {len(result.verdicts)} chosen checks pass", "bold"),
            ink.text(f"   (only {clean(', '.join(only))}: this is no score of the assignment)", "dim"),
        )
    score = f"Score {round(rubric['score'], 2):g} of {rubric['max_score']:g} ({rubric['percent']:g} %)"
    style = "bold green" if rubric["passed"] else "bold red"
    return Text.assemble(ink.text(score, "bold"), "   ", ink.text(view.verdict_line(result), style))


def _notes(result: Result, ink: Ink) -> Iterator[RenderableType]:
    found = view.notes(result)
    if found:
        yield Text.assemble("\n", ink.text("Passed, and worth knowing", "bold dim"))
    for part, sentence, count in found[:NOTES]:
        checks = f" ({count} checks)" if count > 1 else ""
        yield Padding(ink.text(f"{part}: {sentence}{checks}", "dim"), (0, 0, 0, 2))
    if len(found) > NOTES:
        yield ink.text(f"  … and {len(found) - NOTES} more", "dim")


def _printed(printed: str, ink: Ink) -> Iterator[RenderableType]:
    if not printed.strip():
        return
    lines, more = head(printed, PRINTED_LINES)
    yield Text.assemble("\n", ink.text("Your code printed", "bold dim"))
    for line in lines:
        yield Padding(ink.text(line, "dim"), (0, 0, 0, 2))
    if more:
        yield ink.text(f"  … and {more} more lines", "dim")
