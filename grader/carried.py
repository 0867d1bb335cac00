"""Knows whether a composite is right given the student's own wrong parts: the book with those parts put in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from grader.cases import tree_map
from grader.compare import Array, Tolerance, each, first_gap
from grader.part import Caller, Path, plain
from grader.spec import PartSpec, Spec
from grader.worker import BadResult, NoGradient

UNFIT = (ValueError, LookupError, TypeError, ArithmeticError)  # what parts raise that do not fit together


def own_book(spec: Spec, caller: Caller, names: Iterable[str]) -> Any:
    """The reference in which the parts `names` are the student's own, called through the worker."""
    return spec.book.replace(**{name: _through(caller, spec.part(name)) for name in names})


def _through(caller: Caller, part: PartSpec) -> Callable[..., Any]:
    """A student's function for use in the book; what it does to its arguments happens to the caller's arrays too."""

    def function(*args: Any, **named: Any) -> Any:
        given = [*args, *(named[name] for name in list(part.arguments)[len(args) :] if name in named)]
        given = [tree_map(_wide, x) for x in given]
        results, after = caller.echo(part, given)
        for mine, theirs in zip(args, after, strict=False):
            if (
                isinstance(mine, np.ndarray)
                and mine.flags.writeable
                and not np.array_equal(mine, theirs, equal_nan=True)
            ):
                mine[...] = theirs
        return plain(part, results)

    return function


def _wide(x: Array) -> Array:
    """A copy, in float64 where it is floating: torch does not mix widths."""
    return np.array(x, np.float64 if x.dtype.kind == "f" else x.dtype)


class Composed:
    """Answers as a submission would whose composites are the book's and whose parts are the student's."""

    def __init__(self, book: Any, backend: str) -> None:
        self.book, self.backend = book, backend

    def call(self, part: PartSpec, args: Sequence[Any]) -> Any:
        """The book's composition, of a copy of the arguments: a student's part may change what it is given."""
        return self._call(part, [_copied(arg) for arg in args])

    def _call(self, part: PartSpec, args: Sequence[Any]) -> Any:
        try:
            with np.errstate(all="ignore"):
                return getattr(self.book, part.name)(*args)
        except UNFIT as error:
            raise BadResult(f"the parts do not fit together: {error}") from error

    def echo(self, part: PartSpec, args: Sequence[Any]) -> tuple[Any, Any]:
        """The same; the arguments of a copy."""
        given = [_copied(arg) for arg in args]
        return self._call(part, given), given

    def gradient(
        self, part: PartSpec, args: Sequence[Any], cotangents: Sequence[Array], wrt: Sequence[Path]
    ) -> list[Array | None]:
        """Nothing: a graph does not reach through the wire."""
        raise NoGradient("a composition of parts has no graph")

    def fresh(self) -> Composed:
        """Itself: the book has no memory."""
        return self

    def anew(self) -> Composed:
        """Itself."""
        return self

    def reseed(self, seed: int) -> None:
        """Nothing: the book draws no numbers."""

    def dtypes(self) -> tuple[str, ...]:
        """The book computes in float64."""
        return ("float64", "float64")


def _copied(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {key: _copied(value) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return type(tree)(_copied(value) for value in tree)
    return tree.copy() if isinstance(tree, np.ndarray) else tree


def same(observed: Any, produced: Any, *tolerances: Tolerance) -> bool:
    """Whether results agree within one of the tolerances; NaN agrees with NaN at the same place."""
    left, right = arrays(observed), arrays(produced)
    if len(left) != len(right) or any(a.shape != b.shape for a, b in zip(left, right, strict=True)):
        return False
    return any(all(_close(a, b, tolerance) for a, b in zip(left, right, strict=True)) for tolerance in tolerances)


def _close(left: Array, right: Array, tolerance: Tolerance) -> bool:
    nan = np.isnan(left)
    if not np.array_equal(nan, np.isnan(right)):
        return False
    return first_gap(np.where(nan, 0.0, left), np.where(nan, 0.0, right), tolerance) is None


def arrays(results: Any) -> list[Array]:
    """Results as float64 arrays; those of a dict in the order of its keys."""
    if isinstance(results, dict):
        results = tuple(results[key] for key in sorted(results))
    return [np.asarray(result, np.float64) for result in each(results)]
