"""The post-norm layers of the reference agree with their twin in torch, and keep to the facts of the layers."""

import numpy as np
import pytest

from grader.cases import EXTREMES, SIZES, generic, make
from grader.checks.stability import extremes
from reference.encoder import ENCODER

CONTRACT = {
    "attention": ["Q", "K", "V", "mask"],
    "multi_head": ["X_q", "X_kv", "heads", "W_O", "mask"],
    "layer_norm": ["z", "gain", "shift", "eps"],
    "ffn": ["u", "W_1", "b_1", "W_2", "b_2"],
    "encoder_block": ["X", "params", "padding_mask"],
    "cross_attention": ["X", "memory", "heads", "W_O", "memory_mask"],
    "decoder_layer": ["X", "memory", "params", "memory_mask"],
    "shift_targets": ["tokens"],
}
MASKED = [name for name, arguments in CONTRACT.items() if arguments[-1].endswith("mask")]


def each(results):
    return results if isinstance(results, tuple) else (results,)


def test_names_and_arguments_are_the_contracts():
    assert list(ENCODER.names) == list(CONTRACT)
    for name, function in ENCODER.functions.items():
        code = function.__code__
        assert list(code.co_varnames[: code.co_argcount]) == CONTRACT[name]


@pytest.mark.parametrize("name", CONTRACT)
def test_the_twin_agrees(name):
    pytest.importorskip("torch")
    from reference import encoder_torch_twin

    for case in [*generic(name, 3), *(extremes(name, 3) if name in EXTREMES else ())]:
        ours = each(getattr(ENCODER, name)(*case.args))
        twins = each(getattr(encoder_torch_twin, name)(*case.args))
        for left, right in zip(ours, twins, strict=True):
            np.testing.assert_allclose(left, right.numpy(), rtol=1e-9, atol=1e-10, err_msg=case.label)


@pytest.mark.parametrize("sizes", SIZES, ids=lambda sizes: f"T{sizes.T}")
def test_rows_that_may_consult_nothing_are_zero(sizes):
    Q, K, V, mask = make("attention", sizes, 0).args
    mask[0] = False
    for result in ENCODER.attention(Q, K, V, mask):
        assert not result[0].any()
        assert np.isfinite(result).all()


@pytest.mark.parametrize("name", MASKED)
def test_a_mask_of_true_is_no_mask(name):
    *args, mask = make(name, SIZES[1], 0).args
    for one, other in zip(
        each(getattr(ENCODER, name)(*args, np.ones_like(mask))), each(getattr(ENCODER, name)(*args)), strict=True
    ):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", ["encoder_block", "decoder_layer"])
def test_post_norm_rows_sum_to_zero_without_gain_and_shift(name):
    args = list(make(name, SIZES[2], 0).args)
    d = args[0].shape[1]
    args[-2] = {**args[-2], "norm_2": {"gain": np.ones(d), "shift": np.zeros(d)}, "eps": 0.0}
    Y = getattr(ENCODER, name)(*args)
    np.testing.assert_allclose(Y.sum(axis=1), 0, atol=1e-12)
    np.testing.assert_allclose((Y**2).sum(axis=1), d)


def test_the_decoder_layer_is_causal_and_the_encoder_is_not():
    X, memory, params, mask = make("decoder_layer", SIZES[1], 0).args
    other = X.copy()
    other[-1] += np.random.default_rng(0).standard_normal(X.shape[1])
    before, after = (ENCODER.decoder_layer(x, memory, params, mask) for x in (X, other))
    np.testing.assert_array_equal(before[:-1], after[:-1])
    before, after = (ENCODER.encoder_block(x, params) for x in (X, other))
    assert (np.abs(before - after).max(axis=1) > 1e-6).all()


def test_padding_does_not_reach_what_is_real():
    X, params, mask = make("encoder_block", SIZES[1], 0).args
    other = np.where(mask[:, None], X, 9.0)
    before, after = (ENCODER.encoder_block(x, params, mask) for x in (X, other))
    np.testing.assert_array_equal(before[mask], after[mask])
    assert not np.allclose(before[~mask], after[~mask])


def test_targets_are_one_ahead_and_copies():
    tokens = np.array([5, 3, 8])
    inputs, targets = ENCODER.shift_targets(tokens)
    assert inputs.tolist() == [5, 3]
    assert targets.tolist() == [3, 8]
    inputs[0] = 0
    assert tokens[0] == 5


@pytest.mark.parametrize(
    ("part", "used_by"),
    [
        ("attention", {"multi_head", "encoder_block", "cross_attention", "decoder_layer"}),
        ("layer_norm", {"encoder_block", "decoder_layer"}),
        ("cross_attention", {"decoder_layer"}),
    ],
)
def test_a_replaced_part_reaches_its_users_and_nothing_else(part, used_by):
    right = getattr(ENCODER, part)

    def other(*args):
        results = right(*args)
        return tuple(y**3 for y in results) if isinstance(results, tuple) else results**3

    changed = ENCODER.replace(**{part: other})
    for name in CONTRACT:
        args = make(name, SIZES[1], 0).args
        pairs = zip(each(getattr(ENCODER, name)(*args)), each(getattr(changed, name)(*args)), strict=True)
        assert any(not np.allclose(a, b) for a, b in pairs) == (name in {part, *used_by}), name
