"""Mistakes in attention and in several heads: the scale, the mask, rows of nothing, whose rows."""

from tests.wrong.hand_decoder.model import mistake

V, E, L, P, S = "numpy_vectorised", "numpy_einsum", "numpy_loops", "torch_plain", "torch_sdpa"
A, M = "attention", "multi_head"
V_S = "S = Q @ K.T / np.sqrt(d_k)"
V_MASK = "S = np.where(mask, S, -np.inf)"
V_TOP = "top = np.where(np.isfinite(top), top, 0.0)"
V_TOTAL = "A = E / np.where(total > 0, total, 1.0)"
V_OUT = "return A @ V, A"
P_S = "S = Q @ K.transpose(0, 1) / math.sqrt(Q.size(-1))"
P_MASK = "S = S.masked_fill(~mask, -1e9)"
P_A = "A = torch.softmax(S, dim=-1) * mask"
L_OPEN = "open_ = [s for s in range(T_k) if mask is None or mask[t, s]]"
L_SCORE = "for i in range(d_k)) / math.sqrt(d_k) for s in open_}"
V_HEADS = "O, _ = attention(X_q @ W_Q, X_kv @ W_K, X_kv @ W_V, mask)"
P_HEADS = "out, _ = attention(X_q @ W_Q, X_kv @ W_K, X_kv @ W_V, mask)"

