"""Knows the warm parents of a run, one for each kind, and how to start one before the grader itself is imported."""

from __future__ import annotations

import atexit
import os
import re
import stat
import sys
from contextlib import suppress
from itertools import islice
from pathlib import Path

from grader.worker.host import Host, Kind
from grader.worker.levels import resolve
from grader.worker.limits import Limits

TORCH = re.compile(rb"\btorch\b")
LOOKED_AT, LOOKED_INTO = 1000, 1_000_000  # entries of a folder, bytes of a file
_early: dict[tuple[str, str], Host] = {}


class Hosts:
    """The warm parents, one for each kind that is needed; shared by all submissions of a run. A context manager.

    level     "auto" (the strongest to be had), "sandbox", "process" or "none"; afterwards the one in force
    withheld  packages that submissions must not see besides ours: those with the answers
    errors    ValueError for another level, GraderFault for one that this machine does not give
    """

    def __init__(self, level: str = "auto", limits: Limits | None = None, withheld: tuple[str, ...] = ()) -> None:
        self._isolation, self._withheld = resolve(level, withheld=withheld), withheld
        self.level, self.limits = self._isolation.level, limits or Limits()
        self._hosts: dict[tuple[str, int], Host] = {}

    @property
    def isolation(self) -> str:
        """The level and its layers, as far as they hold for every process; the same text in every run on a machine."""
        weaker = (host.isolation for host in self._hosts.values() if host.isolation != self._isolation)
        return str(next(weaker, self._isolation))

    def get(self, kind: str, hash_seed: int = 0) -> Host:
        """The host of a kind, started at the first call, or before by `start_early`.

        hash_seed   orders sets and whatever else goes by hash; a parent of its own for each
        """
        key = kind, hash_seed
        if key not in self._hosts:
            host = None if hash_seed or self._withheld else _early.pop((kind, self.level), None)
            if host is None:
                known: Kind = "torch" if kind == "torch" else "numpy"
                host = Host(known, self.level, self.limits, hash_seed=hash_seed, withheld=self._withheld)
            host.limits = self.limits
            self._hosts[key] = host
        return self._hosts[key]

    def close(self) -> None:
        """End every process; safe to call twice."""
        for host in self._hosts.values():
            host.close()
        self._hosts.clear()

    def __enter__(self) -> Hosts:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def start_early(path: Path, level: str = "auto") -> None:
    """Let the parent that a submission will need import its libraries while the grader imports its own.

    A guess from the text of the files; a wrong one costs time only. Whoever asks `Hosts` first gets it.
    """
    if sys.platform != "linux" or _early:
        return  # elsewhere, a process gets its limits when it starts, and they are not known yet
    with suppress(Exception):  # whoever reads the submission says what is wrong with it
        host = Host("torch" if any(map(_mentions_torch, _python_files(path))) else "numpy", level)
        _early[host.kind, host.level] = host


def _python_files(path: Path) -> list[str]:
    if not path.is_dir():
        return [os.fspath(path)]
    with os.scandir(path) as entries:
        return [entry.path for entry in islice(entries, LOOKED_AT) if entry.name.endswith(".py")][:50]


def _mentions_torch(file: str) -> bool:
    """Whether a plain file does; a pipe or a device is not opened, a link not followed, and the rest not read."""
    if not stat.S_ISREG(os.lstat(file).st_mode):
        return False
    with open(os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)), "rb") as opened:
        return bool(TORCH.search(opened.read(LOOKED_INTO)))


@atexit.register
def _close_unused() -> None:
    while _early:
        _early.popitem()[1].close()
