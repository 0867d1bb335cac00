"""Knows how an audit goes: grade every variant in processes of their own, and find what the grader does wrong."""

from __future__ import annotations

import multiprocessing
import os
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np

from grader.audit.variants import Variant, of_paths, variants
from grader.carried import same
from grader.cases import EXTREMES, generic
from grader.checks.stability import extremes
from grader.compare import Tolerance
from grader.diagnosis import MARGIN
from grader.engine import Session, plan
from grader.hosts import Hosts
from grader.misconceptions import all_misconceptions
from grader.rubric import score
from grader.spec import Spec, load
from grader.student import Student, limits_of
from grader.worker import LoadFailed, Tampered

SEPARATION = float(MARGIN)


@dataclass(frozen=True)
class Outcome:
    """What came of one variant.

    percent     of all points; of the part and what is built on it for a wrong one
    failed      ids of the checks that found a counterexample, in the plan's order
    lost        ids of all checks that did not pass
    named       (id, part, inseparable others) of every mistake that was named
    separation  the greatest distance from the right answer, in tolerances
    raised      whether the part raised: such a mistake is named by its own traceback
    """

    id: str
    kind: str
    part: str
    expect: str
    percent: float
    failed: tuple[str, ...]
    lost: tuple[str, ...]
    named: tuple[tuple[str, str, tuple[str, ...]], ...]
    separation: float
    seconds: float
    raised: bool = False
    problem: str = ""


@dataclass(frozen=True)
class Audit:
    """The outcomes of all variants and what is wrong with the grader; no problems is a clean audit."""

    spec: Spec
    outcomes: tuple[Outcome, ...]
    problems: tuple[str, ...]
    checks: tuple[str, ...]
    seconds: float

    @property
    def clean(self) -> bool:
        """Whether nothing was found."""
        return not self.problems


Progress = Callable[[int, int, Outcome], None]


def audit(
    assignment: str | Path,
    *,
    jobs: int = 0,
    right: tuple[Path, ...] = (),
    only: tuple[str, ...] = (),
    progress: Progress | None = None,
) -> Audit:
    """Grade every variant of an assignment and judge the grader by it.

    jobs    processes; 0 for one a core
    right   further submissions that are known to be right: files and folders
    only    patterns of variants' ids; then it is no problem that none of them fails a check
    errors  SpecError, Unreadable; GraderFault when the machine fails
    """
    began = time.perf_counter()
    spec = load(assignment)
    waiting = [v for v in (*variants(spec), *of_paths(spec, right)) if any(fnmatchcase(v.id, p) for p in only or "*")]
    outcomes = []
    for outcome in _graded(str(assignment), waiting, jobs or os.cpu_count() or 1):
        outcomes.append(outcome)
        if progress:
            progress(len(outcomes), len(waiting), outcome)
    checks = tuple(item.id for item in plan(spec))
    found = tuple(problems(spec, outcomes, () if only else checks))
    return Audit(spec, tuple(outcomes), found, checks, round(time.perf_counter() - began, 1))


def _graded(assignment: str, waiting: list[Variant], jobs: int) -> Iterator[Outcome]:
    if jobs == 1:
        _start(assignment)
        yield from map(_outcome, waiting)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_start, initargs=(assignment,)) as pool:
        yield from pool.map(_outcome, waiting, chunksize=4)


_spec: Spec
_hosts: Hosts


def _start(assignment: str) -> None:
    global _spec, _hosts
    _spec = load(assignment)
    _hosts = Hosts(limits=limits_of(_spec))


def _outcome(variant: Variant) -> Outcome:
    """Grade one variant; a wrong one only where its part counts, for the others are the reference's."""
    began = time.perf_counter()
    student = Student(variant.submission, _hosts)
    problem = ""
    verdicts = []
    try:
        student.load()
        session = Session(_spec, student)
        touched = {p.name for p in _spec.parts if variant.part in ("", p.name, *_spec.below(p))}
        if variant.kind == "wrong":
            session.assume_right(p.name for p in _spec.parts if p.name not in touched)
        verdicts = [session.verdict(item.id) for item in session.items if item.part.name in touched]
        student.close()
    except (LoadFailed, Tampered) as fault:
        problem = fault.message
    except Exception as error:  # noqa: BLE001 - one variant's failure is a finding, not the end of the audit
        problem = f"the grader failed: {type(error).__name__}: {error}"
    finally:
        student.close()
    ids = {verdict.id for verdict in verdicts}
    lines = [line for line in score(_spec, verdicts) if any(v.id in ids for v in line.verdicts)]
    return Outcome(
        id=variant.id,
        kind=variant.kind,
        part=variant.part,
        expect=variant.expect,
        percent=round(100 * sum(x.earned for x in lines) / max(sum(x.criterion.points for x in lines), 1e-9), 2),
        failed=tuple(v.id for v in verdicts if v.status == "failed"),
        lost=tuple(v.id for v in verdicts if not v.fine),
        named=tuple(dict.fromkeys((n.id, n.where, n.alternatives) for v in verdicts for n in v.misconceptions)),
        separation=_separation(variant),
        seconds=round(time.perf_counter() - began, 3),
        raised=any(v.status == "error" and v.part == variant.part for v in verdicts),
        problem=problem,
    )


