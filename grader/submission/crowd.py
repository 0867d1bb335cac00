"""Knows whether a path that was given to grade is a submission at all, or is not there, or holds many of them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from grader.spec import Spec
from grader.submission import ADAPTERS, SKIPPED, Unreadable, plain_bytes
from grader.worker.faults import GraderFault

LOOKED_AT = 2000  # entries of a folder
DEFINED = re.compile(rb"^(?:def|class)\s+(\w+)", re.MULTILINE)


def is_missing(path: Path) -> bool:
    """Whether nothing is there; a link that leads nowhere is something, and so is what cannot be looked at."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def pattern_of_many(path: Path, spec: Spec) -> str | None:
    """What to write instead of a folder that is no submission and holds several: "subs/*"; None for every other path.

    A submission in it is a folder with the assignment's file, or a file that defines at least half of its parts.
    """
    try:
        if not path.is_dir() or _holds(path, spec):
            return None
        found = list(islice(_submissions(path, spec), 2))
    except (OSError, Unreadable, GraderFault):
        return None
    if len(found) < 2:
        return None
    return str(path / ("*.py" if all(name.endswith(".py") for name in found) else "*"))


def _holds(folder: Path, spec: Spec) -> bool:
    return any((folder / name).is_file() for name in (spec.file, f"{ADAPTERS}.py"))


def _submissions(folder: Path, spec: Spec) -> Iterator[str]:
    wanted = {part.name.split(".")[0].encode() for part in spec.parts}
    with os.scandir(folder) as entries:
        for entry in islice(entries, LOOKED_AT):
            if entry.name.startswith(".") or entry.name in SKIPPED or entry.is_symlink():
                continue
            path = Path(entry.path)
            if entry.is_dir():
                if _holds(path, spec):
                    yield entry.name
            elif path.suffix == ".py" and 2 * len(wanted & set(DEFINED.findall(plain_bytes(path)))) >= len(wanted):
                yield entry.name


def refusal(paths: Sequence[Path], spec: Spec) -> str | None:
    """Why nothing is graded: some paths are not there, or all of them are folders of submissions; None where it is."""
    from grader.near import near

    if missing := [path for path in paths if is_missing(path)]:
        lines = []
        for path in missing:
            parent = path.parent if os.path.isdir(path.parent) else None
            close = near(path.name, [place.name for place in islice(parent.iterdir(), LOOKED_AT)], 3) if parent else []
            hint = f"; did you mean {' or '.join(str(path.parent / name) for name in close)}?" if close else ""
            lines.append(f"{path}: there is no such file or folder{hint}")
        return "\n".join(lines)
    patterns = [(path, pattern_of_many(path, spec)) for path in paths]
    if patterns and all(pattern for _, pattern in patterns):
        return "\n".join(
            f"{path}: has no {spec.file}, and holds several submissions; did you mean {pattern}?"
            for path, pattern in patterns
        )
    return None
