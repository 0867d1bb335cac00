"""The student's process, from outside: the only way to run untrusted code and to hear what it answers."""

from typing import TYPE_CHECKING, Any

from .faults import (
    BadResult,
    Crashed,
    Frame,
    GraderFault,
    LoadFailed,
    Missing,
    NoGradient,
    Raised,
    StudentFault,
    Tampered,
    TimedOut,
    WorkerFault,
)
from .host import Host
from .limits import Limits

if TYPE_CHECKING:
    from .reply import Loaded, Reply, Want
    from .wire import Handle
    from .worker import Worker

_LATER = {"Loaded": "reply", "Reply": "reply", "Want": "reply", "Handle": "wire", "Worker": "worker"}


def __getattr__(name: str) -> Any:
    """What needs NumPy is imported on first use: a host starts its process before NumPy is there."""
    if name not in _LATER:
        raise AttributeError(f"module 'grader.worker' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"grader.worker.{_LATER[name]}"), name)


__all__ = [
    "BadResult",
    "Crashed",
    "Frame",
    "GraderFault",
    "Handle",
    "Host",
    "Limits",
    "LoadFailed",
    "Loaded",
    "Missing",
    "NoGradient",
    "Raised",
    "Reply",
    "StudentFault",
    "Tampered",
    "TimedOut",
    "Want",
    "Worker",
    "WorkerFault",
]
