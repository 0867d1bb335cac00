"""A fresh process for one submission: pipes read by threads, on every system; no warm parent."""

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO, Any

from . import folders
from .connection import Ending, Gone, Late
from .faults import GraderFault
from .launch import launch
from .levels import Isolation
from .text import Printed

_CHUNK = 1 << 16
_MARK = b"\0\1end of exchange\1\0"
_MARK_SECONDS = 0.5
_AHEAD = 64  # chunks that may lie unread, so that a flood does not fill the memory


class PipedConnection:
    """A ``Connection`` to a process of its own. Raises GraderFault if the interpreter cannot be started."""

    def __init__(
        self, python: str, isolation: Isolation, setup: dict[str, Any], folder: Path, printed_bytes: int
    ) -> None:
        self._folder = folder
        self._ended: Ending | None = None
        self._overfull = False
        self._ahead = bytearray()
        self._printed = Printed(printed_bytes)
        self._marked = threading.Condition()
        self._marks, self._marking = 0, True
        self._in: queue.Queue[bytes] = queue.Queue(_AHEAD)
        self._out: queue.Queue[bytes | None] = queue.Queue()
        pipe = subprocess.PIPE
        try:
            self._process = launch(
                python,
                isolation,
                "serve",
                {**setup, "mark": _MARK.decode(), "folder": str(folder)},
                folder,
                stdin=pipe,
                stdout=pipe,
                stderr=pipe,
            )
        except OSError as error:
            folders.remove(folder)
            raise GraderFault(f"the Python for submissions cannot be started: {error}") from None
        self.pid = self._process.pid
        streams = (self._process.stdin, self._process.stdout, self._process.stderr)
        self._streams: list[IO[bytes]] = [stream for stream in streams if stream is not None]
        tasks = zip((self._write, self._read, self._keep), self._streams, strict=True)
        self._threads = [threading.Thread(target=task, args=(stream,), daemon=True) for task, stream in tasks]
        for thread in self._threads:
            thread.start()

    def _write(self, stream: IO[bytes]) -> None:
        with contextlib.suppress(OSError, ValueError):
            while (data := self._out.get()) is not None:
                view = memoryview(data)
                while view:
                    view = view[stream.write(view) :]

    def _read(self, stream: IO[bytes]) -> None:
        with contextlib.suppress(OSError, ValueError):
            while (data := stream.read(_CHUNK)) and self._ended is None:
                self._in.put(data)

    def _keep(self, stream: IO[bytes]) -> None:
        with contextlib.suppress(OSError, ValueError):
            rest = b""
            while data := stream.read(_CHUNK):
                *ended, rest = (rest + data).split(_MARK)
                keep = max(n for n in range(len(_MARK)) if rest.endswith(_MARK[:n]))  # a mark may come in two pieces
                with self._marked:
                    self._printed.add(b"".join(ended) + rest[: len(rest) - keep])
                    self._marks += len(ended)
                    self._marked.notify()
                rest = rest[len(rest) - keep :]

    def send(self, parts: list[bytes], deadline: float) -> None:
        """Hand all to the writing thread; a process that does not read is found when its answer is late."""
        if self._process.poll() is not None:
            raise Gone
        self._out.put(b"".join(parts))

    def receive(self, count: int, deadline: float) -> bytearray:
        """Read exactly ``count`` bytes."""
        while len(self._ahead) < count:
            left = deadline - time.monotonic()
            if left <= 0:
                raise Late
            try:
                self._ahead += self._in.get(timeout=min(left, 0.05))
            except queue.Empty:
                if not self._threads[1].is_alive() or self._process.poll() is not None:
                    self._threads[1].join(0.2)
                    if self._in.empty():
                        raise Gone from None
        taken = self._ahead[:count]
        del self._ahead[:count]
        return taken

    def stray(self) -> bool:
        """Whether bytes lie there that nobody asked for."""
        return bool(self._ahead) or not self._in.empty()

    def printed(self) -> str:
        """What was printed since the last call; while it runs, up to the mark that ends an exchange."""
        with self._marked:
            if self._ended is None and self._marking:
                self._marking = self._marked.wait_for(lambda: self._marks > 0, _MARK_SECONDS)
                self._marks -= 1
            return self._printed.take()

    def overfull(self) -> None:
        """Kill the process."""
        if self._ended is None and self._process.returncode is None:
            self._overfull = True
            self._kill()

    def end(self, grace: float = 0.0) -> Ending:
        """Kill the process and, as far as the system allows, what it started; close; remove its folder."""
        if self._ended is not None:
            return self._ended
        status: int | None = None
        with contextlib.suppress(subprocess.TimeoutExpired):
            status = self._process.wait(grace) if grace else self._process.poll()
        self._kill()
        self._process.wait()
        self._ended = Ending(status if grace else self._process.returncode, overfull=self._overfull)
        self._out.put(None)
        while not self._in.empty():
            self._in.get_nowait()
        for thread, stream in zip(self._threads, self._streams, strict=True):
            thread.join(0.5)
            if not thread.is_alive():  # a pipe that an escaped process holds open is left to its thread
                stream.close()
        folders.remove(self._folder)
        return self._ended

    def _kill(self) -> None:
        with contextlib.suppress(OSError):
            if sys.platform == "win32":
                taskkill = os.path.join(os.environ.get("SYSTEMROOT", r"C:\Windows"), "System32", "taskkill.exe")
                subprocess.run([taskkill, "/PID", str(self.pid), "/T", "/F"], check=False, capture_output=True)
            else:
                os.killpg(self.pid, signal.SIGKILL)  # also when it has ended: its group may live on
        self._process.kill()
