"""Knows how an assignment's checks run as pytest items; the submission's code never runs in pytest's own process."""

from __future__ import annotations

import re
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from grader.engine import Item
from grader.grading import Grading
from grader.pytest_plugin.wording import Failure, NotPassed, text_of
from grader.registry import RegistrationError
from grader.spec import SpecError, load
from grader.verdict import Verdict
from grader.worker import GraderFault

GRADER_FAILED = 3  # the exit status of the command line, too


def take_over(config: pytest.Config) -> None:
    """Register the plugin for this run; errors: UsageError for an assignment or a seed that cannot be used."""
    home = config.inipath.parent if config.inipath else config.rootpath
    # `python -m pytest` puts the folder on the path, where a numpy.py of the student's would be ours
    sys.path[:] = [entry for entry in sys.path if entry and Path(entry).resolve() != home.resolve()]
    if getattr(config.option, "numprocesses", None) or getattr(config.option, "tx", None):
        config.option.dist, config.option.tx, config.option.numprocesses = "no", [], None
        config.stash[_ALONE] = True
    name = str(config.getini("grader_assignment"))
    try:
        spec = load(str(home / name) if name.endswith(".toml") else name)
        seed = int(config.getini("grader_seed"))
        grading = Grading(config.getini("grader_submission") or home, spec, seed=seed)
    except (SpecError, RegistrationError, ValueError) as error:
        raise pytest.UsageError(str(error)) from error
    config.pluginmanager.register(GradedRun(home, grading), "decoder-grader-run")


_ALONE = pytest.StashKey[bool]()


class GradedRun:
    """The hooks of a run that grades one submission."""

    def __init__(self, home: Path, grading: Grading) -> None:
        self.home, self.grading = home, grading
        self.fault = ""
        self._chosen: set[str] = set()

    @pytest.hookimpl(tryfirst=True)
    def pytest_collect_directory(self, path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """The folder holds one thing to collect, whatever lies in it."""
        if path == self.home:
            return GradedFolder.from_parent(parent, path=path, run=self)
        return pytest.Dir.from_parent(parent, path=path)  # not a Package: that would import its __init__.py

    @pytest.hookimpl(wrapper=True)
    def pytest_collect_file(
        self, file_path: Path, parent: pytest.Collector
    ) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
        """The assignment's file instead of any module, doctest or other thing that would be imported."""
        yield
        if file_path == self.home / self.grading.spec.file:
            return [GradedFile.from_parent(parent, path=file_path, run=self)]
        return []

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Remember what is going to run."""
        self._chosen = {item.planned.id for item in session.items if isinstance(item, CheckItem)}

    def pytest_report_header(self, config: pytest.Config) -> list[str]:
        """Say what is graded."""
        spec = self.grading.spec
        lines = [f"decoder-grader: {spec.id}: {spec.title}"]
        if config.stash.get(_ALONE, False):
            lines.append("decoder-grader: xdist is not used here; all checks of a submission share its process")
        return lines

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """End the submission's processes after the last item; what only shows then must fail the run."""
        try:
            result = yield
            was = self.grading.status
            try:
                self.grading.settle()
            except GraderFault as fault:
                self.fault = self.fault or f"not graded: {fault}"
            if self.grading.status != was:
                session.testsfailed += 1
            return result
        finally:
            self.grading.close()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None]:
        """A fault of the grader has an exit status of its own."""
        if self.fault:
            session.exitstatus = GRADER_FAILED
        return (yield)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """The score, or why there is none."""
        if missing := self.no_rubric():
            terminalreporter.write_line(f"{self.grading.spec.id}: no score: {missing}")
            return
        rubric = self.grading.rubric()
        gates = [gate["criterion"] for gate in rubric["gates"] if not gate["passed"]]
        state = "passed" if rubric["passed"] else "not passed"
        if rubric["status"] != "graded":
            state = f"{rubric['status']}: {self.grading.problem}"
        elif gates:
            state += f" (required: {', '.join(gates)})"
        terminalreporter.write_line(
            f"{self.grading.spec.id}: {rubric['score']:g} of {rubric['max_score']:g} points, {state}"
        )

    @pytest.hookimpl(optionalhook=True)
    def pytest_json_modifyreport(self, json_report: dict[str, Any]) -> None:
        """Add the rubric, whole or not at all: a part of the checks makes no score."""
        missing = self.no_rubric()
        json_report["rubric"] = None if missing else self.grading.rubric()
        if missing:
            json_report["rubric_absent"] = missing

    def no_rubric(self) -> str:
        """Why there is no rubric; empty when there is one."""
        made, planned = len(self.grading.verdicts), len(self.grading.items)
        return self.fault or ("" if self.grading.complete else f"{made} of {planned} checks ran")

    def blockers(self, planned: Item) -> list[str]:
        """The ids of what a blocked check waits for."""
        return [f"{planned.part.slug}.{name}" for name in planned.check.needs]

    def reported(self, planned: Item, verdict: Verdict) -> bool:
        """Whether the cause of a blocked verdict fails in this run, so that it need not be told again."""
        return verdict.status == "blocked" and any(key in self._chosen for key in self.blockers(planned))


