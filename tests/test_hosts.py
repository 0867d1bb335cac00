"""Warm parents: one for each kind, started early when a submission's text says which, none left behind."""

import subprocess
import sys

import pytest

from grader.hosts import Hosts
from grader.worker import Host, Limits
from tests.folders import RIGHT, clean_environment

EARLY = """
import sys
from pathlib import Path
from grader.hosts import Hosts, _early, start_early
start_early(Path(sys.argv[1]))
assert "numpy" not in sys.modules
kinds = [kind for kind, _ in _early]
assert kinds == sys.argv[2:], kinds
if kinds:
    from grader.worker import Limits
    with Hosts(limits=Limits(call_seconds=2)) as hosts:
        early = _early[kinds[0], hosts.level]
        assert hosts.get(kinds[0]) is early
        assert early.limits.call_seconds == 2
        assert not _early
        assert early.start().scan({"decoder.py": b""}, "decoder") == "numpy"
"""


def early(*arguments) -> str:
    command = [sys.executable, "-c", EARLY, *map(str, arguments)]
    done = subprocess.run(command, env=clean_environment(), capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing is started early")
@pytest.mark.parametrize(("text", "kind"), [(RIGHT, "numpy"), ("import torch\n", "torch"), ("torches = 1\n", "numpy")])
def test_the_kind_is_guessed_from_the_text(tmp_path, text, kind):
    if kind == "torch":
        pytest.importorskip("torch")
    (tmp_path / "decoder.py").write_text(text, "utf-8")
    early(tmp_path / "decoder.py", kind)
    early(tmp_path, kind)


def test_a_path_that_is_not_there_starts_nothing(tmp_path):
    early(tmp_path / "nope.py")


def test_each_kind_has_one_parent_that_ends_with_the_hosts():
    with Hosts(limits=Limits()) as hosts:
        assert hosts.get("numpy") is hosts.get("numpy")
        hosts.get("numpy").start()
        hosts.close()
        hosts.close()


SET = "def order():\n    return list(set('abcdefghijklmnop'))\n"


@pytest.mark.parametrize("fork", [None, False])
def test_another_hash_seed_gives_another_order_of_sets(fork):
    orders = []
    for seed in (0, 1, 1):
        with Host(hash_seed=seed, fork=fork) as host:
            worker = host.start()
            worker.load({"decoder.py": SET}, "decoder")
            orders.append(worker.call("order", (), "tree").value)
    assert orders[0] != orders[1] == orders[2]


def test_hosts_keep_a_parent_for_each_hash_seed():
    with Hosts() as hosts:
        assert hosts.get("numpy", 1) is hosts.get("numpy", 1) is not hosts.get("numpy")
