"""Knows the warm parents of a run, one for each kind, and how to start one before the grader itself is imported."""

from __future__ import annotations

import atexit
import re
import sys
from contextlib import suppress
from pathlib import Path

from grader.worker.faults import GraderFault
from grader.worker.host import Host
from grader.worker.levels import resolve
from grader.worker.limits import Limits

TORCH = re.compile(rb"\btorch\b")
_early: dict[tuple[str, str], Host] = {}


class Hosts:
    """The warm parents, one for each kind that is needed; shared by all submissions of a run. A context manager.

    level   "auto" (the strongest to be had), "sandbox", "process" or "none"; afterwards the one in force
    errors  ValueError for another level, GraderFault for one that this machine does not give
    """

    def __init__(self, level: str = "auto", limits: Limits | None = None) -> None:
        self._isolation = resolve(level)
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
            host = _early.pop((kind, self.level), None) if not hash_seed else None
            if host is None:
                host = Host("torch" if kind == "torch" else "numpy", self.level, self.limits, hash_seed=hash_seed)
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
    with suppress(OSError, GraderFault):
        files = sorted(path.glob("*.py"))[:50] if path.is_dir() else [path]
        torch = any(file.stat().st_size < 1_000_000 and TORCH.search(file.read_bytes()) for file in files)
        host = Host("torch" if torch else "numpy", level)
        _early[host.kind, host.level] = host


@atexit.register
def _close_unused() -> None:
    while _early:
        _early.popitem()[1].close()
