"""The language model of the reference agrees with its twin in torch, and with itself when it decodes with a cache."""

import numpy as np
import pytest

from reference.lm import ACTIVATIONS, LM, depth, draw
from tests.reference import test_reference_shapes

SIZES = {"vocab_size": 11, "width": 12, "layers": 2, "hidden": 20}
HEADS, CONTEXT = 3, 16
positions = pytest.mark.parametrize("context", [0, CONTEXT], ids=["rotary", "learned"])


def tokens(*shape, seed=0):
    return np.random.default_rng(seed).integers(0, SIZES["vocab_size"], shape)


@pytest.mark.parametrize("name", ["rotary", "activation", "causal_attention", "feed_forward"])
def test_the_shapes_line_holds(name, monkeypatch):
    for letter in "BT":
        monkeypatch.setitem(test_reference_shapes.DIMS, letter, 3)
    test_reference_shapes.run(LM.functions[name])


def test_each_docstring_names_its_errors():
    assert all("errors: " in function.__doc__ for function in LM.functions.values())


@positions
@pytest.mark.parametrize("kind", ACTIVATIONS)
def test_the_twin_agrees(kind, context):
    twin = pytest.importorskip("reference.lm_torch_twin", reason="torch is not installed")
    weights = draw(1, **SIZES, context=context)
    ours = LM.DecoderLM(tokens(2, 9), weights, HEADS, kind)
    np.testing.assert_allclose(ours, twin.logits(tokens(2, 9), weights, HEADS, kind).numpy(), rtol=1e-12, atol=1e-12)


def test_the_twin_turns_alike_far_away():
    twin = pytest.importorskip("reference.lm_torch_twin", reason="torch is not installed")
    x = np.random.default_rng(2).standard_normal((3, 4, 8))
    places = [0, 1, 257, 2049]
    np.testing.assert_allclose(LM.rotary(x, places), twin.rotary(x, places).numpy(), rtol=1e-11, atol=1e-11)


@positions
@pytest.mark.parametrize("schedule", [[1] * 9, [2, 7], [7, 1, 1], [3, 1, 5], [9]])
def test_decoding_with_a_cache_gives_what_forward_gives(schedule, context):
    weights, ids = draw(3, **SIZES, context=context), tokens(2, 9)
    found, cache, at = [], None, 0
    for length in schedule:
        logits, cache = LM.decode(ids[:, at : at + length], weights, cache, HEADS, "gelu")
        found.append(logits)
        at += length
    whole = LM.DecoderLM(ids, weights, HEADS, "gelu")
    np.testing.assert_allclose(np.concatenate(found, axis=1), whole, rtol=1e-12, atol=1e-12)


def test_turning_keeps_lengths_and_depends_on_distance_alone():
    q, k = np.random.default_rng(4).standard_normal((2, 1, 8))
    places = np.arange(7)
    Q, K = (LM.rotary(np.repeat(x, 7, axis=0), places) for x in (q, k))
    np.testing.assert_allclose(np.linalg.norm(Q, axis=1), np.linalg.norm(q))
    S = Q @ K.T
    for distance in range(7):
        np.testing.assert_allclose(np.diag(S, -distance), S[distance, 0])
    assert not np.allclose(S[:, 0], S[0, 0])
    np.testing.assert_allclose(LM.rotary(Q, -places), np.repeat(q, 7, axis=0))


def test_the_first_pair_turns_by_one_radian():
    turned = LM.rotary(np.array([[1.0, 0, 0, 0]]), [1])
    np.testing.assert_allclose(turned, [[np.cos(1), 0, np.sin(1), 0]])
    second = LM.rotary(np.array([[0, 1.0, 0, 0]]), [100])
    np.testing.assert_allclose(second, [[0, np.cos(1), 0, np.sin(1)]])


@positions
def test_later_tokens_are_hidden_and_the_order_counts(context):
    weights, ids = draw(5, **SIZES, context=context), tokens(1, 8)
    other = ids.copy()
    other[:, 5:] = (other[:, 5:] + 1) % 11
    one, two = (LM.DecoderLM(x, weights, HEADS) for x in (ids, other))
    np.testing.assert_array_equal(one[:, :5], two[:, :5])
    swapped = ids[:, [1, 0, *range(2, 8)]]
    assert np.abs(LM.DecoderLM(swapped, weights, HEADS)[:, -1] - one[:, -1]).max() > 1e-3


def test_a_repeated_token_gives_the_same_logits_everywhere_where_positions_are_turned():
    Z = LM.DecoderLM(np.full((1, 9), 4), draw(6, **SIZES), HEADS)
    np.testing.assert_allclose(Z, np.broadcast_to(Z[:, :1], Z.shape), atol=1e-12)


def test_drawn_weights_are_of_ordinary_size_and_none_is_at_its_default():
    weights = draw(7, **SIZES, context=CONTEXT)
    assert depth(weights) == 2
    assert weights["positions"].shape == (CONTEXT, 12)
    assert all(np.abs(value - (1 if name.endswith("gain") else 0)).min() > 0 for name, value in weights.items())
    assert list(draw(7, **SIZES)) == [name for name in weights if name != "positions"]


def test_errors_are_those_the_docstrings_name():
    weights = draw(8, **SIZES, context=4)
    for ids, error in (([[99]], IndexError), ([[0] * 5], IndexError)):
        with pytest.raises(error):
            LM.DecoderLM(ids, weights, HEADS)
    with pytest.raises(ValueError, match="split"):
        LM.rotary(np.ones((2, 3)), [0, 1])
    with pytest.raises(KeyError):
        LM.activation([1.0], "sigmoid")
