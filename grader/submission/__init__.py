"""Knows how a path becomes a submission: the sources that a worker can import; never imports or parses them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ADAPTERS = "adapters"
MAX_FILES = 500
MAX_BYTES = 5_000_000
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

    errors: Unreadable.
    """
    path = Path(path)
    if path.is_dir():
        return _folder(path, path, filename)
    if not path.exists():
        raise Unreadable(f"{path}: there is no such file or folder")
    if path.suffix == ".ipynb":
        raise Unreadable(f"{path}: notebooks are not read; save its code as {filename} and grade that")
    if path.suffix != ".py":
        raise Unreadable(f"{path}: is neither a .py file nor a folder that holds {filename}")
    if path.name == filename:
        return _folder(path, path.parent, filename)
    module = path.stem if path.stem.isidentifier() and path.stem != ADAPTERS else Path(filename).stem
    return _submission(path.stem, path, {f"{module}.py": _bytes(path)}, module)


def _folder(path: Path, folder: Path, filename: str) -> Submission:
    sources: dict[str, bytes] = {}
    total = 0
    for file in _python_files(folder, folder.resolve()):
        data = _bytes(file)
        total += len(data)
        if len(sources) >= MAX_FILES or total > MAX_BYTES:
            raise Unreadable(
                f"{folder}: holds more than {MAX_FILES} Python files or {MAX_BYTES // 1_000_000} MB of them;"
                f" put {filename} and its helper modules in a folder of their own"
            )
        sources[file.relative_to(folder).as_posix()] = data
    main = Path(filename).stem
    if filename not in sources and f"{ADAPTERS}.py" not in sources:
        there = ", ".join(sorted(sources)[:5]) or "no Python file"
        raise Unreadable(
            f"{folder}: has no {filename} (there is: {there}); rename your file, or write an"
            " adapters.py that defines the contract's names"
        )
    return _submission(folder.resolve().name if path.is_dir() else path.stem, path, sources, main)


def _python_files(folder: Path, root: Path) -> Iterator[Path]:
    """Python files below a folder that stay inside it; hidden and installed things are passed over."""
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        raise Unreadable(f"{folder}: cannot be read: {error.strerror or error}") from error
    for entry in entries:
        if entry.name.startswith(".") or entry.name in SKIPPED or not entry.resolve().is_relative_to(root):
            continue
        if entry.is_dir() and not entry.is_symlink() and not (entry / "pyvenv.cfg").exists():
            yield from _python_files(entry, root)
        elif entry.suffix == ".py" and entry.is_file():
            yield entry


def _bytes(path: Path) -> bytes:
    try:
        if not path.is_file():  # a pipe would be waited for
            raise Unreadable(f"{path}: is no file")
        if path.stat().st_size > MAX_BYTES:
            raise Unreadable(f"{path}: is larger than {MAX_BYTES // 1_000_000} MB")
        return path.read_bytes()
    except OSError as error:
        raise Unreadable(f"{path}: cannot be read: {error.strerror or error}") from error


def _submission(name: str, path: Path, sources: dict[str, bytes], main: str) -> Submission:
    digest = hashlib.sha256()
    for file, data in sorted(sources.items()):
        digest.update(f"{file}\0{len(data)}\0".encode())
        digest.update(data)
    adapters = ADAPTERS if f"{ADAPTERS}.py" in sources else None
    return Submission(name, path, sources, main, adapters, digest.hexdigest())
