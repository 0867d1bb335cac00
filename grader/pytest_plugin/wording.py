"""Knows how a verdict reads as the text of a pytest failure: no traceback of ours, the student's own lines only."""

from __future__ import annotations

import json
from typing import Any

from _pytest._code.code import ReprFileLocation, TerminalRepr
from _pytest._io import TerminalWriter

from grader.verdict import Verdict


class NotPassed(Exception):
    """Raised by an item whose verdict is not passed; `text` and `place` make the failure."""

    def __init__(self, text: str, path: str, line: int) -> None:
        super().__init__(text)
        self.text, self.path, self.line = text, path, line


class Failure(TerminalRepr):
    """A failure as pytest prints it: the text as it is, its first line in the short summary."""

    def __init__(self, failed: NotPassed) -> None:
        self.text = failed.text
        self.reprcrash = ReprFileLocation(failed.path, failed.line, failed.text.splitlines()[0])

    def toterminal(self, tw: TerminalWriter) -> None:
        """Print it."""
        for line in self.text.splitlines():
            tw.line(line)


def text_of(verdict: Verdict) -> str:
    """Message, sentence, input, expected and observed, the student's frames, named mistakes, hint."""
    evidence = verdict.evidence
    state = "" if verdict.status in ("failed", "blocked", "missing") else f"{verdict.status}: "
    lines = [f"{state}{verdict.message or verdict.title}", "", f"The check: {verdict.title}"]
    if "case" in evidence:
        lines.append(f"The case:  {evidence['case']}")
    lines += [_line(f"  {name} = ", value) for name, value in evidence.get("arguments", {}).items()]
    lines += [_line(label, evidence[key]) for key, label in _FIGURES if key in evidence]
    frames = evidence.get("traceback", [])
    if not frames and evidence.get("code"):
        frames = [{"file": evidence["file"], "line": evidence["line"], "function": "", "code": evidence["code"]}]
    for frame in frames:
        within = f", in {frame['function']}" if frame["function"] else ""
        lines += [f"  {frame['file']}, line {frame['line']}{within}", f"    {frame['code'] or ''}".rstrip()]
    lines += [f"The mistake: {named.title}: {named.formula}. {named.cure}" for named in verdict.misconceptions]
    if verdict.hint:
        lines.append(f"Hint:      {verdict.hint}")
    return "\n".join(lines)


_FIGURES = (("expected", "Expected:  "), ("observed", "Observed:  "))


def _line(label: str, value: Any) -> str:
    """Numbers and lists as JSON behind a label; a matrix has its rows one below the other."""
    if isinstance(value, list) and value and all(isinstance(row, list) for row in value):
        between = ",\n" + " " * (len(label) + 1)
        return f"{label}[{between.join(json.dumps(row, ensure_ascii=False) for row in value)}]"
    return label + json.dumps(value, ensure_ascii=False)
