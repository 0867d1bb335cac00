"""The attention half, imported by decoder.py."""
import numpy as np


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def attention_scores(Q, K):
    return Q @ K.T / Q.shape[-1] ** 0.5


def causal_attention_weights(S):
    return softmax(np.where(np.tri(len(S), dtype=bool), S, -np.inf))


def attention_head(H, W_Q, W_K, W_V):
    A = causal_attention_weights(attention_scores(H @ W_Q, H @ W_K))
    return A @ (H @ W_V), A


def multi_head_attention(H, heads, W_O):
    return np.concatenate([attention_head(H, *w)[0] for w in heads], axis=-1) @ W_O
