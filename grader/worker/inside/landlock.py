"""Which files a process may touch, by Landlock: the view, one folder of its own, and no network (Linux 5.13)."""

import os
import stat
import struct
import sys
from collections.abc import Iterable

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # the same numbers on every machine
_VERSION, _PATH_BENEATH = 1, 1
_WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 1, 1 << 2, 1 << 3
_REMOVE, _MAKE_DIR, _MAKE_FILE, _REFER, _TRUNCATE = 3 << 4, 1 << 7, 1 << 8, 1 << 13, 1 << 14
_OF_FILES = _WRITE_FILE | _READ_FILE | _TRUNCATE

READ, LIST, USE = "read", "list", "use"
_RIGHTS = {
    READ: _READ_FILE | _READ_DIR,
    LIST: _READ_DIR,
    USE: _WRITE_FILE | _READ_FILE | _READ_DIR | _REMOVE | _MAKE_DIR | _MAKE_FILE | _REFER | _TRUNCATE,
}


def _call(number: int, *arguments: object) -> int:
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    answer = int(libc.syscall(number, *arguments))
    if answer < 0:
        raise OSError(ctypes.get_errno(), f"Landlock: {os.strerror(ctypes.get_errno())}")
    return answer


def version() -> int:
    """The version of the kernel's Landlock; 0 where there is none or it is switched off."""
    if sys.platform != "linux":
        return 0
    try:
        return _call(_CREATE, None, 0, _VERSION)
    except OSError:
        return 0


def restrict(rules: Iterable[tuple[str, str]]) -> int:
    """Allow (READ | LIST | USE, path) and nothing else, to this thread, for ever; the version. Raises OSError.

    READ: what lies at or below the path. LIST: names only. USE: also write, make and remove files and folders.
    A path that is not there is passed over. Nothing may be executed; TCP, others' signals and abstract sockets are
    out of reach where the version knows them (4, 6). ``no_new_privs`` must be set before.
    """
    known = version()
    if not known:
        raise OSError("Landlock is not available")
    files = (1 << (13, 14, 15, 15, 16)[min(known, 5) - 1]) - 1  # all rights of that version
    handled = [files, 3 if known >= 4 else None, 3 if known >= 6 else None]
    attributes = struct.pack(f"{sum(item is not None for item in handled)}Q", *filter(None, handled))
    ruleset = _call(_CREATE, attributes, len(attributes), 0)
    try:
        for kind, path in rules:
            try:
                place = os.open(path, os.O_PATH | os.O_CLOEXEC)
            except FileNotFoundError:
                continue
            try:
                rights = _RIGHTS[kind] & files
                if not stat.S_ISDIR(os.fstat(place).st_mode):
                    rights &= _OF_FILES
                _call(_ADD, ruleset, _PATH_BENEATH, struct.pack("=Qi", rights, place), 0)
            finally:
                os.close(place)
        _call(_RESTRICT, ruleset, 1 if known >= 7 else 0)  # 1: refusals are not written to the system's log
    finally:
        os.close(ruleset)
    return known
