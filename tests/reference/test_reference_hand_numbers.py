"""The figures of the two-token example, against 30 digits: what the reference computes and what is printed."""

import tomllib
from decimal import Decimal
from importlib import resources

import mpmath as mp
import numpy as np
import pytest

from reference import BOOK

KEYS = ["w", "A", "H_prime", "p_B", "loss", "p_B_without_residual", "A_first_value_zeroed"]
KEYS += ["last_row_first_value_zeroed", "layer_norm_of_1_3", "residual_of_1_3"]
PRINTED = tomllib.loads(resources.files("specs").joinpath("hand-numbers.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def exact():
    """From the definitions, at 30 digits: scores, exponentials, weighted sums."""
    with mp.workdps(30):
        e = mp.exp(1 / mp.sqrt(2))
        A = [[mp.mpf(1), mp.mpf(0)], [1 / (1 + e), e / (1 + e)]]
        retrieved = [[sum(A[t][s] * (s == i) for s in range(2)) for i in range(2)] for t in range(2)]
        stream = [[(t == i) + retrieved[t][i] for i in range(2)] for t in range(2)]
        without_first = [sum(A[1][s] * (s == i == 1) for s in range(2)) for i in range(2)]

        def p_B(row):
            return mp.exp(row[1]) / (mp.exp(row[0]) + mp.exp(row[1]))

        x, mean = [mp.mpf(1), mp.mpf(3)], mp.mpf(2)
        root = mp.sqrt(sum((a - mean) ** 2 for a in x) / 2)
        normed = [(a - mean) / root for a in x]
        return {
            "w": A[1][0],
            "A": A,
            "H_prime": stream,
            "p_B": p_B(stream[1]),
            "loss": -mp.log(p_B(stream[1])),
            "p_B_without_residual": p_B(retrieved[1]),
            "A_first_value_zeroed": A,
            "last_row_first_value_zeroed": [without_first[0], 1 + without_first[1]],
            "layer_norm_of_1_3": normed,
            "residual_of_1_3": [a + n for a, n in zip(x, normed, strict=True)],
        }


def flat(value):
    if isinstance(value, list):
        return [leaf for part in value for leaf in flat(part)]
    return [value]


def test_the_keys_are_the_contracts():
    assert list(BOOK.hand_calculation()) == KEYS
    assert list(PRINTED) == KEYS


def test_the_closed_formulas_of_the_contract_are_these_numbers(exact):
    with mp.workdps(30):
        w = 1 / (1 + mp.exp(1 / mp.sqrt(2)))
        closed = {
            "w": w,
            "A": [[1, 0], [w, 1 - w]],
            "H_prime": [[2, 0], [w, 2 - w]],
            "p_B": 1 / (1 + mp.exp(-2 * (1 - w))),
            "loss": mp.log(1 + mp.exp(-2 * (1 - w))),
            "p_B_without_residual": 1 / (1 + mp.exp(2 * w - 1)),
            "last_row_first_value_zeroed": [0, 2 - w],
            "layer_norm_of_1_3": [-1, 1],
            "residual_of_1_3": [0, 4],
        }
        for key, value in closed.items():
            for a, b in zip(flat(value), flat(exact[key]), strict=True):
                assert abs(a - b) < mp.mpf(10) ** -28, key
        digits = {"w": "0.33023845067", "p_B": "0.79241150425", "loss": "0.23267444603"}
        digits["p_B_without_residual"] = "0.58407467325"
        for key, rounded in digits.items():
            assert abs(closed[key] - mp.mpf(rounded)) <= mp.mpf("5e-12"), key


@pytest.mark.parametrize("key", KEYS)
def test_the_reference_gives_them_to_rounding(key, exact):
    ours = np.ravel(BOOK.hand_calculation()[key])
    for a, b in zip(ours, flat(exact[key]), strict=True):
        assert abs(mp.mpf(float(a)) - b) <= 1e-15, key


@pytest.mark.parametrize("key", KEYS)
def test_the_printed_figures_are_right_to_half_a_unit(key, exact):
    assert np.shape(PRINTED[key]["printed"]) == np.shape(BOOK.hand_calculation()[key])
    for printed, value in zip(flat(PRINTED[key]["printed"]), flat(exact[key]), strict=True):
        with mp.workdps(30):
            half_a_unit = mp.mpf(10) ** Decimal(printed).as_tuple().exponent / 2
            assert abs(mp.mpf(printed) - value) <= half_a_unit, printed
        assert half_a_unit <= mp.mpf("5e-6"), "a figure with few decimals would let a wrong one pass"


@pytest.mark.parametrize("key", KEYS)
def test_irrational_figures_have_six_digits_and_exact_ones_are_exact(key, exact):
    for printed, value in zip(flat(PRINTED[key]["printed"]), flat(exact[key]), strict=True):
        if value == int(value):
            assert Decimal(printed) == int(value)
            assert Decimal(printed).as_tuple().exponent == -6
        else:
            assert len(Decimal(printed).as_tuple().digits) == 6


@pytest.mark.parametrize("key", KEYS)
def test_each_figure_has_a_formula_and_a_derivation(key):
    assert set(PRINTED[key]) == {"formula", "printed", "derivation"}
    assert PRINTED[key]["formula"]
    assert len(PRINTED[key]["derivation"].strip().splitlines()) >= 1


def test_numbers_within_the_derivations(exact):
    with mp.workdps(30):
        w = exact["w"]
        steps = {
            "w": {"2.02811": mp.exp(1 / mp.sqrt(2))},
            "p_B": {"1.339523": 2 * (1 - w)},
            "loss": {"0.7924115": exact["p_B"]},
            "p_B_without_residual": {"0.339523": 1 - 2 * w},
        }
        for key, figures in steps.items():
            for printed, value in figures.items():
                assert printed in PRINTED[key]["derivation"]
                assert abs(mp.mpf(printed) - value) <= mp.mpf(10) ** Decimal(printed).as_tuple().exponent / 2


def test_a_wrong_part_moves_the_figures():
    unscaled = BOOK.replace(attention_scores=lambda Q, K: Q @ K.T).hand_calculation()
    assert unscaled["w"] == pytest.approx(1 / (1 + np.e))
    no_mask = BOOK.replace(causal_attention_weights=BOOK.softmax).hand_calculation()
    assert no_mask["A"][0, 1] == pytest.approx(no_mask["w"])
