"""Grades thousands of submissions and looks for what is left behind: processes, descriptors, temporary files, memory.

    .venv/bin/python benchmarks/soak.py [SUBMISSIONS] [--jobs N] [--whole]

Right ones, wrong ones, ones that cannot be read, that end their process, print a flood or leave files, NumPy and torch
in turn. Two functions of hand-decoder are judged, with --whole all of them. Linux only; ends with status 1 on a leak.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from grader.batch import Order, run
from grader.names import tasks
from grader.spec import Spec, load

RIGHT = Path(__file__).parent.parent / "tests" / "right" / "hand_decoder"
PARTS = ("softmax", "attention_scores")
CRITERION = '[[criteria]]\nid = "both"\ntitle = "Both"\npoints = 10\nchecks = ["softmax.*", "attention-scores.*"]\n'
WATCHER = "multiprocessing.resource_tracker"  # Python keeps a process and a pipe for it once jobs have been started
SAMPLES = 20
GROWTH = 1.05, 8 * 2**20  # of memory, between the second quarter and the last: a factor, and bytes


@dataclass(frozen=True)
class Sample:
    """What the grader holds at one moment. Memory: of this process, and the shares (PSS) of all others below it."""

    done: int
    seconds: float
    processes: int
    descriptors: int
    temporary: int
    own_bytes: int
    others_bytes: int

    def __str__(self) -> str:
        return (
            f"| {self.done} | {self.seconds:.0f} | {self.processes} | {self.descriptors} | {self.temporary} "
            f"| {self.own_bytes / 2**20:.0f} | {self.others_bytes / 2**20:.0f} |"
        )


HEAD = "| graded | s | processes | descriptors | temporary | own, MiB | others, MiB |\n|---|---|---|---|---|---|---|"


def sources() -> list[str]:
    """What is handed in, in turn."""
    numpy = (RIGHT / "numpy_vectorised.py").read_text("utf-8")
    kinds = [
        numpy,
        numpy.replace("math.sqrt(d_k)", "d_k"),
        numpy.replace("def softmax(x):", "def softmax(x)"),
        numpy + "\n\ndef softmax(x):\n    import os\n    os._exit(3)\n",
        numpy + "\n\nprint('flood\\n' * 100_000)\n",
        numpy
        + "\n\nimport tempfile, os\ntry:\n    os.mkdir(tempfile.gettempdir() + '/left')\nexcept OSError:\n    pass\n",
    ]
    if find_spec("torch"):
        torch = (RIGHT / "torch_plain.py").read_text("utf-8")
        kinds += [torch, torch + "\n\nsoftmax = None\n"]
    return kinds


def assignment(folder: Path) -> Spec:
    """Two functions of hand-decoder."""
    head, *parts = re.split(r"(?=^\[\[)", (files("specs") / "hand-decoder.toml").read_text("utf-8"), flags=re.M)
    kept = [part for part in parts if any(f'name = "{name}"' in part for name in PARTS)]
    (folder / "soak.toml").write_text(head.replace('"hand-decoder"', '"soak"', 1) + "".join(kept) + CRITERION, "utf-8")
    return load(folder / "soak.toml")


def below(pid: int) -> list[int]:
    """All processes that descend from one."""
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            children.setdefault(int(path.read_text().rsplit(")", 1)[1].split()[1]), []).append(int(path.parent.name))
        except OSError:
            continue
    found, new = [], [pid]
    while new:
        new = [child for parent in new for child in children.get(parent, [])]
        found += new
    return found


def memory(pid: int | str) -> int:
    """A process's share of memory in bytes; 0 when it has gone."""
    try:
        return 1024 * int(re.findall(r"^Pss:\s+(\d+)", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.M)[0])
    except (OSError, IndexError):
        return 0


def sample(done: int, begun: float, temporary: Path) -> Sample:
    processes = below(os.getpid())
    return Sample(
        done,
        time.monotonic() - begun,
        len(processes),
        len(os.listdir("/proc/self/fd")),
        sum(1 for _ in temporary.iterdir()),
        memory("self"),
        sum(map(memory, processes)),
    )


def leaks(samples: list[Sample], before: Sample, after: Sample, count: int) -> list[str]:
    """What has been left behind or has grown, in words."""
    watcher = {"processes": 1, "descriptors": 1} if WATCHER in sys.modules else {}
    found = [
        f"{name}: {getattr(before, name)} before, {getattr(after, name)} after"
        for name in ("processes", "descriptors", "temporary")
        if getattr(after, name) > getattr(before, name) + watcher.get(name, 0)
    ]
    steady = samples[len(samples) // 4 :]
    for name in ("processes", "descriptors", "temporary"):
        least, most = min(getattr(s, name) for s in steady), max(getattr(s, name) for s in steady)
        if most > least + 8:
            found.append(f"{name}: between {least} and {most} while grading")
    for name in ("own_bytes", "others_bytes"):
        early, late = (
            statistics.median(getattr(s, name) for s in quarter)
            for quarter in (samples[len(samples) // 4 : len(samples) // 2], samples[-len(samples) // 4 :])
        )
        if count >= 500 and late > max(early * GROWTH[0], early + GROWTH[1]):
            found.append(f"{name}: {early / 2**20:.1f} MiB in the second quarter, {late / 2**20:.1f} in the last")
    return found


def main() -> int:
    """Grade, look, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("submissions", nargs="?", type=int, default=2000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--whole", action="store_true")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder, temporary = Path(name), Path(name) / "tmp"
        folder.chmod(0o711)
        for made in (folder / "in", temporary):
            made.mkdir(mode=0o711)
        kinds = sources()
        for number in range(chosen.submissions):
            (folder / "in" / f"s{number:05}.py").write_text(kinds[number % len(kinds)], "utf-8")
        spec = load("hand-decoder") if chosen.whole else assignment(folder)
        tempfile.tempdir = str(temporary)
        begun, samples, faults = time.monotonic(), [], 0
        before = sample(0, begun, temporary)
        print(HEAD, before, sep="\n", flush=True)
        order = Order(spec, folder / "out")
        for done, outcome in enumerate(run(tasks(sorted((folder / "in").iterdir())), order, chosen.jobs), 1):
            faults += outcome.rubric is None
            if done % max(1, chosen.submissions // SAMPLES) == 0:
                samples.append(sample(done, begun, temporary))
                print(samples[-1], flush=True)
        after = sample(chosen.submissions, begun, temporary)
        print(after)
        tempfile.tempdir = None
    found = leaks(samples, before, after, chosen.submissions)
    if faults:
        found.append(f"{faults} submissions were not graded")
    print("", *(f"LEAK {text}" for text in found), sep="\n")
    print(f"{chosen.submissions} submissions, {chosen.submissions / after.seconds:.1f} per second, {len(found)} leaks")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
