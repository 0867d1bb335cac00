"""Knows how to run the pytest front end for a grader who does not trust the folder.

    python -I -m grader.pytest_plugin PATH --assignment A [--seed N] [pytest's own arguments]

pytest gets a configuration and a folder of our own, so the submission's conftest.py, pytest.ini, pytest.py or numpy.py
are never read by it. Without `-I`, Python itself would look for `grader` in the current folder first.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

_ROOT = str(Path(__file__).resolve().parent.parent.parent)
_PLUGINS = ("grader.pytest_plugin.entry", "pytest_jsonreport.plugin")
_AGAIN = (
    "import sys; sys.path.append(sys.argv.pop(1));"
    " from grader.pytest_plugin.__main__ import main; raise SystemExit(main(sys.argv[1:]))"
)


def main(argv: Sequence[str]) -> int:
    """The exit status: pytest's own; 3 when the submission was not graded by no fault of its own."""
    parser = argparse.ArgumentParser("python -I -m grader.pytest_plugin", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("path", help="a file or folder that was handed in")
    parser.add_argument("--assignment", required=True, help="an id, or the path of a spec")
    parser.add_argument("--seed", type=int, default=0, help="changes the numbers of the cases")
    given, rest = parser.parse_known_args(argv)
    for name in [name for name in os.environ if name.startswith("PYTEST_")]:
        del os.environ[name]
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    if not sys.flags.isolated:
        return subprocess.run([sys.executable, "-I", "-c", _AGAIN, _ROOT, *argv], check=False).returncode
    return _run(Path(given.path).absolute(), given.assignment, given.seed, rest)


def _run(path: Path, assignment: str, seed: int, rest: Sequence[str]) -> int:
    import pytest

    from grader.registry import RegistrationError
    from grader.spec import SpecError, load

    if assignment.endswith(".toml"):
        assignment = str(Path(assignment).absolute())
    try:
        file = load(assignment).file
    except (SpecError, RegistrationError) as error:
        print(error, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="grader-pytest-") as folder:
        home = Path(folder).resolve()
        (home / file).touch()  # stands for the submission, which pytest itself never opens
        (home / "pytest.ini").write_text("[pytest]\n", "utf-8")
        keys = {
            "grader_assignment": assignment,
            "grader_submission": str(path),
            "grader_seed": str(seed),
            "cache_dir": str(home / "cache"),
        }
        options = ["-c", str(home / "pytest.ini"), "--rootdir", str(Path.cwd()), "--noconftest"]
        options += [part for key, value in keys.items() for part in ("-o", f"{key}={value}")]
        options += [part for name in _PLUGINS for part in ("-p", name)]
        return int(pytest.main([*options, *rest, str(home)]))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
