# Everything as einsum so that the indices can be read: t receives, s is consulted.
from numpy import arange, array, asarray, einsum, exp, eye, log, maximum, ones, sqrt, stack, triu

NEG = -1e30


def softmax(x):
    x = asarray(x)
    z = exp(x - x.max(-1)[..., None])
    return z / z.sum(-1)[..., None]


def attention_scores(Q, K):
    return einsum("tk,sk->ts", Q, K) * Q.shape[1] ** -0.5


def causal_attention_weights(S):
    n = len(S)
    future = triu(ones((n, n), S.dtype), 1)
    return softmax(S + NEG * future)


def attention_head(H, W_Q, W_K, W_V):
    q = einsum("td,dk->tk", H, W_Q)
    k = einsum("td,dk->tk", H, W_K)
    v = einsum("td,dv->tv", H, W_V)
    weights = causal_attention_weights(attention_scores(q, k))
    return einsum("ts,sv->tv", weights, v), weights


def multi_head_attention(H, heads, W_O):
    per_head = stack([attention_head(H, *head)[0] for head in heads])
    h, T, d_v = per_head.shape
    blocks = W_O.reshape(h, d_v, -1)
    return einsum("htv,hvd->td", per_head, blocks)


def layer_norm(H, gain, shift, eps):
    d = H.shape[-1]
    mu = einsum("td->t", H)[:, None] / d
    c = H - mu
    var = einsum("td,td->t", c, c)[:, None] / d
    return c / sqrt(var + eps) * gain + shift


def feed_forward(H, W_1, b_1, W_2, b_2):
    a = maximum(0, einsum("td,dm->tm", H, W_1) + b_1)
    return einsum("tm,md->td", a, W_2) + b_2


def norm_with(x, which, eps):
    return layer_norm(x, which["gain"], which["shift"], eps)


def decoder_block(H, block):
    a = norm_with(H, block["norm_1"], block["eps"])
    U = H + multi_head_attention(a, block["heads"], block["W_O"])
    b = norm_with(U, block["norm_2"], block["eps"])
    return U + feed_forward(b, *(block[name] for name in ("W_1", "b_1", "W_2", "b_2")))


def decoder(tokens, params):
    h = params["embedding"][tokens]
    p = params.get("positions")
    if p is not None:
        h = h + p[: len(tokens)]
    for b in params["blocks"]:
        h = decoder_block(h, b)
    h = norm_with(h, params["norm_f"], params["eps"])
    return einsum("td,dv->tv", h, params["W_out"]) + params["b_out"]


def next_token_probabilities(Z):
    return softmax(Z)


def loss(Z, targets):
    c = Z - Z.max(-1)[:, None]
    logp = c - log(exp(c).sum(-1))[:, None]
    return -logp[arange(len(targets)), targets].mean()


def hand_calculation():
    H = eye(2)
    A = causal_attention_weights(attention_scores(H, H))
    w = A[1, 0]
    H_prime = H + einsum("ts,sv->tv", A, H)
    p = softmax(H_prime)[1]
    V0 = array([[0.0, 0.0], [0.0, 1.0]])
    row = V0[1] + A[1] @ V0
    x = array([[1.0, 3.0]])
    n = layer_norm(x, ones(2), 0 * ones(2), 0.0)
    return dict(
        w=w,
        A=A,
        H_prime=H_prime,
        p_B=p[1],
        loss=-log(p[1]),
        p_B_without_residual=softmax(A @ H)[1, 1],
        A_first_value_zeroed=A,
        last_row_first_value_zeroed=row,
        layer_norm_of_1_3=n[0],
        residual_of_1_3=(x + n)[0],
    )
