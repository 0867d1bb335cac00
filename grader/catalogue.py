"""Knows which assignments there are by id, title and file, without validating them: quick enough for every command."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from grader.registry import load_entry_points

TEMPLATES = "student_template"


@dataclass(frozen=True)
class Entry:
    """One assignment as a list shows it.

    template  the name of its folder of stubs, empty when it has none
    source    its TOML file
    """

    id: str
    title: str
    file: str
    template: str
    source: Path | Traversable

    def stubs(self) -> Path | Traversable | None:
        """The folder that `grader init` copies: beside the spec, or one of ours; None when there is none."""
        if not self.template:
            return None
        beside = [self.source.parent / self.template] if isinstance(self.source, Path) else []
        return next((place for place in (*beside, files(TEMPLATES) / self.template) if place.is_dir()), None)


def entries() -> tuple[Entry, ...]:
    """Ours and those of other packages (`grader.assignments`), by id; a file that is no spec is passed over."""
    found = [entry for source in _sources() if (entry := entry_of(source))]
    return tuple(sorted(found, key=lambda entry: entry.id))


def entry_of(source: Path | Traversable) -> Entry | None:
    """The entry of one TOML file, or None when it is no spec."""
    try:
        content = tomllib.loads(source.read_bytes().decode("utf-8"))
        texts = content["id"], content["title"], content["file"], content.get("template", "")
    except (OSError, KeyError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return None
    return Entry(*texts, source) if all(isinstance(text, str) for text in texts) else None


def find(assignment: str) -> Entry | None:
    """The entry of an id or of the path of a TOML file."""
    if assignment.endswith(".toml"):
        return entry_of(Path(assignment))
    return next((entry for entry in entries() if entry.id == assignment), None)


def _sources() -> Iterator[Path | Traversable]:
    yield from (place for place in files("specs").iterdir() if place.name.endswith(".toml"))
    for _, thing in load_entry_points("grader.assignments"):
        yield Path(thing() if callable(thing) else thing)
