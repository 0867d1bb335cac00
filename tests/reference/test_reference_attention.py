"""Attention looks back and never ahead, its rows sum to 1, and the softmax holds at the edges."""

import numpy as np
import pytest

from reference import BOOK


def small(args, factor=0.3):
    """Weights small enough that every past position keeps a weight that can be seen."""
    if isinstance(args, dict):
        return {key: small(value, factor) for key, value in args.items()}
    if isinstance(args, list | tuple):
        return type(args)(small(value, factor) for value in args)
    return factor * args if isinstance(args, np.ndarray) and args.dtype.kind == "f" else args


def influence(f, x, replace_row):
    """(T, T): how far row t of f moves when row s of x is replaced."""
    T, before = len(x), f(x)
    moved = np.zeros((T, T))
    for s in range(T):
        other = x.copy()
        other[s] = replace_row(x[s])
        moved[:, s] = np.abs(f(other) - before).max(axis=1)
    return moved


def influences(parts, draw, sizes):
    drawn = draw(sizes(T=6)).arguments()
    rng = np.random.default_rng(5)
    (H, *W), (_, heads, W_O) = drawn["attention_head"], drawn["multi_head_attention"]
    block, (tokens, params) = drawn["decoder_block"][1], drawn["decoder"]
    W, heads, block, params = small(W), small(heads), small(block), small(params)
    embedding = {**params, "embedding": drawn["decoder"][1]["embedding"]}

    def new_row(row):
        return rng.standard_normal(row.shape)

    def new_token(token):
        return (token + 1) % 7

    yield "attention_head", influence(lambda x: parts.attention_head(x, *W)[0], H, new_row)
    yield "multi_head_attention", influence(lambda x: parts.multi_head_attention(x, heads, W_O), H, new_row)
    yield "decoder_block", influence(lambda x: parts.decoder_block(x, block), H, new_row)
    yield "decoder", influence(lambda x: parts.decoder(x, embedding), tokens, new_token)


def test_every_position_depends_on_all_before_it_and_on_none_after(draw, sizes):
    for name, moved in influences(BOOK, draw, sizes):
        assert (moved[np.triu_indices(6, 1)] < 1e-12).all(), name
        assert (moved[np.tril_indices(6)] > 1e-6).all(), name


def test_without_the_mask_that_is_seen(draw, sizes):
    for name, moved in influences(BOOK.replace(causal_attention_weights=BOOK.softmax), draw, sizes):
        assert (moved[np.triu_indices(6, 1)] > 1e-6).all(), name


@pytest.mark.parametrize("T", [1, 2, 5, 40])
@pytest.mark.parametrize("scale", [0, 1, 30, 1e4])
def test_rows_sum_to_1_and_are_exactly_0_above_the_diagonal(T, scale):
    A = BOOK.causal_attention_weights(scale * np.random.default_rng(T).standard_normal((T, T)))
    np.testing.assert_allclose(A.sum(axis=1), 1, rtol=1e-14)
    assert (A[np.triu_indices(T, 1)] == 0).all()
    assert (A >= 0).all()
    assert A[0, 0] == 1


def test_the_future_has_no_part_in_the_denominator():
    S = np.array([[0.0, 1e4, np.nan], [1.0, 2.0, np.inf], [0.0, 0.0, 0.0]])
    A = BOOK.causal_attention_weights(S)
    np.testing.assert_allclose(A, [[1, 0, 0], [1 / (1 + np.e), np.e / (1 + np.e), 0], [1 / 3] * 3], rtol=1e-14)


def test_weights_do_not_depend_on_values(draw):
    H, W_Q, W_K, W_V = draw().arguments()["attention_head"]
    O, A = BOOK.attention_head(H, W_Q, W_K, W_V)
    O_other, A_other = BOOK.attention_head(H, W_Q, W_K, -2 * W_V)
    np.testing.assert_array_equal(A, A_other)
    np.testing.assert_allclose(O_other, -2 * O, rtol=1e-13)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ([1e4, -1e4], [1, 0]),
        ([1e4, 1e4], [0.5, 0.5]),
        ([-1e4, -1e4, -1e4, -1e4], [0.25] * 4),
        ([-np.inf, 0, 0], [0, 0.5, 0.5]),
        ([-np.inf, -1e4, -np.inf], [0, 1, 0]),
        ([1e308, -1e308], [1, 0]),
        ([7.0], [1]),
    ],
)
def test_softmax_is_stable_and_silent(row, expected):
    with np.errstate(all="raise"):
        np.testing.assert_array_equal(BOOK.softmax([row, row]), [expected, expected])


@pytest.mark.parametrize("row", [[-np.inf, -np.inf], [np.nan, 1.0], [np.inf, 1.0]])
def test_a_row_without_weights_is_nan_and_its_neighbours_are_not(row):
    P = BOOK.softmax([row, [0.0, 0.0]])
    assert np.isnan(P[0]).all()
    np.testing.assert_array_equal(P[1], [0.5, 0.5])


def test_probabilities_do_not_see_a_shift_of_the_logits():
    Z = np.random.default_rng(2).standard_normal((4, 9))
    P, offsets = BOOK.next_token_probabilities(Z), np.array([[1e3], [-1e3], [0], [5]])
    np.testing.assert_allclose(BOOK.next_token_probabilities(Z + offsets), P, rtol=1e-11)
    np.testing.assert_allclose(P.sum(axis=1), 1, rtol=1e-14)


def test_loss_is_stable_and_in_nats():
    assert BOOK.loss([[1e4, -1e4]], [1]) == 2e4
    assert BOOK.loss([[1e4, -1e4]], [0]) == 0
    assert BOOK.loss(np.zeros((3, 8)), [0, 5, 7]) == pytest.approx(np.log(8), rel=1e-15)
    assert BOOK.loss([[-np.inf, 0.0, 0.0]], [2]) == pytest.approx(np.log(2), rel=1e-15)
    assert BOOK.loss([[-np.inf, 0.0]], [0]) == np.inf
    assert BOOK.loss([[np.log(3), 0.0], [0.0, 0.0]], [0, 1]) == pytest.approx(
        (np.log(4 / 3) + np.log(2)) / 2, rel=1e-14
    )
    assert type(BOOK.loss([[0.0]], [0])) is float
