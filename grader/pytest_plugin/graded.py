"""Knows the hooks of a run that grades one submission: what is collected, how it ends, what the reports get."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from grader.engine import checked_seed
from grader.grading import Grading
from grader.pytest_plugin.items import RUN, CheckItem, GradedFile, GradedFolder, Run
from grader.registry import RegistrationError
from grader.spec import SpecError, load
from grader.worker import GraderFault

GRADER_FAILED = 3  # the exit status of the command line, too


def take_over(config: pytest.Config, home: Path) -> None:
    """Register the plugin for this run; errors: UsageError for an assignment or a seed that cannot be used."""
    if getattr(config.option, "numprocesses", None) or getattr(config.option, "tx", None):
        config.option.dist, config.option.tx, config.option.numprocesses = "no", [], None
        config.stash[_ALONE] = True
    name = str(config.getini("grader_assignment"))
    try:
        spec = load(str(home / name) if name.endswith(".toml") else name)
        seed = _seed(str(config.getini("grader_seed")))
        grading = Grading(home / str(config.getini("grader_submission")), spec, seed=seed)
    except (SpecError, RegistrationError, ValueError) as error:
        raise pytest.UsageError(str(error)) from error
    config.stash[RUN] = run = Run(grading)
    config.pluginmanager.register(GradedHooks(home, run), "decoder-grader-run")


def _seed(text: str) -> int:
    try:
        return checked_seed(int(text))
    except ValueError:
        raise ValueError(f"grader_seed = {text}: a whole number from 0 on is wanted") from None


_ALONE = pytest.StashKey[bool]()


class GradedHooks:
    """The plugin that is registered for such a run only."""

    def __init__(self, home: Path, run: Run) -> None:
        self.home, self.run, self.grading = home, run, run.grading

    @pytest.hookimpl(tryfirst=True)
    def pytest_collect_directory(self, path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """The folder holds one thing to collect, whatever lies in it."""
        if path == self.home:
            return GradedFolder.from_parent(parent, path=path)
        return pytest.Dir.from_parent(parent, path=path)  # not a Package: that would import its __init__.py

    @pytest.hookimpl(wrapper=True)
    def pytest_collect_file(
        self, file_path: Path, parent: pytest.Collector
    ) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
        """The assignment's file instead of any module, doctest or other thing that would be imported."""
        yield
        if file_path == self.home / self.grading.spec.file:
            return [GradedFile.from_parent(parent, path=file_path)]
        return []

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Remember what is going to run."""
        self.run.chosen = {item.planned.id for item in session.items if isinstance(item, CheckItem)}

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
                self.run.fault = self.run.fault or f"not graded: {fault}"
            if self.grading.status != was:
                session.testsfailed += 1
            return result
        finally:
            self.grading.close()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None]:
        """A fault of the grader has an exit status of its own."""
        if self.run.fault:
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
        return self.run.fault or ("" if self.grading.complete else f"{made} of {planned} checks ran")
