"""Knows what a report is: a function from a result to text, and the name of the file that it goes to.

Every file of this folder holds one format (those with `_` in front hold what formats share); other packages add theirs
through the entry-point group `grader.reports`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from grader.registry import RegistrationError, Registry, filled

if TYPE_CHECKING:
    from grader.api import Result

Write = Callable[["Result"], str]


@dataclass(frozen=True)
class Report:
    """One format of one graded submission.

    name       what `--format` takes
    file_name  of the file beside `rubric.json`
    says       one line for a list
    write      the same result gives the same text
    """

    name: str
    file_name: str
    says: str
    write: Write


registry: Registry[Report] = Registry("report")


def report(name: str, *, file: str, says: str) -> Callable[[Write], Write]:
    """Register a function as a format.

    errors: RegistrationError for a name that is taken, or a file name that leads into another folder.
    """

    def register(write: Write) -> Write:
        origin = sys.modules[write.__module__].__file__ or write.__module__
        if not says or not file or "/" in file or "\\" in file or file.startswith("."):
            raise RegistrationError(f"{origin}: the report {name!r} needs `says` and a plain `file` name, not {file!r}")
        registry.add(name, Report(name, file, says, write), origin)
        return write

    return register


@cache
def all_reports() -> Registry[Report]:
    """Every format there is, ours and those of installed packages."""
    return filled(registry, sys.modules[__name__], "grader.reports")
