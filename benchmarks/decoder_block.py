"""Measures how long grading one torch block takes beside a bare `import torch`, in turns.

.venv/bin/python benchmarks/decoder_block.py [REPEATS]
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BLOCK = Path(__file__).parent.parent / "tests" / "right" / "decoder_block" / "plain.py"
LIMIT = 1.5


def main() -> None:
    """Measure and print; one run of each beforehand fills the caches and is not counted."""
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory() as folder:
        grade = [sys.executable, "-m", "grader", "grade", "--assignment", "decoder-block", "--out", folder, str(BLOCK)]
        commands = {"grader grade": grade, "import torch": [sys.executable, "-c", "import torch"]}
        seconds: dict[str, list[float]] = {label: [] for label in commands}
        for turn in range(repeats + 1):
            for label, command in commands.items():
                began = time.perf_counter()
                subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=True)
                if turn:
                    seconds[label].append(time.perf_counter() - began)
    for label, times in seconds.items():
        print(f"{label:14} median {statistics.median(times):.2f} s, least {min(times):.2f} s")
    middle, least = (f(seconds["grader grade"]) / f(seconds["import torch"]) for f in (statistics.median, min))
    print(
        f"ratio          median {middle:.2f}, least {least:.2f}; aim {LIMIT}: {'met' if middle <= LIMIT else 'missed'}"
    )


if __name__ == "__main__":
    main()
