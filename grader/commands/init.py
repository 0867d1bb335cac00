"""`grader init`: a folder to work in, copied from the assignment's stubs."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from importlib.resources.abc import Traversable
from pathlib import Path, PurePosixPath

import click

SETTING = {"grader.toml": r'^(assignment\s*=\s*)"[^"]*"', "pytest.ini": r"^(grader_assignment\s*=\s*)\S+"}


@click.command(short_help="A folder to work in, with stubs to fill.")
@click.argument("assignment")
@click.argument("folder", metavar="[DIR]", required=False, type=click.Path(path_type=Path, file_okay=False))
def command(assignment: str, folder: Path | None) -> int:
    """Make a folder to work in (default: named after the assignment), with stubs and what `grader check` needs.

    Nothing is overwritten.
    """
    from grader.catalogue import entries, find
    from grader.cli import Unusable

    entry = find(assignment)
    if entry is None:
        known = ", ".join(entry.id for entry in entries())
        raise Unusable(f"no assignment is called {assignment!r}; there are: {known}")
    stubs = entry.stubs()
    if stubs is None:
        raise Unusable(f"the assignment {entry.id} comes without a template; start with an empty {entry.file}")
    folder = folder or Path(entry.id)
    contents = dict(_files(stubs))
    if taken := [str(name) for name in contents if os.path.lexists(folder / name)]:
        raise Unusable(f"{folder} already has {', '.join(taken)}; nothing was written. Name another folder")
    named = assignment if not assignment.endswith(".toml") else _relative(Path(assignment), folder)
    try:
        for name, data in contents.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            with open(folder / name, "xb") as file:
                file.write(_pointed(name, data, named))
    except OSError as error:
        raise Unusable(f"{error.filename or folder}: cannot be written: {error.strerror or error}") from error
    click.echo(f"{folder} is ready: {', '.join(map(str, contents))}\n\nNext:")
    if folder.resolve() != Path.cwd():
        click.echo(f"  cd {folder}")
    click.echo(f"  edit {entry.file}      the stubs say what to write, step by step")
    click.echo("  grader check         as often as you like")
    return 0


def _files(folder: Path | Traversable, below: str = "") -> Iterator[tuple[PurePosixPath, bytes]]:
    for place in sorted(folder.iterdir(), key=lambda place: place.name):
        if place.name == "__pycache__" or place.name.endswith(".pyc"):
            continue
        if place.is_dir():
            yield from _files(place, f"{below}{place.name}/")
        else:
            yield PurePosixPath(below + place.name), place.read_bytes()


def _pointed(name: PurePosixPath, data: bytes, assignment: str) -> bytes:
    """The two settings files name the assignment as it was given: an id, or the way to a spec."""
    if pattern := SETTING.get(str(name)):
        quote = '"' if name.suffix == ".toml" else ""
        setting = f"{quote}{assignment}{quote}"
        return re.sub(pattern, lambda m: m[1] + setting, data.decode("utf-8"), flags=re.M).encode("utf-8")
    return data


def _relative(spec: Path, folder: Path) -> str:
    """The way from the folder to the spec, with forward slashes; absolute where there is no relative one."""
    try:
        return Path(os.path.relpath(spec, folder)).as_posix()
    except ValueError:  # another drive
        return spec.resolve().as_posix()
