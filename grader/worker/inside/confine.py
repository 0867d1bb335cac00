"""What a process gives up before the student's module is imported, by level, and in which order."""

import mmap
import os
import sys
from typing import Any

from . import landlock, seccomp
from .identity import PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS, PR_SET_PDEATHSIG, become, drop_capabilities, prctl

_OPEN_FILES, _THREADS = 256, 512


def lock_down(setup: dict[str, Any]) -> list[str]:
    """Apply ``setup["level"]``; the names of the layers that hold. Raises OSError for a layer that does not.

    Limits come first, since the kernel's own counts are read for them; the identity after the files, which the new
    user might not open; the parent-death signal after the identity, which clears it; system calls last.
    """
    level, limits = setup["level"], setup["limits"]
    if level == "none":
        return []
    layers = _resource_limits(limits)
    if sys.platform != "linux":
        return layers
    if level == "process":
        prctl(PR_SET_NO_NEW_PRIVS, 1)
        prctl(PR_SET_PDEATHSIG, 9)
        return [*layers, "no_new_privs", "parent-death signal"]
    if level != "sandbox":
        raise OSError(f"unknown level {level}")
    if len(os.listdir("/proc/self/task")) != 1:
        raise OSError("threads run already, which no layer would hold")
    layers += _tighter(setup.get("uid"))
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    rules = [*setup["view"], (landlock.USE, "/dev/null"), (landlock.USE, setup["folder"])]
    layers += ["no_new_privs", f"landlock {landlock.restrict(rules)}"]
    if setup.get("uid") is not None:
        become(int(setup["uid"]))
        layers.append("own uid")
    drop_capabilities()
    prctl(PR_SET_PDEATHSIG, 9)
    prctl(PR_SET_DUMPABLE, 0)
    seccomp.restrict(os.getpid())
    return [*layers, "no capabilities", "parent-death signal", "not dumpable", "seccomp"]


def _address_space() -> int:
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[0]) * mmap.PAGESIZE
    except OSError:
        return 0


def _resource_limits(limits: dict[str, Any]) -> list[str]:
    cpu = int(limits["cpu_seconds"])
    wanted = {
        "RLIMIT_CORE": (0, 0),
        "RLIMIT_CPU": (cpu, cpu + 5),
        "RLIMIT_FSIZE": (int(limits["file_bytes"]),) * 2,
    }
    if sys.platform == "linux":
        wanted["RLIMIT_AS"] = (_address_space() + int(limits["memory_bytes"]),) * 2
    return _limit(wanted)


def _tighter(uid: int | None) -> list[str]:
    wanted = {"RLIMIT_NOFILE": (_OPEN_FILES,) * 2, "RLIMIT_MSGQUEUE": (0, 0)}
    if uid is not None:  # the kernel counts a user's processes and threads, and never root's
        wanted["RLIMIT_NPROC"] = (_THREADS,) * 2
    return _limit(wanted)


def _limit(wanted: dict[str, tuple[int, int]]) -> list[str]:
    if sys.platform == "win32":
        return []
    import resource

    for name, (soft, hard) in wanted.items():
        which = getattr(resource, name)
        top = resource.getrlimit(which)[1]
        if top != resource.RLIM_INFINITY:
            soft, hard = min(soft, top), min(hard, top)
        resource.setrlimit(which, (soft, hard))
    return list(wanted)
