"""Knows the whole way from a path to a result: what the command line, pytest and other programs call."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.engine import Only, checked_seed, selected
from grader.grading import Grading
from grader.hosts import Hosts
from grader.spec import Spec, load
from grader.submission import Submission
from grader.verdict import Verdict

Progress = Callable[[int, int, Verdict], None]


@dataclass(frozen=True)
class Result:
    """One graded submission.

    rubric    the dict that `rubric.json` holds
    verdicts  in the order of the plan
    printed   what the submission's code wrote, cut to a few thousand characters
    problem   why it is unreadable or tampered, else empty
    """

    spec: Spec
    name: str
    rubric: dict[str, Any]
    verdicts: tuple[Verdict, ...]
    printed: str = ""
    problem: str = ""

    @property
    def score(self) -> float:
        """Points earned."""
        return float(self.rubric["score"])

    @property
    def passed(self) -> bool:
        """At or above the passing percentage with every gate passed."""
        return bool(self.rubric["passed"])

    @property
    def counts(self) -> bool:
        """Whether it may be recorded as a grade: not with the isolation "none", where nothing held the submission."""
        return bool(self.rubric["provenance"]["isolation"] != "none")

    def to_json(self) -> str:
        """The rubric as strict JSON with sorted keys."""
        return json.dumps(self.rubric, indent=2, sort_keys=True, allow_nan=False, ensure_ascii=False) + "\n"


def grade(
    path: str | Path | Submission,
    *,
    assignment: str | Path | Spec,
    seed: int = 0,
    only: Only = None,
    hosts: Hosts | None = None,
    name: str | None = None,
    progress: Progress | None = None,
) -> Result:
    """Grade one submission.

    path        of a file or folder, or what was read from one
    assignment  an id, the path of a spec, or a Spec
    only        a pattern of check ids, or several; the others count as not run, so the score is partial
    hosts       warm parents to share; without them they are started and ended here
    errors      SpecError; ValueError for a seed below 0; GraderFault when the machine or the grader fails.
                A submission cannot cause an error.
    """
    checked_seed(seed)
    spec = assignment if isinstance(assignment, Spec) else load(assignment)
    with Grading(path, spec, seed=seed, hosts=hosts, name=name) as grading:
        chosen = selected(grading.items, only)
        for done, item in enumerate(chosen, 1):
            verdict = grading.verdict(item.id)
            if progress and grading.status == "graded":
                progress(done, len(chosen), verdict)
        grading.settle()
        return Result(spec, grading.name, grading.rubric(), grading.verdicts, grading.printed, grading.problem)
