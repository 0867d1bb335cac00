"""The trusted side of the warm parent: asks it for forks, for how a child fares, and to end one (Linux)."""

import array
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from .connection import Ending
from .faults import GraderFault
from .launch import launch
from .levels import Isolation

if sys.platform != "linux":
    raise ImportError("forks of a warm parent need Linux; elsewhere each submission has a fresh process")

_ANSWER_SECONDS = 20.0
_END_SECONDS = 5.0


class WarmParent:
    """One process that has imported the libraries. All methods raise GraderFault when it fails."""

    def __init__(
        self, python: str, isolation: Isolation, torch: bool, folder: Path, start_seconds: float, hash_seed: int = 0
    ) -> None:
        self._folder = folder
        self._deadline = time.monotonic() + start_seconds
        self._lock = threading.Lock()
        self.threads: int | None = None
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs, (folder / "log").open("wb") as log:
            setup = {"torch": torch, "control": theirs.fileno(), "hash_seed": hash_seed}
            shown = isolation.level == "none"  # a debugger talks to the terminal
            try:
                self._process = launch(
                    python,
                    isolation,
                    "warm",
                    setup,
                    folder,
                    pass_fds=(theirs.fileno(),),
                    stdin=None if shown else subprocess.DEVNULL,
                    stdout=None if shown else log,
                    stderr=None if shown else log,
                )
            except OSError as error:
                self._control.close()
                raise GraderFault(f"the Python for submissions cannot be started: {error}") from None

    @property
    def alive(self) -> bool:
        """Whether it runs and its socket is open."""
        return self._process.poll() is None and self._control.fileno() >= 0

    def wait(self) -> int:
        """Wait until it is ready; how many threads it has."""
        with self._lock:
            if self.threads is None:
                self.threads = int(self._answer(self._deadline)["threads"])
        return self.threads

    def fork(self, setup: dict[str, Any], descriptors: list[int]) -> int:
        """Fork a child that holds the two descriptors; its process id."""
        return int(self._ask({"do": "fork", "setup": setup}, descriptors)["pid"])

    def status(self, pid: int) -> int | None:
        """None while the child runs, else its exit status or minus its signal."""
        status = self._ask({"do": "status", "pid": pid}, [])["status"]
        return None if status is None else int(status)

    def end(self, pid: int) -> Ending:
        """Kill the child and what it started, and reap them."""
        answer = self._ask({"do": "end", "pid": pid}, [])
        return Ending(int(answer["status"]), float(answer["cpu_seconds"]), int(answer["peak_bytes"]))

    def _ask(self, request: dict[str, Any], descriptors: list[int]) -> dict[str, Any]:
        self.wait()
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
        with self._lock:
            deadline = time.monotonic() + _ANSWER_SECONDS
            try:
                self._control.settimeout(_ANSWER_SECONDS)
                self._control.sendmsg([json.dumps(request).encode()], rights)
            except OSError as error:
                raise self._failed(str(error)) from None
            return self._answer(deadline)

    def _answer(self, deadline: float) -> dict[str, Any]:
        try:
            self._control.settimeout(max(0.001, deadline - time.monotonic()))
            data = self._control.recv(1 << 16)
            answer = json.loads(data) if data else {}
        except (OSError, ValueError) as error:
            raise self._failed(str(error) or type(error).__name__) from None
        if not isinstance(answer, dict) or not answer or "error" in answer:
            raise self._failed(str(answer))
        return answer

    def _failed(self, why: str) -> GraderFault:
        log = ""
        with contextlib.suppress(OSError):
            log = (self._folder / "log").read_text("utf-8", "replace")[-1000:].strip()
        self.close()
        return GraderFault(f"the process that starts submissions has failed ({why}){': ' + log if log else ''}")

    def close(self) -> None:
        """End it and all its children."""
        ready = self.threads is not None
        self._control.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            if ready:
                self._process.wait(_END_SECONDS)
        if self._process.poll() is None:
            with contextlib.suppress(OSError):
                os.killpg(self._process.pid, signal.SIGKILL)  # with bubblewrap around it, it is not the process itself
            self._process.kill()
        self._process.wait()
