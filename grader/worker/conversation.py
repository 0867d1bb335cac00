"""The exchange with one child: a request with a number of its own, one answer before the deadline, or a fault."""

import secrets
import time
from collections.abc import Mapping
from typing import Any

from . import blame, wire
from .connection import Connection, Ending, Gone, Late
from .faults import Crashed, GraderFault, Tampered, TimedOut, WorkerFault
from .limits import Limits, Used
from .reply import Reply
from .wire import Malformed

_LAST = "ping"  # the look for bytes out of turn, which is always taken
_GRACE = 1.0  # for the end of a process that has closed its side


class Conversation:
    """One child. ``sources`` give the lines that faults quote; ``alive`` is False once the child is ended."""

    def __init__(self, connection: Connection, limits: Limits, used: Used) -> None:
        self._connection, self._limits, self._used = connection, limits, used
        self.sources: Mapping[str, str] = {}
        self.alive = True
        self.ending: Ending | None = None

    def greeting(self, nonce: str) -> dict[str, Any]:
        """What the child says once it is locked down. No student code has run: each failure is a GraderFault."""
        try:
            hello, _ = self._answer(nonce, time.monotonic() + self._limits.start_seconds)
            return dict(hello)
        except (Gone, Late, Malformed, TypeError, ValueError, WorkerFault) as error:
            self.close(_GRACE)
            said = self._connection.printed().strip()[-1000:]
            why = " ".join(filter(None, (type(error).__name__, str(error), said)))
            raise GraderFault(f"a process for the submission could not be started: {why}") from None

    def exchange(self, op: str, arguments: dict[str, Any], seconds: float | None = None) -> Reply:
        """Run an operation. Raises every fault but LoadFailed, ValueError for an unknown operation, TypeError."""
        if op not in blame.operations():
            raise ValueError(f"there is no operation {op!r}")
        if not self.alive:
            raise GraderFault("the submission's process has been ended before")
        if self._used.seconds >= self._limits.total_seconds and op != _LAST:
            raise TimedOut(self._limits.total_seconds, in_all=True)
        seconds = self._limits.call_seconds if seconds is None else seconds
        nonce = secrets.token_hex(16)
        request = wire.encode(nonce, op, arguments)
        if self._connection.stray():
            raise self.tampered("bytes after a reply")
        began = time.monotonic()
        try:
            value, fault = self._guarded(nonce, request, began + seconds, seconds)
        finally:
            took = time.monotonic() - began
            self._used.seconds += took
        printed = self._connection.printed()
        if fault:
            told = blame.student_fault(value, self.sources, self._limits, printed)
            if isinstance(told, Crashed | Tampered):
                self.close()
            raise told
        whole = isinstance(value, dict) and value.keys() == Reply.KEYS
        return Reply.of(value if whole else {"value": value}, printed, took, self.tampered)

    def _guarded(self, nonce: str, request: list[bytes], deadline: float, seconds: float) -> tuple[Any, bool]:
        try:
            self._connection.send(request, deadline)
            answer = self._answer(nonce, deadline)
        except Late:
            self.close()
            raise TimedOut(seconds, printed=self._connection.printed()) from None
        except Gone:
            self.close(_GRACE)
            raise Crashed(blame.reason(self.ending, self._limits), printed=self._connection.printed()) from None
        except Malformed as error:
            raise self.tampered(str(error)) from None
        except BaseException:
            self.close()
            raise
        if self._connection.stray():
            raise self.tampered("bytes after a reply")
        return answer

    def _answer(self, nonce: str, deadline: float) -> tuple[Any, bool]:
        length = int.from_bytes(self._connection.receive(4, deadline), "big")
        if length > wire.HEADER_BYTES:
            raise Malformed("a header is announced that is too long")
        text = bytes(self._connection.receive(length, deadline))
        header = wire.read_header(text, nonce, self._limits.result_bytes)
        body = self._connection.receive(header.size, deadline)
        return wire.decode(header, body), header.fault

    def tampered(self, evidence: str) -> Tampered:
        """The fault to raise; the child is ended."""
        self.close()
        return Tampered(evidence, printed=self._connection.printed())

    def close(self, grace: float = 0.0) -> None:
        """End the child; with ``grace``, wait for its own end to learn its status (GraderFault if that fails)."""
        self.alive = False
        try:
            self.ending = self._connection.end(grace)
        except GraderFault:
            if grace:
                raise
