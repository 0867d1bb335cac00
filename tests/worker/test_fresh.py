"""Where there is no fork: the same conversation with a fresh process for each submission."""

import sys

import numpy as np
import pytest

from grader.worker import BadResult, Crashed, Host, LoadFailed, Raised, Tampered, TimedOut

from .conftest import PATIENT, QUICK, starter

SOURCE = """
import os, sys, time
def same(x):
    print("in", end="")
    sys.stderr.write("side\\n")
    return x
def ask(): return input()
def leave(): os._exit(3)
def spin():
    while True: pass
def flood():
    while True: print("x" * 1000)
def none(): pass
def boom(): raise ValueError("no")
def forge():
    for descriptor in range(3, 10):
        try: os.write(descriptor, b"x" * 100)
        except OSError: pass
    time.sleep(5)
def big(): return [[1.0] * 100] * 1000
def mute():
    os.close(1); os.close(2)
    return 1
"""


@pytest.fixture(scope="module")
def host():
    with Host(limits=PATIENT, fork=False) as host:
        yield host


@pytest.fixture
def worker(host, workers):
    return starter(host, workers)(SOURCE)


def test_calls_prints_and_faults(worker):
    array = np.arange(100_000.0).reshape(100, 1000)
    for _ in range(3):
        reply = worker.call("same", [array])
        assert reply.value.tolist() == array.tolist()
        assert reply.printed == "side\nin"
    with pytest.raises(Raised, match="EOFError"):
        worker.call("ask")
    with pytest.raises(Raised, match=r"ValueError: no \(decoder.py, line \d+\)"):
        worker.call("boom")
    with pytest.raises(BadResult, match="is a `return` missing"):
        worker.call("none")
    assert worker.call("big").value.shape == (1000, 100)
    with pytest.raises(Crashed, match=r"left by os\._exit\(3\)"):
        worker.call("leave")
    assert not worker.alive


def test_a_process_that_closes_its_output_still_answers(worker):
    assert worker.call("mute").value == 1
    assert worker.call("big").value.shape == (1000, 100)


@pytest.mark.parametrize("name", ["spin", "flood"])
def test_what_does_not_end_is_ended(workers, name):
    with Host(limits=QUICK, fork=False) as host, host.start() as worker:
        worker.load({"decoder.py": SOURCE}, "decoder")
        with pytest.raises(TimedOut):
            worker.call(name)


@pytest.mark.skipif(sys.platform == "win32", reason="descriptors have other numbers")
def test_forged_bytes_are_found(worker):
    with pytest.raises(Tampered):
        worker.call("forge")


def test_loading_fails_alike(host):
    with host.start() as worker, pytest.raises(LoadFailed, match="invalid syntax"):
        worker.load({"decoder.py": "def f(:\n"}, "decoder")
    with host.start() as worker, pytest.raises(LoadFailed, match=r"left by os\._exit\(0\)"):
        worker.load({"decoder.py": "import os\nos._exit(0)\n"}, "decoder")


def test_torch_in_a_fresh_process():
    with Host("torch", limits=PATIENT, fork=False) as host, host.start() as worker:
        worker.load({"m.py": "import torch\ndef f(x):\n    return x.softmax(-1)\n"}, "m")
        reply = worker.gradient("f", [np.eye(2)], "array", [np.eye(2)], [(0,)])
        assert reply.value[0].shape == (2, 2)