def _separation(variant: Variant) -> float:
    """How far a misconception's numbers are from the right ones, in tolerances; infinite for another shape or NaN."""
    known = all_misconceptions().get(variant.expect) if variant.expect else None
    if known is None or known.wrong is None or variant.part not in known.parts:
        return float("inf")
    book = _spec.book.replace(**{variant.part: known.wrong})
    right, wrong = (getattr(b, variant.part) for b in (_spec.book, book))
    tolerance = _spec.tolerances.float64.tolerance
    cases = list(generic(variant.part, 0))
    cases += [c for c in extremes(variant.part, 0) if c.extra["width"] == "float64"] if variant.part in EXTREMES else []
    furthest = 0.0
    for case in cases:
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a mean of nothing
                produced, expected = wrong(*case.args), right(*case.args)
        except (ValueError, IndexError, TypeError):
            return float("inf")
        low, high = 1.0, 1e12
        if same(produced, expected, tolerance):
            continue
        while high / low > 1.1:  # the least number of tolerances within which they agree
            middle = (low * high) ** 0.5
            wide = Tolerance(middle * tolerance.relative, middle * tolerance.absolute)
            low, high = (low, middle) if same(produced, expected, wide) else (middle, high)
        furthest = max(furthest, high)
    return furthest


def problems(spec: Spec, outcomes: list[Outcome], checks: tuple[str, ...]) -> Iterator[str]:
    """Everything that is wrong with the grader, a sentence each."""
    for outcome in outcomes:
        yield from _problems_of(spec, outcome)
    killed = {check for outcome in outcomes for check in outcome.failed}
    for check in checks:
        if check not in killed and check not in spec.skip:
            yield f"the check {check} is failed by no variant: it says nothing, or a wrong variant is missing"


def _problems_of(spec: Spec, outcome: Outcome) -> Iterator[str]:
    if outcome.problem:
        yield f"{outcome.id}: could not be graded: {outcome.problem}"
    elif outcome.kind == "right" and outcome.lost:
        yield f"{outcome.id}: is right and loses {', '.join(outcome.lost)}"
    elif outcome.kind == "right" and outcome.named:
        yield f"{outcome.id}: is right and is given the name {outcome.named[0][0]}"
    elif outcome.kind == "degenerate" and outcome.percent > spec.degenerate_floor_percent:
        yield f"{outcome.id}: earns {outcome.percent:g} %, more than the floor of {spec.degenerate_floor_percent:g} %"
    elif outcome.kind == "wrong":
        slug = spec.part(outcome.part).slug
        if not any(check.startswith(f"{slug}.") for check in outcome.lost):
            yield f"{outcome.id}: is wrong and passes every check of {outcome.part}"
        elif outcome.expect:
            yield from _naming(outcome)
        if outcome.separation < SEPARATION:
            apart = f"{outcome.separation:.3g} tolerances from the right answer"
            yield f"{outcome.id}: is only {apart}, less than {SEPARATION:g}"


def _naming(outcome: Outcome) -> Iterator[str]:
    here = [(key, others) for key, where, others in outcome.named if where == outcome.part]
    if not here and not outcome.raised:
        yield f"{outcome.id}: is caught and not named"
    for key, others in here:
        if key != outcome.expect and outcome.expect not in others:
            yield f"{outcome.id}: is named {key}, which is another mistake"
    for key, where, _ in outcome.named:
        if where != outcome.part:
            yield f"{outcome.id}: {where} is named {key}, though only {outcome.part} is wrong"


def as_dict(found: Audit) -> dict[str, Any]:
    """The audit as JSON values."""
    return {
        "assignment": found.spec.id,
        "spec_sha256": found.spec.sha256,
        "clean": found.clean,
        "problems": list(found.problems),
        "seconds": found.seconds,
        "variants": [
            {
                "id": o.id,
                "kind": o.kind,
                "part": o.part,
                "percent": o.percent,
                "failed": list(o.failed),
                "named": [key for key, _, _ in o.named],
                "separation": None if not np.isfinite(o.separation) else round(o.separation, 1),
            }
            for o in found.outcomes
        ],
        "checks": {check: [o.id for o in found.outcomes if check in o.failed] for check in found.checks},
    }
