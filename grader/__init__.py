"""Grades hand-written transformer decoders: names the mistake, carries errors forward, emits a rubric.

import grader
result = grader.grade("decoder.py", assignment="hand-decoder")
result.score, result.passed, result.verdicts, result.rubric
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from grader.api import Result, grade
    from grader.checks import Check, check
    from grader.verdict import Verdict, Violation

_HOME = {
    "Check": "grader.checks",
    "Result": "grader.api",
    "Verdict": "grader.verdict",
    "Violation": "grader.verdict",
    "check": "grader.checks",
    "grade": "grader.api",
}


def __getattr__(name: str) -> Any:
    """Import on first use: the command line answers `--help` without NumPy."""
    if name not in _HOME:
        raise AttributeError(f"module 'grader' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOME[name]), name)


__all__ = ["Check", "Result", "Verdict", "Violation", "__version__", "check", "grade"]
