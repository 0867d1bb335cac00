"""Wrong single heads: which projection goes where, which weights are returned, and in what structure."""

from tests.wrong.hand_decoder.model import C, E, F, L, P, Q, V, mistake

PART = "attention_head"
V_Q, V_K, V_V = "Q = H @ W_Q", "K = H @ W_K", "V = H @ W_V"
V_S, V_A, V_O, V_RETURN = (
    "    S = attention_scores(Q, K)\n",
    "A = causal_attention_weights(S)\n    O",
    "O = A @ V\n",
    "return O, A\n",
)
E_Q, E_K, E_V = (
    'q = einsum("td,dk->tk", H, W_Q)',
    'k = einsum("td,dk->tk", H, W_K)',
    'v = einsum("td,dv->tv", H, W_V)',
)
E_A = "weights = causal_attention_weights(attention_scores(q, k))"
E_OUT = 'return einsum("ts,sv->tv", weights, v), weights'
L_PROJECT = "Q, K, V = matmul(H, W_Q), matmul(H, W_K), matmul(H, W_V)"
C_A = "return causal_attention_weights(attention_scores(x @ self.W_Q, x @ self.W_K))"
C_O = "return self.weights(x) @ (x @ self.W_V)"
C_OUT = "return head(H), head.weights(H)"
P_PROJECT = "Q, K, V = H @ W_Q, H @ W_K, H @ W_V"
P_A = "A = causal_attention_weights(attention_scores(Q, K))"
P_OUT = "return A @ V, A"
F_Q, F_K, F_V = "Q = F.linear(H, W_Q.T)", "K = F.linear(H, W_K.T)", "V = F.linear(H, W_V.T)"
F_S, F_A, F_OUT = "S = attention_scores(Q, K)", "A = causal_attention_weights(S)", "return torch.mm(A, V), A"

