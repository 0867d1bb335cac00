"""Knows how a path becomes a submission: the sources that a worker can import; never imports or parses them."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from grader.worker.faults import GraderFault

ADAPTERS = "adapters"
MAX_FILES = 500
MAX_BYTES = 5_000_000
MAX_ENTRIES = 100_000  # that are looked at in a folder
DEEPEST = 20  # folders below each other; what lies deeper is passed over
SKIPPED = {"__pycache__", "node_modules", "venv", "env", "site-packages", "build", "dist"}


class Unreadable(Exception):
    """A path is no submission; the message says what is wrong and what to do."""


@dataclass(frozen=True)
class Submission:
    """What was handed in.

    name      of the file or folder, without `.py`
    sources   relative path -> bytes, every Python file that may be imported
    main      the module that holds the assignment
    adapters  the module that bridges other names, when there is one
    sha256    of names and contents
    """

    name: str
    path: Path
    sources: Mapping[str, bytes]
    main: str
    adapters: str | None
    sha256: str

    @property
    def mentions_torch(self) -> bool:
        """Whether the word stands anywhere; only then can torch be needed."""
        return any(re.search(rb"\btorch\b", source) for source in self.sources.values())


def read(path: str | Path, filename: str) -> Submission:
    """A submission from a `.py` file, or from a folder that holds `filename`.

    A file with the assignment's own name brings its folder with it (helper modules, `adapters.py`); a file with another
    name, one of many in a folder of submissions, stands alone.

    errors: Unreadable for what was handed in; GraderFault where this machine does not let it be read.
    """
    path = Path(path)
    with _readable(path):
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            return _folder(path, path, filename)
        if path.suffix == ".ipynb":
            raise Unreadable(f"{shown(path)}: notebooks are not read; save its code as {filename} and grade that")
        if path.suffix != ".py":
            raise Unreadable(f"{shown(path)}: is neither a .py file nor a folder that holds {filename}")
        if path.name == filename:
            return _folder(path, path.parent, filename)
        module = path.stem if path.stem.isidentifier() and path.stem != ADAPTERS else Path(filename).stem
        return _submission(shown(path.stem), path, {f"{module}.py": plain_bytes(path)}, module)


def shown(path: str | Path) -> str:
    """A path for a reader: names that are no text keep what of them is."""
    return str(path).encode("utf-8", "replace").decode()


_GONE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """What is not there is the submission's fault; what cannot be read for another reason is not."""
    try:
        yield
    except OSError as error:
        place, why = shown(os.fsdecode(error.filename or path)), error.strerror or str(error)
        if error.errno in _GONE:
            raise Unreadable(f"{place}: there is no such file or folder") from error
        remedy = "; let the grader's user read it, or run the grader as another one" if _closed(error) else ""
        raise GraderFault(f"{place}: cannot be read: {why}{remedy}") from error


def _closed(error: OSError) -> bool:
    return error.errno in (errno.EACCES, errno.EPERM)


def _folder(path: Path, folder: Path, filename: str) -> Submission:
    sources: dict[str, bytes] = {}
    total = 0
    for name in _python_files(folder):
        data = plain_bytes(folder / name)
        total += len(data)
        if len(sources) >= MAX_FILES or total > MAX_BYTES:
            raise Unreadable(
                f"{shown(folder)}: holds more than {MAX_FILES} Python files or {MAX_BYTES // 1_000_000} MB of them;"
                f" put {filename} and its helper modules in a folder of their own"
            )
        sources[name] = data
    main = Path(filename).stem
    if filename not in sources and f"{ADAPTERS}.py" not in sources:
        there = ", ".join(sorted(sources)[:5]) or "no Python file"
        raise Unreadable(
            f"{shown(folder)}: has no {filename} (there is: {there}); rename your file, or write an"
            " adapters.py that defines the contract's names"
        )
    name = Path(os.path.realpath(folder)).name if path == folder else path.stem
    return _submission(shown(name), path, sources, main)


def _python_files(folder: Path) -> Iterator[str]:
    """Python files below a folder that stay inside it, relative to it; hidden and installed things are passed over."""
    root, looked = os.path.realpath(folder), 0

    def below(place: str, before: str, depth: int) -> Iterator[str]:
        nonlocal looked
        with os.scandir(place) as found:
            entries = []
            for entry in found:
                looked += 1
                if looked > MAX_ENTRIES:
                    raise Unreadable(
                        f"{shown(folder)}: holds more than {MAX_ENTRIES} files; leave out what is not code"
                    )
                entries.append(entry)
        for entry in sorted(entries, key=lambda entry: entry.name):
            name = entry.name
            if name.startswith(".") or name in SKIPPED or shown(name) != name:
                continue  # no `import` can name what is no text
            if entry.is_dir(follow_symlinks=False):
                if depth < DEEPEST and not os.path.exists(os.path.join(entry.path, "pyvenv.cfg")):
                    yield from below(entry.path, f"{before}{name}/", depth + 1)
            elif name.endswith(".py") and (entry.is_file(follow_symlinks=False) or _linked(entry.path, root)):
                yield f"{before}{name}"

    yield from below(os.fspath(folder), "", 0)


def _linked(path: str, root: str) -> bool:
    """Whether a link leads to a file below a folder; one that leads to itself does not."""
    return os.path.realpath(path).startswith(root.rstrip(os.sep) + os.sep) and os.path.isfile(path)


_PLAIN = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)  # a pipe would be waited for


def plain_bytes(path: Path) -> bytes:
    """What a file holds. errors: Unreadable for what is none or is too large, OSError."""
    if not stat.S_ISREG(os.stat(path).st_mode):  # opening a device may already do something
        raise Unreadable(f"{shown(path)}: is no file")
    with open(os.open(path, _PLAIN), "rb") as file:
        data = file.read(MAX_BYTES + 1) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else b""
    if len(data) > MAX_BYTES:
        raise Unreadable(f"{shown(path)}: is larger than {MAX_BYTES // 1_000_000} MB")
    return data


def _submission(name: str, path: Path, sources: dict[str, bytes], main: str) -> Submission:
    digest = hashlib.sha256()
    for file, data in sorted(sources.items()):
        digest.update(f"{file}\0{len(data)}\0".encode())
        digest.update(data)
    adapters = ADAPTERS if f"{ADAPTERS}.py" in sources else None
    return Submission(name, path, sources, main, adapters, digest.hexdigest())
