"""Knows whether what a spec names is there: checks, traits, parts of the reference, inputs; before anything runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

from grader.cases import BUILDERS
from grader.checks import Check, all_checks
from grader.near import near
from grader.part import IDS
from grader.spec import Criterion, PartSpec, Spec, SpecError


def examine(spec: Spec, ids: Sequence[str]) -> None:
    """Raise SpecError for everything that names nothing, a line each.

    ids   of all checks that apply to the spec's parts, whether or not a criterion selects them
    """
    problems = [*_checks(spec), *_traits(spec), *_reference(spec), *_criteria(spec, ids), *_skipped(spec, ids)]
    if problems:
        raise SpecError("\n".join(problems))


def _unknown(what: str, kind: str, wanted: str, names: Sequence[str]) -> str:
    """`specs/mine.toml: skip: 'softmax.valeu' is no check here; close to it: softmax.value`."""
    close = near(wanted, names)
    return f"{what}: {wanted!r} {kind}" + (f"; close to it: {', '.join(close)}" if close else "")


def _criteria(spec: Spec, ids: Sequence[str]) -> Iterator[str]:
    names = dict.fromkeys(key.partition(".")[2] for key in ids)
    groups = [*(f"{part.slug}.*" for part in spec.parts), *(f"*.{name}" for name in names)]
    for number, criterion in enumerate(spec.criteria):
        if criterion.kind == "manual":
            continue
        place = f"{spec.origin}: criteria[{number}] ({criterion.id})"
        own = [key for key in ids if spec.criterion_of(key) is criterion]
        unmatched = [pattern for pattern in criterion.checks if not _matches(pattern, ids)]
        for pattern in unmatched:
            yield _unknown(f"{place}: checks", "matches no check", pattern, [*groups, *ids])
        for pattern in criterion.hidden:
            if not _matches(pattern, own):
                yield _unknown(f"{place}: hidden", "matches no check of this criterion", pattern, [*groups, *own])
        for key in criterion.weights:
            if key not in own:
                yield _unknown(f"{place}: weights", "is no check of this criterion", key, own)
        if not unmatched:
            yield from _counts(spec, criterion, place, own)


def _counts(spec: Spec, criterion: Criterion, place: str, own: Sequence[str]) -> Iterator[str]:
    """Points that nobody could earn are refused, since the denominator is what the spec says."""
    if not own:
        yield f"{place}: checks: everything that it selects belongs to a criterion before it, which comes first"
    elif all(key in spec.skip for key in own):
        yield (
            f"{place}: all its checks stand under `skip`, so that nobody could earn its {criterion.points:g} points;"
            " leave the criterion out"
        )


def _matches(pattern: str, ids: Sequence[str]) -> bool:
    return any(fnmatchcase(key, pattern) for key in ids)


def _skipped(spec: Spec, ids: Sequence[str]) -> Iterator[str]:
    for key in spec.skip:
        if key not in ids:
            yield _unknown(f"{spec.origin}: skip", "is no check here", key, ids)


def _traits(spec: Spec) -> Iterator[str]:
    asked = (name for check in (*all_checks(), *spec.checks) for name in check.parts)
    known = sorted({IDS, *(name.removeprefix("@") for name in asked if name.startswith("@"))})
    for number, part in enumerate(spec.parts):
        for trait in part.traits:
            if trait not in known:
                place = f"{spec.origin}: parts[{number}] ({part.name}): traits"
                yield _unknown(place, "is a trait that no check speaks of", trait, known)


def _checks(spec: Spec) -> Iterator[str]:
    """Checks that wait for what does not exist, or for each other."""
    checks = {check.name: check for check in (*all_checks(), *spec.checks)}
    for check in checks.values():
        for name in check.needs:
            if name not in checks:
                yield _unknown(f"{check.file}: the check {check.name!r}: needs", "is no check", name, list(checks))
        if circle := _circle(check, checks):
            yield f"{check.file}: the check {check.name!r}: needs: it would wait for itself: {' -> '.join(circle)}"


def _circle(start: Check, checks: Mapping[str, Check]) -> tuple[str, ...]:
    """The way from a check back to itself; empty when there is none."""
    ways: list[tuple[str, ...]] = [(start.name,)]
    seen: set[str] = set()
    while ways:
        way = ways.pop()
        for name in checks[way[-1]].needs:
            if name == start.name:
                return (*way, name)
            if name in checks and name not in seen:
                seen.add(name)
                ways.append((*way, name))
    return ()


def _reference(spec: Spec) -> Iterator[str]:
    """Functions that are compared with the reference need it, and inputs; other parts are asked in other ways."""
    book = spec.book
    for number, part in enumerate(spec.parts):
        if not _compared(part):
            continue
        place = f"{spec.origin}: parts[{number}]: name"
        if not hasattr(book, part.name):
            known = list(getattr(book, "names", dir(book)))
            yield _unknown(place, f"is no part of the reference {spec.reference}", part.name, known)
        elif "function" in part.traits and part.name not in BUILDERS:
            yield _unknown(place, "has no inputs; register them with arguments_of", part.name, list(BUILDERS.names))


def _compared(part: PartSpec) -> bool:
    return part.kind == "function" and ("function" in part.traits or part.returns == "dict")
