"""Which place of a graph is cut off: automatic slopes beside those of the formula with something held fast."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from grader.compare import Array
from grader.misconceptions import Cut, cuts_of
from grader.part import Part, Path

Slope = Callable[[Callable[..., Any], Path], float]


def name_cut(
    part: Part, args: tuple[Any, ...], found: Mapping[Path, Array | None], slopes: Mapping[Path, float], slope: Slope
) -> str | None:
    """The id of the cut that gives these slopes along every argument; None when none or several do.

    found   what automatic differentiation gives, None for nothing
    slopes  the same along the directions of `slope`, as numbers
    slope   the slope of any function along a direction of its own for each path, by finite differences
    """
    if all(gradient is None or not gradient.any() for gradient in found.values()):
        return "no-gradient"
    right = {path: slope(part.expected, path) for path in found}
    wrong = {path for path in found if not _close(slopes[path], right[path])}
    matching = {known.id for known in cuts_of(part.name) if wrong and _gives(known, part, args, slopes, slope)}
    if len(matching) == 1:
        return matching.pop()
    one_argument = len({_kind(path) for path in wrong}) == 1
    if not matching and one_argument and all(not slopes[path] for path in wrong):
        return "argument-detached"
    return None


def _gives(known: Cut, part: Part, args: tuple[Any, ...], slopes: Mapping[Path, float], slope: Slope) -> bool:
    def held(*now: Any) -> Any:
        return known.frozen(now, args, part.spec.book)

    try:
        return all(_close(observed, slope(held, path)) for path, observed in slopes.items())
    except (ValueError, IndexError, KeyError, TypeError):
        return False


def _close(observed: float, expected: float) -> bool:
    return abs(observed - expected) <= 1e-5 * (1 + abs(expected))


def _kind(path: Path) -> Sequence[int | str]:
    """A path without the number of the block or of the head: the same weight in each counts as one argument."""
    if len(path) == 1:
        return path
    return (path[0], *(step for step in path[1:-1] if isinstance(step, str)), path[-1])
