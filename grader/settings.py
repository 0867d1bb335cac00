"""Knows the settings file of a student's folder: `grader.toml`, with the assignment that the folder is for."""

from __future__ import annotations

import tomllib
from pathlib import Path

from grader.cli import Unusable

SETTINGS = "grader.toml"
KEYS = ("assignment",)


def assignment_in(folder: Path) -> str | None:
    """What the folder's settings name: an id, or the path of a spec, from the folder on; None without settings.

    errors: Unusable when the file is there and says nothing that can be used.
    """
    file = folder / SETTINGS
    try:
        content = tomllib.loads(file.read_bytes().decode("utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise Unusable(f"{file}: cannot be read: {error}") from error
    if unknown := sorted(set(content) - set(KEYS)):
        raise Unusable(f"{file}: {unknown[0]}: there is no such key; allowed: {', '.join(KEYS)}")
    named = content.get("assignment")
    if not isinstance(named, str) or not named:
        raise Unusable(
            f'{file}: assignment: is missing; write assignment = "hand-decoder", or another of `grader list`'
        )
    return str(folder / named) if named.endswith(".toml") else named
