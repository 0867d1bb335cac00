"""A child of the warm parent, seen from the trusted side: a socket, a pipe of what it prints, and its end (Linux)."""

import contextlib
import os
import select
import signal
import socket
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from . import folders
from .connection import Ending, Gone, Late
from .text import Printed
from .warm import WarmParent

if sys.platform != "linux":
    raise ImportError("forks of a warm parent need Linux; elsewhere each submission has a fresh process")

_CHUNK = 1 << 16
_DRAIN = 1 << 20


class ForkedConnection:
    """A ``Connection`` by descriptors and poll."""

    def __init__(self, parent: WarmParent, setup: dict[str, Any], folder: Path, printed_bytes: int) -> None:
        self._parent, self._folder = parent, folder
        self._ended: Ending | None = None
        self._ending, self._overfull = threading.Lock(), False
        self._ahead = bytearray()
        self._printed = Printed(printed_bytes)
        ours, theirs = socket.socketpair()
        self._out, out = os.pipe()
        self._socket = ours
        try:
            self.pid = parent.fork({**setup, "folder": str(folder)}, [theirs.fileno(), out])
        except BaseException:
            ours.close()
            os.close(self._out)
            folders.remove(folder)
            raise
        finally:
            theirs.close()
            os.close(out)
        ours.setblocking(False)
        os.set_blocking(self._out, False)
        self._poll = select.poll()
        self._poll.register(self._out, select.POLLIN)
        self._poll.register(ours, select.POLLIN)
        self._life = -1
        with contextlib.suppress(AttributeError, OSError):  # an old kernel, or one that withholds it
            self._life = os.pidfd_open(self.pid)
            self._poll.register(self._life, select.POLLIN)

    def send(self, parts: list[bytes], deadline: float) -> None:
        """Write all."""
        views = [memoryview(part) for part in parts if part]
        try:
            while views:
                try:
                    sent = self._socket.sendmsg(views[:100])
                except BlockingIOError:
                    self._poll.modify(self._socket, select.POLLOUT)
                    self._wait(deadline)
                    self._poll.modify(self._socket, select.POLLIN)
                    continue
                while views and sent >= len(views[0]):
                    sent -= len(views.pop(0))
                if sent:
                    views[0] = views[0][sent:]
        except OSError:
            raise Gone from None

    def receive(self, count: int, deadline: float) -> bytearray:
        """Read exactly ``count`` bytes."""
        taken = self._ahead[:count]
        del self._ahead[:count]
        if len(taken) == count:
            return taken
        at, missing = len(taken), count - len(taken)
        large = missing > _CHUNK
        taken.extend(bytes(missing) if large else b"")
        while missing:
            dead = self._wait(deadline)
            try:
                if large:  # read in place
                    got = self._socket.recv_into(memoryview(taken)[at:])
                    at, missing = at + got, missing - got
                else:
                    data = self._socket.recv(_CHUNK)
                    got = len(data)
                    taken += data[:missing]
                    self._ahead += data[missing:]
                    missing = max(0, missing - got)
            except BlockingIOError:
                if dead:
                    raise Gone from None
                continue
            except OSError:
                raise Gone from None
            if not got:
                raise Gone
        return taken

    def _wait(self, deadline: float) -> bool:
        """Wait until something happens, keep what is printed; whether the process is dead."""
        left = deadline - time.monotonic()
        if left <= 0:
            raise Late
        events = self._poll.poll(left * 1000 + 1)
        if any(descriptor == self._out for descriptor, _ in events):
            self._read_printed()
        return any(descriptor == self._life for descriptor, _ in events)

    def _read_printed(self) -> int:
        try:
            data = os.read(self._out, _CHUNK)
        except OSError:
            return 0
        if not data:
            with contextlib.suppress(KeyError):
                self._poll.unregister(self._out)
        self._printed.add(data)
        return len(data)

    def stray(self) -> bool:
        """Whether bytes lie there that nobody asked for."""
        if not self._ahead:
            with contextlib.suppress(OSError):
                self._ahead += self._socket.recv(64)
        return bool(self._ahead)

    def printed(self) -> str:
        """What was printed since the last call."""
        drained = 0
        while drained < _DRAIN and self._ended is None and (got := self._read_printed()):
            drained += got
        return self._printed.take()

    def overfull(self) -> None:
        """Kill the process, unless its end has begun: until then, its number is its own."""
        with self._ending:
            if self._ended is None:
                self._overfull = True
                with contextlib.suppress(OSError):
                    os.kill(self.pid, signal.SIGKILL)

    def end(self, grace: float = 0.0) -> Ending:
        """Kill the process and all it started, reap, close, remove its folder."""
        with self._ending:
            if self._ended is not None:
                return self._ended
            self._ended = Ending(None)
        status: int | None = None
        try:
            until = time.monotonic() + grace
            while grace and (status := self._parent.status(self.pid)) is None and time.monotonic() < until:
                time.sleep(0.005)
            ending = self._parent.end(self.pid)
            self._ended = replace(ending, status=status if grace else ending.status, overfull=self._overfull)
        except BaseException:
            with contextlib.suppress(
                OSError
            ):  # its parent is gone; nobody has reaped it, so the number is still its own
                if self._life >= 0:
                    signal.pidfd_send_signal(self._life, signal.SIGKILL)
            raise
        finally:
            drained = 0
            while drained < _DRAIN and (got := self._read_printed()):
                drained += got
            self._socket.close()
            os.close(self._out)
            if self._life >= 0:
                os.close(self._life)
            folders.remove(self._folder)
        return self._ended
