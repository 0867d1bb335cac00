"""Patterns: who depends on whom, what numbers look like, what a fault says."""

import numpy as np
import pytest

from grader.compare import Tolerance
from grader.misconceptions import all_misconceptions
from grader.patterns import name_dependence, name_fault, name_numbers
from grader.worker import BadResult, NoGradient, Raised
from tests.diagnosis.measure import spec

FINE = Tolerance(1e-9, 1e-12)
PAST = np.tri(6, dtype=bool)
OWN = np.eye(6, dtype=bool)


@pytest.mark.parametrize(
    ("D", "name"),
    [
        (np.ones((6, 6)), "sees-every-position"),
        (np.tri(6, k=1), "mask-one-ahead"),
        (np.tri(6, k=2), "mask-two-ahead"),
        (PAST.T, "mask-transposed"),
        (PAST & ~OWN, "mask-strict"),
        (~PAST, "mask-inverted"),
        (OWN, "mask-only-self"),
        (PAST & ~np.tri(6, k=-2, dtype=bool), "mask-window"),
    ],
)
def test_masks_are_told_from_who_depends_on_whom(D, name):
    assert name_dependence(D) == name
    assert name_dependence(np.where(D, 0.37, 0.0)) == name
    assert name in all_misconceptions()


@pytest.mark.parametrize(
    "D", [PAST, np.ones((2, 2)), np.ones((6, 5)), np.zeros((6, 6)), np.triu(np.ones((6, 6))) * OWN[::-1]]
)
def test_what_is_right_or_unknown_has_no_name(D):
    assert name_dependence(D) is None


def influence(function, T, d, residual):
    H = np.random.default_rng(0).standard_normal((T, d))
    D = np.zeros((T, T))
    for s in range(T):
        other = H.copy()
        other[s] = np.random.default_rng(s + 1).standard_normal(d)
        change = function(other) - function(H) + residual * (other - H)
        D[:, s] = np.abs(change).max(axis=1)
    return D > 1e-9


@pytest.mark.parametrize("residual", [0, 1])
@pytest.mark.parametrize(("T", "h"), [(4, 2), (5, 2), (6, 3), (6, 2), (7, 3), (8, 4)])
@pytest.mark.parametrize(
    "key",
    [
        "heads-merged-without-transpose",
        "heads-split-without-transpose",
        "heads-split-and-merged-without-transpose",
    ],
)
def test_layouts_are_told_from_who_depends_on_whom(key, T, h, residual):
    rng, d, n = np.random.default_rng(3), 6, 2
    heads = [tuple(rng.standard_normal((d, n)) for _ in range(3)) for _ in range(h)]
    W_O = rng.standard_normal((h * n, d))
    wrong = spec().book.replace(multi_head_attention=all_misconceptions().get(key).wrong).multi_head_attention
    D = influence(lambda H: wrong(H, heads, W_O), T, d, residual)
    assert name_dependence(D) in (key, None)
    if (T, h, residual) in ((6, 3, 0), (7, 3, 0), (8, 4, 0)):
        assert name_dependence(D) == key


def test_numbers_are_told_from_what_they_look_like():
    right = np.random.default_rng(0).standard_normal((4, 5)) * 3
    assert name_numbers(right, right, FINE) is None
    assert name_numbers(np.round(right, 3), right, FINE) == "results-rounded"
    assert name_numbers(np.trunc(right), right, FINE) == "results-integer"
    assert name_numbers(right.astype(np.float16), right, FINE) == "half-precision"
    assert name_numbers((np.round(right, 2), right), (right, right), FINE) == "results-rounded"
    assert name_numbers(np.round(right + 1, 3), right, FINE) is None
    assert name_numbers(np.zeros_like(right), right, FINE) is None
    assert name_numbers(right * 1.01, right, FINE) is None
    assert name_numbers(right[0], right, FINE) is None
    assert name_numbers(np.full_like(right, np.nan), right, FINE) is None


@pytest.mark.parametrize(
    ("fault", "name"),
    [
        (BadResult("returned None: is a `return` missing?"), "result-none"),
        (BadResult("returned None, 2 are asked: (O, A): is a `return` missing?"), "result-none"),
        (BadResult("returned 1 array, 2 are asked: (O, A)"), "result-missing"),
        (BadResult("returned a tuple of 2, 1 array is asked"), "result-too-many"),
        (BadResult("returned an array of strings; real numbers are wanted"), "result-text"),
        (BadResult("returned a str; an array is wanted"), "result-text"),
        (BadResult("returned an array of complex numbers; real numbers are wanted"), "result-complex"),
        (BadResult("returned a ragged list, which is no array"), None),
        (BadResult("the parts do not fit together: strings attached"), None),
        (NoGradient("the output carries no gradient: is there a detach, .numpy(), .item() or no_grad?"), "no-gradient"),
        (NoGradient("the submission takes NumPy arrays, which carry no gradient"), None),
        (
            Raised("RuntimeError", "a leaf Variable that requires grad is being used in an in-place operation."),
            "argument-changed",
        ),
        (Raised("ValueError", "strings"), None),
    ],
)
def test_faults_are_told_from_what_they_say(fault, name):
    assert name_fault(fault) == name
    assert name is None or name in all_misconceptions()
