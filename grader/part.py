"""Knows a function to be judged: how to call it, what the book says in its place, and how to tell the difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from grader.compare import Array, Gap, Tolerance, each, first_gap, listing, shape_text
from grader.spec import PartSpec, Spec
from grader.verdict import Violation

Path = tuple[int | str, ...]


class Caller(Protocol):
    """Whatever answers for a submission: a worker's process, or parts that are put together here."""

    @property
    def backend(self) -> str:
        """`numpy` or `torch`."""

    def call(self, part: PartSpec, args: Sequence[Any]) -> Any:
        """The results in the contract's structure: an array, a tuple of arrays, or a dict."""

    def echo(self, part: PartSpec, args: Sequence[Any]) -> tuple[Any, Any]:
        """The results, and the arguments as they are afterwards."""

    def gradient(
        self, part: PartSpec, args: Sequence[Any], cotangents: Sequence[Array], wrt: Sequence[Path]
    ) -> list[Array | None]:
        """What automatic differentiation gives for Σ cotangent · result; None where it gives nothing."""

    def fresh(self) -> Caller:
        """The same submission in a process that has seen nothing yet."""

    def anew(self) -> Caller:
        """The same submission in a new process each time."""

    def reseed(self, seed: int) -> None:
        """Put the global random generators of its process into a known state."""

    def dtypes(self) -> tuple[str, ...]:
        """The number types of the latest results, as they were returned."""


class Unexpected(Exception):
    """Raised where a result cannot even be compared; carries the violation."""

    def __init__(self, violation: Violation) -> None:
        super().__init__(violation.message)
        self.violation = violation


@dataclass(frozen=True)
class Part:
    """One function of a submission, as a check sees it. Calling it calls the student's code."""

    spec: Spec
    part: PartSpec
    caller: Caller
    notes: list[str]
    pictures: list[dict[str, Any]] = field(default_factory=list)

    @property
    def name(self) -> str:
        """As in the contract."""
        return self.part.name

    @property
    def backend(self) -> str:
        """The array type that the submission asks for."""
        return self.caller.backend

    @property
    def tolerance(self) -> Tolerance:
        """Between two right implementations in float64."""
        return self.spec.tolerances.float64.tolerance

    @property
    def loose(self) -> Tolerance:
        """Between two right implementations in float32."""
        return self.spec.tolerances.float32.tolerance

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the results."""
        return ("result",) if self.part.returns == "dict" else tuple(self.part.returns)

    def __call__(self, *args: Any) -> Any:
        """The student's results in float64 and in the reference's shapes; whole numbers stay so in a part of `ids`.

        errors: the worker's faults, and Unexpected for another shape; the engine turns them into verdicts.
        """
        results = plain(self.part, self.caller.call(self.part, args))
        if self.part.returns != "dict":
            expected = self._shapes(args)
            for name, result, shape in zip(self.outputs, map(np.asarray, each(results)), expected, strict=True):
                if result.shape != shape:
                    raise Unexpected(
                        Violation(
                            f"{name} is {shape_text(result.shape)} here, expected {shape_text(shape)}",
                            expected=list(shape),
                            observed=list(result.shape),
                        )
                    )
        return results

    def _shapes(self, args: tuple[Any, ...]) -> tuple[tuple[int, ...], ...]:
        """The shapes of the reference's results, computed once for arguments of the same shapes and plain numbers."""
        book, key = self.spec.book, (id(self.spec.book), self.name, _outline(args))
        if key not in _SHAPES:
            if len(_SHAPES) >= KEPT:
                _SHAPES.clear()
            with np.errstate(all="ignore"):
                _SHAPES[key] = book, tuple(np.shape(result) for result in each(self.expected(*args)))
        return _SHAPES[key][1]

    def raw(self, *args: Any) -> Any:
        """The student's results as they are, of whatever shape and number type."""
        return self.caller.call(self.part, args)

    def expected(self, *args: Any) -> Any:
        """What the reference gives, computed once for the same numbers: the next submission gets the same cases."""
        book, key = self.spec.book, (id(self.spec.book), self.name, _numbers(args))
        if key not in _EXPECTED:
            if len(_EXPECTED) >= KEPT:
                _EXPECTED.clear()
            # the book is kept, too, so that its id stays its own
            _EXPECTED[key] = book, _frozen(getattr(book, self.name)(*args))
        return _EXPECTED[key][1]

    def sibling(self, name: str) -> Part:
        """Another function of the same submission."""
        return Part(self.spec, self.spec.part(name), self.caller, self.notes)

    def fresh(self) -> Part:
        """The same function in a process that has seen nothing yet."""
        return Part(self.spec, self.part, self.caller.fresh(), self.notes)

    def anew(self) -> Part:
        """The same function in a new process each time."""
        return Part(self.spec, self.part, self.caller.anew(), self.notes)

    def note(self, text: str) -> None:
        """Remember something that is no mistake but worth saying."""
        if text not in self.notes:
            self.notes.append(text)

    def show(self, picture: dict[str, Any]) -> None:
        """Keep a picture's data for the report although nothing is wrong; the latest one counts."""
        self.pictures.append(picture)

    def rows(self, *args: Any) -> Array:
        """All results side by side, one row a position: (T, ·)."""
        return side_by_side(self(*args))

    def expected_rows(self, *args: Any) -> Array:
        """The same of the reference."""
        return side_by_side(self.expected(*args))

    def gap(self, observed: Any, expected: Any, tolerance: Tolerance | None = None) -> Gap | None:
        """The difference, if it is more than two right implementations can have.

        What agrees only to float32's precision is accepted with a note: computing inside in float32 is no mistake.
        With a tolerance given, that one decides alone.
        """
        left, right = np.asarray(observed), np.asarray(expected)
        if left.shape != right.shape:
            raise Unexpected(
                Violation(
                    f"a result is {shape_text(left.shape)} where {shape_text(right.shape)} is expected",
                    expected=list(right.shape),
                    observed=list(left.shape),
                )
            )
        if tolerance is not None:
            return first_gap(left, right, tolerance)
        if first_gap(left, right, self.tolerance) is None:
            return None
        gap = first_gap(left, right, self.loose)
        if gap is None:
            self.note("agrees to float32 precision only; accepted")
        return gap

    def differs(
        self, observed: Any, expected: Any, what: str, hint: str = "", tolerance: Tolerance | None = None
    ) -> Violation | None:
        """A violation when results differ, in words: `what` names them, such as `the output`."""
        many = isinstance(expected, tuple)
        names = self.outputs if many else (what,)
        for name, left, right in zip(
            names, observed if many else (observed,), expected if many else (expected,), strict=True
        ):
            if gap := self.gap(left, right, tolerance):
                subject = f"{name} of {what}" if many else name
                return violation(f"{subject}: {gap}", gap, left, right, hint)
        return None


