"""What can go wrong with a submission's process, as exceptions with a plain sentence each."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Frame:
    """One line of the student's own code on the way to an exception."""

    file: str
    line: int
    function: str
    code: str


class WorkerFault(Exception):
    """Base of all faults: ``message`` is one plain sentence, ``printed`` what the code printed before."""

    def __init__(self, message: str, *, printed: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.printed = printed


class GraderFault(WorkerFault):
    """The grader or the machine failed; the submission is not graded."""


class Tampered(WorkerFault):
    """Bytes that do not belong to the conversation came from the submission's process; ``evidence`` says which."""

    def __init__(self, evidence: str, *, printed: str = "") -> None:
        super().__init__(f"the submission interfered with the grader's connection: {evidence}", printed=printed)
        self.evidence = evidence


class StudentFault(WorkerFault):
    """The submission failed; the cause lies in the student's code."""


class Raised(StudentFault):
    """The code raised ``type`` with ``text``; ``frames`` are the student's own, outermost first."""

    def __init__(self, type: str, text: str, frames: tuple[Frame, ...] = (), *, printed: str = "") -> None:
        where = f" ({frames[-1].file}, line {frames[-1].line})" if frames else ""
        super().__init__(f"{type}: {text}{where}" if text else f"{type}{where}", printed=printed)
        self.type, self.text, self.frames = type, text, frames


class TimedOut(StudentFault):
    """There was no answer within ``seconds``; with ``in_all``, so many had been used by all calls before."""

    def __init__(self, seconds: float, *, in_all: bool = False, printed: str = "") -> None:
        used_up = (
            f"not asked: the submission has used up its {seconds:g} seconds; what takes most of them is to be faster"
        )
        alone = f"no answer within {seconds:g} seconds: is there an endless loop?"
        super().__init__(used_up if in_all else alone, printed=printed)
        self.seconds, self.in_all = seconds, in_all


class Crashed(StudentFault):
    """The process ended; ``reason`` says how."""

    def __init__(self, reason: str, *, printed: str = "") -> None:
        super().__init__(f"the submission's process ended: {reason}", printed=printed)
        self.reason = reason


class BadResult(StudentFault):
    """What was returned cannot be read as what was asked for."""


class Missing(StudentFault):
    """``name`` is not defined, or is no function."""

    def __init__(self, name: str, message: str | None = None, *, printed: str = "") -> None:
        super().__init__(message or f"{name} is not defined", printed=printed)
        self.name = name


class NoGradient(StudentFault):
    """The output carries no gradient."""


class LoadFailed(StudentFault):
    """The module could not be imported.

    ``kind`` is one of syntax, import, exit, timeout, crash, memory, backend, size; ``file``, ``line`` and
    ``source_line`` point at the student's own line where there is one.
    """

    def __init__(
        self,
        kind: str,
        message: str,
        *,
        file: str | None = None,
        line: int | None = None,
        source_line: str = "",
        frames: tuple[Frame, ...] = (),
        printed: str = "",
    ) -> None:
        super().__init__(message, printed=printed)
        self.kind, self.file, self.line, self.source_line, self.frames = kind, file, line, source_line, frames
