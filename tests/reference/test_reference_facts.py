"""What the book proves about scores, norms and the network holds of the reference."""

import itertools

import numpy as np
import pytest

from reference import BOOK


@pytest.mark.parametrize("d_k", [1, 2, 3, 6])
def test_over_all_sign_vectors_the_dot_product_has_variance_d_k_and_the_score_variance_1(d_k):
    signs = np.array(list(itertools.product([-1.0, 1.0], repeat=d_k)))  # a whole population, mean 0, variance 1
    S = BOOK.attention_scores(signs, signs)
    assert np.mean(S) == pytest.approx(0, abs=1e-12)
    assert np.var(S) == pytest.approx(1, rel=1e-12)
    assert np.var(signs @ signs.T) == pytest.approx(d_k, rel=1e-12)


@pytest.mark.parametrize("d_k", [1, 4, 32])
def test_of_normal_coordinates_too(d_k):
    """Five standard errors: q·k has the fourth moment 3 d_k² + 6 d_k, so its sample variance over n independent pairs
    has the standard error √((2 d_k² + 6 d_k) / n). About one seed in a million fails a right reference; it is fixed.
    """
    n = 20_000
    rng = np.random.default_rng(20_17)
    Q, K = rng.standard_normal((2, n, d_k))
    products = np.array([BOOK.attention_scores(q[None], k[None])[0, 0] for q, k in zip(Q, K, strict=True)])
    bound = 5 * np.sqrt((2 + 6 / d_k) / n)
    assert abs(np.mean(products**2) - 1) < bound
    assert abs(np.mean((products * np.sqrt(d_k)) ** 2) - d_k) < bound * d_k
    assert bound < 0.11, "wide enough to let another scale pass"


def plain_norm(H, eps):
    d = np.shape(H)[-1]
    return BOOK.layer_norm(H, np.ones(d), np.zeros(d), eps)


@pytest.mark.parametrize("d", [2, 3, 6, 64])
def test_a_normalized_row_sums_to_0_and_has_squared_norm_d_at_eps_0(d):
    H = np.random.default_rng(d).normal(3, 5, (7, d))
    N = plain_norm(H, 0)
    np.testing.assert_allclose(N.sum(axis=1), 0, atol=1e-12)
    np.testing.assert_allclose(np.sum(N**2, axis=1), d, rtol=1e-12)


@pytest.mark.parametrize("eps", [1e-5, 0.1, 2.0])
def test_with_eps_the_squared_norm_is_smaller_by_a_known_factor(eps):
    H = np.random.default_rng(1).normal(3, 1, (7, 6))
    squared = np.sum(plain_norm(H, eps) ** 2, axis=1)
    assert (squared < 6).all()
    np.testing.assert_allclose(squared, 6 * H.var(axis=1) / (H.var(axis=1) + eps), rtol=1e-12)


def test_gain_and_shift_come_after_and_coordinate_by_coordinate(draw):
    H, gain, shift, eps = draw().arguments()["layer_norm"]
    np.testing.assert_allclose(BOOK.layer_norm(H, gain, shift, eps), plain_norm(H, eps) * gain + shift, rtol=1e-13)


@pytest.mark.parametrize("c", [0.0, 0.1, 1 / 3, 1e8 + 0.1, -7e-9])
@pytest.mark.parametrize("d", [1, 3, 7, 10])
@pytest.mark.parametrize("eps", [0.0, 1e-300, 1e-5])
def test_a_constant_row_gives_the_shift(c, d, eps):
    shift = np.arange(d) + 0.5
    np.testing.assert_array_equal(BOOK.layer_norm(np.full((2, d), c), 3 * np.ones(d), shift, eps), [shift, shift])


def test_a_constant_row_beside_another_does_not_disturb_it():
    N = plain_norm([[5, 5], [1, 3]], 0)
    np.testing.assert_array_equal(N, [[0, 0], [-1, 1]])


def test_layer_norm_takes_one_vector_and_ignores_scale_and_offset_at_eps_0():
    x = np.array([0.3, -2.0, 5.0])
    np.testing.assert_allclose(plain_norm(1e-3 * x + 4, 0), plain_norm(x, 0), rtol=1e-9)


