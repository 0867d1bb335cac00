"""Bytes that the program in the student's process would not have written are found, whatever they imitate."""

import json
import sys
import time

import numpy as np
import pytest

from grader.worker import Crashed, Raised, Tampered, TimedOut

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="finds the connection by /proc")

FORGER = """
import gc, json, os, struct, sys, threading, time
import numpy as np
def connection():
    return next(int(n) for n in os.listdir("/proc/self/fd")
                if int(n) > 2 and os.readlink(f"/proc/self/fd/{n}").startswith("socket:"))
def nonce():
    frame = sys._getframe()
    while frame is not None:
        header = frame.f_locals.get("header")
        if isinstance(header, dict): return header["nonce"]
        frame = frame.f_back
def frame(header, body=b"", length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack(">I", len(text) if length is None else length) + text + body
def send(data): os.write(connection(), data)
def value(tree, **more): return {"nonce": nonce(), "value": tree, **more}
def reply(tree):
    return value({"d": [["value", tree], ["kinds", {"l": []}], ["dtypes", {"l": []}], ["after", None]]})
"""


@pytest.mark.parametrize(
    ("statement", "evidence"),
    [
        ("send(frame({'nonce': 'guess', 'value': None}))", "does not carry the request's number"),
        ("send(frame({'value': None}))", "does not carry the request's number"),
        ("send(frame([1]))", "does not carry the request's number"),
        ("send(frame(b'no json'))", "is not JSON"),
        ("send(frame(b'\\xff\\xfe'))", "is not JSON"),
        ("send(frame(b'[' * 100_000))", "is not JSON"),
        ("send(frame(b'', length=2**31))", "too long"),
        ("send(frame(value(None, more=1)))", "unknown keys"),
        ("send(frame(value({'x': 1})))", "unknown form"),
        ("send(frame(value([])))", "unknown form"),
        ("send(frame(value({'a': 1, 'l': []})))", "unknown form"),
        ("send(frame(value({'a': ['float64']})))", "unknown form"),
        ("send(frame(value({'d': [[1]]})))", "unknown form"),
        ("send(frame(value({'d': [[[], 1]]})))", "unknown form"),
        ("send(frame(value({'a': ['object', [1]]}), b'12345678'))", "unknown dtype"),
        ("send(frame(value({'a': [['float64'], [1]]})))", "unknown dtype"),
        ("send(frame(value({'a': ['float64', [-1]]})))", "impossible shape"),
        ("send(frame(value({'a': ['float64', [True]]})))", "impossible shape"),
        ("send(frame(value({'a': ['float64', [1.0]]})))", "impossible shape"),
        ("send(frame(value({'a': ['float64', [1] * 40]})))", "impossible shape"),
        ("send(frame(value({'a': ['float64', [10**6, 10**6]]})))", "announces 8000000000000 bytes"),
        ("send(frame(value({'l': [{'a': ['float64', [2**20]]}] * 100})))", "announces 838860800 bytes"),
        ("send(frame(value({'l': [{'a': ['bool', [0]]}] * 20_000})))", "too many arrays"),
        ("t = None\n    for _ in range(50): t = {'l': [t]}\n    send(frame(value(t)))", "too deeply"),
        ("send(frame(reply({'a': ['bool', [2]]}), b'\\x01\\x02'))", "neither 0 nor 1"),
        ("send(frame(reply({'a': ['float64', [0, 2**39, 2**39]]})))", "cannot be read"),
        ("send(frame(reply({'a': ['float64', [0] + [2**39] * 31]})))", "cannot be read"),
        ("send(frame(value(2**70)))", "does not fit 64 bits"),
        ("send(frame(value({'d': [[2**70, 1]]})))", "does not fit 64 bits"),
        ("send(frame(reply({'l': []})))", "wrong form"),
        ("send(frame(value(None)))", "wrong form"),
        ("send(frame({'nonce': nonce(), 'fault': {'d': [['kind', 'other']]}}))", "unknown form"),
        ("send(frame({'nonce': nonce(), 'fault': None}))", "unknown form"),
        ("send(b'x' * 2_000_000)", "too long"),
    ],
)
def test_a_forged_frame_is_found(numpy_worker, statement, evidence):
    worker = numpy_worker(FORGER + f"\ndef f():\n    {statement}\n    time.sleep(30)\n")
    with pytest.raises(Tampered) as caught:
        worker.call("f")
    assert evidence in caught.value.evidence
    assert caught.value.message.startswith("the submission interfered with the grader's connection: ")
    assert not worker.alive


def ask(worker, name):
    """Call, then wait until what was written out of turn must have come."""
    worker.call(name)
    for _ in range(300):
        worker.settle()
        time.sleep(0.01)


