"""Knows how to lay out a folder as a student has it, and how to run pytest or the launcher on it as they would."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.right.hand_decoder import HERE

RIGHT = (HERE / "numpy_einsum.py").read_text("utf-8")
INI = "[pytest]\ngrader_assignment = hand-decoder\n"


def patched(*changes: tuple[str, str], base: str = RIGHT) -> str:
    """A right submission with changes, each of which must fit exactly once."""
    for old, new in changes:
        assert base.count(old) == 1, old
        base = base.replace(old, new)
    return base


def lay(folder: Path, ini: str = INI, **files: str) -> Path:
    """A folder with pytest.ini and Python files, by module name."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pytest.ini").write_text(ini, "utf-8")
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text, "utf-8")
    return folder


@dataclass(frozen=True)
class Ran:
    """A finished pytest: its exit status, what it wrote, and pytest-json-report's file."""

    status: int
    out: str
    report: dict[str, Any]

    @property
    def outcomes(self) -> dict[str, str]:
        """By id of the check."""
        return {test["nodeid"].split("::")[1]: test["outcome"] for test in self.report["tests"]}

    @property
    def statuses(self) -> dict[str, str]:
        """The verdicts, by id of the check."""
        return {
            test["nodeid"].split("::")[1]: next(p["verdict"] for p in test["user_properties"] if "verdict" in p)
            for test in self.report["tests"]
            if "user_properties" in test
        }

    def text(self, key: str) -> str:
        """A failure's text."""
        test = next(test for test in self.report["tests"] if test["nodeid"].endswith(f"::{key}"))
        return str(next(test[when]["longrepr"] for when in ("setup", "call") if "longrepr" in test.get(when, {})))


def clean_environment(**more: str) -> dict[str, str]:
    """The environment without what an outer pytest has left there."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "COV_", "PYTHONPATH"))}
    return {**kept, **more}


def run(folder: Path, *command: str, **environment: str) -> Ran:
    """Run a command that writes `.report.json` in a folder."""
    file = folder / ".report.json"
    file.unlink(missing_ok=True)
    done = subprocess.run(
        command,
        cwd=folder,
        env=clean_environment(**environment),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    report = json.loads(file.read_text("utf-8"), parse_constant=_refuse) if file.exists() else {}
    return Ran(done.returncode, done.stdout + done.stderr, report)


def run_pytest(folder: Path, *arguments: str) -> Ran:
    """As a student does: `pytest` in the folder."""
    return run(folder, sys.executable, "-m", "pytest", "--json-report", *arguments)


def run_launcher(folder: Path, *arguments: str, cwd: Path | None = None, **environment: str) -> Ran:
    """As a grader does: the launcher, on a folder that is not trusted."""
    command = [sys.executable, "-m", "grader.pytest_plugin", str(folder), "--assignment", "hand-decoder"]
    return run(cwd or folder, *command, "--json-report", *arguments, **environment)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} in a JSON file")
