"""The slope by central differences is the slope: of known functions, and of the decoder by autograd."""

import numpy as np
import pytest

from reference import BOOK
from reference.gradients import directional, perturb, random_directions


def test_the_slope_of_a_known_function():
    x, u = np.array([0.3, -1.2]), np.array([2.0, 0.5])
    np.testing.assert_allclose(directional(np.sin, [x], [u]), np.cos(x) * u, rtol=1e-9)


def test_the_result_has_the_shape_of_the_functions_result():
    x = np.ones((2, 3))
    assert directional(lambda x: x.sum(), [x], [x]) == pytest.approx(6)
    assert directional(lambda x: x.T, [x], [x]).shape == (3, 2)


def test_nested_arguments_move_and_the_rest_stays():
    args = [{"a": [1.0, (np.zeros(2), 3)], "ids": np.array([1, 2])}, 5]
    moved = perturb(args, [{"a": [2.0, (np.ones(2), None)]}, None], 0.5)
    assert moved[0]["a"][0] == 2
    np.testing.assert_array_equal(moved[0]["a"][1][0], [0.5, 0.5])
    assert moved[0]["a"][1][1] == 3
    assert moved[0]["ids"] is args[0]["ids"]
    assert moved[1] == 5
    np.testing.assert_array_equal(args[0]["a"][1][0], [0, 0])


@pytest.mark.parametrize(
    ("args", "directions"),
    [
        (np.zeros(2), np.zeros(3)),
        (np.zeros((2, 2)), np.zeros(2)),
        ([1.0, 2.0], [1.0]),
        ([1.0], 1.0),
        ({"a": 1.0}, {"b": 1.0}),
        ({"a": 1.0}, 1.0),
    ],
)
def test_directions_that_do_not_fit_are_refused(args, directions):
    with pytest.raises(ValueError, match="direction"):
        perturb(args, directions, 1.0)


def test_random_directions_move_floating_arrays_only(draw):
    tokens, params = draw().arguments()["decoder"]
    u = random_directions((tokens, params), np.random.default_rng(0))
    assert u[0] is None
    assert u[1]["eps"] is None
    assert u[1]["blocks"][0]["eps"] is None
    assert u[1]["blocks"][1]["heads"][1][2].shape == params["blocks"][1]["heads"][1][2].shape


def test_the_decoders_slope_is_the_one_that_autograd_gives(draw):
    torch = pytest.importorskip("torch")
    from reference import torch_twin

    tokens, params = draw().arguments()["decoder"]
    targets = np.roll(tokens, -1)
    direction = random_directions(params, np.random.default_rng(3))
    slope = directional(lambda p: BOOK.loss(BOOK.decoder(tokens, p), targets), [params], [direction])

    leaves = []

    def leaf(x):
        if isinstance(x, dict):
            return {key: leaf(value) for key, value in x.items()}
        if isinstance(x, list | tuple):
            return type(x)(leaf(value) for value in x)
        if isinstance(x, np.ndarray):
            leaves.append(torch.tensor(x, requires_grad=True))
            return leaves[-1]
        return x

    def flat(x):
        if isinstance(x, dict):
            x = x.values()
        return [x] if isinstance(x, np.ndarray) else [] if x is None else [a for part in x for a in flat(part)]

    torch_twin.loss(torch_twin.decoder(tokens, leaf(params)), targets).backward()
    by_autograd = sum((t.grad.numpy() * u).sum() for t, u in zip(leaves, flat(direction), strict=True))
    assert slope == pytest.approx(by_autograd, rel=1e-7)
    assert abs(slope) > 1e-3
