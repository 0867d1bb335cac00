"""Knows what confines a submission on this machine, by trying it: layers, forbidden deeds, what each level costs."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from grader.worker.faults import WorkerFault
from grader.worker.host import Host
from grader.worker.launch import LEVELS
from grader.worker.levels import Layer, resolve, sandbox

STARTS = 5

# What a submission tries, and what must not succeed in the sandbox. Each line raises, or is a hole.
DEEDS: Mapping[str, str] = {
    "read the grader's source": "open({grader!r}).read(1)",
    "read the reference": "open({reference!r}).read(1)",
    "read a file of the user": "open({secret!r}).read(1)",
    "write beside its own folder": "open({beside!r}, 'w').close()",
    "see other processes": "open('/proc/{pid}/environ', 'rb').read(1)",
    "start a process": "import os; os.fork() or os._exit(0)",
    "run a program": "import os; os.execv('/bin/true', ['true'])",
    "open a socket": "import socket; socket.socket().close()",
    "signal the grader": "import os; os.kill({pid}, 0)",
}


@dataclass(frozen=True)
class Deed:
    """Something forbidden that was tried: whether it was refused, and in which words."""

    what: str
    refused: bool
    said: str


@dataclass(frozen=True)
class Examined:
    """One level: what is in force, or why it is not to be had; the deeds, and milliseconds to start a worker.

    first   with the interpreter and NumPy; again: the median of a few more from the same warm parent
    """

    level: str
    isolation: str = ""
    why: str = ""
    first: float = 0.0
    again: float = 0.0
    deeds: tuple[Deed, ...] = ()

    @property
    def available(self) -> bool:
        """Whether a worker was started."""
        return not self.why

    @property
    def sound(self) -> bool:
        """Whether it holds what it promises: in the sandbox every deed is refused."""
        return self.available and (self.level != "sandbox" or all(deed.refused for deed in self.deeds))


@dataclass(frozen=True)
class Findings:
    """layers: of the sandbox, each with why not and the remedy; level: what is taken by itself."""

    level: str
    layers: tuple[Layer, ...]
    levels: tuple[Examined, ...]

    @property
    def sound(self) -> bool:
        """Whether the level that is taken by itself holds what it promises."""
        return all(one.sound for one in self.levels if one.level == self.level)


def examine(python: str = sys.executable) -> Findings:
    """Start a worker at every level and let it try what is forbidden; nothing is raised for what this machine lacks."""
    layers = sandbox(python)
    names = [level for level in LEVELS if level not in ("auto", "none")]
    return Findings(resolve("auto", python).level, layers, tuple(_examined(level, python) for level in names))


def _examined(level: str, python: str) -> Examined:
    began = time.perf_counter()
    try:
        with Host("numpy", level, python=python) as host:
            worker = host.start()
            first = _since(began)
            deeds = _deeds(host)
            times = []
            for _ in range(STARTS):
                began = time.perf_counter()
                worker = host.start()
                times.append(_since(began))
                worker.close()
            return Examined(level, str(host.isolation), "", first, sorted(times)[STARTS // 2], deeds)
    except WorkerFault as fault:
        return Examined(level, why=fault.message)


def _since(began: float) -> float:
    return round(1000 * (time.perf_counter() - began), 1)


def _deeds(host: Host) -> tuple[Deed, ...]:
    """Each in a process of its own: one that succeeds may end it."""
    import os
    import tempfile

    with tempfile.TemporaryDirectory(prefix="decoder-grader-doctor-") as folder:
        secret = Path(folder) / "secret"
        secret.write_text("secret", "utf-8")
        places = {
            "grader": __file__,
            "reference": str(Path(__file__).parents[1] / "reference" / "__init__.py"),
            "secret": str(secret),
            "beside": str(Path(folder) / "written"),
            "pid": os.getpid(),
        }
        return tuple(_tried(host, what, code.format(**places)) for what, code in DEEDS.items())


def _tried(host: Host, what: str, code: str) -> Deed:
    source = f"def deed():\n    {code}\n    return 1\n"
    with host.start() as worker:
        try:
            worker.load({"deed.py": source}, "deed")
            worker.call("deed")
        except WorkerFault as fault:
            return Deed(what, "PermissionError" in fault.message or "FileNotFoundError" in fault.message, fault.message)
    return Deed(what, False, "it was allowed")
