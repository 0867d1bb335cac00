"""Knows how the evidence of a failure becomes small tables of text, for every format: numbers, marks, pictures."""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import inf, isfinite
from typing import TYPE_CHECKING, Any

from grader.reports._text import clean, shortened

if TYPE_CHECKING:
    from grader.verdict import Verdict

MOST = 12  # rows and columns that are shown
Rows = list[list[Any]]


@dataclass(frozen=True)
class Block:
    """A titled table.

    shape  in words: `3 × 2`, empty for a single value
    marks  the cells that stand out
    """

    title: str
    shape: str
    cells: tuple[tuple[str, ...], ...]
    marks: frozenset[tuple[int, int]] = frozenset()

    @property
    def single(self) -> bool:
        """Whether it is one value, to be written on one line."""
        return len(self.cells) == 1 and len(self.cells[0]) == 1


@dataclass(frozen=True)
class Picture:
    """Who moves whom: kinds[t][s] is `moves`, `still` or `nan`, or where that is wrong `leak` or `stuck`.

    strength  between 0 and 1, of the moves
    masked    whether a mask says who may consult whom; without one, what lies in the past may be consulted
    """

    rows: str
    columns: str
    kinds: tuple[tuple[str, ...], ...]
    strength: tuple[tuple[float, ...], ...]
    values: tuple[tuple[float | None, ...], ...]
    masked: bool = False


def inputs(verdict: Verdict) -> tuple[Block, ...]:
    """The arguments that are small enough to look at."""
    given = verdict.evidence.get("arguments") or {}
    return tuple(block for name, value in given.items() if (block := _block(name, value)))


def comparison(verdict: Verdict) -> tuple[Block, ...]:
    """Expected beside observed, what differs marked."""
    evidence = verdict.evidence
    if "expected" not in evidence and "observed" not in evidence:
        return ()
    expected, observed = evidence.get("expected"), evidence.get("observed")
    if _is_shape(expected) and _is_shape(observed):
        return _text("expected shape", _shape_text(expected)), _text("observed shape", _shape_text(observed))
    left, right = _rows(expected), _rows(observed)
    nothing: frozenset[tuple[int, int]] = frozenset()
    marks = _differing(left, right, evidence) if left and right else nothing
    digits = 6 if marks and _hidden_at(4, left, right, marks) else 4
    pair = (("expected", expected, nothing), ("observed", observed, marks))
    shown = (_block(title, value, chosen, digits) for title, value, chosen in pair if value is not None)
    return tuple(block for block in shown if block)


def influence(verdict: Verdict) -> Picture | None:
    """The picture of a check of causality or of a mask, or None."""
    found = verdict.evidence.get("picture") or {}
    matrix = [[_moved(x) for x in row] for row in _rows(found.get("matrix"))]
    if found.get("kind") != "influence" or not matrix:
        return None
    largest = max((x for row in matrix for x in row if x is not None and isfinite(x)), default=0.0) or 1.0
    least = max(float(verdict.evidence.get("allowed") or 0.0), 1e-9 * largest)
    future = verdict.id.endswith("future-does-not-matter")
    wanted = _rows(found.get("wanted"))

    def kind(t: int, s: int, x: float | None) -> str:
        if wanted:
            return _kind(x, least, later=not wanted[t][s], wanted=bool(wanted[t][s]))
        return _kind(x, least, later=s > t, wanted=s <= t and not future)

    kinds = tuple(tuple(kind(t, s, x) for s, x in enumerate(row)) for t, row in enumerate(matrix))
    strength = tuple(tuple(min(1.0, (x or 0.0) / largest) for x in row) for row in matrix)  # inf is 1
    return Picture(
        clean(found.get("rows", "receiving position t")),
        clean(found.get("columns", "replaced position s")),
        kinds,
        strength,
        tuple(tuple(row) for row in matrix),
        bool(wanted),
    )


def _moved(x: Any) -> float | None:
    """A number of an influence matrix; None is NaN."""
    return float(x) if isinstance(x, int | float) else inf if x == "inf" else None


def _kind(x: float | None, least: float, *, later: bool, wanted: bool) -> str:
    if x is None:
        return "nan"
    if x > least:
        return "leak" if later else "moves"
    return "stuck" if wanted else "still"


def _is_shape(value: Any) -> bool:
    """Whether a list holds whole numbers alone: results are written with a decimal point."""
    return isinstance(value, list) and all(isinstance(x, int) and not isinstance(x, bool) for x in value)


def _shape_text(shape: Any) -> str:
    return " × ".join(map(str, shape)) or "a single number"


def _text(title: str, text: str) -> Block:
    return Block(title, "", ((text,),))


def _rows(value: Any) -> Rows:
    """A value as rows of plain entries; empty when it is no number, row or matrix."""
    if not isinstance(value, list):
        return [] if value is None or isinstance(value, dict) else [[value]]
    if value and all(isinstance(row, list) for row in value):
        flat = all(not isinstance(x, list | dict) for row in value for x in row)
        return value if flat and len({len(row) for row in value}) == 1 and value[0] else []
    return [value] if value and not any(isinstance(x, list | dict) for x in value) else []


def _block(title: str, value: Any, marks: frozenset[tuple[int, int]] = frozenset(), digits: int = 4) -> Block | None:
    rows = _rows(value)
    if not rows:
        return None if value in (None, [], {}) else _text(title, shortened(clean(json.dumps(value)), 120))
    shape = f"{len(rows)} × {len(rows[0])}" if isinstance(value[0] if isinstance(value, list) else 0, list) else ""
    if isinstance(value, list) and not shape:
        shape = str(len(value))
    cells = tuple(tuple(_number(x, digits) for x in row[:MOST]) for row in rows[:MOST])
    return Block(clean(title), shape, cells, marks)


def _number(x: Any, digits: int) -> str:
    if isinstance(x, float):
        return f"{x:.{digits}g}"
    return shortened(clean(x), 60)


def _differing(left: Rows, right: Rows, evidence: dict[str, Any]) -> frozenset[tuple[int, int]]:
    """The cells that differ by more than is allowed, as far as the rounded numbers show it, and the greatest one."""
    if [len(row) for row in left] != [len(row) for row in right]:
        return frozenset()
    numbers = [abs(x) for row in left for x in row if isinstance(x, int | float)]
    allowed = max(float(evidence.get("allowed") or 0.0), 1e-5 * max(numbers, default=0.0))
    found = {
        (i, j)
        for i, (ours, theirs) in enumerate(zip(left, right, strict=True))
        for j, (x, y) in enumerate(zip(ours, theirs, strict=True))
        if _apart(x, y, allowed)
    }
    where = evidence.get("where")
    if isinstance(where, list) and where:
        found.add((0, where[0]) if len(where) == 1 and len(left) == 1 else (where[0], where[-1]))
    return frozenset(cell for cell in found if cell[0] < len(left) and cell[1] < len(left[0]))


def _apart(x: Any, y: Any, allowed: float) -> bool:
    if isinstance(x, int | float) and isinstance(y, int | float):
        return not abs(x - y) <= allowed
    return bool(x != y)


def _hidden_at(digits: int, left: Rows, right: Rows, marks: frozenset[tuple[int, int]]) -> bool:
    """Whether a marked difference would vanish in the rounding."""
    return any(_number(left[i][j], digits) == _number(right[i][j], digits) for i, j in marks)
