"""Knows where an id can stand for something, and what is said of it: parts, checks, criteria, misconceptions."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice

from grader.apart import smallest
from grader.checks import Check
from grader.engine import plan
from grader.misconceptions import Misconception, all_misconceptions
from grader.part import small
from grader.spec import PartSpec, Spec

Source = Callable[[Spec], Iterator[tuple[tuple[str, ...], Callable[[], str]]]]
"""(the ids that something goes by, what to say of it), for everything of one kind in an assignment."""

CASES = 6


def lookup(wanted: str, spec: Spec) -> Iterator[str]:
    """Everything of that id, one text each."""
    for source in SOURCES:
        for ids, text in source(spec):
            if wanted in ids:
                yield text()


def known(spec: Spec) -> Iterator[str]:
    """Every id that there is something to say about."""
    for source in SOURCES:
        for ids, _ in source(spec):
            yield from ids


def parts(spec: Spec) -> Iterator[tuple[tuple[str, ...], Callable[[], str]]]:
    """The functions that are asked for, by name or as in ids."""
    for part in spec.parts:
        yield (part.name, part.slug), partial(_part, spec, part)


def checks(spec: Spec) -> Iterator[tuple[tuple[str, ...], Callable[[], str]]]:
    """Checks of one part by their full id, and by name for all parts."""
    items = plan(spec)
    for item in items:
        yield (item.id,), partial(_check, spec, item.check, (item.part,))
    for check in {item.check.name: item.check for item in items}.values():
        of = tuple(item.part for item in items if item.check is check)
        yield (check.name,), partial(_check, spec, check, of)


def criteria(spec: Spec) -> Iterator[tuple[tuple[str, ...], Callable[[], str]]]:
    """Lines of the rubric."""
    rules = {
        "part": "the points are shared by the functions; each earns its share when all its checks here hold",
        "each": "every check earns its share",
        "all": "everything or nothing",
    }
    owners = {item.id: spec.criterion_of(item.id) for item in plan(spec)}
    for criterion in spec.criteria:
        ids = [key for key, owner in owners.items() if owner is criterion]
        lines = [
            f"{criterion.id}: a criterion of {spec.id}, {criterion.points:g} of {spec.max_score:g} points",
            f"  {criterion.title}",
            f"  rule      {rules[criterion.rule]}",
        ]
        if criterion.gate:
            lines.append("  gate      without it the assignment is not passed, whatever the points")
        lines.append(f"  checks    {', '.join(ids) or 'none; a person marks it'}")
        yield (criterion.id,), partial("\n".join, lines)


def misconceptions(spec: Spec) -> Iterator[tuple[tuple[str, ...], Callable[[], str]]]:
    """Known mistakes in the assignment's functions."""
    names = {part.name for part in spec.parts}
    for mistake in all_misconceptions():
        if names & set(mistake.parts):
            lines = [
                f"{mistake.id}: a misconception, in {', '.join(mistake.parts)}",
                f"  {mistake.title}",
                f"  computed  {mistake.formula}",
                f"  why       {mistake.why}",
                f"  cure      {mistake.cure}",
            ]
            yield (mistake.id,), partial(_with_numbers, spec, mistake, lines)


def _with_numbers(spec: Spec, mistake: Misconception, lines: list[str]) -> str:
    """A misconception with the smallest input that tells it apart, and both numbers there."""
    part = next(part for part in spec.parts if part.name in mistake.parts)
    if not (found := smallest(mistake, part.name, spec.book)):
        return "\n".join(lines)
    lines = [*lines, f"  apart at  {found.case.label}"]
    for name, value in zip(part.arguments, found.case.args, strict=False):
        if (shown := small(value, entries=16)) is not None:
            lines.append(f"    {name} = {shown}")
    wrong = found.wrong if isinstance(found.wrong, str) else small(found.wrong)
    return "\n".join([*lines, f"    right  {small(found.right)}", f"    wrong  {wrong}"])


SOURCES: tuple[Source, ...] = (parts, checks, criteria, misconceptions)


def _part(spec: Spec, part: PartSpec) -> str:
    arguments = ", ".join(f"{name} {shape}" for name, shape in part.arguments.items())
    returns = part.returns if isinstance(part.returns, str) else ", ".join(f"{k} {v}" for k, v in part.returns.items())
    ids = [item.id for item in plan(spec) if item.part is part]
    lines = [
        f"{part.signature}: a {'torch module' if part.kind == 'module' else 'function'} of {spec.file}",
        f"  {part.formula}",
        f"  takes     {arguments or 'nothing'}",
    ]
    lines += [f"  returns   {returns}"] + [f"  uses      {', '.join(part.uses)}"] * bool(part.uses)
    return "\n".join([*lines, f"  checks    {', '.join(ids)}"])


def _check(spec: Spec, check: Check, of: tuple[PartSpec, ...]) -> str:
    name = f"{of[0].slug}.{check.name}" if len(of) == 1 else check.name
    lines = [f"{name}: a check", f"  {check.says}", f"  of        {', '.join(part.name for part in of)}"]
    if len(of) == 1:
        lines.append(f"  formula   {of[0].formula}")
        owner = spec.criterion_of(name)
        lines += [f"  counts    in {owner.title!r}"] if owner else []
    labels = dict.fromkeys(case.label for part in of[:1] for case in islice(check.cases(part.name, 0), CASES))
    if shown := [label for label in labels if label]:
        lines.append(f"  tried at  {'; '.join(shown)}")
    lines += [f"  after     {', '.join(check.needs)}"] if check.needs else []
    lines += [f"  hint      {hint}" for hint in hints(check)]
    return "\n".join(lines)


def hints(check: Check) -> tuple[str, ...]:
    """The hints that stand in a check's source as they are; none when there is no source."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(check.judge)))
    except (OSError, TypeError, SyntaxError):
        return ()
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["hint"]:
            found += [node.value.value] if isinstance(node.value, ast.Constant) else []
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        name = call.func.id if isinstance(call.func, ast.Name) else ""
        given = [word.value for word in call.keywords if word.arg == "hint"]
        given += call.args[4:5] if name == "violation" else []
        found += [value.value for value in given if isinstance(value, ast.Constant) and isinstance(value.value, str)]
    return tuple(dict.fromkeys(text for text in found if isinstance(text, str) and text))
