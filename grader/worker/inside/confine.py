"""What a process gives up before the student's module is imported, by level: the place for stronger confinement."""

import mmap
import sys
from typing import Any

_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS = 1, 38


def lock_down(level: str, limits: dict[str, Any]) -> list[str]:
    """Apply ``level``; the names of the layers that hold. Raises ValueError for an unknown level, OSError.

    Order matters for layers to come: limits, no_new_privs, file view, identity, parent-death signal, system calls.
    """
    if level != "process":
        raise ValueError(f"unknown level {level}")
    layers = _resource_limits(limits)
    if sys.platform == "linux":
        prctl(_PR_SET_NO_NEW_PRIVS, 1)
        prctl(_PR_SET_PDEATHSIG, 9)
        layers += ["no_new_privs", "parent-death signal"]
    return layers


def prctl(option: int, value: int) -> None:
    """The system call of that name (Linux)."""
    import ctypes

    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _address_space() -> int:
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[0]) * mmap.PAGESIZE
    except OSError:
        return 0


def _resource_limits(limits: dict[str, Any]) -> list[str]:
    if sys.platform == "win32":
        return []
    import resource

    cpu = int(limits["cpu_seconds"])
    wanted = {
        "RLIMIT_CORE": (0, 0),
        "RLIMIT_CPU": (cpu, cpu + 5),
        "RLIMIT_FSIZE": (int(limits["file_bytes"]),) * 2,
    }
    if sys.platform == "linux":
        wanted["RLIMIT_AS"] = (_address_space() + int(limits["memory_bytes"]),) * 2
    held = []
    for name, (soft, hard) in wanted.items():
        which = getattr(resource, name)
        top = resource.getrlimit(which)[1]
        if top != resource.RLIM_INFINITY:
            soft, hard = min(soft, top), min(hard, top)
        resource.setrlimit(which, (soft, hard))
        held.append(name)
    return held
