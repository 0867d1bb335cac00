"""Which files an interpreter needs to run NumPy and torch, and which of them it must not see: ours and the answers."""

import functools
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from .inside.landlock import LIST, READ

OURS = ("grader", "reference", "specs", "student_template")
_SYSTEM = (
    *("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/share/zoneinfo"),
    *("/etc/ld.so.cache", "/etc/localtime", "/etc/alternatives"),  # Debian's BLAS is a link into the last
)
_DEVICES = ("/dev/zero", "/dev/urandom", "/dev/random")
_ENTRY_POINTS = re.compile(r"^\[grader\.[^\]]*\]\s*$([^\[]*)", re.MULTILINE)
_ASK = (
    "import json, sys, sysconfig as s; p = s.get_paths(); print(json.dumps([sys.base_prefix, sys.platlibdir, "
    "[p[k] for k in ('stdlib', 'platstdlib', 'purelib', 'platlib')]]))"
)

Rule = tuple[str, str]  # READ or LIST, and an absolute path


@functools.cache
def view(python: str, libraries: tuple[str, ...] = (), more: tuple[str, ...] = ()) -> tuple[Rule, ...]:
    """What ``python`` may read, with the packages of the folders ``libraries``; () where it does not answer.

    ``more``: packages that are withheld besides those of `withheld_names`.

    A folder that holds something withheld is listed, and opened entry by entry.
    """
    packages, system = _folders(python)
    packages = list(dict.fromkeys([*packages, *libraries]))
    roots = _outermost([*_SYSTEM, *system, *packages])
    hidden = withheld(packages, more)
    rules = [rule for root in roots for rule in _opened(root, hidden, roots)]
    return (*rules, *((READ, device) for device in _DEVICES))


@functools.cache
def withheld_names(python: str, libraries: tuple[str, ...] = (), more: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The packages that no submission may import."""
    return tuple(sorted(_names([*_folders(python)[0], *libraries], more)))


def _names(folders: Sequence[str], more: Sequence[str]) -> set[str]:
    """Our packages, those that extend us by entry points, and ``more``."""
    names = {*OURS, *more}
    for folder in folders:
        for file in Path(folder).glob("*-info/entry_points.txt"):
            for block in _ENTRY_POINTS.findall(file.read_text("utf-8", "replace")):
                values = (line.split("=", 1)[1].strip() for line in block.splitlines() if "=" in line)
                names |= {re.split(r"[.:\s\[]", value)[0] for value in values}
    return names


def withheld(folders: Sequence[str], more: Sequence[str] = ()) -> frozenset[str]:
    """Paths, links resolved, that no submission may read: `_names`, wherever they lie."""
    names = _names(folders, more)
    checkout = str(Path(__file__).resolve().parents[2])
    places = [os.path.join(folder, name) for folder in (*folders, checkout) for name in names]
    there = (place + suffix for place in places for suffix in ("", ".py") if os.path.exists(place + suffix))
    return frozenset(map(os.path.realpath, there))


def _folders(python: str) -> tuple[list[str], list[str]]:
    """(folders of packages, folders of the interpreter's libraries)."""
    if python == sys.executable:
        import sysconfig

        paths = sysconfig.get_paths()
        base, lib = sys.base_prefix, sys.platlibdir
        packages = [paths[key] for key in ("stdlib", "platstdlib", "purelib", "platlib")]
    else:
        try:
            said = subprocess.run([python, "-s", "-P", "-c", _ASK], capture_output=True, timeout=60, check=True).stdout
            base, lib, packages = json.loads(said)
        except (OSError, subprocess.SubprocessError, ValueError):
            return [], []
    store = ["/nix/store"] if base.startswith("/nix/store/") else []
    return packages, [os.path.join(base, "lib"), os.path.join(base, lib), *store]


def _outermost(paths: Sequence[str]) -> list[str]:
    """The paths that are there, links kept, without those below another one."""
    there = sorted({os.path.abspath(path) for path in paths if os.path.exists(path)}, key=len)
    kept: list[str] = []
    for path in there:
        if not any(_below(path, other) for other in kept):
            kept.append(path)
    return kept


def _below(path: str, other: str) -> bool:
    return path == other or path.startswith(other.rstrip("/") + "/")


def _opened(path: str, hidden: frozenset[str], roots: Sequence[str]) -> Iterator[Rule]:
    real = os.path.realpath(path)
    if any(_below(real, place) for place in hidden):
        return
    if not any(_below(place, real) for place in hidden):
        yield READ, path
        return
    yield LIST, path
    for entry in sorted(os.scandir(path), key=lambda entry: entry.name):
        inside = any(_below(os.path.realpath(entry.path), os.path.realpath(root)) for root in roots)
        if inside and not entry.name.endswith((".pth", ".egg-link")):
            yield from _opened(entry.path, hidden, roots)
