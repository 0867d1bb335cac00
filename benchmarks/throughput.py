"""Measures a class: submissions per second, warm and with a fresh process each, beside pytest, otter and nbgrader.

    .venv/bin/python benchmarks/throughput.py [ROUNDS] [--submissions N] [--others VENV]

The ways take turns, so that a busy moment hits all of them; medians are told. The processor's seconds, which a busy
machine changes little, are those of all processes, start-up included.
`--others` is a virtual environment that has otter-grader, nbgrader, ipykernel and NumPy; without it they are left out.
They get one trivial question, pytest one comparison for each value that `grader` checks: a fraction of what `grader`
asks, so the ratios are lower bounds.
"""

from __future__ import annotations

import argparse
import os
import pickle
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from soak import below, memory

import grader
from grader.batch import Order, run
from grader.engine import plan
from grader.hosts import Hosts
from grader.names import tasks
from grader.spec import Spec, load
from grader.student import limits_of
from grader.worker import Host
from grader.worker.levels import resolve

RIGHT = Path(__file__).parent.parent / "tests" / "right" / "hand_decoder"
BASES = {"NumPy": ("numpy_vectorised", "numpy_einsum", "numpy_loops"), "torch": ("torch_plain", "torch_modules")}
SKIPPED = 2  # outcomes before the clock starts: until then the parents import their libraries

PYTEST = '''
"""What a course writes by hand: each function on stored arguments against stored values."""
import pickle
from pathlib import Path

import numpy as np
import pytest

import decoder

CASES = pickle.loads((Path(__file__).parent / "cases.pickle").read_bytes())
TORCH = hasattr(decoder, "torch")


def given(tree):
    if isinstance(tree, dict):
        return {key: given(value) for key, value in tree.items()}
    if isinstance(tree, (list, tuple)):
        return type(tree)(given(item) for item in tree)
    if TORCH and isinstance(tree, np.ndarray):
        return decoder.torch.from_numpy(tree.copy())
    return tree


def number(result):
    return result.detach().numpy() if hasattr(result, "detach") else np.asarray(result)


@pytest.mark.parametrize(("name", "args", "expected"), CASES)
def test_value(name, args, expected):
    found = getattr(decoder, name)(*given(args))
    for one, wanted in zip(found, expected) if isinstance(expected, tuple) else [(found, expected)]:
        np.testing.assert_allclose(number(one), wanted, rtol=1e-9, atol=1e-12)
'''

Way = Callable[[], float]  # seconds for one submission


class FreshHosts(Hosts):
    """A fresh process for each worker, as on Windows and macOS."""

    def get(self, kind: str) -> Host:
        """The host of a kind."""
        if kind not in self._hosts:
            self._hosts[kind] = Host("torch" if kind == "torch" else "numpy", self.level, self.limits, fork=False)
        return self._hosts[kind]


def hand_in(folder: Path, kind: str, count: int) -> list[Path]:
    """Submissions that differ in their bytes."""
    folder.mkdir()
    bases = [(RIGHT / f"{name}.py").read_text("utf-8") for name in BASES[kind]]
    paths = [folder / f"s{number:03}.py" for number in range(count)]
    for number, path in enumerate(paths):
        path.write_text(f"{bases[number % len(bases)]}\n# {number}\n", "utf-8")
    return paths


def warm(spec: Spec, paths: list[Path], jobs: int, folder: Path) -> Way:
    def seconds() -> float:
        times = []
        for outcome in run(tasks(paths), Order(spec, folder), jobs):
            assert outcome.rubric, outcome.reason
            assert outcome.rubric["score"] == 100, outcome
            times.append(time.perf_counter())
        return (times[-1] - times[SKIPPED - 1]) / (len(times) - SKIPPED)

    return seconds


