"""Knows how an audit is shown: a summary for the terminal, the kill matrix as Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from grader.audit.run import Audit, Outcome


def summary(found: Audit) -> str:
    """The figures, and every problem."""
    wrong = [o for o in found.outcomes if o.kind == "wrong"]
    known = [o for o in wrong if o.expect and not o.raised]
    named = [o for o in known if any(key == o.expect or o.expect in others for key, _, others in o.named)]
    right = [o for o in found.outcomes if o.kind == "right"]
    degenerate = [o for o in found.outcomes if o.kind == "degenerate"]
    caught = [o for o in wrong if o.lost]
    nearest = min((o for o in known), key=lambda o: o.separation, default=None)
    lines = [
        f"{found.spec.id}: {len(found.outcomes)} variants, {len(found.checks)} checks, {found.seconds:.0f} s",
        f"  wrong       {len(caught)} of {len(wrong)} caught, {len(named)} of {len(known)} misconceptions named",
        f"  right       {sum(not o.lost for o in right)} of {len(right)} with full marks",
        f"  degenerate  {len(degenerate)}, at most {max((o.percent for o in degenerate), default=0):g} %"
        f" (floor {found.spec.degenerate_floor_percent:g} %)",
    ]
    if nearest:
        lines.append(f"  nearest     {nearest.id}, {nearest.separation:.3g} tolerances from the right answer")
    lines.append("clean" if found.clean else f"{len(found.problems)} problems:")
    return "\n".join(lines + [f"  {problem}" for problem in found.problems])


def markdown(found: Audit) -> str:
    """The kill matrix part by part: a row for each variant, a column for each check that some variant of it fails."""
    return "\n".join(_document(found)) + "\n"


def _document(found: Audit) -> Iterator[str]:
    yield f"# Audit of `{found.spec.id}`"
    yield ""
    yield "```text"
    yield summary(found)
    yield "```"
    yield ""
    yield "*first*: the first check of its part that fails on a variant; *alone*: the only one."
    yield ""
    yield "| check | fails on | first | alone |"
    yield "|---|---|---|---|"
    first, alone, total = _counts(found)
    for check in found.checks:
        yield f"| {check} | {total[check]} | {first[check]} | {alone[check]} |"
    for part in found.spec.parts:
        rows = [o for o in found.outcomes if o.part == part.name]
        columns = [c for c in found.checks if c.startswith(f"{part.slug}.") and any(c in o.failed for o in rows)]
        if rows:
            yield ""
            yield f"## {part.name}"
            yield ""
            yield "| variant | named | " + " | ".join(c.split(".", 1)[1] for c in columns) + " |"
            yield "|---|---|" + "---|" * len(columns)
            for o in rows:
                marks = " | ".join("×" if c in o.failed else "" for c in columns)
                yield f"| {o.id.split('.', 1)[1]} | {_names(o)} | {marks} |"


def _names(outcome: Outcome) -> str:
    return ", ".join(key for key, where, _ in outcome.named if where == outcome.part) or "-"


def _counts(found: Audit) -> tuple[Counter[str], Counter[str], Counter[str]]:
    first: Counter[str] = Counter()
    alone: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for o in found.outcomes:
        total.update(o.failed)
        if o.part:
            own = [c for c in o.failed if c.startswith(f"{found.spec.part(o.part).slug}.")]
            first.update(own[:1])
            alone.update(own if len(own) == 1 else [])
    return first, alone, total
