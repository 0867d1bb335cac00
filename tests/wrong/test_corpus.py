"""Holds the corpus to its word: right submissions agree with the reference, wrong ones differ where they say."""

import numpy as np
import pytest

from reference import BOOK
from tests.right.hand_decoder import all_right
from tests.wrong import in_process
from tests.wrong.probes import probes

RIGHT = all_right()
# The second kind has h·d_v = d, where a transposed W_O has a fitting shape.
PROBES = (probes(0), probes(1, d=6, d_v=3, h=2, T=4 + 1, d_k=4))
HAND_TOLERANCE = 5e-7  # half a unit of the sixth printed digit


def gap(ours, theirs):
    """The greatest difference; infinite where shapes, structure or NaN differ."""
    if isinstance(theirs, tuple):
        ours = in_process.pair(ours)
        if len(ours) != len(theirs):
            return np.inf
        return max(gap(a, b) for a, b in zip(ours, theirs, strict=True))
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    if ours.shape != theirs.shape or ours.dtype.kind not in "fiub":
        return np.inf
    difference = np.abs(ours.astype(float) - theirs.astype(float))
    return float(np.max(difference)) if np.isfinite(difference).all() else np.inf


def book(name, args, parts=BOOK):
    with in_process.quiet():
        return getattr(parts, name)(*in_process.to_backend(args, "numpy"))


def load(right):
    if right.backend == "torch" or "torch" in right.name:
        pytest.importorskip("torch")
    return in_process.load_path(right.main, right.path if right.path.is_dir() else None)


@pytest.fixture(scope="module")
def expected():
    return {(i, name, j): book(name, args) for i, p in enumerate(PROBES) for name in p for j, args in enumerate(p[name])}


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


@pytest.mark.parametrize("right", [r for r in RIGHT if r.backend == "torch" and r.width == "kept"], ids=lambda r: r.name)
def test_gradients_flow_through_right_torch_submissions(right):
    module = load(right)
    for name, cases in PROBES[0].items():
        assert in_process.slope_error(module, name, cases[0]) < 1e-6, name


def same(one, other):
    if isinstance(one, dict):
        return set(one) == set(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other, strict=True))
    return np.array_equal(in_process.to_numpy(one), other)


def cast(value, width):
    if isinstance(value, np.ndarray):
        return value.astype(width) if value.dtype.kind == "f" else value
    if isinstance(value, dict):
        return {key: cast(item, width) for key, item in value.items()}
    return type(value)(cast(item, width) for item in value) if isinstance(value, tuple | list) else value
