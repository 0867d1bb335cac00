"""Knows how the influence picture is drawn as SVG: inline, labelled, readable without colours."""

from __future__ import annotations

from html import escape

from grader.reports._blocks import Picture

CELL, LEFT, TOP = 34, 64, 44
MEANING = {
    "moves": "moves",
    "still": "stays as it is",
    "leak": "moves although it lies in the future",
    "stuck": "stays although it lies in the past",
    "nan": "NaN",
}
MASKED = {
    **MEANING,
    "leak": "moves although it may not be consulted",
    "stuck": "stays although it may be consulted",
}
SIGN = {"moves": "", "still": "·", "leak": "!", "stuck": "0", "nan": "?"}


def heat_map(drawn: Picture) -> str:
    """An `<svg>`: rows receive, columns are replaced; each cell has a title with its number."""
    rows, columns = len(drawn.kinds), len(drawn.kinds[0])
    width, height = LEFT + max(columns * CELL, 250) + 8, TOP + rows * CELL + 8
    parts = [
        f'<svg class="map" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img"'
        f' aria-label="{escape(_summary(drawn))}">',
        f'<text class="axis" x="4" y="14">rows: {escape(drawn.rows)}, columns: {escape(drawn.columns)}</text>',
        f'<text class="axis end" x="{LEFT - 10}" y="{TOP - 10}">t \\ s</text>',
    ]
    for s in range(columns):
        parts.append(f'<text class="axis mid" x="{LEFT + s * CELL + CELL / 2:g}" y="{TOP - 10}">{s}</text>')
    for t in range(rows):
        parts.append(f'<text class="axis end" x="{LEFT - 10}" y="{TOP + t * CELL + CELL / 2 + 4:g}">{t}</text>')
        parts += [_cell(drawn, t, s) for s in range(columns)]
    return "".join([*parts, "</svg>"])


def _cell(drawn: Picture, t: int, s: int) -> str:
    kind, value = drawn.kinds[t][s], drawn.values[t][s]
    number = "NaN" if value is None else f"{value:.3g}"
    x, y = LEFT + s * CELL, TOP + t * CELL
    opacity = f' fill-opacity="{0.25 + 0.75 * drawn.strength[t][s]:.2f}"' if kind == "moves" else ""
    title = f"position {t}, when position {s} is replaced: {number}, {_meaning(drawn)[kind]}"
    side = CELL - 2
    return (
        f'<g><title>{escape(title)}</title><rect class="{kind}" x="{x}" y="{y}" width="{side}" height="{side}" rx="3"'
        f'{opacity}/><text class="sign" x="{x + side / 2:g}" y="{y + side / 2 + 4:g}">{SIGN[kind]}</text></g>'
    )


def _meaning(drawn: Picture) -> dict[str, str]:
    return MASKED if drawn.masked else MEANING


def _summary(drawn: Picture) -> str:
    wrong = [
        f"position {t} {'moves with' if kind == 'leak' else 'stays with' if kind == 'stuck' else 'is NaN with'} {s}"
        for t, kinds in enumerate(drawn.kinds)
        for s, kind in enumerate(kinds)
        if kind in ("leak", "stuck", "nan")
    ]
    return "Influence of replaced positions on receiving positions: " + ("; ".join(wrong[:20]) or "as it is meant")


def legend(drawn: Picture) -> str:
    """A line for each kind of cell that is there."""
    present = {kind for kinds in drawn.kinds for kind in kinds}
    items = (
        f'<li><span class="key {kind}">{SIGN[kind] or "&nbsp;"}</span> {_meaning(drawn)[kind]}</li>'
        for kind in MEANING
        if kind in present
    )
    return f'<ul class="legend">{"".join(items)}</ul>'