WRONG = [
    *mistake("no-scale", "att-noscale", A, {
        V: ((V_S, "S = Q @ K.T"),),
        P: ((P_S, "S = Q @ K.transpose(0, 1)"),),
        L: ((L_SCORE, "for i in range(d_k)) for s in open_}"),),
    }, misconception="attention-no-scale"),
    *mistake("scale-by-width", "att-scale-dk", A, {
        V: ((V_S, "S = Q @ K.T / d_k"),),
        P: ((P_S, "S = Q @ K.transpose(0, 1) / Q.size(-1)"),),
    }, misconception="attention-scale-by-width"),
    *mistake("scale-by-value-width", "own-scale-dv", A, {
        V: ((V_S, "S = Q @ K.T / np.sqrt(V.shape[-1])"),),
    }, misconception="attention-scale-by-value-width"),
    *mistake("scale-by-key-count", "own-scale-keys", A, {
        P: ((P_S, "S = Q @ K.transpose(0, 1) / math.sqrt(len(K))"),),
    }, misconception="attention-scale-by-key-count"),
    *mistake("polarity-flipped", "mask-inverted", A, {
        V: ((V_MASK, "S = np.where(mask, -np.inf, S)"), ("mask = np.ones(S.shape, dtype=bool)", "mask = np.zeros(S.shape, dtype=bool)")),
        P: ((P_MASK, "S = S.masked_fill(mask, -1e9)"), (P_A, "A = torch.softmax(S, dim=-1) * ~mask")),
        L: ((L_OPEN, "open_ = [s for s in range(T_k) if mask is None or not mask[t, s]]"),),
    }, misconception="attention-mask-flipped"),
    *mistake("mask-ignored", "own-mask-ignored", A, {
        V: ((V_MASK, "pass"),),
        L: ((L_OPEN, "open_ = list(range(T_k))"),),
    }, misconception="attention-mask-ignored"),
    *mistake("mask-multiplied", "mask-mul", A, {
        V: ((V_MASK, "S, anything = S * mask, mask.any(axis=-1, keepdims=True)"), (V_OUT, "A = A * anything\n    return A @ V, A")),
        P: ((P_MASK, "S = S * mask"), (P_A, "A = torch.softmax(S, dim=-1) * mask.any(dim=-1, keepdim=True)")),
    }, misconception="attention-mask-multiplied"),
    *mistake("mask-added-as-numbers", "own-mask-added", A, {
        V: ((V_MASK, "S, anything = S + mask, mask.any(axis=-1, keepdims=True)"), (V_OUT, "A = A * anything\n    return A @ V, A")),
        P: ((P_MASK, "S = S + mask"), (P_A, "A = torch.softmax(S, dim=-1) * mask.any(dim=-1, keepdim=True)")),
    }, misconception="attention-mask-added"),
    *mistake("mask-after-softmax", "mask-post", A, {
        P: ((P_MASK, "pass"),),
        V: ((V_MASK, "pass"), (V_OUT, "A = A * mask\n    return A @ V, A")),
    }, misconception="attention-mask-after-softmax"),
    *mistake("softmax-over-queries", "att-softmax-query", A, {
        P: (("        A = torch.softmax(S, dim=-1)\n    else", "        A = torch.softmax(S, dim=0)\n    else"), (P_A, "A = torch.softmax(S, dim=0) * mask")),
    }, misconception="attention-over-queries"),
    *mistake("softmax-without-maximum", "sm-nomax", A, {
        V: (("E = np.exp(S - top)", "E = np.exp(S)"),),
        L: (("total = sum(math.exp(scores[s] - top) for s in open_)", "total = sum(np.exp(scores[s]) for s in open_)"),
            ("A[t, s] = math.exp(scores[s] - top) / total", "A[t, s] = np.exp(scores[s]) / total")),
    }, misconception={V: "attention-exp-without-maximum-zeros", L: "attention-exp-without-maximum-allowed"}, how="stability"),
    *mistake("empty-row-nan", "pad-fullrow-nan", A, {
        V: ((V_TOP, "pass"),),
        P: ((P_MASK, 'S = S.masked_fill(~mask, float("-inf"))'), (P_A, "A = torch.softmax(S, dim=-1)")),
    }, misconception="attention-nothing-allowed-nan", how="stability"),
    *mistake("empty-row-uniform", "own-empty-uniform", A, {
        P: ((P_A, "A = torch.softmax(S, dim=-1)"),),
        V: ((V_MASK, "S = np.where(mask, S, -1e9)"),),
    }, misconception="attention-nothing-allowed-uniform", how="stability"),
    *mistake("empty-row-unmasked", "own-empty-unmasked", A, {
        V: ((V_MASK, "S = np.where(mask | ~mask.any(axis=-1, keepdims=True), S, -np.inf)"),),
    }, misconception="attention-nothing-allowed-unmasked", how="stability"),
    *mistake("empty-row-nan-gradient", "own-empty-nan-gradient", A, {
        P: ((P_MASK, 'S = S + torch.where(mask, 0.0, float("-inf"))'), (P_A, "A = torch.nan_to_num(torch.softmax(S, dim=-1))")),
    }, misconception="nothing-allowed-nan-gradient", how="gradient"),
    *mistake("causal-always", "own-causal-always", A, {
        V: ((V_MASK, "mask = mask & np.tri(*S.shape, dtype=bool)\n    " + V_MASK),),
        L: ((L_OPEN, "open_ = [s for s in range(T_k) if s <= t and (mask is None or mask[t, s])]"),),
    }, misconception="attention-mask-and-causal"),
    *mistake("results-swapped", "own-results-swapped", A, {
        V: ((V_OUT, "return A, A @ V"), ("O, _ = attention", "_, O = attention")),
    }, misconception="attention-results-swapped"),
    *mistake("only-output", "own-only-output", A, {
        P: (("return A @ V, A", "return A @ V"), ("out, _ = attention", "out = attention")),
    }, misconception="result-missing", how="structure"),
    *mistake("keys-from-queries", "x-kv-from-decoder", M, {
        V: ((V_HEADS, "O, _ = attention(X_q @ W_Q, X_q @ W_K, X_q @ W_V)"),),
    }, misconception="multi-keys-from-queries"),
    *mistake("mask-not-passed", "own-mask-not-passed", M, {
        V: ((V_HEADS, "O, _ = attention(X_q @ W_Q, X_kv @ W_K, X_kv @ W_V)"),),
        P: ((P_HEADS, "out, _ = attention(X_q @ W_Q, X_kv @ W_K, X_kv @ W_V)"),),
    }, misconception="multi-mask-ignored"),
    *mistake("mask-turned", "mask-inverted", M, {
        P: ((P_HEADS, "blocked = None if mask is None else torch.logical_not(mask)\n        out, _ = attention(X_q @ W_Q, X_kv @ W_K, X_kv @ W_V, blocked)"),),
    }, misconception="multi-mask-flipped"),
    *mistake("heads-summed", "mh-sum-heads", M, {
        V: (("return np.concatenate(outputs, axis=-1) @ W_O", "return np.tile(sum(outputs), len(heads)) @ W_O"),),
    }, misconception="multi-heads-summed"),
    *mistake("heads-share-first", "mh-share-head0", M, {
        P: (("for W_Q, W_K, W_V in heads:", "for _ in heads:\n        W_Q, W_K, W_V = heads[0]"),),
    }, misconception="multi-heads-share-first"),
    *mistake("merged-without-transpose", "mh-view-merge", M, {
        S: (("out.transpose(0, 1).flatten(1) @ W_O", "out.reshape(len(X_q), -1) @ W_O"),),
    }, misconception="multi-heads-merged-without-transpose"),
    *mistake("W_O-missing", "own-no-output-projection", M, {
        V: (("return np.concatenate(outputs, axis=-1) @ W_O", "return np.concatenate(outputs, axis=-1)"),),
    }, misconception="multi-output-projection-missing", how="structure"),
    *mistake("scaled-by-joined-width", "att-scale-dmodel", M, {
        E: (("/ np.sqrt(q.shape[-1])", "/ np.sqrt(len(heads) * q.shape[-1])"),),
    }, misconception=None),
]  # fmt: skip
