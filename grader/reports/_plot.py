"""Knows how numbers in a row are drawn as SVG: inline, labelled, a logarithmic axis, readable without colours."""

from __future__ import annotations

from html import escape
from math import ceil, floor, isfinite, log10
from typing import Any

from grader.reports._text import clean

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 520, 190, 64, 34, 34
Line = list[float | None]


def plot(found: Any) -> str:
    """An `<svg>` of a picture of the kind `series`: up to two lines; empty for other pictures, or without numbers."""
    if not isinstance(found, dict) or found.get("kind") != "series":
        return ""
    lines: list[Line] = [[_positive(value) for value in row] for row in found.get("matrix", ())][:2]
    known = [log10(value) for line in lines for value in line if value is not None]
    length = max((len(line) for line in lines), default=0)
    if not known or length < 2:
        return ""
    low, high = floor(min(known)), max(ceil(max(known)), floor(min(known)) + 1)
    names = [clean(str(name)) for name in found.get("names", ())]
    said = "; ".join(
        f"{name} from {_told(line[0])} to {_told(line[-1])}" for name, line in zip(names, lines, strict=False)
    )
    parts = [
        f'<svg class="plot" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img"'
        f' aria-label="{escape(clean(str(found.get("title", ""))))}: {escape(said)}">'
    ]
    for power in range(low, high + 1, max(1, (high - low) // 5)):
        y = _y(power, low, high)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - 8}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text class="axis" x="8" y="{y + 4:.1f}">{10.0**power:.0e}</text>')
    for number, (name, line) in enumerate(zip(names, lines, strict=False)):
        kind = ("first", "second")[number]
        points = " ".join(
            f"{LEFT + i * (WIDTH - LEFT - 8) / (length - 1):.1f},{_y(log10(value), low, high):.1f}"
            for i, value in enumerate(line)
            if value is not None
        )
        parts.append(f'<polyline class="{kind}" points="{points}"/>')
        sign = "—" if number == 0 else "– –"
        parts.append(f'<text x="{LEFT + 210 * number}" y="16">{sign} {escape(name)}</text>')
    axis = escape(clean(str(found.get("x", ""))))
    parts.append(f'<text class="axis" x="{LEFT}" y="{HEIGHT - 8}">{axis} 0 to {length - 1}</text>')
    return "".join([*parts, "</svg>"])


def _positive(value: Any) -> float | None:
    number = float(value) if isinstance(value, int | float) else 0.0
    return number if isfinite(number) and number > 0 else None


def _told(value: float | None) -> str:
    return "nothing" if value is None else f"{value:.3g}"


def _y(power: float, low: int, high: int) -> float:
    return TOP + (HEIGHT - TOP - BOTTOM) * (high - power) / (high - low)
