"""A part as a check sees it: what the reference says in its place is that of its own book, and how a gap is told."""

from importlib.resources import files
from typing import Any

import numpy as np
import pytest

from grader import part as parts
from grader.part import Part, Unexpected
from grader.spec import Spec, parse
from reference import BOOK

TEXT = (files("specs") / "hand-decoder.toml").read_bytes()


class Answer:
    """Whatever is asked, the same."""

    backend = "numpy"

    def __init__(self, value: Any) -> None:
        self.value = value

    def call(self, part, args):
        return self.value

    def dtypes(self):
        return ()


def part_of(value: Any, name: str = "softmax", book: Any = BOOK) -> Part:
    spec: Spec = parse(TEXT, "mine.toml")
    spec.__dict__["book"] = book
    return Part(spec, spec.part(name), Answer(value), [])


def test_shapes_are_those_of_the_assignments_own_reference():
    x = np.ones((3, 4))
    other = BOOK.replace(softmax=lambda x: np.zeros((2, 2)))
    assert part_of(x)(x).shape == (3, 4)
    assert part_of(np.zeros((2, 2)), book=other)(x).shape == (2, 2)
    with pytest.raises(Unexpected, match="p is 2 × 2 here, expected 3 × 4"):
        part_of(np.zeros((2, 2)))(x)


def test_shapes_may_hang_on_a_plain_number():
    book = BOOK.replace(softmax=lambda n: np.zeros(n))
    for n in (2, 3):
        assert part_of(np.zeros(n), book=book)(n).shape == (n,)


def test_what_is_kept_of_shapes_has_an_end(monkeypatch):
    monkeypatch.setattr(parts, "KEPT", 5)
    book = BOOK.replace(softmax=lambda n: np.zeros(n))
    for n in range(40):
        part_of(np.zeros(n), book=book)(n)
    assert len(parts._SHAPES) <= 5


def test_results_come_in_float64_and_ids_as_they_are():
    x = np.ones((3, 4))
    assert part_of(x > 0)(x).dtype == np.float64
    assert part_of(x.astype(np.uint8)).raw(x).dtype == np.uint8
