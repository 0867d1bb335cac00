"""A transformer decoder, by hand: twelve functions, each built from those before it.

Shapes: T positions, d width, d_k query and key width, d_v value width, h heads, m feed-forward width, v vocabulary.
One row is one position. Rows of S and A are the receiving positions t, columns the consulted positions s.

Masks: where you make one, True = may be consulted. Position t may consult every s <= t, itself included, so the mask
is np.tri(T, dtype=bool). (torch.nn.MultiheadAttention means the opposite: there True = may NOT be consulted.)

Arrays come as NumPy arrays, and as torch tensors where this file imports torch. A line BACKEND = "numpy" or
BACKEND = "torch" decides it whatever is imported.
Logarithms are natural. Leave the arguments as they are: make new arrays.
"""

import numpy as np


def softmax(x):
    """Positive weights that sum to 1, over the last axis; the largest entry comes off first, so that nothing overflows.

    x (T, n) -> (T, n)
    softmax(x)_i = exp(x_i - max x) / sum_j exp(x_j - max x)
    Entries up to 1e4 and entries of -inf give finite results.
    """
    raise NotImplementedError("step 1: exponentials of x - max x, divided by their sum along the last axis")


def attention_scores(Q, K):
    """How well each query fits each key, before any mask.

    Q (T_q, d_k), K (T_k, d_k) -> S (T_q, T_k)
    S = Q K^T / sqrt(d_k)
    """
    raise NotImplementedError("step 2: every query times every key, scaled by the root of the key width")


def causal_attention_weights(S):
    """Row t is the softmax over the positions s <= t; exactly 0 above the diagonal.

    S (T, T) -> A (T, T)
    A[t, s] = exp(S[t, s]) / sum_{r <= t} exp(S[t, r])  for s <= t, else 0
    """
    raise NotImplementedError("step 3: where the mask is False put -inf, then take the softmax of each row")


def attention_head(H, W_Q, W_K, W_V):
    """What each position retrieves, and with which weights. Two results.

    H (T, d), W_Q (d, d_k), W_K (d, d_k), W_V (d, d_v) -> O (T, d_v), A (T, T)
    Q = H W_Q, K = H W_K, V = H W_V, A = causal weights of the scores of Q and K, O = A V
    """
    raise NotImplementedError("step 4: queries, keys, values, weights; then return O, A")


def multi_head_attention(H, heads, W_O):
    """The heads' outputs side by side, in the order of the heads, times W_O.

    H (T, d), heads = sequence of (W_Q, W_K, W_V), W_O (h * d_v, d) -> (T, d)
    M = [O_1 ... O_h] W_O
    """
    raise NotImplementedError("step 5: one attention_head for each of the heads, joined along the last axis, times W_O")


def layer_norm(H, gain, shift, eps):
    """Each row by itself: its mean off, its spread to 1, then gain and shift coordinate by coordinate.

    H (T, d), gain (d,), shift (d,), eps a number -> (T, d)
    N = gain * (H - mean) / sqrt(variance + eps) + shift
    mean and variance over the d coordinates of each row; the variance divides by d.
    """
    raise NotImplementedError("step 6: mean and variance along the last axis, eps inside the root")


def feed_forward(H, W_1, b_1, W_2, b_2):
    """Two layers with a ReLU between them, the same for every position.

    H (T, d), W_1 (d, m), b_1 (m,), W_2 (m, d), b_2 (d,) -> (T, d)
    F = ReLU(H W_1 + b_1) W_2 + b_2,  ReLU(x) = max(x, 0)
    """
    raise NotImplementedError("step 7: first layer, ReLU, second layer")


def decoder_block(H, block):
    """One pre-norm block: attention and feed-forward, each on a normalized input, each added to what was there.

    H (T, d) -> (T, d)
    block: dict with norm_1 and norm_2 (each a dict gain, shift), heads, W_O, W_1, b_1, W_2, b_2, eps
    U = H + MHA(LN_1(H))
    H' = U + FF(LN_2(U))
    """
    raise NotImplementedError("step 8: attention with its residual, then feed-forward with its residual")


def decoder(tokens, params):
    """From token ids to logits: row t scores every token as the one that follows position t.

    tokens (T,) integers -> Z (T, v)
    params: dict with embedding (v, d), blocks (a list of dicts), norm_f (a dict gain, shift), W_out (d, v), b_out (v,),
            eps, and sometimes positions (T_max, d)
    H0 = embedding[tokens], plus positions[:T] when there are positions; then every block in turn
    Z = LN_f(H) W_out + b_out
    """
    raise NotImplementedError("step 9: embeddings, positions if any, blocks, final norm, readout")


def next_token_probabilities(Z):
    """Row t: the probability of each token to follow position t.

    Z (T, v) -> (T, v)
    p[t] = softmax(Z[t]) over the vocabulary
    """
    raise NotImplementedError("step 10: the softmax of each row of logits")


def loss(Z, targets):
    """The mean surprise, in nats, at the token that followed.

    Z (T, v), targets (T,) integers -> one number
    loss = mean over t of -ln p[t, targets[t]],  targets[t] is the token that follows position t
    Through the logarithm of the sum of exponentials it stays finite where a probability rounds to 0.
    """
    raise NotImplementedError("step 11: minus the log-probability of each target, averaged over the positions")


def hand_calculation():
    """The two-token example, computed: tokens A then B, H = Q = K = V = I (2, 2), d_k = 2, identity readout.

    No normalization, no feed-forward. Numbers need six significant digits or more, like 3.14159. -> dict with
    w                            the weight of B's position on A's
    A (2, 2), H_prime (2, 2)     attention weights; H + A V
    p_B                          the probability of B at the last position, logits = last row of H_prime
    loss                         -ln p_B
    p_B_without_residual         the same with logits = last row of A V
    A_first_value_zeroed (2, 2)  the weights when the first row of V is zero and the keys stay
    last_row_first_value_zeroed  (2,), the last row of H + A V then
    layer_norm_of_1_3            (2,), of (1, 3) with gain 1, shift 0, eps 0
    residual_of_1_3              (2,), (1, 3) + that
    """
    raise NotImplementedError("step 12: use your own functions, or the numbers from your sheet of paper")
