"""Whether bubblewrap works here, and the command that puts a process into namespaces with a view of its own (Linux)."""

import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from .inside.landlock import READ
from .view import Rule

_SPLIT = ("--unshare-net", "--unshare-ipc", "--unshare-uts")
_OPEN = ("--perms", "0755")
_SECONDS = 10


@functools.cache
def find() -> tuple[str | None, str]:
    """(program, "") where it works, else (None, why not)."""
    program = shutil.which("bwrap") if sys.platform == "linux" else None
    if program is None:
        return None, "bubblewrap is not installed"
    true = shutil.which("true") or "/bin/true"
    command = [program, *_SPLIT, "--ro-bind", "/", "/", "--dev", "/dev", *_OPEN, "--dir", "/dev/x", "--", true]
    try:
        done = subprocess.run(command, env={}, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return None, f"bubblewrap does not start: {error}"
    said = " ".join(done.stderr.split())[:200]
    return (program, "") if done.returncode == 0 else (None, f"bubblewrap fails: {said}")


def wrap(command: Sequence[str], program: str, rules: Sequence[Rule], inside: Path, folder: Path) -> list[str]:
    """The command, in namespaces in which only ``rules``' files, the folder ``inside`` and ``folder`` exist.

    No namespace of processes: denying forks has made it needless, and process numbers stay the same on both sides.
    """
    shown = [path for kind, path in rules if kind == READ and not path.startswith("/dev/")]
    shown += [*_start(command[0]), str(inside), "/proc"]
    view = [word for parent in _parents([*shown, str(folder)]) for word in (*_OPEN, "--dir", parent)]
    for path in shown:
        view += ["--symlink", os.readlink(path), path] if os.path.islink(path) else ["--ro-bind", path, path]
    view += ["--dev", "/dev"]
    return [program, *_SPLIT, *view, "--bind", str(folder), str(folder), "--chdir", str(folder), "--", *command]


def _parents(paths: Sequence[str]) -> list[str]:
    """Every folder above ``paths``, outermost first, without those that are shown: others than root are to pass."""
    above = {str(parent) for path in paths for parent in Path(path).parents}
    shown = {path for path in paths if not os.path.islink(path)}
    return sorted(p for p in above if p != "/" and not any(p == s or p.startswith(f"{s}/") for s in shown))


def _start(python: str) -> list[str]:
    """What starting ``python`` needs besides its libraries: links on the way to its file, and an environment's note."""
    paths, here = [], os.path.abspath(python)
    while os.path.islink(here):
        paths.append(here)
        here = os.path.normpath(os.path.join(os.path.dirname(here), os.readlink(here)))
    note = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(python))), "pyvenv.cfg")
    return [*paths, here, *([note] if os.path.exists(note) else [])]