class GradedFolder(pytest.Dir):
    """The folder: collects the assignment's file, also where it is not there yet."""

    run: GradedRun

    @classmethod
    def from_parent(cls, parent: Any, *, path: Path, run: GradedRun) -> GradedFolder:
        """Make the node."""
        node: GradedFolder = super().from_parent(parent=parent, path=path)  # type: ignore[assignment]
        node.run = run
        return node

    def collect(self) -> Iterator[pytest.Collector]:
        """The one file."""
        yield GradedFile.from_parent(self, path=self.path / self.run.grading.spec.file, run=self.run)


class GradedFile(pytest.File):
    """The assignment's file: one item for each check and part, known without looking into it."""

    run: GradedRun

    @classmethod
    def from_parent(cls, parent: Any, *, path: Path, run: GradedRun) -> GradedFile:
        """Make the node."""
        node: GradedFile = super().from_parent(parent=parent, path=path)  # type: ignore[assignment]
        node.run = run
        return node

    def collect(self) -> Iterator[pytest.Item]:
        """The plan, in its order."""
        for planned in self.run.grading.items:
            yield CheckItem.from_parent(self, name=planned.id, planned=planned, run=self.run)


class CheckItem(pytest.Item):
    """One check on one part. The verdict is made in `setup`, so that a fault of ours is an error and not a failure."""

    def __init__(self, *, planned: Item, run: GradedRun, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.planned, self.run = planned, run
        criterion = run.grading.spec.criterion_of(planned.id)
        self.hidden = criterion is not None and any(pattern == planned.id for pattern in criterion.hidden)
        self.extra_keyword_matches |= {planned.part.name, criterion.id if criterion else ""}
        self._verdict: Verdict | None = None

    def setup(self) -> None:
        """Ask for the verdict."""
        before, told = len(self.run.grading.printed), self.run.grading.status
        try:
            self._verdict = self.run.grading.verdict(self.planned.id)
        except GraderFault as fault:
            self.run.fault = f"not graded: {fault}"
            self.session.shouldstop = self.run.fault
            raise NotPassed(f"{self.run.fault}\n\nThis is no fault of the submission.", str(self.path), 0) from fault
        self._first_of_all = told != self.run.grading.status
        printed = self.run.grading.printed[before:]
        if printed and not self.hidden:
            self.add_report_section("call", "stdout", printed)
        self.user_properties += [("verdict", self._verdict.status), ("says", self._verdict.title)]

    def runtest(self) -> None:
        """Pass, skip or fail as the verdict says."""
        assert self._verdict is not None
        verdict, grading = self._verdict, self.run.grading
        if verdict.status == "passed":
            return
        if grading.status != "graded" and not self._first_of_all:
            pytest.skip(f"{grading.status}: {grading.problem}")
        if verdict.status == "skipped" or self.run.reported(self.planned, verdict):
            pytest.skip(verdict.message)
        if self.hidden:
            raise NotPassed("a hidden check has not passed", str(self.path), 0)
        text = text_of(verdict)
        if verdict.status == "blocked":
            text += "".join(f"\n\n{key}: {text_of(grading.verdict(key))}" for key in self.blockers_known())
        raise NotPassed(text, str(self.path), self._line() or 0)

    def blockers_known(self) -> list[str]:
        """What it waits for that the plan knows and that has not passed."""
        known = {item.id for item in self.run.grading.items}
        keys = [key for key in self.run.blockers(self.planned) if key in known]
        return [key for key in keys if not self.run.grading.verdict(key).passed]

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The verdict's words; for anything else pytest's own, since it is a bug of ours."""
        if isinstance(excinfo.value, NotPassed):
            return Failure(excinfo.value.text, excinfo.value.path, excinfo.value.line)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """The file, the line of the function's definition from 0, and a headline."""
        line = self._line()
        return self.path, None if line is None else line - 1, f"check {self.name}"  # a bare id would lose its dot

    def _line(self) -> int | None:
        """Where the function is defined, by looking at the text only."""
        name = re.escape(self.planned.part.name.split(".")[0])
        try:
            text = self.path.read_text("utf-8", "replace")
        except OSError:
            return None
        found = re.search(rf"^(?:def|class)\s+{name}\b|^{name}\s*=", text, re.MULTILINE)
        return text.count("\n", 0, found.start()) + 1 if found else None
