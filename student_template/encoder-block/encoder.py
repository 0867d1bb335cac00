"""The layers of the original transformer, by hand: eight functions, each built from those before it.

Shapes: T positions, n positions of the memory, d width, d_k query and key width, d_v value width, h heads,
m feed-forward width. One row is one position. Rows of A are the receiving positions, columns the consulted ones.

Masks: True = may be consulted. A mask is an array of booleans, or None: then everything may be consulted. Where a mask
allows nothing, the row retrieves zeros, never NaN. (torch.nn.MultiheadAttention means the opposite: there True = may
NOT be consulted. torch's scaled_dot_product_attention means the same as here.)

Post-norm: a sublayer's result is added to what the sublayer read, then the sum is normalized.

Arrays come as NumPy arrays, and as torch tensors where this file imports torch. A line BACKEND = "numpy" or
BACKEND = "torch" decides it whatever is imported.
Leave the arguments as they are: make new arrays.
"""

import numpy as np


def attention(Q, K, V, mask=None):
    """What each query retrieves from the values, and with which weights. Two results.

    Q (T_q, d_k), K (T_k, d_k), V (T_k, d_v), mask (T_q, T_k) or None -> O (T_q, d_v), A (T_q, T_k)
    S = Q K^T / sqrt(d_k)
    A[t, s] = exp(S[t, s]) / sum over the allowed r of exp(S[t, r])  where mask[t, s] is True, else 0
    O = A V;  a row whose mask allows nothing is zero in A and in O
    """
    raise NotImplementedError("step 1: scores, mask, softmax of each row, weighted sum of the values; return O, A")


def multi_head(X_q, X_kv, heads, W_O, mask=None):
    """Several heads side by side, in their order, times W_O: queries from X_q, keys and values from X_kv.

    X_q (T_q, d), X_kv (T_k, d), heads = sequence of (W_Q, W_K, W_V), W_O (h * d_v, d), mask (T_q, T_k) or None -> (T_q, d)
    O_i = attention(X_q W_Q, X_kv W_K, X_kv W_V, mask),  M = [O_1 ... O_h] W_O
    """
    raise NotImplementedError("step 2: one attention for each of the heads, joined along the last axis, times W_O")


def layer_norm(z, gain, shift, eps):
    """Each row by itself: mean 0, variance 1, then gain and shift for each coordinate.

    z (T, d), gain (d,), shift (d,), eps a number -> (T, d)
    LN(z) = gain * (z - mean) / sqrt(variance + eps) + shift,  variance = mean of (z - mean)^2 over the coordinates
    """
    raise NotImplementedError("step 3: mean and variance over the last axis, eps inside the root")


def ffn(u, W_1, b_1, W_2, b_2):
    """Two layers with a ReLU between them, the same for every position.

    u (T, d), W_1 (d, m), b_1 (m,), W_2 (m, d), b_2 (d,) -> (T, d)
    FFN(u) = ReLU(u W_1 + b_1) W_2 + b_2,  ReLU(x) = max(x, 0)
    """
    raise NotImplementedError("step 4: first layer, ReLU, second layer")


def encoder_block(X, params, padding_mask=None):
    """One post-norm encoder block; every position may consult every position that is not padding.

    X (T, d), padding_mask (T,) or None: padding_mask[s] says whether position s may be consulted -> (T, d)
    params: dict with self_heads, self_W_O, norm_1, W_1, b_1, W_2, b_2, norm_2 (norms: dicts gain, shift), eps
    U = LN_1(X + MHA(X, X))
    Y = LN_2(U + FFN(U))
    """
    raise NotImplementedError("step 5: attention, add, normalize; feed-forward, add, normalize")


def cross_attention(X, memory, heads, W_O, memory_mask=None):
    """The decoder's look at the encoder's output: queries from X, keys and values from the memory, no causal mask.

    X (T, d), memory (n, d), heads and W_O as in multi_head -> (T, d)
    memory_mask (n,) or None: memory_mask[s] says whether memory position s may be consulted
    """
    raise NotImplementedError("step 6: multi_head with two different inputs, and the same mask for every query")


def decoder_layer(X, memory, params, memory_mask=None):
    """One post-norm decoder layer; position t consults the positions s <= t, itself included, and all of the memory.

    X (T, d), memory (n, d), memory_mask (n,) or None -> (T, d)
    params: those of encoder_block, and cross_heads, cross_W_O, norm_cross
    U = LN_1(X + MHA(X, X) over s <= t)
    C = LN_cross(U + CA(U, memory))
    Y = LN_2(C + FFN(C))
    """
    raise NotImplementedError("step 7: causal attention, cross-attention, feed-forward; after each add, then normalize")


def shift_targets(tokens):
    """What the decoder reads, and what it is to predict: the target at t is the token that follows input t. Two results.

    tokens (T + 1,) integers -> inputs (T,), targets (T,)
    inputs = tokens[:-1], targets = tokens[1:]
    """
    raise NotImplementedError("step 8: all tokens but the last, all tokens but the first")
