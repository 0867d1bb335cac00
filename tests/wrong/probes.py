"""Knows generic inputs for every function of hand-decoder: pairwise distinct sizes, seeded, nothing at its default."""

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float64]]


Family = dict[str, list[tuple[Any, ...]]]


def probes(seed: int = 0, *, T: int = 5, d: int = 6, d_k: int = 2, d_v: int = 3, h: int = 3) -> Family:
    """Argument tuples by function name. m = 7, v = 11, 3 blocks, 8 position rows; h·d_v = 9 unless told otherwise."""
    rng = np.random.default_rng([seed, T, d, d_k, d_v, h])
    m, v, layers = 7, 11, 3

    def n(*shape: int) -> Array:
        return rng.normal(size=shape)

    def heads() -> list[tuple[Array, Array, Array]]:
        return [(n(d, d_k), n(d, d_k), n(d, d_v)) for _ in range(h)]

    def norm() -> dict[str, Array]:
        return {"gain": 1 + 0.5 * n(d), "shift": 0.5 * n(d)}

    def block(eps: float) -> dict[str, Any]:
        return {
            "norm_1": norm(), "norm_2": norm(), "heads": heads(), "W_O": n(h * d_v, d) / 2,
            "W_1": n(d, m) / 2, "b_1": n(m), "W_2": n(m, d) / 2, "b_2": n(d), "eps": eps,
        }  # fmt: skip

    def params(positions: bool) -> dict[str, Any]:
        place = {"positions": n(T + 3, d)} if positions else {}
        return {
            "embedding": n(v, d), **place, "blocks": [block(eps) for eps in (0.02, 0.05, 0.03)[:layers]],
            "norm_f": norm(), "W_out": n(d, v), "b_out": n(v), "eps": 0.1,
        }  # fmt: skip

    tokens = np.array([3, 0, 7, 3, 10, 1, 5][:T])
    S, Z, H = 2 * n(T, T), 2 * n(T, v), n(T, d)
    holes = n(T, T)
    holes[1, 0] = holes[4, 2] = -np.inf
    big = rng.choice([-1e4, 0.0, 1e4, 9990.0], size=(T, T))
    far = np.array([[-1e4, -1e4 + 1], [1e4, 1e4 - 1]])
    low = -2e4 + np.round(2 * S) / 2  # exact in float32 too
    low[np.triu_indices(T, 1)] = 0.0
    Z_big = Z.copy()
    Z_big[0] = 0.0
    Z_big[0, int(tokens[0])], Z_big[0, 1] = -3e3, 4e3
    return {
        "softmax": [(S,), (n(4),), (n(2, 3, 4),), (holes,), (big,), (far,)],
        "attention_scores": [(n(T, d_k), n(T, d_k)), (n(3, 4), n(T, 4)), (30 * n(T, d_k), 30 * n(T, d_k))],
        "causal_attention_weights": [(S,), (n(1, 1),), (holes,), (big,), (low,)],
        "attention_head": [(H, n(d, d_k), n(d, d_k), n(d, d_v)), (n(2, d), n(d, 3), n(d, 3), n(d, 4))],
        "multi_head_attention": [(H, heads(), n(h * d_v, d)), (n(4, d), heads()[:2], n(2 * d_v, d))],
        "layer_norm": [
            (H + 0.7, 1 + n(d), n(d), 0.1),
            (0.02 * n(3, d), 1 + n(d), n(d), 1e-3),
            (np.full((2, d), 1.5), 1 + n(d), n(d), 1e-5),
        ],
        "feed_forward": [(H, n(d, m), n(m), n(m, d), n(d)), (3 * n(2, d), n(d, m), n(m), n(m, d), n(d))],
        "decoder_block": [(H, block(0.1)), (0.1 * n(4, d), block(0.01))],
        "decoder": [(tokens, params(True)), (tokens[:4], params(False))],
        "next_token_probabilities": [(Z,), (Z_big,)],
        "loss": [(Z, tokens), (Z_big, tokens), (Z + 900, tokens), (Z[:1], tokens[:1])],
    }


# The second family has h·d_v = d, where a transposed or missing W_O has a fitting shape.
PROBES = (probes(0), probes(1, d_k=4, h=2))
