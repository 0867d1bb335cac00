"""Knows an assignment's checks as pytest items; the submission's code never runs in pytest's own process."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from grader.engine import Item
from grader.grading import Grading
from grader.pytest_plugin.wording import Failure, NotPassed, text_of
from grader.verdict import Verdict
from grader.worker import GraderFault


@dataclass
class Run:
    """One pytest run that grades: the grading, the ids that are going to run, and the fault that ended it."""

    grading: Grading
    chosen: set[str] = field(default_factory=set)
    fault: str = ""


RUN = pytest.StashKey[Run]()


class GradedFolder(pytest.Directory):
    """The folder: holds the assignment's file, also where it is not there yet, and nothing else."""

    def collect(self) -> Iterator[pytest.Collector]:
        """The one file."""
        file = self.path / self.config.stash[RUN].grading.spec.file
        yield GradedFile.from_parent(self, path=file)


class GradedFile(pytest.File):
    """The assignment's file: one item for each check and part, known without looking into it."""

    def collect(self) -> Iterator[pytest.Item]:
        """The plan, in its order."""
        for planned in self.config.stash[RUN].grading.items:
            yield CheckItem.from_parent(self, name=planned.id, planned=planned)


class CheckItem(pytest.Item):
    """One check on one part. The verdict is made in `setup`, so that a fault of ours is an error and not a failure."""

    def __init__(self, *, planned: Item, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.planned, self.run = planned, self.config.stash[RUN]
        self.grading = self.run.grading
        criterion = self.grading.spec.criterion_of(planned.id)
        self.hidden = criterion is not None and criterion.hides(planned.id)
        self.extra_keyword_matches |= {planned.part.name, *([criterion.id] if criterion else [])}
        self._verdict: Verdict | None = None
        self._ends_grading = False

    def setup(self) -> None:
        """Ask for the verdict."""
        seen, status = len(self.grading.printed), self.grading.status
        try:
            self._verdict = self.grading.verdict(self.planned.id)
        except GraderFault as fault:
            self.run.fault = f"not graded: {fault}"
        if self._verdict is None:
            self.session.shouldstop = self.run.fault
            pytest.fail(f"{self.run.fault}\n\nThis is no fault of the submission.", pytrace=False)
        self._ends_grading = status != self.grading.status
        if (printed := self.grading.printed[seen:]) and not self.hidden:
            self.add_report_section("call", "stdout", printed)
        self.user_properties += [("verdict", self._verdict.status), ("says", self._verdict.title)]

    def runtest(self) -> None:
        """Pass, skip or fail as the verdict says; what is skipped has its cause among the failures of the same run."""
        verdict = self._verdict
        assert verdict is not None
        if verdict.status == "passed":
            return
        if self.grading.status != "graded" and not self._ends_grading:
            pytest.skip(f"{self.grading.status}: {self.grading.problem}")
        causes = self._causes() if verdict.status == "blocked" else []
        if verdict.status == "skipped" or self.run.chosen.intersection(causes):
            pytest.skip(verdict.message)
        if self.hidden:
            raise self._failure("a hidden check has not passed")
        told = [text_of(verdict), *(f"{key}: {text_of(self.grading.verdict(key))}" for key in causes)]
        raise self._failure("\n\n".join(told))

    def _causes(self) -> list[str]:
        """The ids of what the check waits for and what has not passed."""
        known = {item.id for item in self.grading.items}
        needed = [f"{self.planned.part.slug}.{name}" for name in self.planned.check.needs]
        return [key for key in needed if key in known and not self.grading.verdict(key).fine]

    def _failure(self, text: str) -> NotPassed:
        return NotPassed(text, str(self.path), self._line() or 0)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The verdict's words; for anything else pytest's own, since it is a bug of ours."""
        if isinstance(excinfo.value, NotPassed):
            return Failure(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """The file, the line of the function's definition from 0, and a headline."""
        line = self._line()
        return self.path, None if line is None else line - 1, f"check {self.name}"  # a bare id would lose its dot

    def _line(self) -> int | None:
        """Where the function is defined, from 1, by looking at the text only."""
        name = re.escape(self.planned.part.name.split(".")[0])
        try:
            text = self.path.read_text("utf-8", "replace")
        except OSError:
            return None
        found = re.search(rf"^(?:def|class)\s+{name}\b|^{name}\s*=", text, re.MULTILINE)
        return text.count("\n", 0, found.start()) + 1 if found else None
