"""Where workers come from: forks of one warm parent on Linux, a fresh process each elsewhere."""

import secrets
import sys
import threading
import weakref
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from . import folders
from .connection import Connection
from .faults import GraderFault
from .launch import LEVELS
from .limits import Limits

if TYPE_CHECKING:
    from .worker import Worker

Kind = Literal["numpy", "torch"]


class Host:
    """Starts workers of one kind at one isolation level; a context manager.

    The first process begins to start at once, so that the caller can work meanwhile. ``fork=False`` takes the way of
    Windows and macOS. Raises ValueError for an unknown kind or level; ``start`` raises GraderFault.
    """

    def __init__(
        self,
        kind: Kind = "numpy",
        level: str = "process",
        limits: Limits | None = None,
        python: str = sys.executable,
        *,
        fork: bool | None = None,
    ) -> None:
        if kind not in ("numpy", "torch"):
            raise ValueError(f"kind {kind!r} is neither 'numpy' nor 'torch'")
        if level not in LEVELS:
            raise ValueError(f"isolation level {level!r} is not one of {', '.join(LEVELS)}")
        self.kind, self.level, self.limits, self.python = kind, level, limits or Limits(), python
        self.forks = sys.platform == "linux" and fork is not False
        self._closed = False
        self._workers: set[Worker] = set()
        self._lock = threading.Lock()
        self._warm: Any = None
        self._spare: tuple[Connection, str] | None = None
        self._folder = folders.new()
        self._cleanup = weakref.finalize(self, folders.remove, self._folder)
        try:
            self._prepare()
        except GraderFault:
            self._warm = self._spare = None  # start() tries again, and tells

    def _prepare(self) -> None:
        if sys.platform == "linux" and self.forks:
            from .warm import WarmParent

            torch = self.kind == "torch"
            self._warm = WarmParent(self.python, self.level, torch, self._folder, self.limits.start_seconds)
        else:
            self._spare = self._fresh()

    def start(self) -> "Worker":
        """A new worker, locked down and ready for a submission. Raises GraderFault."""
        try:
            return self._start()
        except GraderFault:
            if self._closed or not self.forks:
                raise
            return self._start()  # an earlier submission may have harmed the warm parent: this one gets a new one

    def _start(self) -> "Worker":
        from .worker import Worker  # needs NumPy, which the process has begun to import meanwhile

        with self._lock:
            if self._closed:
                raise GraderFault("the host of submissions is closed")
            connection, nonce = self._connect()
            worker = Worker(connection, self.limits)
            self._workers = {worker, *(other for other in self._workers if other.alive)}
        worker.greet(nonce)
        return worker

    def _connect(self) -> tuple[Connection, str]:
        if self.forks and (self._warm is None or not self._warm.alive):
            if self._warm is not None:
                self._warm.close()
            self._prepare()
        if self.forks and self._warm.wait() != 1:  # a process with threads must not be forked
            self._warm.close()
            self._warm, self.forks = None, False
        if sys.platform == "linux" and self.forks:
            from .forked import ForkedConnection

            nonce, folder = secrets.token_hex(16), self._new_folder()
            setup = {"nonce": nonce, "limits": self.limits.as_dict(), "level": self.level}
            return ForkedConnection(self._warm, setup, folder, self.limits.printed_bytes), nonce
        spare, self._spare = self._spare, None
        return spare or self._fresh()

    def _fresh(self) -> tuple[Connection, str]:
        from .piped import PipedConnection

        nonce = secrets.token_hex(16)
        setup = {"nonce": nonce, "limits": self.limits.as_dict(), "torch": self.kind == "torch"}
        return PipedConnection(self.python, self.level, setup, self._new_folder(), self.limits.printed_bytes), nonce

    def _new_folder(self) -> Path:
        return folders.new("w", self._folder)

    def close(self) -> None:
        """End all workers and the warm parent, and remove every folder; safe to call twice."""
        self._closed = True
        try:
            for worker in list(self._workers):
                worker.close()
            if self._spare is not None:
                self._spare[0].end()
                self._spare = None
        finally:
            if self._warm is not None:
                self._warm.close()
            self._cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
