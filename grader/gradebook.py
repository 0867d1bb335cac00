"""Knows the gradebook: one line a submission, as CSV that a spreadsheet can open without running anything."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from io import StringIO
from typing import Any

COLUMNS = ("name", "score", "max_score", "percent", "passed", "status", "sha256", "reason")
NOT_GRADED = "not-graded"
FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")  # what makes a spreadsheet compute a cell


@dataclass(frozen=True)
class Row:
    """One submission: its rubric, or None and the reason why it is not graded."""

    name: str
    rubric: dict[str, Any] | None
    reason: str = ""


def gradebook(rows: Iterable[Row]) -> str:
    """The CSV. What is not graded has an empty score, never 0."""
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        writer.writerow([cell(value) for value in _values(row)])
    return out.getvalue()


def merged(new: Iterable[Row], old: str, keep: Callable[[str], bool]) -> str:
    """The CSV of these rows, and below them those of another gradebook that have other names and are to be kept.

    keep   whether to keep a row, by its name as `cell` writes it
    """
    rows = list(new)
    names = {cell(row.name) for row in rows}
    try:
        kept = list(csv.reader(StringIO(old)))
    except csv.Error:  # it is no gradebook
        kept = []
    if not kept or tuple(kept[0]) != COLUMNS:
        return gradebook(rows)
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerows(line for line in kept[1:] if line and line[0] not in names and keep(line[0]))
    return gradebook(rows) + out.getvalue()


def _values(row: Row) -> tuple[Any, ...]:
    r = row.rubric
    if r is None:
        return row.name, "", "", "", "", NOT_GRADED, "", row.reason
    passed = "yes" if r["passed"] else "no"
    return (
        row.name,
        f"{round(r['score'], 4):.10g}",
        f"{r['max_score']:g}",
        f"{r['percent']:g}",
        passed,
        r["status"],
        r["submission"]["sha256"] or "",
        row.reason or problem(r),
    )


def problem(rubric: dict[str, Any]) -> str:
    """Why a submission that is not graded could not be; nothing for one that is. Also of a rubric's head."""
    if rubric["status"] == "graded":
        return ""
    if "problem" in rubric:
        return str(rubric["problem"])
    checks = (check for criterion in rubric.get("criteria", ()) for check in criterion["checks"])
    return next((str(check["message"]) for check in checks), "")


def cell(value: object) -> str:
    """A cell's text in one line; what a spreadsheet would take for a formula gets an apostrophe in front."""
    text = " ".join(str(value).split())
    return f"'{text}" if text.startswith(FORMULA) else text
