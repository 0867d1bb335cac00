# .float() everywhere because double was slow on my GPU
import torch


def softmax(x):
    return torch.softmax(x.float(), dim=-1)


def attention_scores(Q, K):
    Q, K = Q.float(), K.float()
    return Q @ K.transpose(0, 1) / Q.shape[1] ** 0.5


def causal_attention_weights(S):
    T = S.shape[0]
    mask = torch.tril(torch.ones(T, T))
    return softmax(S.float().masked_fill(mask == 0, float("-inf")))


def attention_head(H, W_Q, W_K, W_V):
    H = H.float()
    A = causal_attention_weights(attention_scores(H @ W_Q.float(), H @ W_K.float()))
    return A @ (H @ W_V.float()), A


def multi_head_attention(H, heads, W_O):
    outs = torch.zeros(H.shape[0], 0)
    for head in heads:
        outs = torch.cat([outs, attention_head(H, head[0], head[1], head[2])[0]], 1)
    return outs @ W_O.float()


def layer_norm(H, gain, shift, eps):
    H = H.float()
    mean = H.mean(1, keepdim=True)
    var = H.var(1, keepdim=True, correction=0)
    return gain.float() * ((H - mean) / torch.sqrt(var + eps)) + shift.float()


def feed_forward(H, W_1, b_1, W_2, b_2):
    relu = torch.nn.ReLU()
    return relu(H.float() @ W_1.float() + b_1.float()) @ W_2.float() + b_2.float()


def decoder_block(H, block):
    H = H.float()
    n1, n2, eps = block["norm_1"], block["norm_2"], block["eps"]
    H = H + multi_head_attention(layer_norm(H, n1["gain"], n1["shift"], eps), block["heads"], block["W_O"])
    X = layer_norm(H, n2["gain"], n2["shift"], eps)
    return H + feed_forward(X, block["W_1"], block["b_1"], block["W_2"], block["b_2"])


def decoder(tokens, params):
    x = params["embedding"].float()[tokens]
    if "positions" in params:
        x = x + params["positions"].float()[: len(tokens)]
    for block in params["blocks"]:
        x = decoder_block(x, block)
    x = layer_norm(x, params["norm_f"]["gain"], params["norm_f"]["shift"], params["eps"])
    return x @ params["W_out"].float() + params["b_out"].float()


def next_token_probabilities(Z):
    return softmax(Z)


def loss(Z, targets):
    return torch.nn.CrossEntropyLoss()(Z.float(), targets)


def hand_calculation():
    I = torch.eye(2)
    O, A = attention_head(I, I, I, I)
    p = softmax(I + O)
    return {"w": A[1, 0], "A": A, "H_prime": I + O, "p_B": p[1, 1], "loss": -torch.log(p[1, 1]),
            "p_B_without_residual": softmax(O)[1, 1], "A_first_value_zeroed": A,
            "last_row_first_value_zeroed": torch.tensor([0.0, 2 - A[1, 0]]),
            "layer_norm_of_1_3": torch.tensor([-1.0, 1.0]), "residual_of_1_3": torch.tensor([0.0, 4.0])}
