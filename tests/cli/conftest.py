"""Run the command line here, or as a process of its own."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from grader import cli
from tests.folders import clean_environment


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    status: int
    out: str
    err: str


@pytest.fixture
def run(capsys, monkeypatch) -> Callable[..., Done]:
    """Run a command in this process."""
    for name in ("NO_COLOR", "COLUMNS", "GRADER_DEBUG"):
        monkeypatch.delenv(name, raising=False)

    def command(*arguments: object) -> Done:
        status = cli.run([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Done(status, captured.out, captured.err)

    return command


def process(*arguments: object, cwd: Path, **environment: str) -> Done:
    """Run a command as a process, piped."""
    done = subprocess.run(
        [sys.executable, "-m", "grader", *map(str, arguments)],
        cwd=cwd,
        env={**clean_environment(), **environment},
        capture_output=True,
        timeout=120,
        check=False,
    )
    encoding = environment.get("PYTHONIOENCODING", "utf-8")
    return Done(done.returncode, done.stdout.decode(encoding), done.stderr.decode(encoding))
