"""Knows what each of many submissions is called: a name of its own, which never leads out of the results' folder."""

from __future__ import annotations

import os
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

LONGEST = 100
TAKEN = frozenset({"gradebook.csv", "rubric.json"})
DEVICES = re.compile(r"^(con|prn|aux|nul|com\d|lpt\d)(\..*)?$", re.I)  # names that Windows keeps for itself


@dataclass(frozen=True)
class Task:
    """One submission to grade and the name that its results get."""

    path: Path
    name: str


def tasks(paths: Sequence[Path]) -> list[Task]:
    """The paths, each once, with names that differ (also for file systems that ignore case).

    A file is called like itself without `.py`, a folder like itself. Where names collide, the parent folder's name
    comes in front, and its parent's, until they differ.
    """
    unique = list({os.path.abspath(path): path for path in paths}.items())
    depths = [1] * len(unique)
    deepest = max((len(Path(place).parts) for place, _ in unique), default=0)
    for _ in range(deepest):
        names = [_name(Path(place), depth) for (place, _), depth in zip(unique, depths, strict=True)]
        count = Counter(_key(name) for name in names)
        crowded = [count[_key(name)] > 1 or _key(name) in TAKEN for name in names]
        if not any(crowded):
            break
        depths = [depth + more for depth, more in zip(depths, crowded, strict=True)]
    used = set(TAKEN)
    result = []
    for (_, path), name in zip(unique, names if unique else [], strict=True):
        chosen, number = name, 2
        while _key(chosen) in used:
            chosen, number = f"{name}-{number}", number + 1
        used.add(_key(chosen))
        result.append(Task(path, chosen))
    return result


def _name(place: Path, depth: int) -> str:
    parts = [part for part in place.parts if part != place.anchor]
    last = place.stem if place.suffix in (".py", ".ipynb") and not os.path.isdir(place) else place.name
    return safe("-".join([*parts[:-1][max(0, len(parts) - depth) :], last]))


def safe(name: str) -> str:
    """A name that is one folder on every system: no separators, no control characters, no dots in front."""
    kept = "".join(
        "-" if c in '/\\:*?"<>|' or unicodedata.category(c)[0] == "C" else c for c in unicodedata.normalize("NFC", name)
    )
    kept = kept.strip(" .")[:LONGEST].rstrip(" .") or "submission"
    return f"_{kept}" if DEVICES.match(kept) else kept


def _key(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()
