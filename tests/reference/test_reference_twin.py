"""The NumPy reference and the torch twin give the same numbers at every size, function by function."""

import subprocess
import sys

import numpy as np
import pytest

from reference import BOOK

torch = pytest.importorskip("torch")

from reference import torch_twin  # noqa: E402 - after the skip

SIZES = [
    {},
    {"T": 1},
    {"T": 1, "d": 1, "d_k": 1, "d_v": 1, "h": 1, "m": 1, "v": 1, "L": 1},
    {"T": 2, "d": 2, "d_k": 2, "d_v": 2, "h": 1, "m": 2, "v": 2, "L": 1},
    {"T": 5, "d": 8, "d_k": 3, "d_v": 2, "h": 3, "m": 7, "v": 11, "L": 3},
    {"T": 3, "d": 4, "d_k": 5, "d_v": 6, "h": 4, "m": 9, "v": 3, "L": 1},
    {"T": 33, "d": 16, "d_k": 4, "d_v": 5, "h": 2, "m": 24, "v": 29, "L": 2},
    {"L": 0},
    {"L": 0, "T": 1, "positions": False},
    {"L": 1, "positions": False},
    {"L": 3, "T": 7, "positions": False},
]


def agree(ours, twins):
    """Float64 rounding separates two right ones, times the numbers' size; a wrong formula is off by 1e-3 and more."""
    if isinstance(twins, dict):
        assert list(ours) == list(twins)
        for key in twins:
            agree(ours[key], twins[key])
    elif isinstance(twins, tuple):
        assert len(ours) == len(twins)
        for a, b in zip(ours, twins, strict=True):
            agree(a, b)
    else:
        assert twins.dtype == torch.float64
        assert np.shape(ours) == tuple(twins.shape)
        np.testing.assert_allclose(ours, twins.numpy(), rtol=1e-10, atol=1e-12 * (1 + np.abs(ours).max(initial=0)))


@pytest.mark.parametrize("name", BOOK.names)
@pytest.mark.parametrize("size", SIZES, ids=lambda size: "-".join(f"{k}{int(v)}" for k, v in size.items()) or "plain")
def test_twin_agrees(name, size, draw, sizes):
    for seed in range(3):
        arguments = draw(sizes(**size), seed).arguments()[name]
        agree(getattr(BOOK, name)(*arguments), getattr(torch_twin, name)(*arguments))


@pytest.mark.parametrize("scale", [1e-3, 1e3])
@pytest.mark.parametrize("eps", [0.0, 1e-8, 1e-5, 0.1])
def test_layer_norm_agrees_where_eps_shows(scale, eps, draw):
    H, gain, shift, _ = draw().arguments()["layer_norm"]
    agree(BOOK.layer_norm(scale * H, gain, shift, eps), torch_twin.layer_norm(scale * H, gain, shift, eps))


@pytest.mark.parametrize("row", [[1e4, -1e4, 0.0], [-np.inf, 2.0, 1.0], [-np.inf, -np.inf, 7.0], [1e4, 1e4, -np.inf]])
def test_extreme_rows_agree(row):
    Z = np.array([row, row[::-1]])
    agree(BOOK.softmax(Z), torch_twin.softmax(Z))
    agree(BOOK.next_token_probabilities(Z), torch_twin.next_token_probabilities(Z))
    likeliest = Z.argmax(axis=1)
    agree(BOOK.loss(Z, likeliest), torch_twin.loss(Z, likeliest))


def test_a_row_of_only_minus_infinity_is_nan_in_both():
    row = np.full((1, 3), -np.inf)
    assert np.isnan(BOOK.softmax(row)).all()
    assert torch_twin.softmax(row).isnan().all()


def test_the_reference_does_not_import_torch():
    code = "import sys, reference; assert 'torch' not in sys.modules; assert 'reference.torch_twin' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


def test_the_comparison_can_fail(draw):
    arguments = draw().arguments()["decoder"]
    wrong = BOOK.replace(attention_scores=lambda Q, K: Q @ K.T / np.sqrt(Q.shape[-1] + 1))
    with pytest.raises(AssertionError):
        agree(wrong.decoder(*arguments), torch_twin.decoder(*arguments))
