"""Every way a call can fail gives its own fault, and its own sentence."""

import sys

import numpy as np
import pytest

from grader.worker import BadResult, Crashed, Frame, GraderFault, Host, Limits, Raised, TimedOut

linux = pytest.mark.skipif(sys.platform != "linux", reason="limits and signals of Linux")

SOURCE = """
import os, sys, time, signal, ctypes
import numpy as np
def spin():
    print("spinning")
    while True: pass
def stubborn():
    for number in set(signal.valid_signals()) - {signal.SIGKILL, signal.SIGSTOP}:
        try: signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError): pass
    time.sleep(1000)
def stop(): os.kill(os.getpid(), signal.SIGSTOP)
def catch_all():
    while True:
        try: time.sleep(1000)
        except BaseException: pass
def leave(): os._exit(3)
def segfault(): ctypes.string_at(0)
def abort(): os.abort()
def kill_self(): os.kill(os.getpid(), 9)
def kill_group(): os.killpg(0, 9)
def deep():
    sys.setrecursionlimit(10**9)
    class A:
        def __eq__(self, other): return A() == A()
    return A() == A()
def bomb():
    kept = []
    while True: kept.append(np.ones(10**6))
def huge_array(): return np.ones(2**40)
def huge_list(): return [0.0] * 200_000
def huge_result(): return np.ones(200_000)
def broadcast(): return np.broadcast_to(1.0, (10**9, 10**9))
def flood():
    while True: os.write(1, b"x" * 65536)
def talk():
    print("x" * 5000)
    return 1
def close_all():
    os.closerange(0, 1000)
    return 1
"""


@pytest.mark.parametrize("name", ["spin", "stop", "catch_all", "flood", "stubborn"])
@linux
def test_what_does_not_end_is_ended(quick_worker, name):
    worker = quick_worker(SOURCE)
    with pytest.raises(TimedOut) as caught:
        worker.call(name)
    assert caught.value.message == "no answer within 0.5 seconds: is there an endless loop?"
    assert not worker.alive
    printed = {"spin": "spinning\n", "flood": "x" * 1000 + "…"}.get(name, "")
    assert caught.value.printed == printed
    with pytest.raises(GraderFault, match="ended before"):
        worker.call(name)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("leave", "left by os._exit(3)"),
        ("segfault", "segmentation fault"),
        ("abort", "aborted"),
        ("kill_self", "killed by signal 9"),
        ("kill_group", "killed by signal 9"),
        ("deep", "segmentation fault"),
        ("bomb", "memory limit of 256.0 MiB"),
        ("huge_array", "memory limit of 256.0 MiB"),
        ("close_all", "it closed the connection to the grader"),
    ],
)
@linux
def test_a_process_that_ends_says_how(quick_host, name, reason):
    with quick_host.start() as worker:
        worker.load({"decoder.py": SOURCE}, "decoder")
        with pytest.raises(Crashed) as caught:
            worker.call(name, seconds=30)
        assert caught.value.reason == reason
        assert caught.value.message == f"the submission's process ended: {reason}"
        assert not worker.alive


@linux
def test_processor_time_is_limited():
    with Host(limits=Limits(cpu_seconds=1, call_seconds=60)) as host, host.start() as worker:
        worker.load({"decoder.py": SOURCE}, "decoder")
        with pytest.raises(Crashed, match="used more than 1 seconds of processor time"):
            worker.call("spin")
        assert worker.ending.cpu_seconds > 0.5


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("huge_list", "returned more in all than is taken"),
        ("huge_result", "returned 1.5 MiB, at most 1.0 MiB are taken"),
        ("broadcast", "MiB are taken"),
    ],
)
def test_a_result_over_the_cap_is_refused_and_the_worker_lives(quick_worker, name, sentence):
    worker = quick_worker(SOURCE)
    with pytest.raises(BadResult, match=sentence):
        worker.call(name, seconds=30)
    reply = worker.call("talk", seconds=30)
    assert reply.printed == "x" * 1000 + "…"


RAISING = """
import helper
class Evil(Exception):
    def __str__(self): raise RuntimeError("in __str__")
    __repr__ = __str__
class Huge(Exception):
    def __str__(self): return "x" * 10**7
class Liar(Exception):
    @property
    def __traceback__(self): raise SystemExit
    @property
    def __class__(self): raise SystemExit
class NoText(Exception):
    def __str__(self): return 3
def value(x): return helper.inner(x)
def evil(): raise Evil
def huge(): raise Huge
def liar(): raise Liar("lie")
def no_text(): raise NoText
def colours(): raise ValueError("\\x1b[31mred\\x1b[0m\\x07\\r\\nnext \\x1b]0;title\\x07at 0x7f00deadbeef \\ud800")
def leave():
    import sys
    sys.exit("bye")
def interrupt(): raise KeyboardInterrupt
def key(): return {}["W_Q"]
def recurse(): return recurse()
def generator_exit(): raise GeneratorExit
def todo(): raise NotImplementedError
def memory(): raise MemoryError
def low():
    import sys
    sys.setrecursionlimit(60)
    return 1
"""


def raised(worker, name, *args):
    with pytest.raises(Raised) as caught:
        worker.call(name, args)
    assert worker.alive
    return caught.value


