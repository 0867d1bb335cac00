"""Knows where text goes: what a terminal can show, files written whole or not at all, a line while waiting."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TextIO

import click

PATIENCE = 2.0  # seconds before anything moves on the terminal
PROBE = "✓✗█░─√ᵀ≤"


@dataclass(frozen=True)
class Sheet:
    """What a stream can show."""

    width: int
    color: bool
    ascii: bool


def sheet(stream: TextIO | None = None) -> Sheet:
    """Colour on a terminal only and never with NO_COLOR; ASCII where the encoding has no more; COLUMNS is respected."""
    stream = stream or sys.stdout
    terminal = is_terminal(stream)
    color = terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    width = shutil.get_terminal_size((100, 24)).columns if terminal or os.environ.get("COLUMNS") else 100
    return Sheet(max(40, min(width, 140)), color, not _prints(PROBE, stream))


def is_terminal(stream: TextIO) -> bool:
    """Whether somebody watches."""
    try:
        return stream.isatty()
    except (AttributeError, ValueError):
        return False


def _prints(text: str, stream: TextIO) -> bool:
    try:
        text.encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def say(text: str, *, err: bool = False, end: str = "\n") -> None:
    """Print text that is already laid out; what the encoding does not have is written in ASCII."""
    from grader.reports._text import encodable

    stream = sys.stderr if err else sys.stdout
    shown, color = encodable(text, getattr(stream, "encoding", None)), sheet(stream).color
    try:
        click.echo(shown, err=err, nl=end == "\n", color=color)
    except BrokenPipeError:
        reader_gone(stream)


def pour(text: str) -> None:
    """Print data for a program, in UTF-8 whatever the terminal has."""
    try:
        sys.stdout.flush()
        if hasattr(sys.stdout, "buffer"):
            sys.stdout.buffer.write(text.encode("utf-8", "replace"))
        else:
            sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        reader_gone(sys.stdout)


def reader_gone(stream: TextIO) -> None:
    """Who read this stream has ended: what is still written there goes nowhere, and what is being done goes on."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def write_whole(path: Path, text: str) -> None:
    """Write a text file so that it is there whole or not at all; errors: OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name[:40]}-", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n", errors="replace") as file:
            file.write(text)
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


class Waiting:
    """A line on stderr that tells how far it is, from two seconds on, on a terminal only. A context manager."""

    def __init__(self, text: str) -> None:
        self.text, self._begun, self._drawn = text, time.monotonic(), 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._draw, daemon=True) if is_terminal(sys.stderr) else None

    def _draw(self) -> None:
        if self._done.wait(PATIENCE):
            return
        while not self._done.wait(0.2):
            line = f"{self.text}  {time.monotonic() - self._begun:.0f} s"[: sheet(sys.stderr).width - 1]
            say("\r" + line.ljust(self._drawn), err=True, end="")
            self._drawn = len(line)

    def __enter__(self) -> Waiting:
        if self._thread:
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        if self._thread:
            self._thread.join()
        if self._drawn:
            say("\r" + " " * self._drawn + "\r", err=True, end="")
