"""Which isolation levels this machine gives, what holds in each, and why not more."""

import functools
import os
import stat
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from . import bubble
from .faults import GraderFault
from .inside import landlock, seccomp
from .launch import LEVELS, library_paths
from .view import Rule, view, withheld_names

FIRST_UID, LAST_UID = 61000, 64999  # no distribution gives these to anybody


@dataclass(frozen=True)
class Layer:
    """One layer of the sandbox: whether this machine gives it, why not, what to do, and whether it can be spared."""

    name: str
    held: bool
    why: str = ""
    remedy: str = ""
    required: bool = True


@dataclass(frozen=True)
class Isolation:
    """A level with the layers that are promised; the text of it is the provenance in a rubric."""

    level: str
    layers: tuple[str, ...] = ()
    view: tuple[Rule, ...] = ()
    own_uid: bool = False
    bubblewrap: str | None = None
    withheld: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.level}: {', '.join(self.layers)}" if self.layers else self.level

    def missing(self, layers: Iterable[str]) -> list[str]:
        """What was promised and is not among the layers that a process says to hold."""
        told = {"rlimits" if layer.startswith("RLIMIT_") else layer for layer in layers}
        outside = {"bubblewrap"}  # not the process's to tell
        return [layer for layer in self.layers if layer not in told | outside]


def resolve(
    level: str, python: str = sys.executable, *, wrapped: bool = True, withheld: tuple[str, ...] = ()
) -> Isolation:
    """What ``level`` is here; "auto" is the strongest to be had. ``wrapped=False``: without bubblewrap.

    ``withheld``: packages that must not be seen, besides ours and those that extend us.

    Raises ValueError for an unknown name, GraderFault with the remedy for a level that this machine does not give.
    """
    if level not in LEVELS:
        raise ValueError(f"isolation level {level!r} is not one of {', '.join(LEVELS)}")
    if level == "none":
        return Isolation("none", withheld=withheld_names(python, tuple(library_paths()), withheld))
    if level != "process":
        lacking = _lacking(python)
        if not lacking:
            return _sandbox(sandbox(python), python, wrapped, withheld)
        if level == "sandbox":
            reasons = "; ".join(f"{layer.name}: {layer.why}. {layer.remedy}" for layer in lacking)
            raise GraderFault(f"the isolation level 'sandbox' is not to be had here. {reasons}")
    plain = {"linux": ("rlimits", "no_new_privs"), "win32": ()}
    names = withheld_names(python, tuple(library_paths()), withheld)
    return Isolation("process", plain.get(sys.platform, ("rlimits",)), withheld=names)


def levels_available(python: str = sys.executable) -> tuple[str, ...]:
    """The names of the levels that this machine gives, strongest first."""
    return tuple(level for level in LEVELS[1:] if level != "sandbox" or _lacking(python) == [])


def _lacking(python: str) -> list[Layer]:
    return [layer for layer in sandbox(python) if layer.required and not layer.held]


def _sandbox(layers: tuple[Layer, ...], python: str, wrapped: bool, withheld: tuple[str, ...]) -> Isolation:
    held = {layer.name for layer in layers if layer.held}
    program = bubble.find()[0] if wrapped else None
    own_uid = "own uid" in held
    names = (
        f"landlock {landlock.version()}",
        "seccomp",
        "rlimits",
        "no capabilities",
        *(["own uid"] if own_uid else []),
        *(["bubblewrap"] if program else []),
    )
    given = python, tuple(library_paths()), withheld
    return Isolation("sandbox", names, view(*given), own_uid, program, withheld_names(*given))


@functools.cache
def sandbox(python: str = sys.executable) -> tuple[Layer, ...]:
    """Every layer of the sandbox as this machine gives it."""
    if sys.platform != "linux":
        why, remedy = f"{sys.platform} has nothing of the kind", "Grade on Linux, or in a Linux container"
        return tuple(Layer(name, False, why, remedy) for name in ("landlock", "seccomp"))
    files = landlock.version() > 0
    calls = seccomp.available()
    identity = _identity(python)
    wrapper = bubble.find()[1]
    newer = "Needs Linux 5.13 with `landlock` in /sys/kernel/security/lsm, and a container that lets its calls through"
    return (
        Layer("landlock", files, "" if files else "the kernel has no Landlock, or it is off", "" if files else newer),
        Layer("seccomp", not calls, calls, "Run it where prctl(PR_SET_SECCOMP) is allowed" if calls else ""),
        Layer("rlimits", True),
        Layer("no capabilities", True),
        Layer("own uid", not identity, *identity, required=False) if identity else Layer("own uid", True),
        Layer("bubblewrap", not wrapper, wrapper, _WRAPPER if wrapper else "", required=False),
    )


_WRAPPER = (
    "Install bubblewrap; where it is installed and fails, user namespaces are off (Ubuntu 24.04: an AppArmor profile"
    " for bwrap; Docker: its default filter)"
)


def _identity(python: str) -> tuple[str, str] | None:
    """(why a submission cannot be a user of its own, remedy), or None where it can."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "the grader does not run as root, and only root can be another user", "None is needed"
    if not _mapped(LAST_UID):
        return "this user namespace has too few users", "Map 65536 users into the container"
    for path in (path for _, path in view(python, tuple(library_paths()))):
        if closed := _closed(path):
            return f"{closed} is closed to other users", "Use a Python outside of root's home folder"
    if closed := _closed(tempfile.gettempdir()):
        return f"{closed} is closed to other users", "Set TMPDIR to a folder that others may enter"
    return None


def _mapped(uid: int) -> bool:
    try:
        lines = Path("/proc/self/uid_map").read_text().splitlines()
    except OSError:
        return False
    return any(int(first) <= uid < int(first) + int(count) for first, _, count in map(str.split, lines))


def _closed(path: str) -> str | None:
    """The first of ``path`` and its parents that other users may not enter or read."""
    real = Path(os.path.realpath(path))
    for place in reversed((real, *real.parents)):
        mode = place.stat().st_mode
        needed = stat.S_IROTH if place == real and not stat.S_ISDIR(mode) else stat.S_IXOTH
        if not mode & needed:
            return str(place)
    return None
