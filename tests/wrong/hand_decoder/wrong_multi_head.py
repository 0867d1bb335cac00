"""Wrong multi-head attention: splitting, joining, ordering, and what each head gets."""

from tests.wrong.hand_decoder.model import C, E, F, L, P, Q, V, mistake

PART = "multi_head_attention"
BOTH = ("attention_head",)  # numpy_fused_qkv has one function below both
V_FOR = "for W_Q, W_K, W_V in heads:"
V_JOIN, V_OUT = "joined = np.concatenate(outputs, axis=-1)", "return joined @ W_O"
V_HEAD = "O, _ = attention_head(H, W_Q, W_K, W_V)"
E_STACK = "per_head = stack([attention_head(H, *head)[0] for head in heads])"
E_OUT = 'return einsum("htv,hvd->td", per_head, blocks)'
Q_SPLIT_Q = "q = qkv[:, :n].reshape(T, h, -1).transpose(1, 0, 2)"
Q_SPLIT_K = "k = qkv[:, n : 2 * n].reshape(T, h, -1).transpose(1, 0, 2)"
Q_SPLIT_V = "v = qkv[:, 2 * n :].reshape(T, h, -1).transpose(1, 0, 2)"
Q_MERGE = "merged = O.transpose(1, 0, 2).reshape(H.shape[0], -1)"
Q_DK = "d_k = q.shape[-1]"
Q_KEEP = "scores = np.where(keep, scores, -np.inf)"
Q_EXP = "A = np.exp(scores - scores.max(axis=-1, keepdims=True))"
Q_SUM = "A = A / A.sum(axis=-1, keepdims=True)"
L_HEAD = "O, A = attention_head(H, heads[i][0], heads[i][1], heads[i][2])"
C_HEADS = "self.heads = [Head(*w) for w in heads]"
C_OUT = "return np.concatenate([head(x) for head in self.heads], axis=-1) @ self.W_O"
P_LIST = "outs = [attention_head(H, W_Q, W_K, W_V)[0] for W_Q, W_K, W_V in heads]"
P_OUT = "return torch.cat(outs, dim=-1) @ W_O"
F_STACK = "results = torch.stack([attention_head(H, *w)[0] for w in heads], dim=1)"
F_FLAT, F_OUT = "flat = results.flatten(start_dim=1)", "return F.linear(flat, W_O.T)"