IDS = "ids"  # the trait of a part whose results are whole numbers
KEPT = 2000  # results of the reference; an assignment has some hundred
_EXPECTED: dict[Any, tuple[Any, Any]] = {}
_SHAPES: dict[Any, tuple[Any, tuple[tuple[int, ...], ...]]] = {}


def _numbers(tree: Any) -> Any:
    """A tree of arguments as something hashable that is equal for equal numbers of equal types."""
    if isinstance(tree, np.ndarray):
        return tree.shape, tree.dtype.str, tree.tobytes()
    if isinstance(tree, dict):
        return dict, tuple((key, _numbers(value)) for key, value in tree.items())
    if isinstance(tree, list | tuple):
        return type(tree), tuple([_numbers(item) for item in tree])
    return type(tree), repr(tree)


def _frozen(results: Any) -> Any:
    """A copy of results that nobody can change for whoever comes next."""
    if isinstance(results, tuple):
        return tuple(_frozen(item) for item in results)
    if isinstance(results, dict):
        return {key: _frozen(item) for key, item in results.items()}
    if isinstance(results, np.ndarray):
        results = results.copy()
        results.flags.writeable = False
    return results


def plain(part: PartSpec, results: Any) -> Any:
    """What a student returned, in float64, where arithmetic is never odd; whole numbers stay in a part of `ids`."""
    if isinstance(results, tuple):
        return tuple(plain(part, item) for item in results)
    if isinstance(results, dict):
        return {key: plain(part, item) for key, item in results.items()}
    array = np.asarray(results)
    whole = array.dtype.kind in "iu" and IDS in part.traits
    return array if whole else array.astype(np.float64)


def _outline(tree: Any) -> Any:
    """The shapes of a tree of arguments and whatever else is in it, hashable."""
    if isinstance(tree, np.ndarray):
        return tree.shape
    if isinstance(tree, dict):
        return tuple((key, _outline(value)) for key, value in tree.items())
    return tuple(_outline(item) for item in tree) if isinstance(tree, list | tuple) else (type(tree), repr(tree))


def violation(message: str, gap: Gap, observed: Any, expected: Any, hint: str = "") -> Violation:
    """A violation with the numbers of a gap."""
    return Violation(
        message,
        expected=small(expected),
        observed=small(observed),
        hint=hint,
        where=gap.index,
        size=gap.size,
        allowed=gap.allowed,
    )


def small(value: Any, entries: int = 48) -> Any:
    """An array or a tree as JSON values when it is small enough to read, else None."""
    total = sum(np.size(leaf) for leaf in _leaves(value))
    return listing(value) if total <= entries else None


def _leaves(tree: Any) -> list[Any]:
    if isinstance(tree, dict):
        return [leaf for value in tree.values() for leaf in _leaves(value)]
    if isinstance(tree, list | tuple):
        return [leaf for value in tree for leaf in _leaves(value)]
    return [tree]


def side_by_side(results: Any) -> Array:
    """(T, ·) from one array or several: axis 0 stays, everything else becomes columns."""
    arrays = [np.asarray(result, np.float64) for result in each(results)]
    if any(array.ndim == 0 for array in arrays):
        raise Unexpected(Violation("a result is a single number where a row for each position is expected"))
    return np.concatenate([array.reshape(array.shape[0], -1) for array in arrays], axis=1)
