"""The one place that starts an interpreter for untrusted code: its command, its environment, its level."""

import importlib.machinery
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .levels import Isolation

LEVELS = ("auto", "sandbox", "process", "none")

_INSIDE = Path(__file__).parent / "inside" / "__main__.py"
_KEPT = (
    ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH") if os.name == "posix" else ("SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "PATH")
)


def environment(home: str, hash_seed: int = 0) -> dict[str, str]:
    """All that the process sees: what an interpreter needs to start, nothing of the caller's; one thread a library."""
    single = ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "VECLIB_MAXIMUM")
    return {
        **{name: os.environ[name] for name in _KEPT if name in os.environ},
        **{f"{library}_NUM_THREADS": "1" for library in single},
        **dict.fromkeys(("HOME", "USERPROFILE", "TMPDIR", "TEMP", "TMP", "TORCHINDUCTOR_CACHE_DIR"), home),
        "CUDA_VISIBLE_DEVICES": "",
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "MPLBACKEND": "Agg",
        "PYTHONHASHSEED": str(hash_seed),
    }


def library_paths() -> list[str]:
    """Where NumPy and torch are, for interpreters that would not find them alone (user site, PYTHONPATH)."""
    searched = [p for p in sys.path if p and Path(p).resolve() != Path.cwd()]
    specs = (importlib.machinery.PathFinder.find_spec(name, searched) for name in ("numpy", "torch"))
    paths = [str(Path(spec.origin).parent.parent) for spec in specs if spec is not None and spec.origin is not None]
    return list(dict.fromkeys(paths))


def launch(
    python: str, isolation: "Isolation", role: str, setup: dict[str, Any], folder: Path, **popen: Any
) -> "subprocess.Popen[bytes]":
    """Start ``python`` on the program in ``inside/`` as ``role`` ("warm" or "serve"). Raises OSError.

    Not ``-I``, which would also ignore PYTHONHASHSEED: ``-s -P`` in an environment of our own isolates as much.
    """
    setup = {**setup, "level": isolation.level, "view": isolation.view, "paths": library_paths()}
    setup["withheld"] = isolation.withheld
    command = [python, "-s", "-P", "-X", "utf8", str(_INSIDE), role, json.dumps(setup)]
    if isolation.bubblewrap is not None and role == "warm":
        from .bubble import wrap

        command = wrap(command, isolation.bubblewrap, isolation.view, _INSIDE.parent, folder)
    if os.name == "posix" and isolation.level != "none":  # a debugger stays in the terminal's session
        popen["start_new_session"] = True
    seen = environment(str(folder), int(setup.get("hash_seed", 0)))
    return subprocess.Popen(command, env=seen, cwd=folder, bufsize=0, **popen)
