"""Write files into a folder of the process's private folder, which is its working folder, for it to read."""

import os
import shutil
from typing import Any

from ..faults import bad
from ..submission import Submission
from ..tree import unpack

_open, _write, _close, _makedirs = os.open, os.write, os.close, os.makedirs
_join, _rmtree = os.path.join, shutil.rmtree
_NEW = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


def run(submission: Submission, arguments: Any, body: bytearray) -> None:
    """arguments: folder, files: [(name below it with "/" between, bytes)]; what was in the folder is gone."""
    asked = unpack(arguments, body, submission.leaf)
    submission.run(_put, asked["folder"], asked["files"])


def _put(folder: str, files: list[Any]) -> None:
    _rmtree(folder, ignore_errors=True)
    _makedirs(folder)
    for name, data in files:
        parts = name.split("/")
        if not all(part and part not in (".", "..") and not set(part) & set("\\:\0") for part in parts):
            raise bad("wrote a file whose name cannot be used")
        _makedirs(_join(folder, *parts[:-1]), exist_ok=True)
        descriptor, view = _open(_join(folder, *parts), _NEW, 0o600), memoryview(data)
        try:
            while view:
                view = view[_write(descriptor, view) :]
        finally:
            _close(descriptor)
