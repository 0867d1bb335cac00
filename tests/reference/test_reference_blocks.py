"""The temperature laboratory gives the printed figures and goes to its limits."""

import numpy as np
import pytest

from reference.blocks import BLOCKS

SCORES = [1.2, 0.3, -0.4, 1.8]


def test_printed_figures():
    found = BLOCKS.temperature_lab(SCORES, 1.0)
    assert np.round(found["probabilities"], 4).tolist() == [0.2915, 0.1185, 0.0589, 0.5311]
    assert round(found["entropy_bits"], 2) == 1.61
    assert round(100 * found["max_probability"], 1) == 53.1


@pytest.mark.parametrize(("temperature", "bits", "largest"), [(1e-3, 0.0, 1.0), (1e9, 2.0, 0.25)])
def test_limits(temperature, bits, largest):
    found = BLOCKS.temperature_lab(SCORES, temperature)
    assert found["entropy_bits"] == pytest.approx(bits, abs=1e-6)
    assert found["max_probability"] == pytest.approx(largest, abs=1e-6)


def test_huge_scores_are_finite():
    found = BLOCKS.temperature_lab([1e4, -1e4, 1e4], 1.0)
    assert found["probabilities"].tolist() == [0.5, 0.0, 0.5]
    assert found["entropy_bits"] == 1.0
