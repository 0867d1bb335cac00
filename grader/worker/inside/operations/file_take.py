"""Read the files that a submission has written into a folder, and remove both."""

import os
from typing import Any

import numpy as np

from ..faults import bad, plain
from ..submission import Submission
from ..tree import unpack

_MOST = 200
_open, _read, _close, _remove, _rmdir, _scan = os.open, os.read, os.close, os.remove, os.rmdir, os.scandir
_bytes = np.frombuffer
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


def run(submission: Submission, arguments: Any, body: bytearray) -> dict[str, Any]:
    """arguments: folder -> files: [(name below it with "/" between, bytes)], in the order of their names."""
    folder = unpack(arguments, body, submission.leaf)["folder"]
    found: list[Any] = []
    submission.run(_take, folder, "", found, int(submission.limits["result_bytes"]))
    return {"files": sorted(found, key=lambda item: str(item[0]))}


def _take(folder: str, below: str, found: list[Any], cap: int) -> int:
    with _scan(folder) as entries:
        listed = [(entry.path, plain(entry.name), entry.is_dir(follow_symlinks=False)) for entry in entries]
    for path, name, is_folder in listed:
        if is_folder:
            cap = _take(path, f"{below}{name}/", found, cap)
            continue
        data = _content(path, cap)
        cap -= len(data)
        found.append((f"{below}{name}", _bytes(data, np.uint8)))
        if len(found) > _MOST:
            raise bad(f"wrote more than {_MOST} files")
        _remove(path)
    _rmdir(folder)
    return cap


def _content(path: str, cap: int) -> bytes:
    descriptor, parts = _open(path, os.O_RDONLY | _NO_LINK), []
    try:
        while part := _read(descriptor, 1 << 20):
            cap -= len(part)
            if cap < 0:
                raise bad("wrote files that are too large to be taken")
            parts.append(part)
    finally:
        _close(descriptor)
    return b"".join(parts)
