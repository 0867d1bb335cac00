"""From an ending or a report of the student's process to the fault that a reader sees; no report is believed."""

import functools
import signal
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from .connection import Ending
from .faults import (
    BadResult,
    Crashed,
    Frame,
    LoadFailed,
    Missing,
    NoGradient,
    Raised,
    StudentFault,
    Tampered,
    TimedOut,
    WorkerFault,
)
from .limits import Limits, size
from .text import clean, scrub

_TEXT, _NAME, _FRAMES = 2000, 100, 12
_SIGNALS = {
    "SIGSEGV": "segmentation fault",
    "SIGBUS": "bus error",
    "SIGABRT": "aborted",
    "SIGFPE": "arithmetic fault",
    "SIGILL": "illegal instruction",
    "SIGXFSZ": "wrote a file that is too large",
}
CLOSED = 71  # the exit status of a process that can no longer write its answer
_CAUSES = ("syntax", "import", "exit", "memory", "backend")


@functools.cache
def operations() -> frozenset[str]:
    """The names of the operations, from their files."""
    return frozenset(file.stem for file in (Path(__file__).parent / "inside" / "operations").glob("[a-z]*.py"))


def check_sources(sources: Mapping[str, str | bytes], cap: int) -> dict[str, str | bytes]:
    """The sources, paths checked. Raises ValueError for a path that leads outside, LoadFailed above ``cap`` bytes."""
    for path in sources:
        parts = PurePosixPath(path).parts
        if not parts or path.startswith("/") or ".." in parts or str(PurePosixPath(path)) != path or "\0" in path:
            raise ValueError(f"{path!r} is not a plain relative path")
    total = sum(len(t) if isinstance(t, bytes) else len(t.encode("utf-8", "replace")) for t in sources.values())
    if total > cap:
        raise LoadFailed("size", f"the sources are {size(total)}, at most {size(cap)} are taken")
    return {path: _sendable(text) for path, text in sources.items()}


def _sendable(text: str | bytes) -> str | bytes:
    return text if isinstance(text, bytes) else text.removeprefix("\ufeff")


def has_module(sources: Mapping[str, str | bytes], name: str) -> bool:
    """Whether the sources hold a module or package of that name."""
    place = name.replace(".", "/")
    return f"{place}.py" in sources or f"{place}/__init__.py" in sources


def reason(ending: Ending | None, limits: Limits) -> str:
    """How the process ended, for a reader."""
    status = None if ending is None else ending.status
    if ending is not None and ending.overfull:
        return f"it left more than {size(limits.folder_bytes)} or {limits.folder_files} files in its folder"
    if status is None or status == CLOSED:
        return "it closed the connection to the grader"
    if status in (0xC0000005, 0xC00000FD):  # Windows: access violation, stack overflow
        return _SIGNALS["SIGSEGV"]
    if status >= 0:
        return f"left by os._exit({status})"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        return f"killed by signal {-status}"
    if name == "SIGXCPU":
        return f"used more than {limits.cpu_seconds:g} seconds of processor time"
    return _SIGNALS.get(name, f"killed by signal {-status}")


def _memory(limits: Limits) -> str:
    return f"memory limit of {size(limits.memory_bytes)}"


def load_failed(fault: StudentFault) -> LoadFailed:
    """The same fault while the module was imported; one that importing does not tell was made up, and ends it, too."""
    if not isinstance(fault, TimedOut | Crashed):
        return LoadFailed("import", f"importing the module failed: {fault.message}", printed=fault.printed)
    if isinstance(fault, TimedOut):
        text = f"importing the module took longer than {fault.seconds:g} seconds"
        return LoadFailed("timeout", text, printed=fault.printed)
    kind = "memory" if fault.reason.startswith("memory limit") else "crash"
    return LoadFailed(kind, f"importing the module ended the process: {fault.reason}", printed=fault.printed)


def student_fault(report: Any, sources: Mapping[str, str], limits: Limits, printed: str) -> WorkerFault:
    """The fault that a report tells; Tampered for one of unknown form."""
    kind = report.get("kind") if isinstance(report, dict) else None
    fault: StudentFault
    if kind == "raised":
        fault = Raised(_text(report, "type", _NAME), _text(report, "text"), _frames(report, sources))
    elif kind == "memory":
        fault = Crashed(_memory(limits))
    elif kind == "bad_result":
        fault = BadResult(_text(report, "message"))
    elif kind == "no_gradient":
        fault = NoGradient(_text(report, "message"))
    elif kind == "missing":
        fault = Missing(_text(report, "name", _NAME), _text(report, "message"))
    elif kind == "load" and report.get("cause") in _CAUSES:
        fault = _load(report, sources, limits)
    elif kind == "internal":
        fault = Crashed(f"the program around the submission failed: {_text(report, 'text')}")
    else:
        return Tampered("a report of unknown form", printed=printed)
    fault.printed = printed
    return fault


def _load(report: dict[str, Any], sources: Mapping[str, str], limits: Limits) -> LoadFailed:
    cause, type_name, text = report["cause"], _text(report, "type", _NAME), _text(report, "text")
    file, line = report.get("file"), report.get("line")
    known = isinstance(file, str) and file in sources
    file, line = (file if known else None), (line if known and type(line) is int else None)
    code = _line(sources, file, line)
    where = f"{file}, line {line}: " if line is not None else f"{file}: " if file is not None else ""
    if cause == "memory":
        message = f"importing the module went over the {_memory(limits)}"
    elif cause in ("exit", "backend") or text.startswith("this submission imports torch"):
        message = f"{where}{text}" if cause != "import" else text
    else:
        message = f"{where}{type_name}: {text}" if text else f"{where}{type_name}"
    return LoadFailed(cause, message, file=file, line=line, source_line=code, frames=_frames(report, sources))


def _text(report: dict[str, Any], key: str, cap: int = _TEXT) -> str:
    value = report.get(key)
    return scrub(value, cap) if isinstance(value, str) else ""


def _line(sources: Mapping[str, str], file: str | None, line: int | None) -> str:
    lines = sources[file].splitlines() if file is not None else []
    return clean(lines[line - 1].strip(), 200) if line is not None and 0 < line <= len(lines) else ""


def _frames(report: dict[str, Any], sources: Mapping[str, str]) -> tuple[Frame, ...]:
    told = report.get("frames")
    frames = []
    for item in told[-_FRAMES:] if isinstance(told, list) else []:
        file, line = (item.get("file"), item.get("line")) if isinstance(item, dict) else (None, None)
        if isinstance(file, str) and file in sources and type(line) is int:
            frames.append(Frame(file, line, _text(item, "function", _NAME), _line(sources, file, line)))
    return tuple(frames)
