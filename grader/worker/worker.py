"""One child, one conversation, one deadline per exchange."""

import secrets
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Literal, Self

import numpy as np

from . import blame, wire
from .connection import Connection, Ending, Gone, Late
from .faults import Crashed, GraderFault, LoadFailed, Tampered, TimedOut, WorkerFault
from .limits import Limits
from .reply import Loaded, Reply, Want, check_value, checked
from .wire import Handle, Malformed

Backend = Literal["numpy", "torch"]
Path = tuple[str | int, ...]
_GRACE = 1.0


class Worker:
    """One submission's process. After TimedOut, Crashed or Tampered it is dead (``alive`` is False); start another."""

    def __init__(self, connection: Connection, limits: Limits, kind: str) -> None:
        self._connection, self._limits, self._kind = connection, limits, kind
        self._sources: dict[str, str] = {}
        self.alive = True
        self.layers: tuple[str, ...] = ()
        self.versions: dict[str, str | None] = {}
        self.ending: Ending | None = None

    def greet(self, nonce: str) -> None:
        """Wait until the child says that it is locked down. No student code has run: each failure is a GraderFault."""
        try:
            hello, _ = self._answer(nonce, time.monotonic() + self._limits.start_seconds)
            self.layers = tuple(hello["layers"])
            self.versions = {name: hello[name] for name in ("python", "numpy", "torch")}
        except (Gone, Late, Malformed, WorkerFault, LookupError, TypeError) as error:
            self.close(_GRACE)
            said = self._connection.printed().strip()
            why = f"{type(error).__name__} {error}".strip()
            raise GraderFault(f"a process for the submission could not be started ({why}): {said}") from None

    def scan(self, sources: Mapping[str, str | bytes], main: str, adapters: str | None = None) -> Backend:
        """The kind of host that the sources need, by their syntax trees, running nothing. Raises LoadFailed.

        "torch" when ``main``, ``adapters`` or a source that they import imports torch (not under ``if __name__ ==
        "__main__"`` or TYPE_CHECKING) or sets ``BACKEND = "torch"``. ``load`` afterwards is allowed.
        """
        return "torch" if self._scan(sources, main, adapters)[0]["kind"] == "torch" else "numpy"

    def _scan(
        self, sources: Mapping[str, str | bytes], main: str, adapters: str | None
    ) -> tuple[dict[str, Any], list[str]]:
        texts = blame.check_sources(sources, self._limits.source_bytes)
        self._sources = {path: t.decode("utf-8", "replace") if isinstance(t, bytes) else t for path, t in texts.items()}
        modules = [name for name in (adapters, main) if name is not None and blame.has_module(texts, name)]
        if not modules:
            raise LoadFailed("import", f"{main.replace('.', '/')}.py is not there")
        arguments = {"sources": texts, "modules": modules}
        reply = self._load_op("scan", arguments, self._limits.import_seconds)
        return checked(reply.value, {"kind": str, "torch": bool}, self._tampered), modules

    def load(
        self,
        sources: Mapping[str, str | bytes],
        main: str,
        adapters: str | None = None,
        backend: Backend | None = None,
    ) -> Loaded:
        """Import ``main`` (and ``adapters``, whose names win) from ``sources``, relative posix path -> text.

        Raises LoadFailed, Tampered, GraderFault, and ValueError for a path that leads outside.
        """
        found, modules = self._scan(sources, main, adapters)
        if found["kind"] == "torch" and not found["torch"]:
            self._load_op("warm", {}, self._limits.start_seconds)
        used = adapters if adapters in modules else None
        arguments = {"main": main if main in modules else None, "adapters": used, "backend": backend}
        reply = self._load_op("load", arguments, self._limits.import_seconds)
        said = checked(reply.value, {"names": list, "backend": str, "torch": str | None}, self._tampered)
        if said["backend"] not in ("numpy", "torch") or not all(type(name) is str for name in said["names"]):
            raise self._tampered("a reply of the wrong form")
        versions = {**self.versions, "torch": said["torch"]}
        return Loaded(tuple(said["names"]), said["backend"], reply.printed, versions)

    def _load_op(self, op: str, arguments: dict[str, Any], seconds: float) -> Reply:
        try:
            return self._exchange(op, arguments, seconds)
        except (TimedOut, Crashed) as fault:
            raise blame.load_failed(fault) from None

    def call(
        self,
        target: str,
        args: Sequence[Any] = (),
        want: Want = "array",
        *,
        kwargs: Mapping[str, Any] | None = None,
        echo: bool = False,
        seconds: float | None = None,
    ) -> Reply:
        """Call ``target`` ("f", "Class.f", a Handle, f"{handle}.f") with fresh copies of ``args`` and ``kwargs``.

        want: "array" (also number, nested lists, tensor), "dict" (str -> array), "text", "tree", "handle", "none", or a
        tuple of these. Arrays go as float64, float32, int64 or bool, as arrays of the submission's backend.
        Raises Raised, TimedOut, Crashed, BadResult, Missing, Tampered, GraderFault; TypeError for what cannot be sent.
        """
        asked = {"target": target, "want": list(want) if isinstance(want, tuple) else want, "echo": echo}
        arguments = {"call": asked, "args": tuple(args), "kwargs": dict(kwargs or {})}
        reply = self._exchange("call", arguments, seconds)
        return check_value(reply, want, self._tampered)

    def new(
        self, target: str, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None, **call: Any
    ) -> Handle:
        """Call ``target`` and keep the result there, for example an instance of a class; its name."""
        handle = self.call(target, args, "handle", kwargs=kwargs, **call).value
        assert isinstance(handle, Handle)
        return handle

    def gradient(
        self,
        target: str,
        args: Sequence[Any],
        want: Want,
        cotangent: Sequence["np.ndarray[Any, Any] | None"],
        wrt: Sequence[Path],
    ) -> Reply:
        """Autograd's gradient of sum(cotangent * output) at each path of ``wrt`` into ``args``; None where there is none.

        cotangent: one array of each output's shape and dtype, None for an output that does not count.
        Raises NoGradient for a NumPy submission and for an output without a graph, and what ``call`` raises.
        """
        asked = {"target": target, "want": list(want) if isinstance(want, tuple) else want}
        arguments = {"call": asked, "args": tuple(args), "cotangent": list(cotangent), "wrt": list(wrt)}
        reply = self._exchange("gradient", arguments, None)
        if len(checked_list(reply, self)) != len(wrt):
            raise self._tampered("a reply of the wrong form")
        return reply

    def op(self, name: str, *, seconds: float | None = None, **arguments: Any) -> Reply:
        """Run an operation of ``inside/operations`` by its file's name; the reply's value is what it returns."""
        return self._exchange(name, arguments, seconds)

    def settle(self) -> None:
        """Find bytes that were written out of turn after the last reply. Raises Tampered, Crashed."""
        self._exchange("ping", {}, None)

    def _exchange(self, op: str, arguments: dict[str, Any], seconds: float | None) -> Reply:
        if op not in blame.operations():
            raise ValueError(f"there is no operation {op!r}")
        if not self.alive:
            raise GraderFault("the submission's process has ended before")
        seconds = self._limits.call_seconds if seconds is None else seconds
        nonce = secrets.token_hex(16)
        request = wire.encode(nonce, op, arguments)
        if self._connection.stray():
            raise self._tampered("bytes after a reply")
        began = time.monotonic()
        try:
            self._connection.send(request, began + seconds)
            value, fault = self._answer(nonce, began + seconds)
            took = time.monotonic() - began
            if self._connection.stray():
                raise self._tampered("bytes after a reply")
        except Late:
            self.close()
            raise TimedOut(seconds, printed=self._connection.printed()) from None
        except Gone:
            self.close(_GRACE)
            raise Crashed(blame.reason(self.ending, self._limits), printed=self._connection.printed()) from None
        except Malformed as error:
            raise self._tampered(str(error)) from None
        except BaseException:
            self.close()
            raise
        printed = self._connection.printed()
        if fault:
            raised = blame.student_fault(value, self._sources, self._limits, printed)
            if isinstance(raised, Crashed | Tampered):
                self.close()
            raise raised
        reply = value if isinstance(value, dict) and value.keys() == Reply.KEYS else None
        return Reply.of(reply or {"value": value}, printed, took)

    def _answer(self, nonce: str, deadline: float) -> tuple[Any, bool]:
        length = int.from_bytes(self._connection.receive(4, deadline), "big")
        if length > wire.HEADER_BYTES:
            raise Malformed("a header is announced that is too long")
        text = bytes(self._connection.receive(length, deadline))
        header = wire.read_header(text, nonce, self._limits.result_bytes)
        body = self._connection.receive(header.size, deadline)
        return wire.decode(header, body), header.fault

    def _tampered(self, evidence: str) -> Tampered:
        self.close()
        return Tampered(evidence, printed=self._connection.printed())

    def close(self, grace: float = 0.0) -> None:
        """End the process and all it started; safe to call twice, also when the host is gone."""
        self.alive = False
        try:
            self.ending = self._connection.end(grace)
        except GraderFault:
            if grace:
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def checked_list(reply: Reply, worker: Worker) -> list[Any]:
    """The reply's value if it is a list of arrays and None. Raises Tampered."""
    value = reply.value
    if not isinstance(value, list) or not all(v is None or isinstance(v, np.ndarray) for v in value):
        raise worker._tampered("a reply of the wrong form")
    return value
