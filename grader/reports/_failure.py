"""Knows how what did not pass is told on a terminal: part by part, one failure in full, the rest in a line each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from grader.reports import _blocks as blocks
from grader.reports import _view as view
from grader.reports._paint import Ink, picture, side_by_side
from grader.reports._text import clean

if TYPE_CHECKING:
    from grader.api import Result
    from grader.verdict import Named, Verdict

FRAMES = 6


def failures(result: Result, ink: Ink, width: int, *, full: bool) -> Iterator[RenderableType]:
    """Everything that did not pass. `full`: every failure with its numbers, not the first of a part alone."""
    unwritten: list[str] = []
    shown: set[str] = set()
    for group in view.groups(result):
        if group.unwritten or (group.missing and not group.failures):
            unwritten.append(group.part.name + (" (not defined)" if group.missing else ""))
            continue
        yield ""
        yield Text.assemble(ink.text(group.part.signature, "bold cyan"), ink.text(f"   {group.part.formula}", "dim"))
        shown.add(group.part.name)
        for item in _group(group, ink, width - 4, full, shown):
            yield Padding(item, (0, 0, 0, 2))
    if unwritten:
        yield Text.assemble("\n", ink.text("Not written yet: ", "bold"), ink.text(", ".join(unwritten)))


def _group(group: view.Group, ink: Ink, width: int, full: bool, shown: set[str]) -> Iterator[RenderableType]:
    if group.raised_in and not full:
        why = ", see above" if group.raised_in in shown else f": {clean(group.failures[0].message)}"
        yield _line(ink, f"stops inside {group.raised_in}{why}")
    else:
        for named in group.named:
            yield from _named(named, ink)
        told: set[str] = set()
        for number, verdict in enumerate(group.failures):
            if full or (number == 0 and group.own):
                yield from _full(verdict, group, ink, width)
            else:
                yield from _brief(verdict, group, ink, told)
            told.add(verdict.hint)
    if group.because and not full:
        what = "them" if len(group.because) > 1 else "it"
        yield ink.text(f"It uses {', '.join(group.because)}: mend {what} first.", "dim")
    if group.waiting:
        checks = "1 check waits" if group.waiting == 1 else f"{group.waiting} checks wait"
        yield ink.text(f"{checks} for what failed here.", "dim")
    if group.hidden:
        checks = "1 hidden check" if group.hidden == 1 else f"{group.hidden} hidden checks"
        yield ink.text(f"{checks} did not pass.", "dim")


def _line(ink: Ink, text: str, key: str = "", status: str = "") -> RenderableType:
    """A cross, and text that keeps its indentation when it is wrapped."""
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_row(
        ink.text(ink["bad"], "red"),
        Text.assemble(ink.text(f"{key}  " if key else "", "red"), ink.text(text), ink.text(status, "dim")),
    )
    return grid


def _named(named: Named, ink: Ink) -> Iterator[RenderableType]:
    title = ink.text(named.title, "bold")
    yield Text.assemble(ink.text("This is: ", "bold magenta"), title, ink.text(f"   {named.id}", "dim"))
    yield Padding(Text.assemble(ink.text("computed  ", "dim"), ink.text(named.formula)), (0, 0, 0, 2))
    yield Padding(Text.assemble(ink.text("the cure  ", "dim"), ink.text(named.cure, "green")), (0, 0, 0, 2))
    if named.alternatives:
        yield Padding(ink.text(f"or, alike on every input: {', '.join(named.alternatives)}", "dim"), (0, 0, 0, 2))


def _brief(verdict: Verdict, group: view.Group, ink: Ink, told: set[str]) -> Iterator[RenderableType]:
    yield _line(ink, clean(verdict.message), verdict.id, _status(verdict))
    if verdict.hint not in told:
        yield from _hint(verdict, group, ink)


def _full(verdict: Verdict, group: view.Group, ink: Ink, width: int) -> Iterator[RenderableType]:
    yield Text.assemble(ink.text(f"{ink['bad']} {verdict.id}", "bold red"), ink.text(_status(verdict), "dim"))
    for item in _details(verdict, ink, width - 2):
        yield Padding(item, (0, 0, 0, 2))
    yield from _hint(verdict, group, ink)


def _details(verdict: Verdict, ink: Ink, width: int) -> Iterator[RenderableType]:
    evidence = verdict.evidence
    yield ink.text(verdict.title, "italic")
    yield Text.assemble(ink.text("seen: ", "bold"), ink.text(clean(verdict.message)))
    if case := evidence.get("case"):
        yield Text.assemble(ink.text("with: ", "bold"), ink.text(clean(case)))
    for frame in (evidence.get("traceback") or [])[-FRAMES:]:
        yield from _frame(frame, ink)
    drawn = blocks.influence(verdict)
    compared = blocks.comparison(verdict)
    for tables in (blocks.inputs(verdict) if compared or drawn else (), compared):
        for line in side_by_side(tables, ink, width):
            yield Padding(line, (0, 0, 0, 2))
    if any(block.marks for block in compared):
        yield ink.text("  * differs", "dim")
    if drawn:
        for line in picture(drawn, ink):
            yield Padding(line, (0, 0, 0, 2))


def _hint(verdict: Verdict, group: view.Group, ink: Ink) -> Iterator[RenderableType]:
    if hint := view.plain_hint(verdict, group.part):
        yield Padding(Text.assemble(ink.text("hint: ", "bold yellow"), ink.text(hint)), (0, 0, 0, 2))


def _frame(frame: dict[str, Any], ink: Ink) -> Iterator[Text]:
    where = f"  {clean(frame.get('file', ''))}, line {frame.get('line', '?')}, in {clean(frame.get('function', ''))}"
    yield ink.text(where, "dim")
    yield ink.text(f"      {clean(frame.get('code', ''))}")


def _status(verdict: Verdict) -> str:
    return "" if verdict.status == "failed" else f"  ({verdict.status})"