def fresh(spec: Spec, path: Path) -> Way:
    def seconds() -> float:
        begun = time.perf_counter()
        with FreshHosts("auto", limits_of(spec)) as hosts:
            assert grader.grade(path, assignment=spec, hosts=hosts).score == 100
        return time.perf_counter() - begun

    return seconds


def command(arguments: list[str], folder: Path, **environment: str) -> Way:
    def seconds() -> float:
        begun = time.perf_counter()
        done = subprocess.run(
            arguments, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(f"{arguments} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return time.perf_counter() - begun

    return seconds


def by_pytest(spec: Spec, path: Path, folder: Path) -> Way:
    folder.mkdir()
    cases = [
        (item.part.name, case.args, getattr(spec.book, item.part.name)(*case.args))
        for item in plan(spec)
        if item.check.name == "value"
        for case in item.check.cases(item.part.name, 0)
    ]
    (folder / "cases.pickle").write_bytes(pickle.dumps(cases))
    (folder / "test_values.py").write_text(PYTEST, "utf-8")
    (folder / "pytest.ini").write_text("[pytest]\n", "utf-8")
    shutil.copy(path, folder / "decoder.py")
    return command([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"], folder)


def others(venv: Path, folder: Path) -> Iterator[tuple[str, Way]]:
    """One question: softmax of a row of zeros."""
    folder.mkdir()
    source = (RIGHT / "numpy_vectorised.py").read_text("utf-8")
    code = "import numpy as np\nassert np.allclose(softmax(np.zeros((1, 2))), 0.5)"
    (folder / "make.py").write_text(OTHERS.format(source=source, code=code), "utf-8")
    programs = venv / ("Scripts" if os.name == "nt" else "bin")
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    for arguments in (["python", "make.py"], ["otter", "generate", "-t", "tests", "-o", "ag.zip"]):
        command([str(programs / arguments[0]), *arguments[1:]], folder, PATH=path)()
    course = folder / "course"
    command([str(programs / "nbgrader"), "generate_assignment", "ps1"], course, PATH=path)()
    yield "otter run", command([str(programs / "otter"), "run", "-a", "ag.zip", "sub.ipynb"], folder, PATH=path)
    autograde = [str(programs / "nbgrader"), "autograde", "ps1", "--student", "alice", "--force"]
    yield "nbgrader autograde", command(autograde, course, PATH=path)


OTHERS = """
import pathlib
import nbformat
v = nbformat.v4
source, code = {source!r}, {code!r}
kernel = {{"kernelspec": {{"name": "python3", "display_name": "Python 3", "language": "python"}}}}
def cell(text, **more):
    flags = {{"schema_version": 3, "grade": False, "solution": False, "locked": False, "task": False, **more}}
    return v.new_code_cell(text, metadata={{"nbgrader": flags}})
cells = [cell(source, grade_id="a", solution=True), cell(code, grade_id="t", grade=True, locked=True, points=1)]
for part in ("source/ps1", "submitted/alice/ps1"):
    folder = pathlib.Path("course") / part
    folder.mkdir(parents=True)
    nbformat.write(v.new_notebook(cells=cells, metadata=kernel), folder / "p1.ipynb")
pathlib.Path("course/nbgrader_config.py").write_text("c = get_config()\\nc.CourseDirectory.course_id = 'c'\\n")
nbformat.write(v.new_notebook(cells=[v.new_code_cell(source)], metadata=kernel), "sub.ipynb")
pathlib.Path("tests").mkdir()
case = {{"code": ">>> import numpy as np\\n>>> bool(np.allclose(softmax(np.zeros((1, 2))), 0.5))\\nTrue"}}
suite = {{"cases": [{{**case, "hidden": False, "locked": False}}], "scored": True, "type": "doctest"}}
test = {{"name": "q1", "points": 1, "suites": [{{**suite, "setup": "", "teardown": ""}}]}}
pathlib.Path("tests/q1.py").write_text(f"OK_FORMAT = True\\ntest = {{test!r}}\\n")
"""


def start_up(kind: str, path: Path, level: str, count: int = 40) -> tuple[float, int, int]:
    """Seconds from nothing to the imported submission (median), bytes of the warm parent, bytes of one worker (PSS)."""
    source, times = path.read_bytes(), []
    with Host("torch" if kind == "torch" else "numpy", level) as host:
        for number in range(count):
            begun = time.perf_counter()
            with host.start() as worker:
                worker.load({"decoder.py": source}, "decoder")
                times.append(time.perf_counter() - begun)
                if number == count - 1:
                    together = sum(map(memory, below(os.getpid())))
        alone = sum(map(memory, below(os.getpid())))
    return statistics.median(times), alone, together - alone


def machine() -> str:
    try:
        model = re.findall(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())[0]
    except (OSError, IndexError):
        model = platform.machine()
    load = f", load {os.getloadavg()[0]:.1f} at the start" if hasattr(os, "getloadavg") else ""
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "torch", "pytest") if find_spec(name))
    return f"{os.cpu_count()} cores, {model}, Python {platform.python_version()}, {packages}, {resolve('auto')}{load}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("rounds", nargs="?", type=int, default=5)
    parser.add_argument("--submissions", type=int, default=14)
    parser.add_argument("--others", type=Path)
    chosen = parser.parse_args()
    print(machine(), f"{chosen.rounds} rounds", sep=", ", end="\n\n", flush=True)
    spec = load("hand-decoder")
    kinds = [kind for kind in BASES if kind == "NumPy" or find_spec("torch")]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ways: dict[tuple[str, str], Way] = {}
        for kind in kinds:
            paths = hand_in(folder / kind, kind, chosen.submissions)
            for jobs in (1, 2):
                ways[kind, f"warm, --jobs {jobs}"] = warm(spec, paths, jobs, folder / f"{kind}-{jobs}")
            ways[kind, "a fresh process each"] = fresh(spec, paths[0])
            ways[kind, "pytest, one run each"] = by_pytest(spec, paths[0], folder / f"{kind}-pytest")
        for label, way in others(chosen.others, folder / "others") if chosen.others else ():
            ways["NumPy", label] = way
        seconds: dict[tuple[str, str], list[float]] = {key: [] for key in ways}
        cpu: dict[tuple[str, str], list[float]] = {key: [] for key in ways}
        for turn in range(chosen.rounds):
            for key, way in ways.items():
                used = sum(os.times()[:4])
                seconds[key].append(way())
                cpu[key].append((sum(os.times()[:4]) - used) / (chosen.submissions if "warm" in key[1] else 1))
            print(f"round {turn + 1} of {chosen.rounds}", file=sys.stderr, flush=True)
        tables = classes(seconds, cpu)
    tables += "\n\n| submission | level | start-up, ms | warm parent, MiB | a worker, MiB |\n|---|---|---|---|---|"
    for kind in kinds:
        for level in dict.fromkeys(("process", resolve("auto").level)):
            took, parent, worker = start_up(kind, RIGHT / f"{BASES[kind][0]}.py", level)
            tables += f"\n| {kind} | {level} | {took * 1000:.1f} | {parent / 2**20:.0f} | {worker / 2**20:.1f} |"
    print(tables)


def classes(seconds: dict[tuple[str, str], list[float]], cpu: dict[tuple[str, str], list[float]]) -> str:
    """A line for each way."""
    lines = [
        "| submission | way | s each | least | processor, s | per second | × pytest |",
        "|---|---|---|---|---|---|---|",
    ]
    for (kind, label), times in sorted(seconds.items(), key=lambda entry: entry[0][0]):
        middle, beside = statistics.median(times), statistics.median(seconds[kind, "pytest, one run each"])
        lines.append(
            f"| {kind} | {label} | {middle:.2f} | {min(times):.2f} | {statistics.median(cpu[kind, label]):.2f} "
            f"| {1 / middle:.2f} | {beside / middle:.1f} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
