"""The student's process, from outside: the only way to run untrusted code and to hear what it answers."""

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
from .reply import Loaded, Reply, Want
from .wire import Handle
from .worker import Worker

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
