"""Holds the right submissions to their word: they agree with the reference, on every probe."""

import numpy as np
import pytest

from reference import BOOK
from tests.right.hand_decoder import all_right
from tests.wrong import in_process
from tests.wrong.compare import cast, gap, same
from tests.wrong.probes import PROBES

RIGHT = all_right()
HAND_TOLERANCE = 5e-7  # half a unit of the sixth printed digit


def book(name, args, parts=BOOK):
    with in_process.quiet():
        return getattr(parts, name)(*in_process.to_backend(args, "numpy"))


def load(right):
    if right.backend == "torch" or "torch" in right.name:
        pytest.importorskip("torch")
    return in_process.load_path(right.main, right.path if right.path.is_dir() else None)


@pytest.fixture(scope="module")
def expected():
    return {
        (i, name, j): book(name, args)
        for i, family in enumerate(PROBES)
        for name, cases in family.items()
        for j, args in enumerate(cases)
    }


def tolerance(right, value):
    size = max([1.0, *(float(np.max(np.abs(part))) for part in in_process.pair(value))])
    return 1e-4 * size if right.width == "float32" else 1e-9


every_right = pytest.mark.parametrize("right", RIGHT, ids=lambda right: right.name)


def test_there_are_enough_right_submissions():
    assert len(RIGHT) >= 18
    assert {right.path.is_dir() for right in RIGHT} == {True, False}


@every_right
def test_right_agrees_with_the_reference_and_leaves_its_inputs_alone(right, expected):
    module = load(right)
    for (i, name, j), value in expected.items():
        args = in_process.to_backend(PROBES[i][name][j], right.backend)
        with in_process.quiet():
            ours = in_process.to_numpy(getattr(module, name)(*args))
        assert gap(ours, value) <= tolerance(right, value), (name, j)
        assert same(args, PROBES[i][name][j]), name


@every_right
def test_right_causal_weights_are_exactly_zero_above_the_diagonal(right):
    module = load(right)
    for args in PROBES[0]["causal_attention_weights"]:
        assert not np.triu(in_process.call(module, "causal_attention_weights", args, right.backend), 1).any()


@every_right
def test_right_float_width_is_the_declared_one(right):
    module = load(right)
    for name, cases in PROBES[0].items():
        if name == "loss" and right.backend == "numpy":
            continue  # a Python float has no width
        for width in ("float32", "float64"):
            result = in_process.call(module, name, cast(cases[0], width), right.backend)
            found = {str(np.asarray(part).dtype) for part in in_process.pair(result)}
            if right.width == "float64" and width == "float32":
                continue  # widens somewhere, not everywhere
            assert found == {width if right.width == "kept" else right.width}, name


@every_right
def test_right_numbers_by_hand(right):
    module = load(right)
    with in_process.quiet():
        found = in_process.to_numpy(module.hand_calculation())
    wanted = BOOK.hand_calculation()
    assert set(found) == set(wanted)
    for key, value in wanted.items():
        assert gap(np.asarray(found[key]), np.asarray(value)) <= HAND_TOLERANCE, key


TORCH = [right for right in RIGHT if right.backend == "torch" and right.width == "kept"]


@pytest.mark.parametrize("right", TORCH, ids=lambda right: right.name)
def test_gradients_flow_through_right_torch_submissions(right):
    module = load(right)
    for name, cases in PROBES[0].items():
        assert in_process.slope_error(module, name, cases[0]) < 1e-6, name
