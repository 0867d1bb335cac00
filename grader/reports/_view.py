"""Knows what a reader wants of a result, whatever the format: failures by part, in the order in which to mend them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.reports._text import clean

if TYPE_CHECKING:
    from grader.api import Result
    from grader.spec import PartSpec, Spec
    from grader.verdict import Named, Verdict

OWN = ("failed", "error", "timeout", "crashed")
UNWRITTEN = "NotImplementedError"


@dataclass(frozen=True)
class Group:
    """What did not pass of one part.

    failures  what was seen, the most telling first
    waiting   how many checks wait for those
    missing   whether the name is not defined
    hidden    how many checks that are not shown did not pass
    because   parts that it uses, directly or not, and that fail by themselves: mend those first
    raised_in the other part in which its code stopped, or the empty string
    own       whether something in it is wrong whatever the parts that it uses do
    """

    part: PartSpec
    failures: tuple[Verdict, ...]
    waiting: int
    missing: int
    hidden: int
    because: tuple[str, ...]
    raised_in: str
    own: bool

    @property
    def unwritten(self) -> bool:
        """Whether it is still the stub: it raises NotImplementedError itself."""
        return not self.raised_in and any(verdict.message.startswith(UNWRITTEN) for verdict in self.failures)

    @property
    def named(self) -> tuple[Named, ...]:
        """The known mistakes, each once."""
        found = {named.id: named for verdict in self.failures for named in verdict.misconceptions}
        return tuple(found.values())


def ordered(spec: Spec) -> tuple[PartSpec, ...]:
    """The parts in the spec's order, but none before one that it uses."""
    done: dict[str, PartSpec] = {}

    def visit(part: PartSpec, above: tuple[str, ...]) -> None:
        for name in part.uses:
            if name not in above:
                visit(spec.part(name), (*above, name))
        done.setdefault(part.name, part)

    for part in spec.parts:
        visit(part, (part.name,))
    return tuple(done.values())


def hidden_ids(result: Result) -> frozenset[str]:
    """The checks whose outcome counts and whose content is not for the student."""
    checks = (check for criterion in result.rubric["criteria"] for check in criterion["checks"])
    return frozenset(check["id"] for check in checks if check["visibility"] == "hidden")


def groups(result: Result) -> tuple[Group, ...]:
    """One group for each part of which something did not pass; what to mend first comes first."""
    from grader.engine import plan

    hidden = hidden_ids(result)
    carries = {item.id for item in plan(result.spec) if item.check.carried}
    found: dict[str, Group] = {}
    for part in ordered(result.spec):
        of = [verdict for verdict in result.verdicts if verdict.part == part.name and not verdict.fine]
        seen = [verdict for verdict in of if verdict.id not in hidden]
        own = tuple(sorted((verdict for verdict in seen if verdict.status in OWN), key=_rank))
        if not of:
            continue
        because = tuple(n for n in _below(result.spec, part) if n in found and not found[n].because)
        raised_in = _raised_in(result.spec, part, own)
        found[part.name] = Group(
            part=part,
            failures=own,
            waiting=sum(verdict.status == "blocked" for verdict in seen),
            missing=sum(verdict.status == "missing" for verdict in seen),
            hidden=len(of) - len(seen),
            because=because,
            raised_in=raised_in,
            own=not because or (not raised_in and any(verdict.id in carries for verdict in own)),
        )
    return tuple(found.values())


def _rank(verdict: Verdict) -> int:
    """What tells most comes first: an exception, a picture, plain numbers on a plain case."""
    if verdict.status != "failed":
        return 0
    if (verdict.evidence.get("picture") or {}).get("kind") == "influence":
        return 1
    return 2 if verdict.id.endswith(".value") else 3 if verdict.misconceptions else 4


def _below(spec: Spec, part: PartSpec) -> tuple[str, ...]:
    """Everything that a part uses, directly or not, in order."""
    reached = spec.below(part)
    return tuple(other.name for other in ordered(spec) if other.name in reached)


def _raised_in(spec: Spec, part: PartSpec, failures: tuple[Verdict, ...]) -> str:
    """Where all failures are exceptions from inside one other part: that part."""
    inner = set()
    for verdict in failures:
        frames = verdict.evidence.get("traceback") or [{}]
        inner.add(next((f["function"] for f in reversed(frames) if f.get("function") in _names(spec)), ""))
    return inner.pop() if len(inner) == 1 and not inner & {part.name, ""} else ""


def _names(spec: Spec) -> set[str]:
    return {part.name for part in spec.parts}


def notes(result: Result) -> tuple[tuple[str, str, int], ...]:
    """(part, sentence, number of checks) of what passed and is still worth saying."""
    hidden, found = hidden_ids(result), Counter[tuple[str, str]]()
    for verdict in result.verdicts:
        carried = f"right, given your own {' and '.join(verdict.carried)}" if verdict.carried else ""
        sentence = clean(verdict.message) or carried
        if verdict.passed and sentence and verdict.id not in hidden:
            found[verdict.part, sentence] += 1
    return tuple((part, sentence, count) for (part, sentence), count in found.items())


def verdict_line(result: Result) -> str:
    """Passed or not, and for which reasons."""
    rubric = result.rubric
    if rubric["passed"]:
        return "passed"
    if rubric["status"] != "graded":
        return f"not passed: {rubric['status']}"
    reasons = [f"{rubric['passing_percent']:g} % are needed"] if rubric["percent"] < rubric["passing_percent"] else []
    titles = {criterion["id"]: criterion["title"] for criterion in rubric["criteria"]}
    reasons += [f'"{titles[g["criterion"]]}" is needed whatever the points' for g in rubric["gates"] if not g["passed"]]
    return "not passed: " + "; ".join(reasons)


def plain_hint(verdict: Verdict, part: PartSpec) -> str:
    """The hint, unless it only repeats the formula that stands at the top of the part."""
    hint = clean(verdict.hint)
    return "" if part.formula and hint == f"The formula: {part.formula}." else hint


def next_step(result: Result) -> tuple[str, str]:
    """What to do now, and the command that shows more; both empty when there is nothing to do."""
    if result.problem:
        return "Mend that first: nothing can be graded before the file can be imported.", ""
    found = groups(result)
    if not found:
        return "", ""
    first = next((group for group in found if group.failures or group.missing), None)
    if first is None:
        return "Hidden checks did not pass: think of sizes and values that you have not tried.", ""
    name = first.part.name
    if first.missing or first.unwritten:
        what = f"def {first.part.signature}" if first.missing else name
        return f"Write {what} first: {first.part.formula}.", f"grader explain {first.part.slug}"
    judged = {verdict.part for verdict in result.verdicts}
    if inner := [other for other in _below(result.spec, first.part) if other not in judged]:
        it = "it was" if len(inner) == 1 else "they were"
        return f"Mend {name}, or what it is made of: {', '.join(inner)}; {it} not graded now.", "grader check"
    users = sum(name in group.because for group in found)
    rest = f"; {users} of the parts that failed use it" if users > 1 else ""
    return f"Mend {name} first{rest}.", f"grader check --only {name}"
