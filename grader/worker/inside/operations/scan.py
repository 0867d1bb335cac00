"""Take the sources and say which kind of host they need, without running them."""

import sys
from typing import Any

from ..faults import Fault, describe, plain, type_name
from ..imports import needs_torch
from ..sources import Sources
from ..submission import Submission
from ..tree import unpack


def run(submission: Submission, arguments: Any, body: bytearray) -> dict[str, Any]:
    """arguments: sources (path -> text or bytes), modules to begin at -> kind, and whether torch is imported."""
    asked = unpack(arguments, body)
    submission.sources = Sources(asked["sources"])
    return {"kind": kind_of(submission, asked["modules"]), "torch": "torch" in sys.modules}


def kind_of(submission: Submission, modules: list[str]) -> str:
    """ "torch" or "numpy". Raises Fault for sources that do not compile."""
    try:
        return "torch" if needs_torch(submission.sources, modules) else "numpy"
    except BaseException as error:  # noqa: BLE001 - the compiler meets hostile text
        raise syntax_fault(error, submission) from None


def syntax_fault(error: BaseException, submission: Submission) -> Fault:
    """The report of source text that does not compile."""
    where = getattr(error, "filename", None), getattr(error, "lineno", None)
    if issubclass(type(error), SyntaxError) and type(where[0]) is str and type(where[1]) is int:
        text = plain(getattr(error, "msg", ""))
        return Fault("load", cause="syntax", type=type_name(error), text=text, file=where[0], line=where[1], frames=[])
    if issubclass(type(error), MemoryError | RecursionError):
        text = "the source is nested too deeply to be read"
        return Fault("load", cause="syntax", type=type_name(error), text=text, file=None, line=None, frames=[])
    told = describe(error, submission.sources.texts)
    return Fault("load", cause="syntax", file=None, line=None, **told)
