"""The conversation with one submission: read a request, run its operation, write the answer, until it closes."""

import io
import os
import platform
import random
import sys
from typing import Any

import numpy as np

from . import operations
from .confine import lock_down
from .faults import Fault, is_memory, plain, type_name
from .submission import Submission
from .tensors import get_torch, import_torch
from .tree import Stream, frame

_exit, _write = os._exit, os.write
_CLOSED = 71  # told as: it closed the connection


def main(setup: dict[str, Any]) -> None:
    """A fresh process: the conversation is on standard input and output, prints go to standard error."""
    source, sink = os.dup(0), os.dup(1)
    if sys.platform == "win32":
        import msvcrt

        msvcrt.setmode(source, os.O_BINARY)
        msvcrt.setmode(sink, os.O_BINARY)
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    os.close(nowhere)
    os.dup2(2, 1)
    if setup["torch"]:
        import_torch()
    serve(source, sink, setup)


def serve(source: int, sink: int, setup: dict[str, Any]) -> None:
    """Say hello once this process is locked down, then answer; ends the process."""
    streams = _standard_streams()
    stream, submission = Stream(source, sink), Submission(setup["limits"], frozenset(setup["withheld"]))
    random.seed(0)
    np.random.seed(0)
    torch = get_torch()
    if torch is not None:
        torch.manual_seed(0)
    hello = {
        "layers": lock_down(setup),
        "python": platform.python_version(),
        "numpy": str(np.__version__),
        "torch": None if torch is None else str(torch.__version__),
    }
    cap = int(setup["limits"]["result_bytes"])
    stream.write(*frame(setup["nonce"], "value", hello, cap))
    try:
        while (request := stream.read()) is not None:
            header, body = request
            reply = _answer(submission, header, body, cap)
            _flush(streams, setup.get("mark"))
            stream.write(*reply)
    except OSError:
        _exit(_CLOSED)
    _exit(0)


def _flush(streams: list[io.TextIOBase], mark: str | None) -> None:
    """Bring what was printed onto its way; ``mark`` ends the exchange there, where it travels on a way of its own."""
    for text in streams:
        try:
            text.flush()
        except BaseException:  # noqa: BLE001 - the student may have closed it
            continue
    if mark is not None:
        try:
            _write(2, mark.encode())
        except OSError:
            return


def _answer(submission: Submission, header: dict[str, Any], body: bytearray, cap: int) -> tuple[bytes, list[bytes]]:
    nonce = header["nonce"]
    try:
        return frame(nonce, "value", operations.TABLE[header["op"]](submission, header["arguments"], body), cap)
    except Fault as fault:
        report = fault.report
    except BaseException as error:  # noqa: BLE001 - also what a submission throws into this program
        report = {"kind": "internal", "text": f"{type_name(error)}: {plain(error)}"[:500]}
        if is_memory(error):
            report = {"kind": "memory"}
    try:
        return frame(nonce, "fault", report, cap)
    except BaseException:  # noqa: BLE001 - a submission may have made the report
        return frame(nonce, "fault", {"kind": "internal", "text": "what it tells cannot be sent"}, cap)


def _standard_streams() -> list[io.TextIOBase]:
    sys.stdin = sys.__stdin__ = open(0, encoding="utf-8", closefd=False)  # type: ignore[misc]  # noqa: SIM115
    streams: list[io.TextIOBase] = []
    for descriptor, name in ((1, "stdout"), (2, "stderr")):
        text = open(descriptor, "w", 1, "utf-8", "backslashreplace", closefd=False)  # noqa: SIM115
        setattr(sys, name, text)
        setattr(sys, f"__{name}__", text)
        streams.append(text)
    return streams
