"""Knows which grader this is: one hash over everything of it that can change a result."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

PACKAGES = ("grader", "reference", "specs")
GENERATED = {"__pycache__"}
PLUGIN = "grader_plugin_"  # how the module of a check file beside a spec is called


@cache
def grader_sha256() -> str:
    """Of the names and bytes of the source files of grader, reference and specs, and of checks from elsewhere."""
    digest = hashlib.sha256()
    for name, data in _sources():
        digest.update(f"{name}\0{len(data)}\0".encode())
        digest.update(data)
    return digest.hexdigest()


def _sources() -> Iterator[tuple[str, bytes]]:
    """Every file, by a name that does not tell where the grader is installed."""
    for package in PACKAGES:
        yield from _walk(package, files(package))
    for number, path in enumerate(_others()):
        yield f"elsewhere/{number}", path.read_bytes()


def _walk(name: str, place: Traversable) -> Iterator[tuple[str, bytes]]:
    if place.is_dir():
        for entry in sorted(place.iterdir(), key=lambda entry: entry.name):
            if entry.name not in GENERATED:
                yield from _walk(f"{name}/{entry.name}", entry)
    elif not name.endswith(".pyc"):
        yield name, place.read_bytes()


def _others() -> list[Path]:
    """Files of other packages that define checks or misconceptions; a spec's own are in the spec's hash."""
    from grader.checks import all_checks
    from grader.misconceptions import all_misconceptions

    ours = Path(__file__).parent
    plugins = {Path(str(module.__file__)) for name, module in list(sys.modules.items()) if name.startswith(PLUGIN)}
    found = {Path(thing.file) for thing in (*all_checks(), *all_misconceptions())} - plugins
    return sorted(path for path in found if ours not in path.parents and path.is_file())
