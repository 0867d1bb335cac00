"""Knows when a folder's Python files have changed, and grades again then."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import click

from grader.output import is_terminal
from grader.submission import SKIPPED

PAUSE = 0.5  # seconds between two looks


def watch(folder: Path, once: Callable[[], int], pause: float = PAUSE) -> int:
    """Grade now and after every change, until Ctrl-C; returns 0, whatever the last grading said."""
    from grader.cli import explained

    try:
        while True:
            seen = snapshot(folder)
            if is_terminal(sys.stdout):
                click.clear()
            try:
                once()
            except click.ClickException as error:
                error.show()
            except Exception as error:  # noqa: BLE001 - told in a line; the next change may mend it
                explained(error)
            click.echo(f"\nWatching {folder}; Ctrl-C ends.", err=True)
            while snapshot(folder) == seen:
                time.sleep(pause)
    except KeyboardInterrupt:
        click.echo("", err=True)
        return 0


def snapshot(folder: Path) -> dict[str, tuple[int, int]]:
    """Time and size of every Python file below a folder; what is hidden or installed is passed over."""
    found = {}
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in SKIPPED]
        for name in names:
            if name.endswith(".py"):
                path = os.path.join(place, name)
                try:
                    status = os.stat(path)
                except OSError:
                    continue  # it goes while we look
                found[path] = (status.st_mtime_ns, status.st_size)
    return found
