"""A Dask cluster of two worker processes, one of which is killed mid-way: nothing lost, the same bytes as here."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader import cluster
from grader.lane import Fault
from grader.names import Task
from grader.worker import GraderFault
from tests.batch.conftest import WRONG, command, written
from tests.folders import RIGHT, clean_environment

CLUSTER = """
import sys
from distributed import LocalCluster
cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)
print(cluster.scheduler_address, flush=True)
sys.stdin.read()
cluster.close()
"""


@pytest.fixture
def address() -> Iterator[str]:
    pytest.importorskip("distributed")
    scheduler = subprocess.Popen(
        [sys.executable, "-c", CLUSTER],
        env=clean_environment(PYTHONWARNINGS="ignore"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert scheduler.stdout is not None
    yield scheduler.stdout.readline().strip()
    try:
        scheduler.communicate("", timeout=30)
    finally:
        scheduler.kill()
        scheduler.communicate()


@pytest.mark.skipif(os.name == "nt", reason="SIGKILL is needed")
def test_a_cluster_that_loses_a_worker_grades_the_same(address, grade, hand_in, spec, tmp_path):
    names = ("ann", "dies_once", *(f"slow_{letter}" for letter in "abcd"))
    paths = hand_in(bob=WRONG, **dict.fromkeys(names, RIGHT))
    formats = [part for name in ("html", "markdown", "text") for part in ("--format", name)]
    ran = command(paths, spec, tmp_path / "there", "--cluster", address, *formats)
    printed, errors = ran.communicate(timeout=120)
    assert ran.returncode == 1, errors
    assert (spec.parent / "killed").exists(), "no worker was killed"
    assert [line.split(":")[0] for line in printed.splitlines()] == [path.stem for path in paths]
    grade(paths, "here")
    there = written(tmp_path / "there")
    del there["gradebook.csv"]
    assert there == written(tmp_path / "here")
    again = command(paths, spec, tmp_path / "there", "--cluster", address, "--resume", *formats)
    assert again.communicate(timeout=120)[0].count("(graded before)") == len(paths)


def test_a_scheduler_that_is_not_there_is_said(monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 0.5)
    with pytest.raises(GraderFault, match="no Dask scheduler answers at tcp://localhost:1"):
        cluster.Cluster("tcp://localhost:1")


def test_without_the_package_the_remedy_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(GraderFault, match=r"pip install 'decoder-grader\[cluster\]'"):
        cluster.Cluster("tcp://localhost:1")


class Empty:
    """A client of a scheduler that has no workers."""

    def submit(self, *_, **__):
        return self

    def result(self, timeout=None):
        assert timeout, "would wait for ever"
        raise TimeoutError

    def close(self):
        pass


def test_a_scheduler_without_workers_is_said():
    there = cluster.Cluster.__new__(cluster.Cluster)
    there._address, there._client = "tcp://there:8786", Empty()
    with (
        there,
        pytest.raises(GraderFault, match="has no worker that answers within 60 seconds; start one: dask worker"),
    ):
        there.isolation("auto")


def test_what_cannot_be_sent_is_answered_at_once():
    """The others are sent."""
    pytest.importorskip("distributed")

    class Coming(list):
        def add(self, future):
            self.append(future)

    class Client(Empty):
        loop = None

        def submit(self, function, *arguments, **_):
            return Future(arguments[0])

        def nthreads(self):
            return {"a": 1}

        def cancel(self, _):
            pass

    class Future:
        def __init__(self, made):
            self.made = made

        def result(self):
            return {"made": self.made}

    there = cluster.Cluster.__new__(cluster.Cluster)
    there._client = Client()
    there._dask = type("Dask", (), {"as_completed": staticmethod(lambda loop: Coming())})
    fault = Fault("a disk that fails")
    tasks = [Task(Path(name), name) for name in ("bad", "ann", "worse", "bob")]
    parcels = {"bad": fault, "ann": "1", "worse": fault, "bob": "2"}
    answers = dict(there.answers(tasks, lambda task: parcels[task.name]))
    assert {task.name: answer for task, answer in answers.items()} == {
        "bad": fault,
        "worse": fault,
        "ann": {"made": "1"},
        "bob": {"made": "2"},
    }