WRONG = [
    *mistake("output-projection-missing", "mh-noproj", PART, {
        V: ((V_OUT, "return joined"),),
        P: ((P_OUT, "return torch.cat(outs, dim=-1)"),),
    }, note="a value only where h·d_v = d"),
    *mistake("output-projection-transposed", "mh-W-untransposed", PART, {
        V: ((V_OUT, "return joined @ W_O.T"),),
        F: ((F_OUT, "return F.linear(flat, W_O)"),),
    }, misconception=None, how="exception", note="a value only where h·d_v = d"),
    *mistake("heads-summed", "mh-sum-heads", PART, {
        V: ((V_JOIN, "joined = sum(outputs)"), (V_OUT, "return joined @ W_O[: joined.shape[1]]")),
        F: ((F_FLAT, "flat = results.sum(dim=1)"), (F_OUT, "return flat @ W_O[: flat.shape[1]]")),
    }, misconception="heads-share-projection", note="the sum of the heads through the first d_v rows of W_O"),
    *mistake("heads-averaged", "mh-sum-heads", PART, {
        E: ((E_OUT, 'return einsum("htv,hvd->td", per_head, blocks) / h'),),
        P: ((P_OUT, "return torch.cat(outs, dim=-1) @ W_O / len(heads)"),),
    }, misconception="heads-divided-by-count", note="divided by h"),
    *mistake("heads-reversed", "mh-concat-reversed", PART, {
        V: ((V_JOIN, "joined = np.concatenate(outputs[::-1], axis=-1)"),),
        C: ((C_HEADS, "self.heads = [Head(*w) for w in reversed(heads)]"),),
        P: ((P_OUT, "return torch.cat(outs[::-1], dim=-1) @ W_O"),),
    }),
    *mistake("heads-share-first", "mh-share-head0", PART, {
        V: ((V_HEAD, "O, _ = attention_head(H, *heads[0])"),),
        L: ((L_HEAD, "O, A = attention_head(H, heads[0][0], heads[0][1], heads[0][2])"),),
        F: ((F_STACK, "results = torch.stack([attention_head(H, *heads[0])[0] for w in heads], dim=1)"),),
    }),
    *mistake("heads-share-last", "own-late-binding", PART, {
        C: ((C_OUT, "runs = []\n        for head in self.heads:\n            runs.append(lambda: head(x))\n        return np.concatenate([run() for run in runs], axis=-1) @ self.W_O"),),
        P: ((P_LIST, "outs = [attention_head(H, *heads[-1])[0] for i in range(len(heads))]"),),
    }, note="a lambda in a loop sees the last head only"),
    *mistake("heads-share-first-values", "mh-share-head0", PART, {
        V: ((V_HEAD, "O, _ = attention_head(H, W_Q, W_K, heads[0][2])"),),
        P: ((P_LIST, "outs = [attention_head(H, W_Q, W_K, heads[0][2])[0] for W_Q, W_K, W_V in heads]"),),
    }),
    *mistake("heads-share-first-keys", "mh-share-head0", PART, {
        L: ((L_HEAD, "O, A = attention_head(H, heads[i][0], heads[0][1], heads[i][2])"),),
        P: ((P_LIST, "outs = [attention_head(H, W_Q, heads[0][1], W_V)[0] for W_Q, W_K, W_V in heads]"),),
    }),
    *mistake("heads-last-dropped", "own-head-dropped", PART, {
        V: ((V_FOR, "for W_Q, W_K, W_V in heads[:-1]:"), (V_OUT, "return joined @ W_O[: joined.shape[1]]")),
        P: ((P_LIST, "outs = [attention_head(H, W_Q, W_K, W_V)[0] for W_Q, W_K, W_V in heads[:-1]]"),
            (P_OUT, "joined = torch.cat(outs, dim=-1)\n    return joined @ W_O[: joined.size(1)]")),
    }, misconception="heads-drop-last"),
    *mistake("heads-first-dropped", "own-head-dropped", PART, {
        E: ((E_OUT, 'return einsum("htv,hvd->td", per_head[1:], blocks[1:])'),),
    }, misconception="heads-drop-first"),
    *mistake("heads-interleaved", "mh-merge-dkmajor", PART, {
        V: ((V_JOIN, "joined = np.stack(outputs, axis=-1).reshape(len(H), -1)"),),
        Q: ((Q_MERGE, "merged = O.transpose(1, 2, 0).reshape(H.shape[0], -1)"),),
        F: ((F_FLAT, "flat = results.mT.flatten(start_dim=1)"),),
    }),
    *mistake("heads-merged-without-transpose", "mh-merge-noperm", PART, {
        V: ((V_JOIN, "joined = np.stack(outputs).reshape(len(H), -1)"),),
        Q: ((Q_MERGE, "merged = O.reshape(H.shape[0], -1)"),),
        F: ((F_STACK, "results = torch.stack([attention_head(H, *w)[0] for w in heads])"), (F_FLAT, "flat = results.reshape(len(H), -1)")),
    }),
    *mistake("heads-split-without-transpose", "mh-view-split", PART, {
        Q: ((Q_SPLIT_Q, "q = qkv[:, :n].reshape(h, T, -1)"), (Q_SPLIT_K, "k = qkv[:, n : 2 * n].reshape(h, T, -1)"),
            (Q_SPLIT_V, "v = qkv[:, 2 * n :].reshape(h, T, -1)")),
    }, note="reshape(h, T, ...) for reshape(T, h, ...).transpose"),
    *mistake("heads-packed-by-coordinate", "mh-packed-order", PART, {
        Q: ((Q_SPLIT_Q, "q = qkv[:, :n].reshape(T, -1, h).transpose(2, 0, 1)"), (Q_SPLIT_K, "k = qkv[:, n : 2 * n].reshape(T, -1, h).transpose(2, 0, 1)"),
            (Q_SPLIT_V, "v = qkv[:, 2 * n :].reshape(T, -1, h).transpose(2, 0, 1)")),
    }, note="columns of the fused weight read as (d_k, h) for (h, d_k), in q, k and v"),
    *mistake("heads-values-packed-by-coordinate", "mh-packed-order", PART, {
        Q: ((Q_SPLIT_V, "v = qkv[:, 2 * n :].reshape(T, -1, h).transpose(2, 0, 1)"),),
    }, note="the same in v alone"),
    *mistake("queries-keys-swapped", "mh-qk-swap", PART, {
        V: ((V_FOR, "for W_K, W_Q, W_V in heads:"),),
        P: ((P_LIST, "outs = [attention_head(H, W_Q, W_K, W_V)[0] for W_K, W_Q, W_V in heads]"),),
        L: ((L_HEAD, "O, A = attention_head(H, heads[i][1], heads[i][0], heads[i][2])"),),
    }, misconception="heads-unpacked-key-first"),
    *mistake("keys-values-swapped", "mh-kv-swap", PART, {
        V: ((V_FOR, "for W_Q, W_V, W_K in heads:"),),
    }, misconception=None, how="exception", note="a value only where d_k = d_v"),
    *mistake("scale-by-joined-width", "att-scale-dmodel", PART, {
        Q: ((Q_DK, "d_k = n"),),
    }, also=(), note="sqrt(h d_k) for sqrt(d_k); one head alone does not show it"),
    *mistake("scale-by-width", "att-scale-dmodel", PART, {
        Q: ((Q_DK, "d_k = d"),),
    }, misconception="scale-by-model-width", also=BOTH),
    *mistake("scale-missing", "att-noscale", PART, {
        Q: ((Q_DK, "d_k = 1"),),
    }, misconception="no-scale", also=BOTH),
    *mistake("mask-missing", "mask-missing", PART, {
        Q: ((Q_KEEP, "pass"),),
    }, also=BOTH),
    *mistake("mask-filled-with-zero", "mask-mul", PART, {
        Q: ((Q_KEEP, "scores = np.where(keep, scores, 0)"),),
    }, misconception="mask-multiplied", also=BOTH),
    *mistake("mask-after-softmax", "mask-post", PART, {
        Q: ((Q_KEEP, "pass"), (Q_SUM, "A = A / A.sum(axis=-1, keepdims=True) * keep")),
    }, also=BOTH),
    *mistake("softmax-first-axis", "att-softmax-query", PART, {
        Q: ((Q_EXP, "A = np.exp(scores - scores.max(axis=-2, keepdims=True))"), (Q_SUM, "A = A / A.sum(axis=-2, keepdims=True)")),
    }, misconception="softmax-over-columns", also=BOTH, note="over the queries"),
    *mistake("softmax-over-heads", "att-softmax-heads", PART, {
        Q: ((Q_EXP, "A = np.exp(np.where(keep, scores - scores.max(axis=0), -np.inf))"), (Q_SUM, "A = A / (A.sum(axis=0) + ~keep)")),
    }, also=BOTH, note="with one head every visible weight is 1"),
    *mistake("heads-plus-input", "own-residual-inside", PART, {
        V: ((V_OUT, "return H + joined @ W_O"),),
        C: ((C_OUT, "return x + np.concatenate([head(x) for head in self.heads], axis=-1) @ self.W_O"),),
        F: ((F_OUT, "return H + F.linear(flat, W_O.T)"),),
    }, misconception="attention-adds-residual", note="the residual added here already"),
    *mistake("heads-chained", "own-heads-chained", PART, {
        V: ((V_OUT, "return joined @ W_O"), ("        outputs.append(O)\n", "        outputs.append(O)\n        H = H + O @ W_O[: O.shape[1]]\n")),
    }, misconception="heads-chained", note="each head reads what the one before wrote"),
    *mistake("heads-joined-in-rows", "own-concat-axis", PART, {
        V: ((V_JOIN, "joined = np.concatenate(outputs, axis=0)"),),
        P: ((P_OUT, "return torch.cat(outs, dim=0) @ W_O"),),
    }, misconception=None, how="exception"),
    *mistake("multi-head-last-position-only", "dec-last-only", PART, {
        V: ((V_OUT, "return (joined @ W_O)[-1]"),
            ("attended = multi_head_attention(X, block[\"heads\"], block[\"W_O\"])", "attended = np.concatenate([attention_head(X, *w)[0] for w in block['heads']], axis=1) @ block['W_O']")),
    }, misconception="multi-head-last-only", how="structure"),
    *mistake("multi-head-returns-weights-too", "own-structure", PART, {
        V: ((V_OUT, "return joined @ W_O, outputs"), ("attended = multi_head_attention(", "attended, _ = multi_head_attention(")),
        F: ((F_OUT, "return F.linear(flat, W_O.T), results"), ("attn_out = multi_head_attention(", "attn_out, _ = multi_head_attention(")),
    }, misconception="result-too-many", how="structure"),
    *mistake("multi-head-detached", "detach-in-forward", PART, {
        P: ((P_OUT, "return torch.cat([o.detach() for o in outs], dim=-1) @ W_O"),),
        F: ((F_OUT, "return F.linear(flat, W_O.detach().T)"),),
    }, misconception={P: "heads-detached", F: "argument-detached"}, how="gradient"),
    *mistake("multi-head-one-head-in-graph", "detach-in-forward", PART, {
        P: ((P_OUT, "return torch.cat(outs[:1] + [o.data for o in outs[1:]], dim=-1) @ W_O"),),
    }, misconception="only-first-head-in-graph", how="gradient"),
    *mistake("heads-consumed", "own-consumed", PART, {
        V: ((V_FOR, "while heads:\n        W_Q, W_K, W_V = heads.pop(0)"),),
    }, misconception="argument-changed", how="mutation", note="empties the caller's list"),
    *mistake("multi-head-misnamed", "own-missing", PART, {
        V: (("def multi_head_attention(", "def multihead_attention("), ("attended = multi_head_attention(", "attended = multihead_attention(")),
        F: (("def multi_head_attention(", "def multi_head_attn("), ("attn_out = multi_head_attention(", "attn_out = multi_head_attn(")),
    }, misconception=None, how="missing"),
]  # fmt: skip
