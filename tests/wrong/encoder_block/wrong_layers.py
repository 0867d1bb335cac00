"""Mistakes in norms, networks, blocks and layers, and in shifted targets."""

from tests.wrong.hand_decoder.model import mistake

V, E, L, P, S = "numpy_vectorised", "numpy_einsum", "numpy_loops", "torch_plain", "torch_sdpa"
N, F, B, X, D, T = "layer_norm", "ffn", "encoder_block", "cross_attention", "decoder_layer", "shift_targets"
V_NORM = "return gain * (z - mean) / np.sqrt(variance + eps) + shift"
P_NORM = "return gain * (z - mu) / torch.sqrt(var + eps) + shift"
# the encoder's lines of the vectorised base end with Y, the decoder's with C and Y
V_ATT = "attended = multi_head(X, X, params[\"self_heads\"], params[\"self_W_O\"], mask)\n    U = layer_norm(X + attended, n1[\"gain\"], n1[\"shift\"], eps)"
V_FED = "    fed = ffn(U, params[\"W_1\"], params[\"b_1\"], params[\"W_2\"], params[\"b_2\"])\n    Y = layer_norm(U + fed, n2[\"gain\"], n2[\"shift\"], eps)"
P_ATT = "attended = multi_head(X, X, p[\"self_heads\"], p[\"self_W_O\"], mask)\n    U = layer_norm(X + attended, p[\"norm_1\"][\"gain\"], p[\"norm_1\"][\"shift\"], eps)"
P_FED = "    fed = ffn(U, p[\"W_1\"], p[\"b_1\"], p[\"W_2\"], p[\"b_2\"])\n    return layer_norm(U + fed, p[\"norm_2\"][\"gain\"], p[\"norm_2\"][\"shift\"], eps)"
V_PAD = "mask = np.tile(padding_mask, (T, 1))"
V_MEM = "mask = np.tile(memory_mask, (X.shape[0], 1))"
V_CAUSAL = "causal = np.tril(np.ones((T, T), dtype=bool))"
V_SELF = "U = layer_norm(X + attended, n1[\"gain\"], n1[\"shift\"], eps)\n    looked"
V_LOOK = "looked = cross_attention(U, memory, params[\"cross_heads\"], params[\"cross_W_O\"], memory_mask)"
V_C = "C = layer_norm(U + looked, nc[\"gain\"], nc[\"shift\"], eps)"
V_LAST = "Y = layer_norm(C + fed, n2[\"gain\"], n2[\"shift\"], eps)"
P_CAUSAL = "causal = torch.tril(torch.ones(T, T, dtype=torch.bool))"
P_C = "C = layer_norm(U + looked, p[\"norm_cross\"][\"gain\"], p[\"norm_cross\"][\"shift\"], eps)"
P_LOOK = "looked = cross_attention(U, memory, p[\"cross_heads\"], p[\"cross_W_O\"], memory_mask)"
P_LAST = "return layer_norm(C + fed, p[\"norm_2\"][\"gain\"], p[\"norm_2\"][\"shift\"], eps)"

