"""Files that a submission writes are taken from one process and put into another; calls are stopped by their time."""

import sys

import numpy as np
import pytest

from grader.worker import BadResult, Raised

WRITE = """
import os, pathlib

def write(path):
    pathlib.Path(path, "a.bin").write_bytes(bytes(range(256)))
    pathlib.Path(path, "é").mkdir()
    pathlib.Path(path, "é", "b.txt").write_text("x")

def many(path):
    for i in range(300):
        pathlib.Path(path, str(i)).write_bytes(b"")

def large(path):
    for i in range(3):
        pathlib.Path(path, str(i)).write_bytes(b"x" * 500_000)

def link(path):
    os.symlink("/etc/passwd", path + "/link")

def read(path):
    return pathlib.Path(path, "a.bin").read_bytes()[7] + len(pathlib.Path(path, "é", "b.txt").read_text())
"""


def files(worker, folder):
    told = worker.told("file_take", {"files": list}, folder=folder)
    return [(name, array.tobytes()) for name, array in told["files"]]


def test_files_go_from_one_process_to_another(numpy_worker):
    one, other = numpy_worker(WRITE), numpy_worker(WRITE)
    for _ in range(2):  # the folder is gone afterwards
        one.op("file_place", folder="out")
        one.call("write", ["out"], "none")
        found = files(one, "out")
        assert found == [("a.bin", bytes(range(256))), ("é/b.txt", b"x")]
    other.op("file_put", folder="in", files=found)
    assert other.call("read", ["in"]).value == 8
    other.op("file_put", folder="in", files=[("a.bin", bytes(8))])
    with pytest.raises(Raised, match="FileNotFoundError"):
        other.call("read", ["in"])


@pytest.mark.parametrize("name", ["../a", "a/../b", "/a", "a//b", "", ".", "a\0b", "c:a", "a\\b"])
def test_a_name_that_leads_elsewhere_is_refused(numpy_worker, name):
    worker = numpy_worker(WRITE)
    with pytest.raises(BadResult):
        worker.op("file_put", folder="in", files=[(name, b"x")])
    worker.settle()


@pytest.mark.parametrize(("what", "said"), [("many", "more than 200 files"), ("large", "too large")])
def test_what_is_too_much_is_not_taken(quick_worker, what, said):
    worker = quick_worker(WRITE)
    worker.op("file_place", folder="out")
    worker.call(what, ["out"], "none")
    with pytest.raises(BadResult, match=said):
        worker.told("file_take", {"files": list}, folder="out")


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_no_link_is_followed(numpy_worker):
    worker = numpy_worker(WRITE)
    worker.op("file_place", folder="out")
    worker.call("link", ["out"], "none")
    with pytest.raises(Raised):
        worker.told("file_take", {"files": list}, folder="out")


SLOW = """
import time

def busy(n):
    total = 0
    for i in range(10 ** n):
        total += i
    return total

def stubborn(n):
    while True:
        try:
            return busy(n)
        except BaseException:
            if n > 5:
                n = 1

def asleep(n):
    time.sleep(0.5)
    return n
"""


@pytest.mark.skipif(sys.platform == "win32", reason="without timers a call is judged afterwards only")
@pytest.mark.parametrize(
    ("target", "n", "late"), [("busy", 3, False), ("busy", 10, True), ("stubborn", 10, True), ("asleep", 3, False)]
)
def test_a_call_is_stopped_by_its_processor_time(numpy_worker, target, n, late):
    worker = numpy_worker(SLOW)
    form = {"value": object, "late": bool}
    told = worker.told("call_limited", form, target=target, args=(n,), want="array", cpu_seconds=0.3)
    assert told["late"] is late
    assert (told["value"] is None) is late
    again = worker.told("call_limited", form, target="busy", args=(2,), want="array", cpu_seconds=0.3)
    assert np.asarray(again["value"]) == 4950


def test_what_is_raised_within_a_limited_call_is_told(numpy_worker):
    worker = numpy_worker("def f(x):\n    raise ValueError('no')\n")
    with pytest.raises(Raised, match="no"):
        worker.op("call_limited", target="f", args=(1,), want="array", cpu_seconds=5.0)


ATTRIBUTE = """
class Thing:
    size = 7
    text = "x"
    pairs = {"a": [1, 2.5, None]}

    def method(self):
        return 1

    @property
    def broken(self):
        raise ValueError("no")

def make():
    return Thing()
"""


def test_attributes_are_read(numpy_worker):
    worker = numpy_worker(ATTRIBUTE)
    thing = worker.new("make")
    for name, value in (("size", 7), ("text", "x"), ("pairs", {"a": [1, 2.5, None]})):
        assert worker.op("attribute", object=thing, attribute=name).value == value
    for name, fault, said in (
        ("none", BadResult, "has no none"),
        ("method", BadResult, "is a method"),
        ("broken", Raised, "no"),
    ):
        with pytest.raises(fault, match=said):
            worker.op("attribute", object=thing, attribute=name)