WRONG = [
    *mistake("value-not-projected", "att-v-not-projected", PART, {
        V: ((V_V, "V = H"),),
        P: ((P_PROJECT, "Q, K, V = H @ W_Q, H @ W_K, H"),),
        F: ((F_V, "V = H"),),
    }),
    *mistake("value-is-key", "att-v-is-k", PART, {
        V: ((V_O, "O = A @ K\n"),),
        P: ((P_OUT, "return A @ K, A"),),
    }, misconception="value-from-keys"),
    *mistake("value-is-query", "own-v-is-q", PART, {
        V: ((V_O, "O = A @ Q\n"),),
        F: ((F_OUT, "return torch.mm(A, Q), A"),),
    }, misconception="value-from-queries"),
    *mistake("key-is-query", "att-k-is-q", PART, {
        V: ((V_K, "K = H @ W_Q"),),
        E: ((E_K, 'k = einsum("td,dk->tk", H, W_Q)'),),
        C: ((C_A, "return causal_attention_weights(attention_scores(x @ self.W_Q, x @ self.W_Q))"),),
        P: ((P_PROJECT, "Q, K, V = H @ W_Q, H @ W_Q, H @ W_V"),),
    }, misconception="key-from-query-weights"),
    *mistake("query-is-key", "own-q-is-k", PART, {
        V: ((V_Q, "Q = H @ W_K"),),
        F: ((F_Q, "Q = F.linear(H, W_K.T)"),),
    }, misconception="query-from-key-weights"),
    *mistake("queries-keys-swapped", "mh-qk-swap", PART, {
        V: ((V_S, "    S = attention_scores(K, Q)\n"),),
        E: ((E_A, "weights = causal_attention_weights(attention_scores(k, q))"),),
        L: ((L_PROJECT, "K, Q, V = matmul(H, W_Q), matmul(H, W_K), matmul(H, W_V)"),),
        F: ((F_S, "S = attention_scores(K, Q)"),),
    }, misconception="head-queries-and-keys-swapped"),
    *mistake("keys-values-swapped", "mh-kv-swap", PART, {
        V: ((V_K, "K = H @ W_V"), (V_V, "V = H @ W_K")),
        P: ((P_PROJECT, "Q, V, K = H @ W_Q, H @ W_K, H @ W_V"),),
    }, misconception=None, how="exception", note="a value only where d_k = d_v"),
    *mistake("weights-transposed-on-values", "att-p-transposed", PART, {
        V: ((V_O, "O = A.T @ V\n"),),
        E: ((E_OUT, 'return einsum("st,sv->tv", weights, v), weights'),),
        P: ((P_OUT, "return A.T @ V, A"),),
    }, misconception="retrieve-transposed"),
    *mistake("mask-missing", "mask-missing", PART, {
        V: ((V_A, "A = softmax(S)\n    O"),),
        C: ((C_A, "return softmax(attention_scores(x @ self.W_Q, x @ self.W_K))"),),
        P: ((P_A, "A = softmax(attention_scores(Q, K))"),),
    }),
    *mistake("scale-missing", "att-noscale", PART, {
        V: ((V_S, "    S = Q @ K.T\n"),),
        F: ((F_S, "S = Q @ K.mT"),),
    }, misconception="no-scale"),
    *mistake("scale-by-width", "att-scale-dmodel", PART, {
        V: ((V_S, "    S = Q @ K.T / math.sqrt(H.shape[1])\n"),),
        E: ((E_A, "weights = causal_attention_weights(einsum('tk,sk->ts', q, k) / sqrt(H.shape[1]))"),),
        P: ((P_A, "A = causal_attention_weights(Q @ K.T / math.sqrt(H.size(-1)))"),),
    }, misconception="scale-by-model-width", note="sqrt(d), the width of H, for sqrt(d_k)"),
    *mistake("scale-by-d-k", "att-scale-twice", PART, {
        V: ((V_S, "    S = attention_scores(Q, K) / math.sqrt(Q.shape[1])\n"),),
        F: ((F_S, "S = attention_scores(Q, K) / Q.shape[1] ** 0.5"),),
    }, misconception="scale-twice", note="scaled here and in attention_scores"),
    *mistake("softmax-twice", "att-double-softmax", PART, {
        V: ((V_A, "A = softmax(causal_attention_weights(S))\n    O"),),
        F: ((F_A, "A = F.softmax(causal_attention_weights(S), dim=-1)"),),
    }),
    *mistake("input-attended-twice", "own-values-from-output", PART, {
        V: ((V_O, "O = A @ (A @ V)\n"),),
        P: ((P_OUT, "return A @ A @ V, A"),),
    }, misconception="retrieve-twice"),
    *mistake("head-residual-inside", "own-head-residual", PART, {
        V: ((V_O, "O = V + A @ V\n"),),
        F: ((F_OUT, "return torch.mm(A, V) + V, A"),),
    }, misconception="retrieve-plus-values", note="V added to the output"),
    *mistake("weights-not-used", "own-weights-not-used", PART, {
        V: ((V_O, "O = V\n"),),
        C: ((C_O, "return x @ self.W_V"),),
    }, misconception="retrieve-nothing", note="O = V"),
    *mistake("head-output-softmaxed", "own-head-softmax", PART, {
        P: ((P_OUT, "return softmax(A @ V), A"),),
        E: ((E_OUT, 'return softmax(einsum("ts,sv->tv", weights, v)), weights'),),
    }, misconception="retrieve-softmaxed", note="softmax of O"),
    *mistake("head-returns-scores", "own-returns-scores", PART, {
        V: ((V_RETURN, "return O, S\n"),),
        F: ((F_OUT, "return torch.mm(A, V), S"),),
    }),
    *mistake("head-returns-weights-transposed", "own-returns-weights-transposed", PART, {
        V: ((V_RETURN, "return O, A.T\n"),),
        C: ((C_OUT, "return head(H), head.weights(H).T"),),
    }, misconception="head-returns-transposed-weights"),
    *mistake("head-returns-unmasked-weights", "own-returns-unmasked", PART, {
        V: ((V_RETURN, "return O, softmax(S)\n"),),
        P: ((P_OUT, "return A @ V, softmax(attention_scores(Q, K))"),),
    }),
    *mistake("head-last-position-only", "dec-last-only", PART, {
        V: ((V_O, "O = (A @ V)[-1:]\n"), ("O, _ = attention_head(H, W_Q, W_K, W_V)", "O = attention_head(H, W_Q, W_K, W_V)[1] @ (H @ W_V)")),
    }, misconception="head-output-last-row-only", how="structure", note="the last row only; the other functions do without it"),
    *mistake("head-output-only", "own-no-weights", PART, {
        V: ((V_RETURN, "return O\n"), ("O, _ = attention_head(", "O = attention_head(")),
        P: ((P_OUT, "return A @ V"), ("attention_head(H, W_Q, W_K, W_V)[0] for", "attention_head(H, W_Q, W_K, W_V) for"),
            ("O, A = attention_head(H, H, H, H)", "O = A = attention_head(H, H, H, H)")),
    }, misconception="result-missing", how="structure"),
    *mistake("head-pair-swapped", "own-pair-swapped", PART, {
        V: ((V_RETURN, "return A, O\n"), ("O, _ = attention_head(", "_, O = attention_head(")),
        F: ((F_OUT, "return A, torch.mm(A, V)"), ("attention_head(H, *w)[0] for", "attention_head(H, *w)[1] for")),
    }, misconception="head-results-swapped", how="structure"),
    *mistake("head-weights-none", "own-weights-none", PART, {
        V: ((V_RETURN, "return O, None\n"),),
    }, misconception="result-none", how="structure"),
    *mistake("head-returns-dict", "own-dict", PART, {
        C: ((C_OUT, 'return {"O": head(H), "A": head.weights(H)}'), ("O, A = attention_head(I, I, I, I)", "O, A = attention_head(I, I, I, I).values()")),
    }, misconception="result-dict", how="structure"),
    *mistake("head-projection-transposed", "mh-W-untransposed", PART, {
        V: ((V_Q, "Q = H @ W_Q.T"), (V_K, "K = H @ W_K.T")),
        F: ((F_V, "V = F.linear(H, W_V)"),),
    }, misconception=None, how="exception", note="fails except for square weights"),
    *mistake("head-weights-detached", "detach-in-forward", PART, {
        P: ((P_OUT, "return A.detach() @ V, A"),),
        F: ((F_A, "with torch.no_grad():\n        A = causal_attention_weights(S)"),),
    }, misconception={P: "weights-detached-for-values", F: "weights-detached"}, how="gradient"),
    *mistake("head-through-numpy", "detach-in-forward", PART, {
        P: ((P_A, "A = torch.from_numpy(causal_attention_weights(attention_scores(Q, K)).detach().numpy())"),),
    }, misconception="weights-detached", how="gradient"),
    *mistake("head-dropout", "drop-eval", PART, {
        V: (("    A = causal_attention_weights(S)\n", "    A = causal_attention_weights(S)\n    A = A * (np.random.rand(*A.shape) > 0.1) / 0.9\n"),),
        F: ((F_OUT, "return torch.mm(F.dropout(A, 0.1), V), A"),),
    }, misconception="random-results", how="state", note="dropout is always on"),
    *mistake("head-memoised-by-shape", "own-memoised", PART, {
        V: (("def attention_head(H, W_Q, W_K, W_V):\n", "CACHE = {}\n\n\ndef attention_head(H, W_Q, W_K, W_V):\n    if H.shape in CACHE:\n        return CACHE[H.shape]\n"),
            (V_RETURN, "CACHE[H.shape] = O, A\n    return O, A\n")),
        P: (("def attention_head(H, W_Q, W_K, W_V):\n", "seen = {}\n\n\ndef attention_head(H, W_Q, W_K, W_V):\n    if H.shape in seen:\n        return seen[H.shape]\n"),
            (P_OUT, "seen[H.shape] = (A @ V, A)\n    return seen[H.shape]")),
    }, misconception="remembers-calls", how="state"),
    *mistake("head-keeps-old-keys", "kv-stale", PART, {
        F: (("def attention_head(H: Tensor", "past = []\n\n\ndef attention_head(H: Tensor"),
            (F_V, "V = F.linear(H, W_V.T)\n    past.append(V)\n    V = V + 0.1 * (past[0].sum() - past[-1].sum())")),
    }, misconception="remembers-calls", how="state", note="something of the first call stays in every later one"),
    *mistake("head-not-written", "own-exception", PART, {
        V: ((V_Q, "raise NotImplementedError('step 4: one head')"),),
        P: ((P_PROJECT, "Q, K, V = H @ W_q, H @ W_k, H @ W_v"),),
    }, misconception=None, how="exception"),
]  # fmt: skip
