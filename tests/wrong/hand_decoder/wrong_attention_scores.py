"""Wrong attention scores: scale, sides, and steps that belong later."""

from tests.wrong.hand_decoder.model import C, E, F, L, P, Q, V, mistake

PART = "attention_scores"
V_OUT = "return Q @ K.T / math.sqrt(d_k)"
E_OUT = 'return einsum("tk,sk->ts", Q, K) * Q.shape[1] ** -0.5'
Q_OUT = "return np.matmul(Q, np.swapaxes(K, -1, -2)) / float(K.shape[-1]) ** 0.5"
L_OUT = "S[t, s] = total / np.sqrt(d_k)"
C_OUT = "return Q @ K.T * Q.shape[-1] ** -0.5"
P_OUT = "return torch.matmul(Q, K.transpose(-2, -1)) / math.sqrt(Q.size(-1))"
F_SCALE, F_OUT = "scale = K.shape[1] ** -0.5", "return (Q * scale) @ K.mT"

WRONG = [
    *mistake("scale-missing", "att-noscale", PART, {
        V: ((V_OUT, "return Q @ K.T"),),
        E: ((E_OUT, 'return einsum("tk,sk->ts", Q, K)'),),
        L: ((L_OUT, "S[t, s] = total"),),
        P: ((P_OUT, "return torch.matmul(Q, K.transpose(-2, -1))"),),
    }, misconception="no-scale"),
    *mistake("scale-multiplied", "att-scale-mul", PART, {
        V: ((V_OUT, "return Q @ K.T * math.sqrt(d_k)"),),
        F: ((F_SCALE, "scale = K.shape[1] ** 0.5"),),
    }),
    *mistake("scale-by-d-k", "att-scale-dk", PART, {
        V: ((V_OUT, "return Q @ K.T / d_k"),),
        C: ((C_OUT, "return Q @ K.T / Q.shape[-1]"),),
        P: ((P_OUT, "return torch.matmul(Q, K.transpose(-2, -1)) / Q.size(-1)"),),
    }, misconception="scale-by-width"),
    *mistake("scale-twice", "att-scale-twice", PART, {
        E: ((E_OUT, 'q = Q * Q.shape[1] ** -0.5\n    return einsum("tk,sk->ts", q, K) * Q.shape[1] ** -0.5'),),
        F: ((F_OUT, "return (Q * scale) @ (K * scale).mT"),),
    }, misconception="scale-by-width", note="1/sqrt(d_k) twice is 1/d_k"),
    *mistake("scale-by-length", "own-scale-by-length", PART, {
        V: (("d_k = Q.shape[-1]", "d_k = Q.shape[0]"),),
        P: ((P_OUT, "return torch.matmul(Q, K.transpose(-2, -1)) / math.sqrt(len(Q))"),),
    }, misconception="scale-by-query-count", note="sqrt of the number of queries"),
    *mistake("scale-by-key-count", "own-scale-by-key-count", PART, {
        Q: ((Q_OUT, "return np.matmul(Q, np.swapaxes(K, -1, -2)) / float(K.shape[0]) ** 0.5"),),
        F: ((F_SCALE, "scale = K.shape[0] ** -0.5"),),
    }, note="sqrt of the number of keys; the same as scale-by-length where T_q = T_k"),
    *mistake("scale-fourth-root", "own-scale-fourth-root", PART, {
        V: ((V_OUT, "return (Q / d_k ** 0.25) @ K.T"),),
        P: ((P_OUT, "return torch.matmul(Q, K.transpose(-2, -1)) / math.sqrt(math.sqrt(Q.size(-1)))"),),
    }, misconception="scale-by-fourth-root"),
    *mistake("scale-fixed-at-8", "own-scale-fixed", PART, {
        V: ((V_OUT, "return Q @ K.T / math.sqrt(64)"),),
        F: ((F_SCALE, "scale = 0.125"),),
    }, note="d_k = 64 of the paper"),
    *mistake("scores-keys-with-keys", "own-k-for-q", PART, {
        V: ((V_OUT, "return K @ K.T / math.sqrt(d_k)"),),
    }, misconception="keys-for-queries", note="shape differs where T_q != T_k"),
    *mistake("scores-queries-with-queries", "att-k-is-q", PART, {
        L: (("total += Q[t, i] * K[s, i]", "total += Q[t, i] * Q[s, i]"),),
        P: ((P_OUT, "return torch.matmul(Q, Q.transpose(-2, -1)) / math.sqrt(Q.size(-1))"),),
    }, misconception="queries-for-keys", note="shape or index fails where T_q != T_k"),
    *mistake("scores-transposed", "mh-qk-swap", PART, {
        V: ((V_OUT, "return K @ Q.T / math.sqrt(d_k)"),),
        E: ((E_OUT, 'return einsum("tk,sk->st", Q, K) * Q.shape[1] ** -0.5'),),
        F: ((F_OUT, "return K @ (Q * scale).mT"),),
    }),
    *mistake("scores-negated", "own-scores-negated", PART, {
        V: ((V_OUT, "return -Q @ K.T / math.sqrt(d_k)"),),
        F: ((F_SCALE, "scale = -K.shape[1] ** -0.5"),),
    }),
    *mistake("scores-cosine", "own-scores-cosine", PART, {
        V: ((V_OUT, "q = Q / np.linalg.norm(Q, axis=1, keepdims=True)\n    k = K / np.linalg.norm(K, axis=1, keepdims=True)\n    return q @ k.T"),),
        F: ((F_OUT, "return F.normalize(Q, dim=1) @ F.normalize(K, dim=1).mT"),),
    }, misconception=("cosine-scores", "no-scale")),
    *mistake("scores-cosine-scaled", "own-scores-cosine-scaled", PART, {
        P: ((P_OUT, "Q = Q / Q.norm(dim=-1, keepdim=True)\n    K = K / K.norm(dim=-1, keepdim=True)\n    " + P_OUT),),
    }, misconception="cosine-scores", note="unit vectors, then also 1/sqrt(d_k)"),
    *mistake("scores-already-softmaxed", "own-scores-softmaxed", PART, {
        V: ((V_OUT, "return softmax(Q @ K.T / math.sqrt(d_k))"),),
        P: ((P_OUT, "return softmax(torch.matmul(Q, K.transpose(-2, -1)) / math.sqrt(Q.size(-1)))"),),
    }, misconception="scores-already-weights"),
    *mistake("scores-already-masked", "own-scores-masked", PART, {
        V: ((V_OUT, "S = Q @ K.T / math.sqrt(d_k)\n    return np.where(np.tri(*S.shape) > 0, S, -np.inf)"),),
        P: ((P_OUT, "S = torch.matmul(Q, K.transpose(-2, -1)) / math.sqrt(Q.size(-1))\n    return S.masked_fill(torch.ones_like(S).triu(1).bool(), float('-inf'))"),),
    }, note="the contract asks for unmasked scores; the weights still come out right"),
    *mistake("scores-integers", "own-integers", PART, {
        V: ((V_OUT, "return (Q @ K.T / math.sqrt(d_k)).astype(int)"),),
        L: (("S = np.zeros((T_q, T_k), dtype=Q.dtype)", "S = np.zeros((T_q, T_k), dtype=int)"),),
    }, misconception="results-integer", how="dtype"),
    *mistake("scores-halved-width", "own-float16", PART, {
        V: ((V_OUT, "return (Q.astype(np.float16) @ K.T.astype(np.float16) / math.sqrt(d_k)).astype(Q.dtype)"),),
        P: ((P_OUT, "return (torch.matmul(Q.half(), K.half().transpose(-2, -1)) / math.sqrt(Q.size(-1))).to(Q.dtype)"),),
    }, misconception="half-precision", note="computed in float16: 1e-3 off"),
    *mistake("scores-detached", "detach-in-forward", PART, {
        P: ((P_OUT, "return torch.matmul(Q, K.detach().transpose(-2, -1)) / math.sqrt(Q.size(-1))"),),
        F: ((F_OUT, "return torch.tensor((Q * scale) @ K.mT)"),),
    }, misconception={P: "argument-detached", F: "no-gradient"}, how="gradient"),
    *mistake("scores-change-q", "blk-inplace", PART, {
        V: ((V_OUT, "Q /= math.sqrt(d_k)\n    return Q @ K.T"),),
        F: ((F_OUT, "return Q.mul_(scale) @ K.mT"),),
    }, misconception="argument-changed", how="mutation"),
    *mistake("scores-raise", "own-exception", PART, {
        V: ((V_OUT, "return Q @ K / math.sqrt(d_k)"),),
        P: ((P_OUT, "return torch.matmul(Q, K) / math.sqrt(Q.size(-1))"),),
    }, misconception=None, how="exception", note="K not transposed"),
]  # fmt: skip
