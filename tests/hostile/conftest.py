"""One set of warm parents for each level, shared by all hostile submissions, and what is there before and after."""

import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import grader
from grader.api import Result
from grader.hosts import Hosts
from grader.spec import load
from grader.student import limits_of
from grader.worker.levels import levels_available
from tests.hostile import HERE, HONEST, LEVELS, TARGET
from tests.processes import processes

ROOT = Path(__file__).parents[2]
MARK = "hostile-mark"
SHARED = ("/", "/tmp", "/var/tmp", "/dev/shm", "/run")
PARTS = ("attention_scores", "layer_norm", TARGET, "loss")


@dataclass
class Bench:
    """Grades a source at one level, and knows what is on the machine because of it."""

    level: str
    hosts: Hosts
    folder: Path
    honest: dict[str, Result] = field(default_factory=dict)

    def grade(self, source: str, only: str | None = None) -> Result:
        """Hand in one file; placeholders become the places that an attacker would know."""
        places = {"GRADER": ROOT / "grader", "HOSTILE": HERE, "SUBMISSIONS": self.folder, "USERS_HOME": Path.home()}
        for name, place in places.items():
            source = source.replace(name, str(place))
        (self.folder / "decoder.py").write_text(source, "utf-8")
        return grader.grade(self.folder, assignment=SPEC, hosts=self.hosts, name="hostile", only=only)

    def honestly(self, base: str, only: str | None = None) -> Result:
        """The honest submission, graded now."""
        return self.grade(HONEST[base], only)

    def left(self) -> dict[str, object]:
        """Processes of the warm parents and below them, files in their folders, marks in shared places."""
        hosts = list(self.hosts._hosts.values())
        return {
            "processes": sum(len(processes(host._folder)) for host in hosts),
            "files": sorted(str(path) for host in hosts for path in host._folder.iterdir() if path.name != "log"),
            "marks": [str(path) for place in SHARED for path in Path(place).glob("hostile-*")],
        }

    def settled(self, before: dict[str, object]) -> bool:
        """Whether no more is left than was there before; ends are awaited for a moment."""
        until = time.monotonic() + 5
        while (more := self._more(before)) and time.monotonic() < until:
            time.sleep(0.02)
        return not more

    def _more(self, before: dict[str, object]) -> bool:
        now, parents = self.left(), len(self.hosts._hosts) * (2 if "bubblewrap" in self.hosts.isolation else 1)
        return now["files"] != before["files"] or now["marks"] != before["marks"] or now["processes"] > parents


SPEC = load(HERE / "spec.toml")


@pytest.fixture(scope="session", params=LEVELS)
def bench(request, tmp_path_factory) -> Iterator[Bench]:
    if request.param not in levels_available():
        pytest.skip(f"this machine does not give the level {request.param}")
    os.environ["HOSTILE_SECRET_TOKEN"] = "secret"
    with Hosts(request.param, limits_of(SPEC)) as hosts:
        bench = Bench(request.param, hosts, tmp_path_factory.mktemp("submissions"))
        for base in HONEST:
            bench.honest[base] = bench.honestly(base)
        yield bench
        folders = [host._folder for host in hosts._hosts.values()]
    del os.environ["HOSTILE_SECRET_TOKEN"]
    assert not any(folder.exists() or processes(folder) for folder in folders)
    assert not list(Path(tempfile.gettempdir()).glob(f"{MARK}*"))
