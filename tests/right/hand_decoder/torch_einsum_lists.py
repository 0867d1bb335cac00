"""torch.einsum; attention_head gives a list [O, A] rather than a tuple."""
import torch
from torch import einsum


def softmax(x):
    top = torch.amax(x, dim=-1, keepdim=True).detach()  # a constant shift: no gradient is lost
    e = (x - top).exp()
    return e / e.sum(-1, keepdim=True)


def attention_scores(Q, K):
    return einsum("tk,sk->ts", Q, K).div(Q.shape[-1] ** 0.5)


def causal_attention_weights(S):
    T = S.shape[-1]
    bias = torch.zeros(T, T, dtype=S.dtype)
    bias[torch.triu_indices(T, T, 1).unbind()] = -1e9
    return softmax(S + bias)


def attention_head(H, W_Q, W_K, W_V):
    A = causal_attention_weights(attention_scores(einsum("td,dk->tk", H, W_Q), einsum("td,dk->tk", H, W_K)))
    return [einsum("ts,sd,dv->tv", A, H, W_V), A]


def multi_head_attention(H, heads, W_O):
    parts = torch.chunk(W_O, len(heads), dim=0)
    return torch.stack([einsum("tv,vd->td", attention_head(H, *w)[0], p) for w, p in zip(heads, parts)]).sum(0)


def layer_norm(H, gain, shift, eps):
    c = H - einsum("td->t", H).unsqueeze(1) / H.shape[1]
    var = einsum("td,td->t", c, c).unsqueeze(1) / H.shape[1]
    return einsum("td,d->td", c * (var + eps) ** -0.5, gain) + shift


def feed_forward(H, W_1, b_1, W_2, b_2):
    z = einsum("td,dm->tm", H, W_1) + b_1
    return einsum("tm,md->td", z * (z > 0), W_2) + b_2


def decoder_block(H, block):
    U = H + multi_head_attention(layer_norm(H, eps=block["eps"], **block["norm_1"]), block["heads"], block["W_O"])
    return U + feed_forward(layer_norm(U, eps=block["eps"], **block["norm_2"]), *[block[k] for k in "W_1 b_1 W_2 b_2".split()])


def decoder(tokens, params):
    one_hot = torch.nn.functional.one_hot(tokens, params["embedding"].shape[0]).to(params["embedding"].dtype)
    x = one_hot @ params["embedding"]
    if "positions" in params:
        x = x + params["positions"][: tokens.numel()]
    for block in params["blocks"]:
        x = decoder_block(x, block)
    x = layer_norm(x, params["norm_f"]["gain"], params["norm_f"]["shift"], params["eps"])
    return einsum("td,dv->tv", x, params["W_out"]) + params["b_out"]


def next_token_probabilities(Z):
    return softmax(Z)


def loss(Z, targets):
    picked = Z[torch.arange(len(Z)), targets]
    return (Z.logsumexp(-1) - picked).sum() / len(Z)


def hand_calculation():
    I = torch.eye(2, dtype=torch.float64)
    O, A = attention_head(I, I, I, I)
    V = I.clone()
    V[0, 0] = 0
    Z = I + O
    return {"w": A[1, 0], "A": A, "H_prime": Z, "p_B": softmax(Z)[1, 1], "loss": loss(Z[1:], torch.tensor([1])),
            "p_B_without_residual": softmax(O)[1, 1], "A_first_value_zeroed": A, "last_row_first_value_zeroed": (V + A @ V)[1],
            "layer_norm_of_1_3": torch.tensor([-1.0, 1.0]), "residual_of_1_3": torch.tensor([0.0, 4.0])}
