"""A Dask cluster of two worker processes, one of which is killed mid-way: nothing lost, the same bytes as here."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from grader import cluster
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
