"""One submission's process, as its user sees it: load the sources, call functions, ask for gradients."""

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Literal, Self

import numpy as np

from . import blame
from .connection import Connection, Ending
from .conversation import Conversation
from .faults import Crashed, GraderFault, LoadFailed, StudentFault, TimedOut
from .limits import Limits, Used
from .reply import Loaded, Reply, Want, check_value, checked
from .wire import Handle

Backend = Literal["numpy", "torch"]
Path = tuple[str | int, ...]
Array = np.ndarray[Any, Any]


class Worker:
    """A child that is ready. After TimedOut, Crashed or Tampered it is dead (``alive`` is False); start another."""

    def __init__(self, connection: Connection, limits: Limits, used: Used | None = None) -> None:
        self._limits = limits
        self._talk = Conversation(connection, limits, used or Used())
        self.layers: tuple[str, ...] = ()
        self.versions: dict[str, str | None] = {}

    @property
    def alive(self) -> bool:
        """Whether calls can still be made."""
        return self._talk.alive

    @property
    def ending(self) -> Ending | None:
        """How the process ended, and the kernel's account of its processor time and memory where there is one."""
        return self._talk.ending

    def greet(self, nonce: str) -> None:
        """Wait until the child is locked down; ``layers`` and ``versions`` are known then. Raises GraderFault."""
        hello = self._talk.greeting(nonce)
        self.layers = tuple(map(str, hello.get("layers", ())))
        self.versions = {name: hello.get(name) for name in ("python", "numpy", "torch")}

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
        self._talk.sources = {
            path: text.decode("utf-8", "replace") if isinstance(text, bytes) else text for path, text in texts.items()
        }
        modules = [name for name in (adapters, main) if name is not None and blame.has_module(texts, name)]
        if not modules:
            raise LoadFailed("import", f"{main.replace('.', '/')}.py is not there")
        reply = self._loading("scan", {"sources": texts, "modules": modules}, self._limits.import_seconds)
        return checked(reply.value, {"kind": str, "torch": bool}, self._talk.tampered), modules

    def load(
        self,
        sources: Mapping[str, str | bytes],
        main: str,
        adapters: str | None = None,
        backend: Backend | None = None,
    ) -> Loaded:
        """Import ``main`` (and ``adapters``, whose names win) from ``sources``, relative posix path -> text.

        A file that is not there is left out, as long as one of the two is. Once for each worker. Raises LoadFailed,
        Tampered, GraderFault, and ValueError for a path that leads outside.
        """
        found, modules = self._scan(sources, main, adapters)
        if found["kind"] == "torch" and not found["torch"]:
            self._import_torch()
        arguments = {"modules": modules, "backend": backend}
        reply = self._loading("load", arguments, self._limits.import_seconds)
        said = checked(reply.value, {"names": list, "backend": str, "torch": str | None}, self._talk.tampered)
        if said["backend"] not in ("numpy", "torch") or not all(type(name) is str for name in said["names"]):
            raise self._talk.tampered("a reply of the wrong form")
        versions = {**self.versions, "torch": said["torch"]}
        return Loaded(tuple(said["names"]), said["backend"], reply.printed, versions)

    def _import_torch(self) -> None:
        """No student code has run: a failure is not the student's (that torch is not installed is none)."""
        try:
            self._talk.exchange("warm", {}, self._limits.start_seconds)
        except StudentFault as fault:
            self.close()
            raise GraderFault(f"torch is installed but cannot be imported: {fault.message}") from None

    def _loading(self, op: str, arguments: dict[str, Any], seconds: float) -> Reply:
        try:
            return self._talk.exchange(op, arguments, seconds)
        except LoadFailed:
            raise
        except StudentFault as fault:
            if isinstance(fault, TimedOut) and fault.in_all:
                raise
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
        arguments = {"call": _asked(target, want, echo=echo), "args": tuple(args), "kwargs": dict(kwargs or {})}
        reply = self._talk.exchange("call", arguments, seconds)
        return check_value(reply, want, self._talk.tampered, len(args) if echo else None)

    def new(self, target: str, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None) -> Handle:
        """Call ``target`` and keep the result there, for example an instance of a class; its name."""
        return Handle(self.call(target, args, "handle", kwargs=kwargs).value)

    def gradient(
        self, target: str, args: Sequence[Any], want: Want, cotangent: Sequence[Array | None], wrt: Sequence[Path]
    ) -> Reply:
        """Gradient of sum(cotangent * output) at each path of ``wrt`` into ``args``; None where autograd gives none.

        cotangent: one array of each output's shape and dtype, None for an output that does not count.
        Raises NoGradient for a NumPy submission and for an output without a graph, and what ``call`` raises.
        """
        arguments = {
            "call": _asked(target, want),
            "args": tuple(args),
            "cotangent": list(cotangent),
            "wrt": [list(path) for path in wrt],
        }
        reply = self._talk.exchange("gradient", arguments)
        value = reply.value
        if not isinstance(value, list) or len(value) != len(wrt):
            raise self._talk.tampered("a reply of the wrong form")
        if not all(item is None or isinstance(item, np.ndarray) for item in value) or len(reply.dtypes) != len(wrt):
            raise self._talk.tampered("a reply of the wrong form")
        return reply

    def op(self, name: str, *, seconds: float | None = None, **arguments: Any) -> Reply:
        """Run an operation of ``inside/operations`` by its file's name; the reply's value is what it returns."""
        return self._talk.exchange(name, arguments, seconds)

    def told(self, name: str, form: Mapping[str, Any], **arguments: Any) -> dict[str, Any]:
        """What an operation tells: a dict of these keys and types. Raises Tampered for another, and as ``op``."""
        return checked(self.op(name, **arguments).value, dict(form), self._talk.tampered)

    def settle(self) -> None:
        """Find bytes that were written out of turn after the last reply. Raises Tampered, Crashed, TimedOut."""
        try:
            reply = self._talk.exchange("ping", {})
        except (TimedOut, Crashed):
            raise
        except StudentFault:  # there is none that this operation could tell
            raise self._talk.tampered("a report of unknown form") from None
        if reply.value is not None:
            raise self._talk.tampered("a reply of the wrong form")

    def close(self) -> None:
        """End the process and all it started; safe to call twice, also when the host is gone."""
        self._talk.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _asked(target: str, want: Want, **more: bool) -> dict[str, Any]:
    return {"target": str(target), "want": list(want) if isinstance(want, tuple) else want, **more}
