import numpy as np

def softmax(x):
    ex = np.exp(x - np.amax(x, axis=-1, keepdims=True))
    return ex / np.sum(ex, axis=-1, keepdims=True)

def attention_scores(Q, K):
    return np.dot(Q, np.transpose(K)) / (Q.shape[1]**0.5)

def causal_attention_weights(S):
    T = S.shape[0]
    mask = (1 - np.tri(T, dtype=S.dtype)) * -1e9   # -1e9 in the future, 0 elsewhere
    return softmax(S + mask)

def attention_head(H, W_Q, W_K, W_V):
    A = causal_attention_weights(attention_scores(np.dot(H, W_Q), np.dot(H, W_K)))
    return (np.dot(A, np.dot(H, W_V)), A)

def multi_head_attention(H, heads, W_O):
    return np.dot(np.hstack([attention_head(H, q, k, v)[0] for (q, k, v) in heads]), W_O)

def layer_norm(H, gain, shift, eps):
    mean = np.mean(H, 1).reshape(-1, 1)
    var = np.var(H, 1).reshape(-1, 1)
    return (H - mean) / np.sqrt(var + eps) * gain + shift

def relu(x):
    return np.where(x > 0, x, 0)

def feed_forward(H, W_1, b_1, W_2, b_2):
    return np.dot(relu(np.dot(H, W_1) + b_1), W_2) + b_2

def decoder_block(H, block):
    x = H.copy()      # my own copy, so that += is safe
    x += multi_head_attention(layer_norm(x, eps=block["eps"], **block["norm_1"]), block["heads"], block["W_O"])
    x += feed_forward(layer_norm(x, eps=block["eps"], **block["norm_2"]),
                      block["W_1"], block["b_1"], block["W_2"], block["b_2"])
    return x

def decoder(tokens, params):
    x = params["embedding"][tokens]
    if params.get("positions") is not None:
        x += params["positions"][:len(tokens)]     # indexing with an array made a copy
    for block in params["blocks"]:
        x = decoder_block(x, block)
    x = layer_norm(x, eps=params["eps"], **params["norm_f"])
    return np.dot(x, params["W_out"]) + params["b_out"]

def next_token_probabilities(Z):
    return softmax(Z)

def loss(Z, targets):
    Z = Z - np.amax(Z, axis=1, keepdims=True)
    nll = [np.log(np.sum(np.exp(Z[t]))) - Z[t, targets[t]] for t in range(len(targets))]
    return sum(nll) / len(nll)

def hand_calculation():
    w = 1/(1 + np.exp(2**-0.5))
    p = 1/(1 + np.exp(-2*(1 - w)))
    return {"w": w, "A": np.array([[1, 0], [w, 1 - w]]), "H_prime": np.array([[2, 0], [w, 2 - w]]),
            "p_B": p, "loss": -np.log(p), "p_B_without_residual": 1/(1 + np.exp(2*w - 1)),
            "A_first_value_zeroed": np.array([[1, 0], [w, 1 - w]]), "last_row_first_value_zeroed": np.array([0, 2 - w]),
            "layer_norm_of_1_3": np.array([-1, 1]), "residual_of_1_3": np.array([0, 4])}
