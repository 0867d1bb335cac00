"""The warm parent: imports the libraries once, then forks a child for each submission; runs no student code itself."""

import gc
import json
import os
import signal
import socket
import sys
from typing import Any

import numpy as np

from . import serve
from .identity import PR_SET_CHILD_SUBREAPER, prctl
from .tensors import import_torch, warm_up

if sys.platform != "linux":
    raise ImportError("forks of a warm parent need Linux; elsewhere each submission has a fresh process")

_HOMES = ("HOME", "TMPDIR", "TEMP", "TMP", "TORCHINDUCTOR_CACHE_DIR")
_write, _exit = os.write, os._exit


def main(setup: dict[str, Any]) -> None:
    """Answer messages on the control socket until it closes; then end all children and this process."""
    control = socket.socket(fileno=int(setup["control"]))
    control.set_inheritable(False)
    if setup["torch"] and import_torch() is not None:
        warm_up()
    np.random.seed(0)  # imports numpy.random, which would cost each child 10 ms
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    gc.collect()
    gc.freeze()
    _say(control, {"ready": True, "threads": len(os.listdir("/proc/self/task"))})
    children: set[int] = set()
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 1 << 20, 2)
        if not message:
            break
        _say(control, _answer(json.loads(message), descriptors, children, setup))
    for pid in list(children):
        _end(pid, children)
    os._exit(0)


def _say(control: socket.socket, answer: dict[str, Any]) -> None:
    control.send(json.dumps(answer).encode())


def _answer(
    request: dict[str, Any], descriptors: list[int], children: set[int], setup: dict[str, Any]
) -> dict[str, Any]:
    if request["do"] == "fork":
        pid = os.fork()
        if pid == 0:
            _child(descriptors, {**setup, **request["setup"]})
        children.add(pid)
        for descriptor in descriptors:
            os.close(descriptor)
        return {"pid": pid}
    pid = int(request["pid"])
    if pid not in children:
        return {"error": f"{pid} is not a child"}
    if request["do"] == "end":
        return _end(pid, children)
    found = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    if found is None:
        return {"status": None}
    return {"status": found.si_status if found.si_code == os.CLD_EXITED else -found.si_status}


def _end(pid: int, children: set[int]) -> dict[str, Any]:
    """Kill the child's group and whatever has escaped from it, and reap all."""
    for kill, target in ((os.killpg, pid), (os.kill, pid)):
        try:
            kill(target, signal.SIGKILL)
        except OSError:
            continue
    _, status, usage = os.wait4(pid, 0)
    children.discard(pid)
    _sweep(children)
    return {
        "status": os.waitstatus_to_exitcode(status),
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "peak_bytes": usage.ru_maxrss * 1024,
    }


def _sweep(children: set[int]) -> None:
    """Orphans of submissions come to this process; none of them is to live."""
    for _ in range(1000):
        with open(f"/proc/self/task/{os.getpid()}/children") as file:
            orphans = set(map(int, file.read().split())) - children
        if not orphans:
            return
        for pid in orphans:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def _child(descriptors: list[int], setup: dict[str, Any]) -> None:
    """From here on this is the submission's process; it never returns."""
    try:
        talk, printed = descriptors
        if setup["level"] != "none":  # a debugger keeps the terminal
            os.setsid()
            nowhere = os.open(os.devnull, os.O_RDONLY)
            for source, target in ((nowhere, 0), (printed, 1), (printed, 2)):
                os.dup2(source, target)
        os.set_inheritable(talk, False)
        os.closerange(3, talk)
        os.closerange(talk + 1, 1 << 20)
        os.chdir(setup["folder"])
        os.environ.update(dict.fromkeys(_HOMES, setup["folder"]))
        if "tempfile" in sys.modules:
            setattr(sys.modules["tempfile"], "tempdir", setup["folder"])  # noqa: B010 - it is no import of ours
        gc.enable()
        serve.serve(talk, talk, setup)
    except BaseException as error:  # noqa: BLE001 - nothing may reach the parent's loop
        try:
            _write(2, f"{type(error).__name__}: {error}\n".encode())
        finally:
            _exit(70)
