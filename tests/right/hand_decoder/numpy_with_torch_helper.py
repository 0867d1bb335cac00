"""NumPy decoder; torch is imported only to compare with it at home."""
import numpy as np
import torch

BACKEND = "numpy"


def difference_to_torch(H, gain, shift, eps):
    ours = torch.from_numpy(layer_norm(H, gain, shift, eps))
    theirs = torch.nn.functional.layer_norm(
        torch.from_numpy(H), (H.shape[1],), torch.from_numpy(gain), torch.from_numpy(shift), eps
    )
    return (ours - theirs).abs().max().item()


def softmax(x):
    e = np.exp(x - x.max(axis=-1)[..., np.newaxis])
    return e / e.sum(axis=-1)[..., np.newaxis]


def attention_scores(Q, K):
    return np.tensordot(Q, K, axes=(1, 1)) / Q.shape[1] ** 0.5


def causal_attention_weights(S):
    future = ~np.tri(S.shape[0], dtype=bool)
    S = S.copy()
    np.putmask(S, future, -np.inf)
    return softmax(S)


def attention_head(H, W_Q, W_K, W_V):
    A = causal_attention_weights(attention_scores(H @ W_Q, H @ W_K))
    return A @ H @ W_V, A


def multi_head_attention(H, heads, W_O):
    return np.block([[attention_head(H, *w)[0] for w in heads]]) @ W_O


def layer_norm(H, gain, shift, eps):
    mean, std = H.mean(1)[:, None], (H.var(1) + eps)[:, None] ** 0.5
    return gain * ((H - mean) / std) + shift


def feed_forward(H, W_1, b_1, W_2, b_2):
    z = H @ W_1 + b_1
    np.clip(z, 0, None, out=z)
    return z @ W_2 + b_2


def decoder_block(H, block):
    norms = [lambda x, n=block[k]: layer_norm(x, n["gain"], n["shift"], block["eps"]) for k in ("norm_1", "norm_2")]
    H = H + multi_head_attention(norms[0](H), block["heads"], block["W_O"])
    return H + feed_forward(norms[1](H), block["W_1"], block["b_1"], block["W_2"], block["b_2"])


def decoder(tokens, params):
    H = params["embedding"].take(tokens, axis=0)
    if "positions" in params:
        H += params["positions"][: len(tokens)]
    for block in params["blocks"]:
        H = decoder_block(H, block)
    H = layer_norm(H, params["norm_f"]["gain"], params["norm_f"]["shift"], params["eps"])
    return H @ params["W_out"] + params["b_out"]


def next_token_probabilities(Z):
    return softmax(Z)


def loss(Z, targets):
    log_p = Z - np.logaddexp.reduce(Z, axis=-1)[:, None]
    return -np.mean(np.choose(targets, log_p.T))


def hand_calculation():
    w = 1 / (1 + np.exp(1 / np.sqrt(2)))
    A = np.array([[1, 0], [w, 1 - w]])
    p = 1 / (1 + np.exp(-2 * (1 - w)))
    return dict(w=w, A=A, H_prime=np.eye(2) + A, p_B=p, loss=-np.log(p), p_B_without_residual=1 / (1 + np.exp(2 * w - 1)),
                A_first_value_zeroed=A, last_row_first_value_zeroed=np.array([0, 2 - w]),
                layer_norm_of_1_3=np.array([-1, 1]), residual_of_1_3=np.array([0, 4]))