WRONG = [
    *mistake("sample-variance", "ln-ddof1", N, {
        V: (("variance = z.var(axis=-1, keepdims=True)", "variance = z.var(axis=-1, keepdims=True, ddof=1)"),),
        P: (("var = z.var(dim=-1, unbiased=False, keepdim=True)", "var = z.var(dim=-1, keepdim=True)"),),
    }, misconception="norm-sample-variance"),
    *mistake("eps-outside", "ln-eps-out", N, {
        V: ((V_NORM, "return gain * (z - mean) / (np.sqrt(variance) + eps) + shift"),),
        P: ((P_NORM, "return gain * (z - mu) / (torch.sqrt(var) + eps) + shift"),),
    }, misconception="norm-eps-outside"),
    *mistake("over-positions", "ln-axis-T", N, {
        V: (("mean = z.mean(axis=-1, keepdims=True)", "mean = z.mean(axis=0)"), ("variance = z.var(axis=-1, keepdims=True)", "variance = z.var(axis=0)")),
    }, misconception="norm-over-time"),
    *mistake("no-shift", "ln-nobias", N, {
        P: ((P_NORM, "return gain * (z - mu) / torch.sqrt(var + eps)"),),
    }, misconception="norm-no-shift"),
    *mistake("no-activation", "ffn-noact", F, {
        V: (("hidden = np.maximum(u @ W_1 + b_1, 0)", "hidden = u @ W_1 + b_1"),),
        P: (("return torch.relu(u @ W_1 + b_1) @ W_2 + b_2", "return (u @ W_1 + b_1) @ W_2 + b_2"),),
    }, misconception="activation-missing"),
    *mistake("gelu", "ffn-act-wrong", F, {
        P: (("return torch.relu(u @ W_1 + b_1) @ W_2 + b_2", "return torch.nn.functional.gelu(u @ W_1 + b_1) @ W_2 + b_2"),),
    }, misconception="activation-gelu"),
    *mistake("no-second-bias", "own-no-b2", F, {
        V: (("return hidden @ W_2 + b_2", "return hidden @ W_2"),),
    }, misconception="bias-2-missing"),
    *mistake("pre-norm", "blk-post-for-pre", B, {
        V: ((V_ATT, "Z = layer_norm(X, n1[\"gain\"], n1[\"shift\"], eps)\n    U = X + multi_head(Z, Z, params[\"self_heads\"], params[\"self_W_O\"], mask)"),
            (V_FED, "    Z = layer_norm(U, n2[\"gain\"], n2[\"shift\"], eps)\n    Y = U + ffn(Z, params[\"W_1\"], params[\"b_1\"], params[\"W_2\"], params[\"b_2\"])")),
        P: ((P_ATT, "Z = layer_norm(X, p[\"norm_1\"][\"gain\"], p[\"norm_1\"][\"shift\"], eps)\n    U = X + multi_head(Z, Z, p[\"self_heads\"], p[\"self_W_O\"], mask)"),
            (P_FED, "    Z = layer_norm(U, p[\"norm_2\"][\"gain\"], p[\"norm_2\"][\"shift\"], eps)\n    return U + ffn(Z, p[\"W_1\"], p[\"b_1\"], p[\"W_2\"], p[\"b_2\"])")),
    }, misconception="encoder-pre-norm"),
    *mistake("norm-on-branch", "own-norm-on-branch", B, {
        V: ((V_ATT, V_ATT.replace("layer_norm(X + attended, n1[\"gain\"], n1[\"shift\"], eps)", "X + layer_norm(attended, n1[\"gain\"], n1[\"shift\"], eps)")),
            (V_FED, V_FED.replace("layer_norm(U + fed, n2[\"gain\"], n2[\"shift\"], eps)", "U + layer_norm(fed, n2[\"gain\"], n2[\"shift\"], eps)"))),
    }, misconception="encoder-norm-on-the-branch"),
    *mistake("no-residual-around-attention", "blk-no-res-attn", B, {
        V: ((V_ATT, V_ATT.replace("X + attended", "attended")),),
        P: ((P_ATT, P_ATT.replace("X + attended", "attended")),),
    }, misconception="encoder-no-residual-around-attention"),
    *mistake("one-norm-for-both", "ln-shared", B, {
        V: ((V_FED, V_FED.replace("n2", "n1")),),
        P: ((P_FED, P_FED.replace("norm_2", "norm_1")),),
    }, misconception="encoder-norm-1-for-both"),
    *mistake("residual-from-input", "own-residual-from-input", B, {
        V: ((V_FED, V_FED.replace("U + fed", "X + fed")),),
    }, misconception="encoder-residual-skips-attention"),
    *mistake("causal-encoder", "own-causal-encoder", B, {
        V: ((V_ATT, "past = np.tri(T, dtype=bool)\n    " + V_ATT.replace(", mask)", ", past if mask is None else mask & past)")),),
        P: ((P_ATT, "past = torch.ones(len(X), len(X)).tril().bool()\n    " + P_ATT.replace(", mask)", ", past if mask is None else mask & past)")),),
    }, misconception="encoder-causal"),
    *mistake("padding-on-queries", "pad-query-axis", B, {
        V: ((V_PAD, "mask = np.tile(padding_mask[:, None], (1, T))"),),
        P: (("padding_mask.unsqueeze(0).expand(X.size(0), -1)", "padding_mask.unsqueeze(1).expand(-1, X.size(0))"),),
        L: (("mask[t, s] = padding_mask[s]", "mask[t, s] = padding_mask[t]"),),
    }, misconception="encoder-padding-on-queries"),
    *mistake("padding-both-ways", "own-padding-both", B, {
        V: ((V_PAD, "mask = np.outer(padding_mask, padding_mask)"),),
    }, misconception="encoder-padding-on-queries-and-keys"),
    *mistake("padding-flipped", "mask-inverted", B, {
        V: ((V_PAD, "mask = ~np.tile(padding_mask, (T, 1))"),),
        L: (("mask[t, s] = padding_mask[s]", "mask[t, s] = not padding_mask[s]"),),
    }, misconception="encoder-padding-flipped"),
    *mistake("padding-ignored", "pad-ignored-dtype", B, {
        P: ((P_ATT, P_ATT.replace(", mask)", ")")),),
    }, misconception="encoder-padding-ignored"),
    *mistake("pads-cleared-instead", "own-pads-cleared", B, {
        V: (("return Y\n\n\ndef cross", "return Y if padding_mask is None else Y * padding_mask[:, None]\n\n\ndef cross"),),
    }, misconception="encoder-padding-emptied-after"),
    *mistake("swapped", "own-cross-swapped", X, {
        V: (("return multi_head(X, memory, heads, W_O, mask)", "return multi_head(memory, X, heads, W_O)"),),
    }, misconception="cross-queries-and-memory-swapped", how="structure"),
    *mistake("keys-from-X", "x-kv-from-decoder", X, {
        P: (("return multi_head(X, memory, heads, W_O, mask)", "return multi_head(X, X, heads, W_O)"),),
        L: (("return multi_head(X, memory, heads, W_O, mask)", "return multi_head(X, X, heads, W_O)"),),
    }, misconception="cross-keys-from-queries"),
    *mistake("memory-mask-flipped", "mask-inverted", X, {
        V: ((V_MEM, "mask = ~np.tile(memory_mask, (X.shape[0], 1))"),),
    }, misconception="cross-mask-flipped"),
    *mistake("memory-mask-ignored", "own-memory-mask-ignored", X, {
        P: (("return multi_head(X, memory, heads, W_O, mask)", "return multi_head(X, memory, heads, W_O)"),),
    }, misconception="cross-mask-ignored"),
    *mistake("causal-on-memory", "x-causal-on-memory", X, {
        V: (("return multi_head(X, memory, heads, W_O, mask)", "past = np.tri(len(X), len(memory), dtype=bool)\n    return multi_head(X, memory, heads, W_O, past if mask is None else mask & past)"),),
    }, misconception="cross-mask-and-causal"),
    *mistake("mask-of-the-queries", "x-mask-wrong", X, {
        V: ((V_MEM, "mask = np.tile(memory_mask[:, None], (1, X.shape[0]))"),),
    }, misconception=None, how="exception"),
    *mistake("no-causal-mask", "mask-missing", D, {
        V: ((V_CAUSAL, "causal = None"),),
        P: ((P_CAUSAL, "causal = None"),),
    }, misconception="layer-no-causal-mask"),
    *mistake("causal-mask-transposed", "mask-transposed", D, {
        V: ((V_CAUSAL, "causal = np.triu(np.ones((T, T), dtype=bool))"),),
        P: ((P_CAUSAL, "causal = torch.triu(torch.ones(T, T, dtype=torch.bool))"),),
    }, misconception="layer-mask-transposed"),
    *mistake("causal-mask-one-ahead", "mask-peek1", D, {
        V: ((V_CAUSAL, "causal = np.tril(np.ones((T, T), dtype=bool), 1)"),),
        L: (("for s in range(t + 1):", "for s in range(min(t + 2, T)):"),),
    }, misconception="layer-mask-one-ahead"),
    *mistake("cross-first", "own-cross-first", D, {
        V: (("attended = multi_head(X, X, params[\"self_heads\"], params[\"self_W_O\"], causal)\n    " + V_SELF,
             "looked = cross_attention(X, memory, params[\"cross_heads\"], params[\"cross_W_O\"], memory_mask)\n    C = layer_norm(X + looked, nc[\"gain\"], nc[\"shift\"], eps)\n    attended"),
            ("attended = cross_attention(U, memory, params[\"cross_heads\"], params[\"cross_W_O\"], memory_mask)\n    " + V_C,
             "attended = multi_head(C, C, params[\"self_heads\"], params[\"self_W_O\"], causal)\n    C = layer_norm(C + attended, n1[\"gain\"], n1[\"shift\"], eps)")),
    }, misconception="layer-cross-first"),
    *mistake("cross-norm-missing", "own-cross-norm-missing", D, {
        V: ((V_C, "C = U + looked"),),
        P: ((P_C, "C = U + looked"),),
    }, misconception="layer-no-cross-norm"),
    *mistake("cross-norm-copied", "ln-shared", D, {
        V: ((V_C, V_C.replace("nc[", "n1[")),),
    }, misconception="layer-norm-1-for-cross"),
    *mistake("cross-residual-missing", "own-cross-residual-missing", D, {
        P: ((P_C, P_C.replace("U + looked", "looked")),),
    }, misconception="layer-no-cross-residual"),
    *mistake("cross-asks-with-X", "own-cross-queries", D, {
        V: ((V_LOOK, V_LOOK.replace("(U, memory", "(X, memory")),),
    }, misconception="layer-cross-queries-from-X"),
    *mistake("self-weights-in-cross", "own-self-weights", D, {
        P: ((P_LOOK, P_LOOK.replace("cross_heads", "self_heads").replace("cross_W_O", "self_W_O")),),
    }, misconception="layer-self-weights-for-both"),
    *mistake("memory-mask-dropped", "own-memory-mask-ignored", D, {
        V: ((V_LOOK, V_LOOK.replace(", memory_mask", "")),),
    }, misconception="layer-memory-mask-ignored"),
    *mistake("last-norm-missing", "own-last-norm-missing", D, {
        P: ((P_LAST, "return C + fed"),),
    }, misconception="layer-no-norm-2"),
    *mistake("wrong-way", "ce-noshift", T, {
        V: (("inputs = tokens[:-1]\n    targets = tokens[1:]", "inputs = tokens[1:]\n    targets = tokens[:-1]"),),
    }, misconception="shift-wrong-way"),
    *mistake("by-two", "ce-double-shift", T, {
        P: (("return tokens[:-1], tokens[1:]", "return tokens[:-2], tokens[2:]"),),
    }, misconception="shift-by-two", how="structure"),
    *mistake("not-at-all", "y-is-x", T, {
        V: (("targets = tokens[1:]", "targets = tokens[:-1]"),),
    }, misconception="shift-cut-alike"),
    *mistake("rolled", "own-rolled", T, {
        P: (("return tokens[:-1], tokens[1:]", "return tokens, torch.roll(tokens, -1)"),),
    }, misconception="shift-rolled", how="structure"),
    *mistake("as-floats", "own-float-ids", T, {
        V: (("return inputs, targets", "return inputs.astype(float), targets.astype(float)"),),
    }, misconception=None, how="dtype"),
]  # fmt: skip
