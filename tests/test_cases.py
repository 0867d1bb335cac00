"""Inputs of parts: each part has them from one file, and those that come later are used as well."""

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from grader import cases
from grader.cases import also_of, arguments_of, extremes_of
from grader.checks import all_checks
from grader.checks.stability import extremes
from grader.registry import RegistrationError, forget
from grader.spec import PartSpec

KINDS = {
    "builder of arguments": (arguments_of("layer_norm", "T"), "layer_norm", "cases.py"),
    "family of further cases": (also_of("attention"), "attention", "encoder.py"),
    "family of extremes": (extremes_of("layer_norm"), "layer_norm", "stability.py"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_part_that_has_them_already_is_an_error_that_names_both_files(kind):
    register, part, file = KINDS[kind]
    with pytest.raises(RegistrationError, match=rf"test_cases\.py: the {kind} '{part}' is already defined in .*{file}"):
        register(lambda *_: iter([]))


@pytest.fixture
def late() -> Iterator[str]:
    """A part whose extremes are registered after the checks are loaded."""
    all_checks()
    extremes_of("late")(lambda seed: iter([("none at all", (np.zeros((0, 3)),))]))
    yield "late"
    forget(__file__)


def test_extremes_that_come_later_are_asked(late):
    check = all_checks().get("extreme-values")
    part = PartSpec(name=late, returns={"y": "(T)"})
    assert check.applies_to(part)
    assert [case.label for case in check.cases(late, 0)] == ["none at all, float64", "none at all, float32"]
    assert list(extremes(late, 0))


def test_what_is_forgotten_is_gone(late):
    forget(__file__)
    assert late not in cases.EXTREMES
    assert not all_checks().get("extreme-values").applies_to(PartSpec(name=late, returns={"y": "(T)"}))


def test_our_own_files_are_where_they_are_said_to_be():
    folder = Path(str(files("grader")))
    assert {Path(cases.BUILDERS.file(name)).parent for name in cases.BUILDERS.names} <= {folder, folder / "cases_of"}
