"""Knows how text of unknown origin is made harmless, and how mathematics is written where only ASCII is to be had."""

from __future__ import annotations

import unicodedata

ASCII = {
    "√": "sqrt ", "ᵀ": "^T", "Σ": "sum", "≤": "<=", "≥": ">=", "×": "x", "·": "*", "−": "-", "…": "...", "⁰": "^0",
    "ˡ": "^l", "ᴸ": "^L", "₀": "0", "₁": "1", "₂": "2", "→": "->", "—": "-", "–": "-", "’": "'", "‘": "'", "“": '"',
    "”": '"', "μ": "mu", "σ": "sigma", "ε": "eps", "∞": "inf", "±": "+-", "≠": "!=", "∂": "d", "′": "'", "²": "^2",
}  # fmt: skip


def clean(text: object, *, lines: bool = False) -> str:
    """Text without control characters, escape sequences' first bytes and direction marks.

    A line break becomes a space, or stays when `lines` is set; a tab becomes four spaces.
    """
    kept = []
    for character in str(text).replace("\r\n", "\n").replace("\t", "    "):
        if character == "\n":
            kept.append("\n" if lines else " ")
        elif unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp"):
            kept.append(character)
    return "".join(kept)


def shortened(text: str, most: int) -> str:
    """At most that many characters, the last one `…` when something is left out."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def head(text: str, most: int, width: int = 160) -> tuple[list[str], int]:
    """The first lines of a text, each shortened, and how many more there are."""
    every = [line.rstrip() for line in clean(text, lines=True).strip("\n").split("\n")]
    return [shortened(line, width) for line in every[:most]], max(0, len(every) - most)


def to_ascii(text: str) -> str:
    """The same with letters for symbols; what has no letters becomes `?`."""
    for symbol, letters in ASCII.items():
        text = text.replace(symbol, letters)
    decomposed = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return decomposed.encode("ascii", "replace").decode("ascii")


def encodable(text: str, encoding: str | None) -> str:
    """Text that a stream of this encoding can print: as it is, or in ASCII."""
    try:
        text.encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return to_ascii(text)
    return text
