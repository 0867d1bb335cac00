"""Knows how tables, bars and pictures are drawn with characters; colours are named, the console decides on them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.text import Text

from grader.reports._blocks import Block, Picture
from grader.reports._text import to_ascii

GAP = 4  # columns between two tables side by side
SYMBOLS = {"ok": "✓", "bad": "✗", "part": "◐", "full": "█", "empty": "░", "rule": "─", "still": "· "}
PLAIN = {"ok": "+", "bad": "x", "part": "~", "full": "#", "empty": ".", "rule": "-", "still": ". "}
SHADES = ("░░", "▒▒", "▓▓", "██")
LEGEND = {
    "moves": "moves",
    "still": "stays as it is",
    "leak": "MOVES, and lies in the future",
    "stuck": "STAYS, and lies in the past",
    "nan": "NaN",
}
MASKED = {**LEGEND, "leak": "MOVES, and may not be consulted", "stuck": "STAYS, and may be consulted"}
STYLES = {"moves": "green", "still": "dim", "leak": "bold red", "stuck": "bold red", "nan": "bold red"}


@dataclass(frozen=True)
class Ink:
    """What can be printed: Unicode, or ASCII alone."""

    ascii: bool = False

    def __getitem__(self, name: str) -> str:
        return (PLAIN if self.ascii else SYMBOLS)[name]

    def text(self, text: str, style: str = "") -> Text:
        """Text as it stands: no markup is read in it."""
        return Text(to_ascii(text) if self.ascii else text, style=style)

    def bar(self, share: float, width: int = 10) -> Text:
        """A bar that is full for 1 and empty for 0 alone."""
        filled = round(share * width)
        filled = min(max(filled, int(share > 0)), width - int(share < 1))
        style = "green" if share == 1 else "yellow" if share > 0 else "red"
        return Text.assemble((self["full"] * filled, style), (self["empty"] * (width - filled), "dim"))


def table(block: Block, ink: Ink) -> list[Text]:
    """Title, then one line a row, columns aligned to the right, `*` after what stands out."""
    shape = f" ({block.shape})" if block.shape else ""
    lines = [ink.text(block.title + shape, "bold")]
    columns = range(max(len(row) for row in block.cells))
    widths = [max(len(row[j]) for row in block.cells) for j in columns]
    for i, row in enumerate(block.cells):
        line = Text()
        for j, cell in enumerate(row):
            marked = (i, j) in block.marks
            line.append("  " if j else "")
            line.append_text(ink.text(cell.rjust(widths[j]), "bold red" if marked else ""))
            line.append("*" if marked else " " if block.marks else "", "bold red")
        lines.append(line)
    return lines


def side_by_side(blocks: Sequence[Block], ink: Ink, width: int) -> list[Text]:
    """Tables beside each other while they fit, else below; single values on one line of their own."""
    lines: list[Text] = []
    for block in (block for block in blocks if block.single):
        lines.append(Text.assemble(ink.text(f"{block.title} = ", "bold"), ink.text(block.cells[0][0])))
    row: list[list[Text]] = []
    for drawn in (table(block, ink) for block in blocks if not block.single):
        if row and sum(_width(other) + GAP for other in row) + _width(drawn) > width:
            lines += _joined(row)
            row = []
        row.append(drawn)
    return lines + _joined(row)


def _width(lines: Iterable[Text]) -> int:
    return max(line.cell_len for line in lines)


def _joined(tables: list[list[Text]]) -> list[Text]:
    height = max((len(lines) for lines in tables), default=0)
    joined = []
    for i in range(height):
        line = Text()
        for position, lines in enumerate(tables):
            cell = lines[i].copy() if i < len(lines) else Text()
            if position < len(tables) - 1:
                cell.pad_right(_width(lines) + GAP - cell.cell_len)
            line.append_text(cell)
        joined.append(line)
    return joined


def picture(drawn: Picture, ink: Ink) -> list[Text]:
    """The influence picture: rows receive, columns are replaced, darker is more."""
    T = len(drawn.kinds)
    edge = len(f"t = {T - 1}") + 1
    across = " ".join(f"{s:<2}" for s in range(len(drawn.kinds[0])))
    lines = [
        ink.text(f"Influence: rows are the {drawn.rows}, columns the {drawn.columns}", "bold"),
        ink.text("s = ".rjust(edge) + across, "dim"),
    ]
    for t, kinds in enumerate(drawn.kinds):
        line = ink.text(f"t = {t}".ljust(edge), "dim")
        for kind, strength in zip(kinds, drawn.strength[t], strict=True):
            line.append(_cell(kind, strength, ink), STYLES[kind])
            line.append(" ")
        lines.append(line)
    present = {kind for kinds in drawn.kinds for kind in kinds}
    legend = Text(" " * edge)
    for kind in (kind for kind in LEGEND if kind in present):
        legend.append(_cell(kind, 1.0, ink).strip(), STYLES[kind])
        legend.append(f" {(MASKED if drawn.masked else LEGEND)[kind]}   ", "dim")
    return [*lines, legend]


def _cell(kind: str, strength: float, ink: Ink) -> str:
    if kind == "moves":
        return "##" if ink.ascii else SHADES[min(3, int(strength * 4))]
    return {"still": ink["still"], "leak": "!!", "stuck": "00", "nan": "??"}[kind]
