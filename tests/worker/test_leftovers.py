"""Nothing stays behind: processes, descriptors, threads, folders; whatever the submission started or left."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from grader.worker import Crashed, Host, Limits, TimedOut, folders
from tests.processes import processes

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="counts by /proc")
ROOT = Path(__file__).parents[2]


def gone(folder):
    until = time.monotonic() + 20
    while (left := processes(folder)) and time.monotonic() < until:
        time.sleep(0.02)
    return not left


@pytest.fixture
def tidy(tmp_path, monkeypatch):
    """Temporary folders go to a place of their own; afterwards nothing is left anywhere."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    descriptors, threads = os.listdir("/proc/self/fd"), threading.active_count()
    yield tmp_path
    assert gone(tmp_path)
    assert len(os.listdir("/proc/self/fd")) == len(descriptors)
    assert threading.active_count() <= threads
    assert list(tmp_path.iterdir()) == []


BUSY = """
import os, signal, subprocess, sys, threading, time
def daemon(depth=3):
    if os.fork(): return 1
    os.setsid()
    for _ in range(depth):
        if os.fork(): break
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(1000)
def die_leaving_daemon():
    daemon()
    os._exit(5)
def spin_with_children():
    for _ in range(3):
        if not os.fork():
            while True: pass
    while True: pass
def litter():
    os.makedirs("a/b/c")
    open("a/b/c/file", "w").write("x" * 1000)
    os.symlink("/", "link")
    os.chmod("a/b", 0)
    here = os.getcwd()
    for _ in range(1500):
        os.mkdir("d"); os.chdir("d")
    return 1
def threads():
    for _ in range(5): threading.Thread(target=time.sleep, args=(1000,)).start()
    return 1
def files():
    kept.extend(open(os.devnull) for _ in range(200))
    return 1
kept = []
"""


def test_thirty_submissions_leave_nothing(tidy):
    with Host(limits=Limits(call_seconds=20)) as host:
        for number in range(30):
            worker = host.start()
            worker.load({"m.py": BUSY}, "m")
            worker.call(("daemon", "litter", "threads", "files")[number % 4])
            if number % 3:
                worker.close()
            open_now = len(os.listdir("/proc/self/fd"))
        assert open_now < 100


@pytest.mark.parametrize("fork", [True, False])
def test_a_process_that_dies_or_spins_takes_its_children_along(tidy, fork):
    with Host(limits=Limits(call_seconds=0.5), fork=fork) as host:
        worker = host.start()
        worker.load({"m.py": BUSY}, "m")
        with pytest.raises(TimedOut):
            worker.call("spin_with_children")
        if fork:  # where there is no warm parent, a process in a session of its own escapes
            worker = host.start()
            worker.load({"m.py": BUSY}, "m")
            with pytest.raises(Crashed, match=r"os\._exit\(5\)"):
                worker.call("die_leaving_daemon", seconds=30)


def test_a_failure_of_the_grading_code_leaves_nothing(tidy):
    def grade():
        with Host() as host:
            host.start().load({"m.py": BUSY}, "m")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        grade()


@pytest.mark.parametrize("fork", [True, False])
def test_a_host_that_was_never_used_leaves_nothing(tidy, fork):
    Host(fork=fork).close()
    with Host("torch", fork=fork):
        pass


def test_an_interrupted_exchange_leaves_nothing(tidy):
    kept = signal.signal(signal.SIGALRM, signal.default_int_handler)
    with Host(limits=Limits(call_seconds=60)) as host:
        worker = host.start()
        worker.load({"m.py": BUSY}, "m")
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(KeyboardInterrupt):
            worker.call("spin_with_children")
    signal.signal(signal.SIGALRM, kept)
    assert not worker.alive


def test_a_killed_grader_leaves_no_process():
    code = (
        "import sys, grader.worker as w\nh = w.Host(limits=w.Limits(call_seconds=60))\nworker = h.start()\n"
        f"worker.load({{'m.py': {BUSY!r}}}, 'm')\nprint('ready', h._folder, flush=True)\n"
        "worker.call('spin_with_children')\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True) as grader:
        assert grader.stdout is not None
        folder = Path(grader.stdout.readline().split()[1])
        time.sleep(0.2)
        assert len(processes(folder)) >= 2
        grader.kill()
    assert gone(folder)
    folders.remove(folder)


def test_several_workers_of_one_host_live_side_by_side(tidy):
    with Host() as host:
        workers = [host.start() for _ in range(4)]
        for number, worker in enumerate(workers):
            worker.load({"m.py": f"def f(): return {number}\n"}, "m")
        workers[1].close()
        assert [int(w.call("f").value) for w in workers if w.alive] == [0, 2, 3]
        results = []
        threads = [threading.Thread(target=lambda: results.append(host.start())) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(results) == 3


def test_the_child_holds_only_its_own_descriptors(numpy_worker):
    worker = numpy_worker("import os\ndef f():\n    return sorted(map(int, os.listdir('/proc/self/fd')))\n")
    assert len(worker.call("f").value) <= 5  # 0, 1, 2, the conversation, and the folder that is being listed
