"""A decoder block as a torch module, and a temperature laboratory.

Shapes: B batch, T positions, d width, h heads. Batch comes first, then time, then width.

Masks: where you make one, True = may be consulted. Position t may consult every s <= t, itself included, so the mask is
torch.ones(T, T).tril().bool(). (torch.nn.MultiheadAttention means the opposite: there True = may NOT be consulted.)
"""

import torch
from torch import nn


class DecoderBlock(nn.Module):
    """Pre-norm: attention and a feed-forward, each reads the normalized stream, each is added to the stream.

    x (B, T, d) -> (B, T, d)
    U = x + attention(norm_1(x))            causal, with `heads` heads of width // heads
    y = U + feed_forward(norm_2(U))         a linear map, GELU or ReLU, a linear map

    Any parametrization will do: nn.MultiheadAttention, nn.functional.scaled_dot_product_attention or your own.
    A width that is not a multiple of heads raises an error.
    """

    def __init__(self, width=64, heads=4):
        super().__init__()
        raise NotImplementedError("step 1: make the two norms, attention's linear maps and the feed-forward's")

    def forward(self, x):
        raise NotImplementedError("step 2: attention with a causal mask, then the feed-forward, each added to the stream")


def temperature_lab(scores, temperature):
    """Softmax at a temperature, how uncertain it is, and its largest probability.

    scores (n), temperature a number -> dict: probabilities (n), entropy_bits a number, max_probability a number
    p = softmax(scores / temperature)
    entropy_bits = -sum_i p_i log2(p_i), where an entry of 0 counts as 0
    For [1.2, 0.3, -0.4, 1.8] at temperature 1: 0.2915, 0.1185, 0.0589, 0.5311; 1.61 bits; 0.5311.
    """
    raise NotImplementedError("step 3: divide the scores by the temperature first")
