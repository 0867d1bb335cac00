"""Knows which names are close to one that does not exist."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def near(wanted: str, names: Iterable[str], most: int = 6) -> list[str]:
    """Names that contain it, that it contains, or that look like it; the likeliest first."""
    plain = {name: _plain(name) for name in dict.fromkeys(names)}
    key = _plain(wanted)
    words = [word for word in key.split(".") if len(word) > 2]
    inside = [name for name, text in plain.items() if key and (key in text or (len(text) > 3 and text in key))]
    by_text = {text: name for name, text in reversed(plain.items())}
    alike = [by_text[text] for text in get_close_matches(key, by_text, most, 0.6)]
    by_word = [name for name, text in plain.items() if any(word in text.split(".") for word in words)]
    return list(dict.fromkeys([*alike, *inside, *by_word]))[:most]


def _plain(name: str) -> str:
    return name.lower().replace("_", "-").replace("*", "").replace("?", "").strip(".")
