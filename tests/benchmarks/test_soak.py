"""A short soak: nothing is left behind by sixty submissions, some of which misbehave."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.folders import clean_environment

SOAK = Path(__file__).parents[2] / "benchmarks" / "soak.py"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="/proc is read")
@pytest.mark.parametrize("jobs", [1, 2])
def test_nothing_is_left_behind(jobs):
    done = subprocess.run(
        [sys.executable, str(SOAK), "40", "--jobs", str(jobs)],
        cwd=SOAK.parents[1],
        env=clean_environment(PYTHONPATH=str(SOAK.parents[1])),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 leaks" in done.stdout