def test_layer_norm_does_not_hide_a_nan():
    assert np.isnan(plain_norm([[1.0, np.nan]], 0)).all()


def linear_network(H, W_1, b_1, W_2, b_2):
    return (H @ W_1 + b_1) @ W_2 + b_2


def test_without_the_relu_the_network_is_one_affine_map(draw):
    H, W_1, b_1, W_2, b_2 = draw().arguments()["feed_forward"]
    collapsed = H @ (W_1 @ W_2) + (b_1 @ W_2 + b_2)
    without = BOOK.replace(feed_forward=linear_network)
    np.testing.assert_allclose(without.feed_forward(H, W_1, b_1, W_2, b_2), collapsed, rtol=1e-12, atol=1e-12)
    assert np.abs(BOOK.feed_forward(H, W_1, b_1, W_2, b_2) - collapsed).max() > 0.1


def test_where_every_hidden_unit_is_on_the_relu_network_is_that_affine_map(draw):
    H, W_1, b_1, W_2, b_2 = draw().arguments()["feed_forward"]
    on = b_1 + 100
    collapsed = H @ (W_1 @ W_2) + (on @ W_2 + b_2)
    np.testing.assert_allclose(BOOK.feed_forward(H, W_1, on, W_2, b_2), collapsed, rtol=1e-12, atol=1e-10)


def test_an_affine_map_has_no_defect_and_the_relu_network_has_one(draw):
    H, *network = draw().arguments()["feed_forward"]
    x, y, zero = H[:1], H[1:2], np.zeros_like(H[:1])

    def defect(f):
        return np.abs(f(x + y, *network) - f(x, *network) - f(y, *network) + f(zero, *network)).max()

    assert defect(linear_network) < 1e-12
    assert defect(BOOK.feed_forward) > 0.1


def test_the_network_works_position_by_position(draw):
    H, *network = draw().arguments()["feed_forward"]
    together = BOOK.feed_forward(H, *network)
    one_by_one = np.concatenate([BOOK.feed_forward(H[t : t + 1], *network) for t in range(len(H))])
    np.testing.assert_allclose(together, one_by_one, rtol=1e-13, atol=1e-13)


def test_with_sublayers_that_give_zero_a_block_passes_the_stream_on(draw):
    H, block = draw().arguments()["decoder_block"]
    silent = {**block, "W_O": 0 * block["W_O"], "W_2": 0 * block["W_2"], "b_2": 0 * block["b_2"]}
    np.testing.assert_array_equal(BOOK.decoder_block(H, silent), H)


def test_heads_may_change_places_together_with_their_rows_of_W_O(draw, sizes):
    H, heads, W_O = draw(sizes(h=3)).arguments()["multi_head_attention"]
    order = [2, 0, 1]
    W_moved = np.concatenate([W_O.reshape(3, 3, 6)[i] for i in order])
    moved = BOOK.multi_head_attention(H, [heads[i] for i in order], W_moved)
    np.testing.assert_allclose(moved, BOOK.multi_head_attention(H, heads, W_O), rtol=1e-12, atol=1e-12)
    assert np.abs(BOOK.multi_head_attention(H, [heads[i] for i in order], W_O) - moved).max() > 0.1


def test_without_blocks_and_positions_the_decoder_reads_the_normed_embedding(draw, sizes):
    tokens, params = draw(sizes(L=0, positions=False)).arguments()["decoder"]
    N = BOOK.layer_norm(params["embedding"][tokens], params["norm_f"]["gain"], params["norm_f"]["shift"], params["eps"])
    np.testing.assert_allclose(BOOK.decoder(tokens, params), N @ params["W_out"] + params["b_out"], rtol=1e-12)
    with_none = BOOK.decoder(tokens, {**params, "positions": None})
    np.testing.assert_array_equal(with_none, BOOK.decoder(tokens, params))


def test_inputs_are_left_as_they_were(draw):
    for name, arguments in draw().arguments().items():
        getattr(BOOK, name)(*arguments)
        assert repr(arguments) == repr(draw().arguments()[name]), name


def test_lists_and_single_precision_become_double_precision(draw):
    H, *weights = draw().arguments()["attention_head"]
    O, A = BOOK.attention_head(H.tolist(), *(W.astype(np.float32) for W in weights))
    assert O.dtype == A.dtype == np.float64