def test_exceptions_are_told_with_the_students_own_frames(numpy_worker):
    worker = numpy_worker(RAISING, helper="import numpy as np\ndef inner(x):\n    return np.linalg.inv(x)  # here\n")
    fault = raised(worker, "value", np.zeros((2, 2)))
    assert fault.message == "LinAlgError: Singular matrix (helper.py, line 3)"
    assert fault.frames == (
        Frame("decoder.py", 15, "value", "def value(x): return helper.inner(x)"),
        Frame("helper.py", 3, "inner", "return np.linalg.inv(x)  # here"),
    )
    assert raised(worker, "evil").text == "<its text cannot be read>"
    assert raised(worker, "no_text").text == "<its text cannot be read>"
    assert raised(worker, "huge").text == "x" * 2000 + "…"
    assert raised(worker, "liar").type == "Liar"
    assert raised(worker, "colours").text == "red\nnext at 0x… ?"
    assert raised(worker, "leave").text == "the code called exit(bye)"
    assert raised(worker, "interrupt").text == "the code raised KeyboardInterrupt"
    assert raised(worker, "key").text == "the key 'W_Q' is not there"
    assert raised(worker, "generator_exit").type == "GeneratorExit"
    assert raised(worker, "todo").message == "NotImplementedError (decoder.py, line 28)"
    fault = raised(worker, "recurse")
    assert fault.type == "RecursionError"
    assert len(fault.frames) == 12
    assert worker.call("low").value == 1
    assert raised(worker, "evil").type == "Evil"
    with pytest.raises(Crashed, match=r"memory limit of 4\.0 GiB"):
        worker.call("memory")


def test_what_was_printed_comes_with_the_answer_and_with_the_fault(numpy_worker):
    worker = numpy_worker("""
        import sys, os, warnings
        def out():
            print("out", end="")
            print("err\\x1b[1m", file=sys.stderr)
            os.write(1, b"\\xff raw\\n")
            return 1
        def bad():
            print("before")
            raise ValueError
        def replaced():
            sys.stdout = None
            return 1
        def closed():
            sys.stderr.close()
            return 1
        def warn():
            warnings.warn("careful")
            return 1
    """)
    assert sorted(worker.call("out").printed) == sorted("outerr\n\ufffd raw\n")
    assert raised(worker, "bad").printed == "before\n"
    assert "UserWarning: careful" in worker.call("warn").printed
    assert worker.call("replaced").printed == ""
    assert worker.call("closed").value == 1
    assert worker.call("replaced").value == 1


def test_an_interpreter_that_does_not_start_is_the_graders_fault(tmp_path):
    for fork in (True, False):
        with (
            Host(python=str(tmp_path / "none"), fork=fork) as host,
            pytest.raises(GraderFault, match="cannot be started"),
        ):
            host.start()
        with Host(python="/bin/false", fork=fork) as host, pytest.raises(GraderFault):
            host.start()


@linux
def test_a_warm_parent_that_dies_is_the_graders_fault_and_is_replaced():
    source = "import os, signal, time\ndef f():\n    os.kill(os.getppid(), 9)\n    time.sleep(60)\ndef g(): return 1\n"
    with Host(limits=Limits(call_seconds=30)) as host:
        with host.start() as worker:
            worker.load({"m.py": source}, "m")
            with pytest.raises(GraderFault, match="has failed"):
                worker.call("f")
            assert not worker.alive
        with host.start() as worker:
            worker.load({"m.py": source}, "m")
            assert worker.call("g").value == 1


@linux
def test_a_warm_parent_that_is_stopped_is_ended_and_replaced(monkeypatch):
    from grader.worker import warm

    monkeypatch.setattr(warm, "_ANSWER_SECONDS", 1.0)
    monkeypatch.setattr(warm, "_END_SECONDS", 0.2)
    source = (
        "import os, signal\ndef f():\n    os.kill(os.getppid(), signal.SIGSTOP)\n    os._exit(1)\ndef g(): return 1\n"
    )
    with Host() as host:
        with host.start() as worker:
            worker.load({"m.py": source}, "m")
            with pytest.raises(GraderFault, match="timed out"):
                worker.call("f")
        with host.start() as worker:
            worker.load({"m.py": source}, "m")
            assert worker.call("g").value == 1


@linux
def test_a_warm_parent_with_threads_is_not_forked(monkeypatch):
    from grader.worker.warm import WarmParent

    monkeypatch.setattr(WarmParent, "wait", lambda self: 2)
    with Host() as host, host.start() as worker:
        assert not host.forks
        worker.load({"m.py": "def g(): return 1\n"}, "m")
        assert worker.call("g").value == 1


def test_a_wrong_level_kind_limit_or_operation_is_the_callers_mistake(numpy_worker):
    with pytest.raises(ValueError, match="isolation level 'moat' is not one of auto, sandbox, process, none"):
        Host(level="moat")
    with pytest.raises(ValueError, match="neither 'numpy' nor 'torch'"):
        Host(kind="jax")
    for wrong in (0, -1, float("nan"), True, "1"):
        with pytest.raises(ValueError, match=r"Limits\.call_seconds"):
            Limits(call_seconds=wrong)
    with pytest.raises(ValueError, match="no operation"):
        numpy_worker().op("format_disk")
    assert numpy_worker().op("ping").value is None


@linux
def test_the_layers_that_hold_are_known(numpy_worker):
    assert {"RLIMIT_AS", "RLIMIT_CPU", "no_new_privs", "parent-death signal"} <= set(numpy_worker().layers)


def test_a_closed_host_starts_nothing():
    host = Host()
    host.close()
    host.close()
    with pytest.raises(GraderFault, match="closed"):
        host.start()
