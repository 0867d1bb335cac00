# torch.nn.functional wherever there is something for it
import torch
import torch.nn.functional as F
from torch import Tensor

BACKEND = "torch"


def softmax(x: Tensor) -> Tensor:
    return F.softmax(x, dim=-1)


def attention_scores(Q: Tensor, K: Tensor) -> Tensor:
    scale = K.shape[1] ** -0.5
    return (Q * scale) @ K.mT


def causal_attention_weights(S: Tensor) -> Tensor:
    T = S.shape[0]
    mask = torch.full((T, T), float("-inf"), dtype=S.dtype).triu(1)
    return F.softmax(S + mask, dim=-1)


def attention_head(H: Tensor, W_Q: Tensor, W_K: Tensor, W_V: Tensor):
    Q = F.linear(H, W_Q.T)
    K = F.linear(H, W_K.T)
    V = F.linear(H, W_V.T)
    S = attention_scores(Q, K)
    A = causal_attention_weights(S)
    return torch.mm(A, V), A


def multi_head_attention(H: Tensor, heads, W_O: Tensor) -> Tensor:
    results = torch.stack([attention_head(H, *w)[0] for w in heads], dim=1)
    flat = results.flatten(start_dim=1)
    return F.linear(flat, W_O.T)


def layer_norm(H: Tensor, gain: Tensor, shift: Tensor, eps: float) -> Tensor:
    return F.layer_norm(H, (H.shape[-1],), gain, shift, eps)


def feed_forward(H, W_1, b_1, W_2, b_2):
    inner = F.relu(F.linear(H, W_1.T, b_1))
    return F.linear(inner, W_2.T, b_2)


def decoder_block(H: Tensor, block: dict) -> Tensor:
    first, second = block["norm_1"], block["norm_2"]
    attn_in = layer_norm(H, first["gain"], first["shift"], block["eps"])
    attn_out = multi_head_attention(attn_in, block["heads"], block["W_O"])
    H = H + attn_out
    ffn_in = layer_norm(H, second["gain"], second["shift"], block["eps"])
    ffn_out = feed_forward(ffn_in, block["W_1"], block["b_1"], block["W_2"], block["b_2"])
    return H + ffn_out


def decoder(tokens: Tensor, params: dict) -> Tensor:
    H = F.embedding(tokens, params["embedding"])
    positions = params.get("positions", None)
    if positions is not None:
        H = H + F.embedding(torch.arange(len(tokens)), positions)
    for layer in params["blocks"]:
        H = decoder_block(H, layer)
    f = params["norm_f"]
    H = layer_norm(H, f["gain"], f["shift"], params["eps"])
    return F.linear(H, params["W_out"].T, params["b_out"])


def next_token_probabilities(Z: Tensor) -> Tensor:
    return F.softmax(Z, dim=1)


def loss(Z: Tensor, targets: Tensor) -> Tensor:
    return F.cross_entropy(Z, targets)


def hand_calculation() -> dict:
    root = torch.tensor(2.0, dtype=torch.float64).sqrt()
    w = 1 / (1 + torch.exp(1 / root))
    A = torch.stack([torch.tensor([1.0, 0.0], dtype=torch.float64), torch.stack([w, 1 - w])])
    p_B = torch.sigmoid(2 * (1 - w))
    return {
        "w": w.item(),
        "A": A.tolist(),
        "H_prime": (torch.eye(2) + A).tolist(),
        "p_B": p_B.item(),
        "loss": -p_B.log().item(),
        "p_B_without_residual": torch.sigmoid(1 - 2 * w).item(),
        "A_first_value_zeroed": A.tolist(),
        "last_row_first_value_zeroed": [0.0, 2 - w.item()],
        "layer_norm_of_1_3": [-1.0, 1.0],
        "residual_of_1_3": [0.0, 4.0],
    }
