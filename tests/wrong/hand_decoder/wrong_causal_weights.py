"""Wrong causal weights: which entries are hidden, with what, when, and over which axis they are normalised."""

from tests.wrong.hand_decoder.model import C, E, F, L, P, Q, V, mistake

PART = "causal_attention_weights"
V_MASK = "allowed = np.tril(np.ones((T, T), dtype=bool))"
V_FILL = "masked = np.where(allowed, S, -np.inf)"
V_OUT = "return softmax(masked)"
E_MASK, E_OUT = "future = triu(ones((n, n), S.dtype), 1)", "return softmax(S + NEG * future)"
Q_OUT = "return softmax(np.where(cols > rows, -np.inf, S))"
L_ROW = "A[t, : t + 1] = softmax(S[t, : t + 1])"
C_OUT = "return softmax(np.where(np.tri(*S.shape, dtype=bool), S, -np.inf))"
P_MASK = "future = torch.triu(torch.ones(T, T, dtype=torch.bool, device=S.device), diagonal=1)"
P_FILL = 'S = S.masked_fill(future, float("-inf"))'
P_OUT = "    return softmax(S)\n"
F_MASK = 'mask = torch.full((T, T), float("-inf"), dtype=S.dtype).triu(1)'
F_OUT = "return F.softmax(S + mask, dim=-1)"

