"""Knows the check files that stand beside a spec: each is loaded once for what it says, and its checks kept apart.

A file is known by where it really lies and by the digest of its bytes. What it registers besides checks, such as
misconceptions, is seen by every assignment; of a file that fails nothing is left.
"""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from collections.abc import Iterable
from pathlib import Path
from threading import RLock

from grader.checks import Check, all_checks
from grader.checks import registry as checks
from grader.fingerprint import PLUGIN
from grader.misconceptions import all_misconceptions
from grader.registry import forget

_LOADED: dict[Path, tuple[str, tuple[Check, ...]]] = {}  # by file: the digest of its bytes, and its checks
_LOADING = RLock()


class PluginError(Exception):
    """A check file cannot be used; the message names it."""


def load_plugins(paths: Iterable[Path]) -> tuple[tuple[Check, ...], list[bytes]]:
    """The checks of all the files, and the files' bytes, one by one.

    errors: PluginError for a file that cannot be read or imported, or a check's name that two of them use.
    """
    found: dict[str, Check] = {}
    contents = []
    with _LOADING:
        all_checks(), all_misconceptions()  # ours come first, whoever has asked for what before
        for path in paths:
            try:
                contents.append(path.read_bytes())
            except OSError as error:
                raise PluginError(f"{path} cannot be read: {error.strerror or error}") from error
            for check in _checks_of(path, contents[-1]):
                other = found.setdefault(check.name, check)
                if other is not check:
                    raise PluginError(f"{path}: the check {check.name!r} is already defined in {other.file}")
    return tuple(found.values()), contents


def _checks_of(path: Path, content: bytes) -> tuple[Check, ...]:
    place, digest = path.resolve(), hashlib.sha256(content).hexdigest()
    if place not in _LOADED or _LOADED[place][0] != digest:
        _LOADED.pop(place, None)
        forget(str(place))  # what an older version of it has said
        try:
            _run(path, place, content, digest)
        except BaseException:
            forget(str(place))
            raise
        _LOADED[place] = digest, checks.take(str(place))
    return _LOADED[place][1]


def _run(path: Path, place: Path, content: bytes, digest: str) -> None:
    """Import a file from the bytes that were read, and not from what may be kept of an older one."""
    name = PLUGIN + hashlib.sha256(f"{place}\0{digest}".encode()).hexdigest()[:12]
    found = importlib.util.spec_from_file_location(name, place)
    if found is None or found.loader is None:
        raise PluginError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(found)
    sys.modules[name] = module
    try:
        exec(compile(content, str(place), "exec"), module.__dict__)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise PluginError(f"{path} cannot be imported: {error}") from error
