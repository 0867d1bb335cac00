"""Call a function or method, and stop it when it has used too much processor time."""

import signal
import time
from typing import Any

from ..faults import Fault
from ..submission import Submission
from ..tree import unpack

_used = time.process_time
_timer = getattr(signal, "setitimer", None)  # not on Windows: there the limit is only looked at afterwards


class _Late(BaseException):
    """Thrown into the student's code."""


def run(submission: Submission, arguments: Any, body: bytearray) -> dict[str, Any]:
    """arguments: target, args, want, cpu_seconds -> value (None when it is late), late."""
    asked = unpack(arguments, body, submission.leaf)
    function, seconds = submission.find(asked["target"]), float(asked["cpu_seconds"])
    value, rung, began = None, [], _used()

    def ring(*_: Any) -> None:
        rung.append(True)
        raise _Late

    try:
        value = _timed(submission, function, asked["args"], seconds, ring)
    except (_Late, Fault):
        if not rung:
            raise
    late = bool(rung) or _used() - began > seconds
    return {"value": None if late else submission.run(submission.taken().value, value, asked["want"]), "late": late}


def _timed(submission: Submission, function: Any, args: Any, seconds: float, ring: Any) -> Any:
    if _timer is None:
        return submission.run(function, *args)
    before = signal.signal(signal.SIGPROF, ring)
    try:
        _timer(signal.ITIMER_PROF, seconds, 1.0)
        return submission.run(function, *args)
    finally:
        _timer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)
