"""Measures how long a student waits: `grader grade` on a NumPy and a torch submission, beside bare imports and pytest.

    .venv/bin/python benchmarks/startup.py [REPEATS] [--readme]

Every figure is a fresh process from start to end. The commands take turns, so that a busy moment hits all of them; a
busy machine still hits two processes side by side harder than one. With --readme, the table goes into README.md.
"""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

RIGHT = Path(__file__).parent.parent / "tests" / "right" / "hand_decoder"
NUMPY_LIMIT, TORCH_LIMIT = 0.8, 1.4


def commands(folder: Path) -> dict[str, list[str]]:
    """What is measured, by name."""
    (folder / "pytest.ini").write_text("[pytest]\n", "utf-8")
    (folder / "test_trivial.py").write_text(
        "import torch\n\n\ndef test_one():\n    assert torch.ones(1) == 1\n", "utf-8"
    )
    python = sys.executable
    grade = [python, "-m", "grader", "grade", "--assignment", "hand-decoder", "--out", str(folder / "out")]
    return {
        "grader grade, NumPy submission": [*grade, str(RIGHT / "numpy_vectorised.py")],
        "grader grade, torch submission": [*grade, str(RIGHT / "torch_plain.py")],
        "python -c 'import numpy'": [python, "-c", "import numpy"],
        "python -c 'import torch'": [python, "-c", "import torch"],
        "pytest, one trivial test that imports torch": [python, "-m", "pytest", "-q", str(folder)],
    }


def measure(repeats: int) -> dict[str, list[float]]:
    """Seconds of every run; one run of each beforehand fills the caches and is not counted."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory() as name:
        todo = commands(Path(name))
        seconds: dict[str, list[float]] = {label: [] for label in todo}
        for turn in range(repeats + 1):
            for label, command in todo.items():
                began = time.perf_counter()
                done = subprocess.run(command, cwd=name, env=environment, capture_output=True, text=True, check=False)
                if done.returncode:
                    raise SystemExit(f"{label} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
                if turn:
                    seconds[label].append(time.perf_counter() - began)
    return seconds


def table(seconds: dict[str, list[float]]) -> str:
    """Markdown: median, least, and the ratio of the medians to the bare torch import."""
    torch = statistics.median(seconds["python -c 'import torch'"])
    lines = ["| wall time | median, s | least, s | × `import torch` |", "| --- | ---: | ---: | ---: |"]
    for label, times in seconds.items():
        middle = statistics.median(times)
        lines.append(f"| `{label}` | {middle:.2f} | {min(times):.2f} | {middle / torch:.2f} |")
    return "\n".join(lines)


def aims(seconds: dict[str, list[float]]) -> str:
    """Whether the two aims are met."""
    middle = {label: statistics.median(times) for label, times in seconds.items()}
    alone = middle["grader grade, NumPy submission"]
    ratio = middle["grader grade, torch submission"] / middle["python -c 'import torch'"]
    return "\n".join(
        f"{label}, aim {limit}: {'met' if value <= limit else 'missed'}"
        for label, value, limit in (
            (f"NumPy submission: {alone:.2f} s", alone, NUMPY_LIMIT),
            (f"torch submission: {ratio:.2f} × import torch", ratio, TORCH_LIMIT),
        )
    )


def into_readme(text: str) -> None:
    """Replace what stands between the markers."""
    readme = Path(__file__).parent.parent / "README.md"
    head, rest = readme.read_text("utf-8").split("<!-- measured: startup -->\n")
    _, tail = rest.split("<!-- end -->")
    readme.write_text(f"{head}<!-- measured: startup -->\n{text}\n<!-- end -->{tail}", "utf-8")


def main() -> None:
    """Measure and print."""
    numbers = [int(argument) for argument in sys.argv[1:] if argument.isdigit()]
    repeats = numbers[0] if numbers else 7
    machine = (
        f"{repeats} runs each, {os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()},"
        f" NumPy {version('numpy')}, torch {version('torch')}"
    )
    print(machine, end="\n\n", flush=True)
    seconds = measure(repeats)
    print(table(seconds), aims(seconds), sep="\n\n")
    if "--readme" in sys.argv:
        into_readme(f"{machine}:\n\n{table(seconds)}")


if __name__ == "__main__":
    main()
