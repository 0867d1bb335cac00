# bmm over heads, and results are views of something larger
import torch


def softmax(x):
    return torch.softmax(x.transpose(0, -1), dim=0).transpose(0, -1)


def attention_scores(Q, K):
    return torch.einsum("sk,tk->st", K, Q).t() * Q.shape[1] ** -0.5


def causal_attention_weights(S):
    n = S.shape[0]
    later = torch.arange(n)[None, :] > torch.arange(n)[:, None]
    return softmax(S.masked_fill(later, -1e30).t().contiguous().t())


def attention_head(H, W_Q, W_K, W_V):
    A = causal_attention_weights(attention_scores(H @ W_Q, H @ W_K))
    return ((H @ W_V).t() @ A.t()).t(), A


def multi_head_attention(H, heads, W_O):
    W_Q, W_K, W_V = (torch.stack(w) for w in zip(*heads))  # (h, d, d_k)
    h, T = len(heads), H.shape[0]
    X = H.expand(h, *H.shape)
    Q, K, V = torch.bmm(X, W_Q), torch.bmm(X, W_K), torch.bmm(X, W_V)
    S = torch.baddbmm(X.new_zeros(h, T, T), Q, K.mT, alpha=Q.shape[-1] ** -0.5)
    later = torch.ones(T, T, dtype=torch.bool).triu(1)
    A = torch.softmax(S.masked_fill(later, -torch.inf), -1)
    joined = torch.bmm(A, V).permute(1, 0, 2).flatten(1)
    return (W_O.t() @ joined.t()).t()


def layer_norm(H, gain, shift, eps):
    c = H - H.mean(1, keepdim=True)
    n = c / (c.square().mean(1, keepdim=True) + eps).sqrt()
    return torch.cat([n * gain + shift, n], dim=1)[:, : H.shape[1]]


def feed_forward(H, W_1, b_1, W_2, b_2):
    return (W_2.t() @ (W_1.t() @ H.t() + b_1[:, None]).relu() + b_2[:, None]).t()


def decoder_block(H, block):
    for norm, layer in (
        ("norm_1", lambda x: multi_head_attention(x, block["heads"], block["W_O"])),
        ("norm_2", lambda x: feed_forward(x, block["W_1"], block["b_1"], block["W_2"], block["b_2"])),
    ):
        H = H + layer(layer_norm(H, block[norm]["gain"], block[norm]["shift"], block["eps"]))
    return H.t().contiguous().t()


def decoder(tokens, params):
    x = params["embedding"][tokens]
    if params.get("positions") is not None:
        x = x + params["positions"][: x.size(0)]
    for block in params["blocks"]:
        x = decoder_block(x, block)
    x = layer_norm(x, params["norm_f"]["gain"], params["norm_f"]["shift"], params["eps"])
    return (params["W_out"].t() @ x.t()).t() + params["b_out"]


def next_token_probabilities(Z):
    return softmax(Z)


def loss(Z, targets):
    return torch.nn.functional.nll_loss(torch.log_softmax(Z, 1), targets)


def hand_calculation():
    I = torch.eye(2, dtype=torch.float64)
    O, A = attention_head(I, I, I, I)
    Z = (I + O).t().contiguous().t()
    p = softmax(Z)[1, 1]
    return {"w": A[1, 0], "A": A, "H_prime": Z, "p_B": p, "loss": -p.log(), "p_B_without_residual": softmax(O)[1, 1],
            "A_first_value_zeroed": A, "last_row_first_value_zeroed": torch.stack([Z[0, 1], Z[1, 1]]),
            "layer_norm_of_1_3": torch.tensor([-1.0, 1.0]), "residual_of_1_3": torch.tensor([0.0, 4.0])}