WRONG = [
    *mistake("mask-missing", "mask-missing", PART, {
        V: ((V_OUT, "return softmax(S)"),),
        E: ((E_OUT, "return softmax(S)"),),
        Q: ((Q_OUT, "return softmax(S)"),),
        P: ((P_FILL, "S.masked_fill(future, float('-inf'))"),),
        F: ((F_OUT, "return F.softmax(S, dim=-1)"),),
    }, note="in torch_plain the result of masked_fill is dropped"),
    *mistake("mask-inverted", "mask-inverted", PART, {
        V: ((V_FILL, "masked = np.where(allowed, -np.inf, S)"),),
        P: ((P_FILL, 'S = S.masked_fill(~future, float("-inf"))'),),
    }, note="only the future is seen; the last row is NaN"),
    *mistake("mask-inverted-finite", "mask-inverted", PART, {
        E: ((E_OUT, "return softmax(S + NEG * (1 - future))"),),
    }, misconception="mask-inverted-finite", note="as mask-inverted, but finite: the last row is uniform"),
    *mistake("mask-transposed", "mask-transposed", PART, {
        V: ((V_MASK, "allowed = np.triu(np.ones((T, T), dtype=bool))"),),
        Q: ((Q_OUT, "return softmax(np.where(rows > cols, -np.inf, S))"),),
        F: ((F_MASK, 'mask = torch.full((T, T), float("-inf"), dtype=S.dtype).tril(-1)'),),
    }),
    *mistake("mask-strict", "mask-strict", PART, {
        V: ((V_MASK, "allowed = np.tril(np.ones((T, T), dtype=bool), -1)"),),
        P: ((P_MASK, "future = torch.triu(torch.ones(T, T, dtype=torch.bool, device=S.device), diagonal=0)"),),
    }, note="row 0 sees nothing: NaN"),
    *mistake("mask-strict-finite", "mask-strict", PART, {
        E: ((E_MASK, "future = triu(ones((n, n), S.dtype), 0)"),),
        L: ((L_ROW, "if t > 0:\n            A[t, :t] = softmax(S[t, :t])"),),
    }, misconception={E: "mask-strict-finite", L: "mask-strict-zero"}, note="as mask-strict; row 0 is uniform, or zero in the loops"),
    *mistake("mask-peeks-one", "mask-peek1", PART, {
        V: ((V_MASK, "allowed = np.tril(np.ones((T, T), dtype=bool), 1)"),),
        P: ((P_MASK, "future = torch.triu(torch.ones(T, T, dtype=torch.bool, device=S.device), diagonal=2)"),),
        F: ((F_MASK, 'mask = torch.full((T, T), float("-inf"), dtype=S.dtype).triu(2)'),),
    }, misconception="mask-one-ahead"),
    *mistake("mask-filled-with-zero", "mask-mul", PART, {
        V: ((V_FILL, "masked = np.where(allowed, S, 0)"),),
        P: ((P_FILL, "S = S.masked_fill(future, 0.0)"),),
        C: ((C_OUT, "return softmax(S * np.tri(*S.shape))"),),
    }, misconception="mask-multiplied"),
    *mistake("mask-filled-with-1e-9", "own-mask-sign-of-exponent", PART, {
        V: ((V_FILL, "masked = np.where(allowed, S, 1e-9)"),),
        P: ((P_FILL, "S = S.masked_fill(future, 1e-9)"),),
    }, misconception="mask-multiplied", note="1e-9 for -1e9: equal to a zero fill up to 1e-9"),
    *mistake("mask-filled-with-1e9", "own-mask-sign", PART, {
        V: ((V_FILL, "masked = np.where(allowed, S, 1e9)"),),
        F: ((F_MASK, "mask = torch.full((T, T), 1e30, dtype=S.dtype).triu(1)"),),
    }, misconception="mask-fill-plus-1e9", note="the sign lost: all weight on the future, the last row is right"),
    *mistake("mask-filled-with-minus-one", "own-mask-minus-one", PART, {
        V: ((V_FILL, "masked = np.where(allowed, S, -1)"),),
        P: ((P_FILL, "S = S.masked_fill(future, -1.0)"),),
    }, misconception="mask-fill-1"),
    *mistake("mask-added-as-number", "own-mask-added", PART, {
        V: ((V_FILL, "masked = S + allowed"),),
        P: ((P_FILL, "S = S + (~future)"),),
    }, misconception="mask-added", note="S + tril(ones)"),
    *mistake("mask-after-softmax", "mask-post", PART, {
        V: ((V_FILL, "masked = softmax(S) * allowed"), (V_OUT, "return masked")),
        E: ((E_OUT, "return softmax(S) * (1 - future)"),),
        P: ((P_FILL, "return softmax(S).masked_fill(future, 0.0)"),),
    }),
    *mistake("mask-renormalised-unstable", "mask-post-renorm", PART, {
        V: ((V_FILL, "masked = softmax(S) * allowed"), (V_OUT, "return masked / masked.sum(axis=1, keepdims=True)")),
        F: ((F_OUT, "A = F.softmax(S, dim=-1).tril()\n    return A / A.sum(dim=-1, keepdim=True)"),),
    }, misconception="mask-after-softmax-renormalized", how="stability", note="right until a hidden score exceeds the visible ones by more than 745"),
    *mistake("mask-fill-too-small", "mask-1e4", PART, {
        V: ((V_FILL, "masked = np.where(allowed, S, -1e4)"),),
        P: ((P_FILL, "S = S.masked_fill(future, -1e4)"),),
    }, misconception="mask-fill-1e4", how="stability", note="leaks where the visible scores lie at -1e4 or below"),
    *mistake("mask-inf-times-zero", "own-mask-inf-times-zero", PART, {
        V: ((V_FILL, "masked = S + (1 - allowed) * -np.inf"),),
        P: ((P_FILL, 'S = S + future * float("-inf")'),),
    }, misconception=None, note="0 * inf: every row is NaN"),
    *mistake("softmax-first-axis", "att-softmax-query", PART, {
        V: ((V_OUT, "return softmax(masked.T).T"),),
        F: ((F_OUT, "return F.softmax(S + mask, dim=0)"),),
    }, misconception="weights-over-columns", note="columns sum to 1"),
    *mistake("softmax-twice", "att-double-softmax", PART, {
        V: ((V_OUT, "return softmax(softmax(masked))"),),
        C: ((C_OUT, "return softmax(softmax(np.where(np.tri(*S.shape, dtype=bool), S, -np.inf)))"),),
        P: ((P_OUT, "    return softmax(softmax(S))\n"),),
    }, misconception="weights-softmax-twice"),
    *mistake("softmax-before-mask", "own-softmax-before-mask", PART, {
        V: ((V_FILL, "masked = np.where(allowed, softmax(S), -np.inf)"),),
        F: ((F_OUT, "return F.softmax(F.softmax(S, dim=-1) + mask, dim=-1)"),),
    }, misconception="weights-softmax-before-mask", note="softmax, then mask, then softmax again"),
    *mistake("softmax-sigmoid", "att-sigmoid", PART, {
        V: ((V_OUT, "return 1 / (1 + np.exp(-masked))"),),
        F: ((F_OUT, "return torch.sigmoid(S + mask)"),),
    }, misconception="weights-sigmoid"),
    *mistake("softmax-unnormalised", "own-softmax-unnormalised", PART, {
        P: ((P_OUT, "    return torch.exp(S - S.max(dim=-1, keepdim=True).values)\n"),),
    }, misconception="weights-not-normalized"),
    *mistake("weights-transposed", "att-p-transposed", PART, {
        V: ((V_OUT, "return softmax(masked).T"),),
        Q: ((Q_OUT, Q_OUT + ".T"),),
        F: ((F_OUT, F_OUT + ".mT"),),
    }),
    *mistake("weights-uniform", "own-weights-uniform", PART, {
        V: ((V_FILL, "masked = np.where(allowed, 0 * S, -np.inf)"),),
        P: ((P_FILL, 'S = (0 * S).masked_fill(future, float("-inf"))'),),
    }, note="the scores do not count: the mean of the past"),
    *mistake("weights-one-hot", "own-weights-one-hot", PART, {
        V: ((V_OUT, "return np.eye(T)[masked.argmax(axis=-1)]"),),
    }, note="argmax instead of softmax"),
    *mistake("mask-window-of-two", "own-mask-window", PART, {
        V: ((V_MASK, "allowed = np.eye(T, dtype=bool) | np.eye(T, k=-1, dtype=bool)"),),
        L: ((L_ROW, "a = max(0, t - 1)\n        A[t, a : t + 1] = softmax(S[t, a : t + 1])"),),
    }, misconception="mask-window", note="only itself and the position before"),
    *mistake("weights-scaled-by-length", "own-weights-scaled", PART, {
        V: ((V_FILL, "masked = np.where(allowed, S / math.sqrt(T), -np.inf)"),),
        P: ((P_FILL, 'S = S.masked_fill(future, float("-inf")) / math.sqrt(T)'),),
    }, note="S / sqrt(T) before the softmax"),
    *mistake("mask-changes-the-scores", "blk-inplace", PART, {
        V: ((V_FILL, "S[~allowed] = -np.inf\n    masked = S"),),
        P: ((P_FILL, 'S.masked_fill_(future, float("-inf"))'),),
    }, misconception="argument-changed", how="mutation"),
    *mistake("weights-detached", "detach-in-forward", PART, {
        P: ((P_OUT, "    return softmax(S).detach()\n"),),
        F: ((F_OUT, "return F.softmax(S.data + mask, dim=-1)"),),
    }, misconception="no-gradient", how="gradient"),
    *mistake("mask-remembered", "own-mask-cached", PART, {
        V: (("def causal_attention_weights(S):", "MASKS = []\n\n\ndef causal_attention_weights(S):"),
            (V_FILL, "MASKS.append(allowed)\n    allowed = MASKS[0]\n    masked = np.where(allowed, S, -np.inf)")),
    }, misconception="remembers-calls", how="state", note="the first length's mask for every later one"),
]  # fmt: skip
