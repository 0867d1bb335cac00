"""How a failure in the student's process is told: as a small dict of strings and numbers, nothing else."""

import sys
from types import TracebackType
from typing import Any

_exc_info = sys.exc_info
_FRAMES = 12
_TEXT = 4000


class Fault(Exception):
    """A failure to report: ``report["kind"]`` names the exception that the trusted side raises."""

    def __init__(self, kind: str, **details: Any) -> None:
        super().__init__(kind)
        self.report = {"kind": kind, **details}


def bad(message: str) -> Fault:
    """What was returned cannot be read."""
    return Fault("bad_result", message=message)


def plain(value: Any) -> str:
    """``str(value)`` of a hostile object: an exact str, capped, never raising."""
    try:
        return str.encode(str(value)[:_TEXT], "utf-8", "replace").decode()
    except BaseException:  # noqa: BLE001 - student code runs in str()
        return "<its text cannot be read>"


def type_name(value: Any) -> str:
    """The name of the value's type, whatever its metaclass says."""
    return plain(type.__dict__["__name__"].__get__(type(value)))


def student_frames(traceback: TracebackType | None, files: Any) -> list[dict[str, Any]]:
    """The frames that lie in the student's ``files``, outermost first, the last ones where there are many."""
    found: list[dict[str, Any]] = []
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if code.co_filename in files:
            found.append({"file": code.co_filename, "line": traceback.tb_lineno, "function": code.co_name[:200]})
            del found[:-_FRAMES]
        traceback = traceback.tb_next
    return found


def is_memory(error: BaseException) -> bool:
    """Whether the error says that memory ran out (torch says so by a RuntimeError)."""
    if issubclass(type(error), MemoryError):
        return True
    return issubclass(type(error), RuntimeError) and "can't allocate memory" in plain(error)


def describe(error: BaseException, files: Any) -> dict[str, Any]:
    """The exception that is being handled: its type, text and the student's frames."""
    name, text = type_name(error), plain(error)
    if issubclass(type(error), SystemExit):
        text = f"the code called exit({text})"
    elif issubclass(type(error), KeyboardInterrupt):
        text = "the code raised KeyboardInterrupt"
    elif issubclass(type(error), KeyError):
        text = f"the key {text} is not there"
    elif missing_torch(error):
        text = NO_TORCH
    return {"type": name, "text": text, "frames": student_frames(_exc_info()[2], files)}


NO_TORCH = "this submission imports torch, which is not installed; install it with: pip install 'decoder-grader[torch]'"


def missing_torch(error: BaseException) -> bool:
    """Whether torch is what was not found."""
    name = getattr(error, "name", None) if issubclass(type(error), ModuleNotFoundError) else None
    return type(name) is str and name.split(".")[0] == "torch" and "torch" not in sys.modules
