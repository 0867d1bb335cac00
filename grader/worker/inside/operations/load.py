"""Import the student's module, and say which names it has and which arrays it takes."""

import importlib
import sys
from types import ModuleType
from typing import Any

from ..faults import NO_TORCH, Fault, describe, is_memory, missing_torch, plain
from ..submission import Submission
from ..tree import unpack
from .scan import kind_of, syntax_fault

_import_module = importlib.import_module
_NAMES, _LONGEST = 2000, 200


def run(submission: Submission, arguments: Any, body: bytearray) -> dict[str, Any]:
    """arguments: modules, whose names win in that order, and backend or None; ``scan`` has brought the sources."""
    asked = unpack(arguments, body)
    names = asked["modules"]
    submission.sources.install(submission.withheld)
    imported = {name: _module(submission, name) for name in reversed(names)}
    submission.modules = [imported[name] for name in names]
    submission.backend = asked["backend"] or _declared(submission) or kind_of(submission, names)
    torch = sys.modules.get("torch")
    if submission.backend == "torch" and torch is None:
        raise Fault("load", cause="import", type="ModuleNotFoundError", text=NO_TORCH, file=None, line=None, frames=[])
    version = None if torch is None else plain(getattr(torch, "__version__", None))
    return {"names": _names(submission), "backend": submission.backend, "torch": version}


def _module(submission: Submission, name: str) -> ModuleType:
    try:
        return _import_module(name)
    except BaseException as error:  # noqa: BLE001 - whatever the student's module does when it is imported
        raise _load_fault(error, submission) from None


def _load_fault(error: BaseException, submission: Submission) -> Fault:
    if is_memory(error):
        return Fault("load", cause="memory", type="MemoryError", text="", file=None, line=None, frames=[])
    if issubclass(type(error), SyntaxError) and getattr(error, "filename", None) in submission.sources.texts:
        return syntax_fault(error, submission)
    cause = "exit" if issubclass(type(error), SystemExit) else "import"
    told = describe(error, submission.sources.texts)
    last = told["frames"][-1] if told["frames"] else {"file": None, "line": None}
    known = missing_torch(error)
    return Fault("load", cause=cause, file=last["file"], line=last["line"], known=known, **told)


def _declared(submission: Submission) -> str | None:
    for module in submission.modules:
        value = vars(module).get("BACKEND")
        if type(value) is str and value in ("numpy", "torch"):
            return value
        if value is not None:
            text = f'BACKEND is {plain(value)[:80]!r}; it must be "numpy" or "torch"'
            file = plain(getattr(module, "__file__", None))
            raise Fault("load", cause="backend", type="", text=text, file=file, line=None, frames=[])
    return None


def _names(submission: Submission) -> list[str]:
    found = set()
    for module in submission.modules:
        for name, value in list(vars(module).items()):
            if type(name) is not str or len(name) > _LONGEST or name.startswith("_"):
                continue
            if callable(value) or name == "BACKEND":
                found.add(name)
    return sorted(found)[:_NAMES]
