"""Where workers come from: forks of one warm parent on Linux, a fresh process each elsewhere."""

import itertools
import os
import secrets
import sys
import threading
import weakref
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from . import folders
from .connection import Connection
from .faults import GraderFault
from .levels import FIRST_UID, LAST_UID, Isolation, resolve
from .limits import Limits, Used
from .quota import Watch

if TYPE_CHECKING:
    from .worker import Worker

Kind = Literal["numpy", "torch"]
_DAY = 86_400.0


class Host:
    """Starts workers of one kind at one isolation level; a context manager.

    The first process begins to start at once, so that the caller can work meanwhile. ``fork=False`` takes the way of
    Windows and macOS. ``hash_seed`` orders the sets of its processes. ``isolation`` is what holds; ``level`` its name.
    Raises ValueError for an unknown kind or level, GraderFault for a level that this machine does not give; ``start``
    raises GraderFault.
    """

    def __init__(
        self,
        kind: Kind = "numpy",
        level: str = "process",
        limits: Limits | None = None,
        python: str = sys.executable,
        *,
        fork: bool | None = None,
        hash_seed: int = 0,
        withheld: tuple[str, ...] = (),
    ) -> None:
        if kind not in ("numpy", "torch"):
            raise ValueError(f"kind {kind!r} is neither 'numpy' nor 'torch'")
        self.forks = sys.platform == "linux" and fork is not False
        self._withheld = withheld
        self.isolation = resolve(level, python, wrapped=self.forks, withheld=withheld)
        self.kind, self.level, self.limits, self.python = kind, self.isolation.level, limits or Limits(), python
        self.hash_seed = hash_seed
        self._slots = itertools.cycle(range(FIRST_UID + os.getpid() % 1000, LAST_UID + 1))
        self._closed = False
        self._workers: set[Worker] = set()
        self._lock = threading.Lock()
        self._warm: Any = None
        self._spare: tuple[Connection, str] | None = None
        self._watch: Watch | None = None
        self._folder = folders.new()
        if self.isolation.own_uid:
            self._folder.chmod(0o711)
        self._cleanup = weakref.finalize(self, folders.remove, self._folder)
        try:
            self._prepare()
        except GraderFault:
            self._warm = self._spare = None  # start() tries again, and tells

    def _prepare(self) -> None:
        if sys.platform == "linux" and self.forks:
            from .warm import WarmParent

            torch = self.kind == "torch"
            self._warm = WarmParent(
                self.python, self.isolation, torch, self._folder, self.limits.start_seconds, self.hash_seed
            )
        else:
            self._spare = self._fresh()

    def start(self, used: Used | None = None) -> "Worker":
        """A new worker, locked down and ready for a submission, which counts on in ``used``. Raises GraderFault."""
        try:
            return self._start(used)
        except GraderFault:
            if self._closed or not self.forks:
                raise
            if self.isolation.bubblewrap and (self._warm is None or self._warm.threads is None):
                self.isolation = self._unwrapped()  # it cannot start in there
            return self._start(used)  # an earlier submission may have harmed the warm parent: this one gets a new one

    def _start(self, used: Used | None) -> "Worker":
        from .worker import Worker  # needs NumPy, which the process has begun to import meanwhile

        with self._lock:
            if self._closed:
                raise GraderFault("the host of submissions is closed")
            connection, nonce = self._connect()
            worker = Worker(connection, self._bounds(), used)
            self._workers = {worker, *(other for other in self._workers if other.alive)}
        worker.greet(nonce)
        if missing := self.isolation.missing(worker.layers):
            worker.close()
            raise GraderFault(f"the submission's process is not confined as promised: without {', '.join(missing)}")
        return worker

    def _bounds(self) -> Limits:
        """The limits; a debugger has a day."""
        if self.level != "none":
            return self.limits
        return replace(self.limits, call_seconds=_DAY, import_seconds=_DAY, start_seconds=_DAY, total_seconds=_DAY)

    def _connect(self) -> tuple[Connection, str]:
        if self.forks and (self._warm is None or not self._warm.alive):
            if self._warm is not None:
                self._warm.close()
            self._prepare()
        if self.forks and self._warm.wait() != 1:  # a process with threads must not be forked
            self._warm.close()
            self._warm, self.forks = None, False
            self.isolation = self._unwrapped()
        if sys.platform == "linux" and self.forks:
            from .forked import ForkedConnection

            setup, folder = self._setup()
            forked = ForkedConnection(self._warm, setup, folder, self.limits.printed_bytes)
            self._watched(folder, forked)
            return forked, setup["nonce"]
        spare, self._spare = self._spare, None
        return spare or self._fresh()

    def _unwrapped(self) -> Isolation:
        """The same level without bubblewrap."""
        return resolve(self.level, self.python, wrapped=False, withheld=self._withheld)

    def _fresh(self) -> tuple[Connection, str]:
        from .piped import PipedConnection

        setup, folder = self._setup()
        setup |= {"torch": self.kind == "torch", "hash_seed": self.hash_seed}
        piped = PipedConnection(self.python, self.isolation, setup, folder, self.limits.printed_bytes)
        self._watched(folder, piped)
        return piped, setup["nonce"]

    def _setup(self) -> tuple[dict[str, Any], Path]:
        """What a process is told, and its private folder."""
        folder, uid = folders.new("w", self._folder), None
        if sys.platform == "linux" and self.isolation.own_uid:
            uid = next(self._slots)
            os.chown(folder, uid, uid)
        return {"nonce": secrets.token_hex(16), "limits": self.limits.as_dict(), "uid": uid}, folder

    def _watched(self, folder: Path, connection: Connection) -> None:
        if self.level != "none":
            if self._watch is None:
                self._watch = Watch(self.limits.folder_bytes, self.limits.folder_files)
            self._watch.add(folder, connection.overfull)

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
            if self._watch is not None:
                self._watch.close()
            if self._warm is not None:
                self._warm.close()
            self._cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