def test_two_replies_are_found(numpy_worker):
    forged = FORGER + "\ndef f():\n    send(frame(reply({'a': ['float64', []]}), bytes(8)))\n    return np.ones(2)\n"
    worker = numpy_worker(forged)
    with pytest.raises(Tampered):
        ask(worker, "f")


def test_a_forked_copy_that_answers_too_is_found(numpy_worker):
    worker = numpy_worker("import os, time\ndef f():\n    return 1 if os.fork() else 0\n")
    with pytest.raises(Tampered):
        ask(worker, "f")


def test_bytes_written_later_by_a_thread_are_found(numpy_worker):
    worker = numpy_worker(
        FORGER
        + "\ndef late():\n    time.sleep(0.05)\n    send(b'abc')\n    open('done', 'w')\n"
        + "def f():\n    threading.Thread(target=late, daemon=True).start()\n    return 1\n"
        + "def wait():\n    while not os.path.exists('done'): time.sleep(0.01)\n    return 1\n"
    )
    assert worker.call("f").value == 1
    with pytest.raises(Tampered):
        ask(worker, "wait")


def test_a_reply_that_drips_is_late(quick_worker):
    worker = quick_worker(
        FORGER
        + "\ndef f():\n    for byte in frame(reply(None)):\n        send(bytes([byte]))\n        time.sleep(0.05)\n"
    )
    with pytest.raises(TimedOut):
        worker.call("f")


def test_a_frame_during_import_is_found(numpy_host):
    with numpy_host.start() as worker, pytest.raises(Tampered):
        worker.load({"decoder.py": FORGER + "\nsend(frame({'nonce': '', 'value': None}))\ntime.sleep(30)\n"}, "decoder")


@pytest.mark.parametrize(
    "report",
    [
        {"d": [["kind", "raised"], ["type", 3], ["text", None], ["frames", {"l": [1, {"d": [["line", "x"]]}]}]]},
        {"d": [["kind", "raised"], ["frames", {"l": [{"d": [["file", "/etc/passwd"], ["line", 1]]}]}]]},
        {"d": [["kind", "raised"], ["frames", {"l": [{"d": [["file", "decoder.py"], ["line", 10**9]]}]}]]},
    ],
)
def test_a_forged_report_quotes_nothing_but_the_sources(numpy_worker, report):
    forged = f"""
def f():
    send(frame({{'nonce': nonce(), 'fault': json.loads({json.dumps(report)!r})}}))
    time.sleep(30)
"""
    worker = numpy_worker(FORGER + forged)
    with pytest.raises(Raised) as caught:
        worker.call("f")
    assert all(frame.file == "decoder.py" and frame.code == "" for frame in caught.value.frames)


PATCHES = """
import builtins, json, sys, os, io, time, threading, linecache, traceback, types
import numpy as np
def break_everything():
    def no(*args, **kwargs): raise RuntimeError("patched")
    for name in ("len", "isinstance", "type", "list", "dict", "map", "getattr", "open", "print", "str", "sum", "all"):
        setattr(builtins, name, no)
    for module, names in {
        json: ("dumps", "loads"), os: ("read", "write", "_exit"), sys: ("exc_info", "setrecursionlimit"),
        np: ("asarray", "array", "stack", "frombuffer", "dtype", "ndarray"), time: ("time", "monotonic"),
        json.JSONEncoder: ("default",), linecache: ("getline",),
    }.items():
        for name in names: setattr(module, name, no)
    sys.stdout = sys.stderr = sys.__stdout__ = None
    return x
x = np.arange(3.0)
def again(): return x
"""


def test_patched_builtins_and_libraries_break_only_the_submission(numpy_worker):
    worker = numpy_worker(PATCHES)
    assert worker.call("break_everything").value.tolist() == [0, 1, 2]
    assert worker.call("again").value.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "definition",
    [
        "class A(np.ndarray):\n    def __array__(self, *a, **k): raise SystemExit\n    def tobytes(self): return b''\n"
        "    def __array_finalize__(self, other): pass\n    def __array_ufunc__(self, *a, **k): raise SystemExit\n"
        "    def __eq__(self, other): return True\ndef f():\n    return np.arange(3.0).view(A)",
        "class A(list):\n    def __len__(self): return 10**9\n    def __iter__(self): return iter([7.0])\n"
        "def f():\n    return A([0.0, 1.0, 2.0])",
    ],
)
def test_lying_objects_become_their_plain_numbers(numpy_worker, definition):
    reply = numpy_worker(f"import numpy as np\n{definition}\n").call("f")
    assert type(reply.value) is np.ndarray
    assert reply.value.tolist() == [0, 1, 2]


def test_a_process_that_points_its_connection_elsewhere_has_closed_it(quick_worker):
    worker = quick_worker(
        FORGER + "\ndef f():\n    os.dup2(os.open('/dev/null', os.O_RDWR), connection())\n    return 1\n"
    )
    with pytest.raises((Crashed, TimedOut)):
        worker.call("f")
