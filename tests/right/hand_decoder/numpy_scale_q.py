'''Scales q only (before the product). Type hints because our tutor likes them.'''
from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.floating]


def softmax(x: Array) -> Array:
    e = np.exp(np.subtract(x, np.max(x, axis=-1, keepdims=True)))
    return np.divide(e, np.add.reduce(e, axis=-1, keepdims=True))


def attention_scores(Q: Array, K: Array) -> Array:
    Q = Q * (1.0 / Q.shape[-1] ** 0.5)
    return Q @ K.T


def causal_attention_weights(S: Array) -> Array:
    T = len(S)
    S = S.copy()
    S[np.triu_indices(T, k=1)] = -np.inf
    return softmax(S)


def attention_head(H: Array, W_Q: Array, W_K: Array, W_V: Array) -> tuple[Array, Array]:
    A = causal_attention_weights(attention_scores(H @ W_Q, H @ W_K))
    return A @ (H @ W_V), A


def multi_head_attention(H: Array, heads: Sequence[tuple[Array, Array, Array]], W_O: Array) -> Array:
    T, d_v = len(H), heads[0][2].shape[1]
    joined = np.empty((T, d_v * len(heads)), dtype=H.dtype)
    for i, head in enumerate(heads):
        joined[:, i * d_v : (i + 1) * d_v] = attention_head(H, *head)[0]
    return joined @ W_O


def layer_norm(H: Array, gain: Array, shift: Array, eps: float) -> Array:
    H = H - np.average(H, axis=-1)[:, None]
    return H / np.sqrt(np.average(H**2, axis=-1)[:, None] + eps) * gain + shift


def feed_forward(H: Array, W_1: Array, b_1: Array, W_2: Array, b_2: Array) -> Array:
    return np.fmax(0, H @ W_1 + b_1) @ W_2 + b_2


def decoder_block(H: Array, block: Mapping) -> Array:
    match block:
        case {"norm_1": n_1, "norm_2": n_2, "heads": heads, "W_O": W_O, "eps": eps}:
            U = H + multi_head_attention(layer_norm(H, n_1["gain"], n_1["shift"], eps), heads, W_O)
            X = layer_norm(U, n_2["gain"], n_2["shift"], eps)
            return U + feed_forward(X, block["W_1"], block["b_1"], block["W_2"], block["b_2"])
        case _:
            raise ValueError("not a block")


def decoder(tokens: npt.NDArray[np.integer], params: Mapping) -> Array:
    H: Array = params["embedding"][tokens]
    try:
        H = H + params["positions"][: len(tokens)]
    except KeyError:
        pass
    for block in params["blocks"]:
        H = decoder_block(H, block)
    H = layer_norm(H, params["norm_f"]["gain"], params["norm_f"]["shift"], params["eps"])
    return H @ params["W_out"] + params["b_out"]


def next_token_probabilities(Z: Array) -> Array:
    return softmax(Z)


def loss(Z: Array, targets: npt.NDArray[np.integer]) -> float:
    log_p = Z - np.logaddexp.reduce(Z, axis=1, keepdims=True)
    return float(np.average(-log_p[range(len(targets)), targets]))


def hand_calculation() -> dict[str, object]:
    w = float(1 / (1 + np.exp(np.sqrt(0.5))))
    p_B = float(1 / (1 + np.exp(-2 * (1 - w))))
    return {
        "w": w, "A": [[1.0, 0.0], [w, 1 - w]], "H_prime": [[2.0, 0.0], [w, 2 - w]], "p_B": p_B,
        "loss": float(-np.log(p_B)), "p_B_without_residual": float(1 / (1 + np.exp(2 * w - 1))),
        "A_first_value_zeroed": [[1.0, 0.0], [w, 1 - w]], "last_row_first_value_zeroed": [0.0, 2 - w],
        "layer_norm_of_1_3": [-1.0, 1.0], "residual_of_1_3": [0.0, 4.0],
    }
