"""Wrong blocks: which residual, which norm, which input, which order."""

from tests.wrong.hand_decoder.model import C, E, F, P, Q, V, mistake

PART = "decoder_block"
V_X, V_ATT = 'X = layer_norm(H, n1["gain"], n1["shift"], eps)', 'attended = multi_head_attention(X, block["heads"], block["W_O"])'
V_U, V_Y = "U = H + attended", 'Y = layer_norm(U, n2["gain"], n2["shift"], eps)'
V_FED = 'fed = feed_forward(Y, block["W_1"], block["b_1"], block["W_2"], block["b_2"])'
V_OUT = "return U + fed"
E_A, E_U = 'a = norm_with(H, block["norm_1"], block["eps"])', 'U = H + multi_head_attention(a, block["heads"], block["W_O"])'
E_B = 'b = norm_with(U, block["norm_2"], block["eps"])'
E_OUT = 'return U + feed_forward(b, *(block[name] for name in ("W_1", "b_1", "W_2", "b_2")))'
Q_G1 = 'g1, s1 = block["norm_1"]["gain"], block["norm_1"]["shift"]'
Q_G2 = 'g2, s2 = block["norm_2"]["gain"], block["norm_2"]["shift"]'
Q_U = 'U = H + multi_head_attention(layer_norm(H, g1, s1, block["eps"]), block["heads"], block["W_O"])'
Q_OUT = 'return U + feed_forward(layer_norm(U, g2, s2, block["eps"]), block["W_1"], block["b_1"], block["W_2"], block["b_2"])'
C_1, C_2 = "x = x + self.attention(self.norm_1(x))", "return x + self.feed_forward(self.norm_2(x))"
P_N1 = 'normed = layer_norm(H, block["norm_1"]["gain"], block["norm_1"]["shift"], eps)'
P_U = 'U = H + multi_head_attention(normed, block["heads"], block["W_O"])'
P_N2 = 'normed_2 = layer_norm(U, block["norm_2"]["gain"], block["norm_2"]["shift"], eps)'
P_OUT = 'out = U + feed_forward(normed_2, block["W_1"], block["b_1"], block["W_2"], block["b_2"])'
F_NORMS = 'first, second = block["norm_1"], block["norm_2"]'
F_IN = 'attn_in = layer_norm(H, first["gain"], first["shift"], block["eps"])'
F_ATT = 'attn_out = multi_head_attention(attn_in, block["heads"], block["W_O"])'
F_H = "H = H + attn_out"
F_IN2 = 'ffn_in = layer_norm(H, second["gain"], second["shift"], block["eps"])'
F_FED = 'ffn_out = feed_forward(ffn_in, block["W_1"], block["b_1"], block["W_2"], block["b_2"])'
F_OUT = "return H + ffn_out"

WRONG = [
    *mistake("block-post-norm", "blk-post-for-pre", PART, {
        V: ((V_X, "X = H"), (V_U, 'U = layer_norm(H + attended, n1["gain"], n1["shift"], eps)'), (V_Y, "Y = U"),
            (V_OUT, 'return layer_norm(U + fed, n2["gain"], n2["shift"], eps)')),
        C: ((C_1, "x = self.norm_1(x + self.attention(x))"), (C_2, "return self.norm_2(x + self.feed_forward(x))")),
        P: ((P_N1, "normed = H"), (P_U, "U = H + multi_head_attention(normed, block['heads'], block['W_O'])\n    U = layer_norm(U, block['norm_1']['gain'], block['norm_1']['shift'], eps)"),
            (P_N2, "normed_2 = U"), (P_OUT, P_OUT + "\n    out = layer_norm(out, block['norm_2']['gain'], block['norm_2']['shift'], eps)")),
    }, misconception="post-norm"),
    *mistake("block-norm-after-sublayer", "own-sandwich", PART, {
        C: ((C_1, "x = x + self.norm_1(self.attention(x))"), (C_2, "return x + self.norm_2(self.feed_forward(x))")),
        F: ((F_IN, "attn_in = H"), (F_ATT, 'attn_out = layer_norm(multi_head_attention(attn_in, block["heads"], block["W_O"]), first["gain"], first["shift"], block["eps"])'),
            (F_IN2, "ffn_in = H"), (F_FED, F_FED + '\n    ffn_out = layer_norm(ffn_out, second["gain"], second["shift"], block["eps"])')),
    }, misconception="norm-on-branch-output", note="x + LN(f(x))"),
    *mistake("block-residual-from-norm", "blk-res-from-norm", PART, {
        V: ((V_U, "U = X + attended"), (V_OUT, "return Y + fed")),
        P: ((P_U, 'U = normed + multi_head_attention(normed, block["heads"], block["W_O"])'), (P_OUT, P_OUT.replace("out = U", "out = normed_2"))),
    }, misconception=("residual-from-norm-1", "residual-from-norm-2")),
    *mistake("block-first-residual-from-norm", "blk-res-from-norm", PART, {
        E: ((E_U, 'U = a + multi_head_attention(a, block["heads"], block["W_O"])'),),
        F: ((F_H, "H = attn_in + attn_out"),),
    }, misconception="residual-from-norm-1"),
    *mistake("block-second-residual-from-norm", "blk-res-from-norm", PART, {
        E: ((E_OUT, E_OUT.replace("return U", "return b")),),
        F: ((F_OUT, "return ffn_in + ffn_out"),),
    }, misconception="residual-from-norm-2"),
    *mistake("block-no-first-residual", "blk-no-res-attn", PART, {
        V: ((V_U, "U = attended"),),
        C: ((C_1, "x = self.attention(self.norm_1(x))"),),
        F: ((F_H, "H = attn_out"),),
    }, misconception="no-residual-around-attention"),
    *mistake("block-no-second-residual", "blk-no-res-ffn", PART, {
        V: ((V_OUT, "return fed"),),
        E: ((E_OUT, E_OUT.replace("return U + ", "return ")),),
        P: ((P_OUT, P_OUT.replace("out = U + ", "out = ")),),
    }, misconception="no-residual-around-feed-forward"),
    *mistake("block-no-residuals", "blk-no-res-attn", PART, {
        C: ((C_1, "x = self.attention(self.norm_1(x))"), (C_2, "return self.feed_forward(self.norm_2(x))")),
        P: ((P_U, P_U.replace("H + ", "")), (P_OUT, P_OUT.replace("U + ", ""))),
    }, misconception=("no-residual-around-attention", "no-residual-around-feed-forward")),
    *mistake("block-no-first-norm", "blk-no-norm-attn", PART, {
        V: ((V_X, "X = H"),),
        Q: ((Q_U, 'U = H + multi_head_attention(H, block["heads"], block["W_O"])'),),
        P: ((P_U, 'U = H + multi_head_attention(H, block["heads"], block["W_O"])'),),
    }, misconception="no-norm-before-attention"),
    *mistake("block-no-second-norm", "blk-no-norm-ffn", PART, {
        V: ((V_Y, "Y = U"),),
        E: ((E_B, "b = U"),),
        F: ((F_IN2, "ffn_in = H"),),
    }, misconception="no-norm-before-feed-forward"),
    *mistake("block-no-norms", "blk-no-norm-attn", PART, {
        C: ((C_1, "x = x + self.attention(x)"), (C_2, "return x + self.feed_forward(x)")),
        F: ((F_IN, "attn_in = H"), (F_IN2, "ffn_in = H")),
    }, misconception=("no-norm-before-attention", "no-norm-before-feed-forward")),
    *mistake("block-first-norm-for-both", "ln-shared", PART, {
        V: (('n2 = block["norm_2"]', 'n2 = block["norm_1"]'),),
        Q: ((Q_G2, "g2, s2 = g1, s1"),),
        P: ((P_N2, P_N2.replace('"norm_2"', '"norm_1"')),),
    }, misconception="norm-1-for-both"),
    *mistake("block-second-norm-for-both", "ln-shared", PART, {
        E: ((E_A, 'a = norm_with(H, block["norm_2"], block["eps"])'),),
        F: ((F_NORMS, 'first = second = block["norm_2"]'),),
    }, misconception="norm-2-for-both"),
    *mistake("block-norms-swapped", "own-norms-swapped", PART, {
        V: (('n1 = block["norm_1"]', 'n2 = block["norm_1"]'), ('n2 = block["norm_2"]', 'n1 = block["norm_2"]')),
        F: ((F_NORMS, 'second, first = block["norm_1"], block["norm_2"]'),),
    }, misconception="norms-swapped"),
    *mistake("block-parallel", "blk-parallel", PART, {
        V: ((V_Y, 'Y = layer_norm(H, n2["gain"], n2["shift"], eps)'),),
        P: ((P_N2, P_N2.replace("layer_norm(U,", "layer_norm(H,")),),
        C: ((C_1, "y = x + self.attention(self.norm_1(x))"), (C_2, "return y + self.feed_forward(self.norm_2(x))")),
    }, misconception="parallel-sublayers", note="the feed-forward layer reads LN_2(H)"),
    *mistake("block-feed-forward-reads-first-norm", "own-ffn-reads-first-norm", PART, {
        V: ((V_FED, V_FED.replace("(Y,", "(X,")),),
        P: ((P_OUT, P_OUT.replace("normed_2", "normed")),),
    }, misconception="parallel-sublayers-one-norm", note="the feed-forward layer reads LN_1(H)"),
    *mistake("block-feed-forward-first", "blk-ffn-first", PART, {
        C: ((C_1, "x = x + self.feed_forward(self.norm_2(x))"), (C_2, "return x + self.attention(self.norm_1(x))")),
        Q: ((Q_U, 'U = H + feed_forward(layer_norm(H, g2, s2, block["eps"]), block["W_1"], block["b_1"], block["W_2"], block["b_2"])'),
            (Q_OUT, 'return U + multi_head_attention(layer_norm(U, g1, s1, block["eps"]), block["heads"], block["W_O"])')),
    }, misconception="feed-forward-first", note="each sublayer keeps its own norm"),
    *mistake("block-feed-forward-first-norms-in-place", "blk-ffn-first", PART, {
        F: ((F_ATT, 'attn_out = feed_forward(attn_in, block["W_1"], block["b_1"], block["W_2"], block["b_2"])'),
            (F_FED, 'ffn_out = multi_head_attention(ffn_in, block["heads"], block["W_O"])')),
    }, misconception="feed-forward-first-norms-in-order", note="sublayers exchanged, norm_1 still first"),
    *mistake("block-second-residual-from-input", "own-residual-from-input", PART, {
        V: ((V_OUT, "return H + fed"),),
        P: ((P_OUT, P_OUT.replace("out = U", "out = H")),),
    }, misconception="residual-skips-attention", note="H' = H + FF(LN_2(U))"),
    *mistake("block-second-norm-reads-attention", "own-norm-reads-attention", PART, {
        V: ((V_Y, 'Y = layer_norm(attended, n2["gain"], n2["shift"], eps)'),),
        F: ((F_IN2, 'ffn_in = layer_norm(attn_out, second["gain"], second["shift"], block["eps"])'),),
    }, misconception="feed-forward-reads-attention", note="FF(LN_2(MHA)) for FF(LN_2(U))"),
    *mistake("block-first-residual-doubled", "blk-double-res", PART, {
        V: ((V_U, "U = H + H + attended"),),
        C: ((C_1, "x = x + x + self.attention(self.norm_1(x))"),),
    }, misconception="residual-doubled"),
    *mistake("block-second-residual-doubled", "blk-double-res", PART, {
        E: ((E_OUT, E_OUT.replace("return U", "return U + U")),),
        P: ((P_OUT, P_OUT.replace("out = U", "out = 2 * U")),),
    }, misconception="residual-2-doubled"),
    *mistake("block-input-added-again", "blk-double-res", PART, {
        V: ((V_OUT, "return H + U + fed"),),
        F: ((F_H, "X = H\n    H = H + attn_out"), (F_OUT, "return X + H + ffn_out")),
    }, misconception="residual-input-again", note="H' = H + U + FF(LN_2(U))"),
    *mistake("block-feed-forward-missing", "own-sublayer-missing", PART, {
        V: ((V_OUT, "return U"),),
        P: ((P_OUT, "out = U"),),
    }, misconception="no-feed-forward"),
    *mistake("block-attention-missing", "own-sublayer-missing", PART, {
        V: ((V_U, "U = H"),),
        F: ((F_H, "H = H + 0 * attn_out"),),
    }, misconception="no-attention"),
    *mistake("block-extra-norm-at-end", "own-extra-norm", PART, {
        V: ((V_OUT, 'return layer_norm(U + fed, n2["gain"], n2["shift"], eps)'),),
        F: ((F_OUT, 'return layer_norm(H + ffn_out, second["gain"], second["shift"], block["eps"])'),),
    }, misconception="block-norm-at-the-end", note="norm_2 once more on the result"),
    *mistake("block-second-residual-normed-stream", "own-norm-replaces-stream", PART, {
        P: ((P_N2, "U = " + P_N2.removeprefix("normed_2 = ") + "\n    normed_2 = U"),),
    }, misconception="residual-from-norm-2", note="U overwritten by LN_2(U)"),
    *mistake("block-residuals-scaled", "own-residuals-scaled", PART, {
        C: ((C_1, "x = (x + self.attention(self.norm_1(x))) / 2**0.5"), (C_2, "return (x + self.feed_forward(self.norm_2(x))) / 2**0.5")),
    }, misconception="residuals-divided-by-root-2", note="each sum divided by sqrt 2"),
    *mistake("block-attention-subtracted", "own-residual-sign", PART, {
        E: ((E_U, E_U.replace("H + ", "H - ")),),
        P: ((P_U, P_U.replace("H + ", "H - ")),),
    }, misconception="attention-subtracted", note="H - MHA(LN_1(H))"),
    *mistake("block-eps-fixed", "ln-eps-value", PART, {
        V: (('eps = block["eps"]', "eps = 1e-5"),),
        P: (('eps = block["eps"]', "eps = 1e-5"),),
    }, misconception="block-eps-1e-5", note="1e-5 whatever the block says"),
    *mistake("block-first-head-only", "mh-share-head0", PART, {
        V: ((V_ATT, 'attended = multi_head_attention(X, block["heads"][:1], block["W_O"][: block["heads"][0][2].shape[1]])'),),
    }, misconception="heads-only-first", note="heads after the first are not used"),
    *mistake("block-attention-twice", "own-sublayer-twice", PART, {
        V: ((V_U, 'U = H + attended\n    U = U + multi_head_attention(layer_norm(U, n1["gain"], n1["shift"], eps), block["heads"], block["W_O"])'),),
    }, misconception="attention-twice", note="the attention sublayer runs twice"),
    *mistake("block-changes-its-input", "blk-inplace", PART, {
        V: ((V_U, "H += attended\n    U = H"),),
        E: ((E_U, E_U.replace("U = H + ", "H += ") + "\n    U = H"),),
        F: ((F_H, "H.data.add_(attn_out.data)"),),
    }, misconception="argument-changed", how="mutation"),
    *mistake("block-changes-its-parameters", "own-parameters-changed", PART, {
        P: ((P_N1, 'block["heads"] = [tuple(w.clone() for w in head) for head in block["heads"]]\n    block["W_O"] *= 1.5\n    normed = layer_norm(H, block["norm_1"]["gain"], block["norm_1"]["shift"], eps)'),
            (P_U, P_U.replace('block["W_O"])', 'block["W_O"] / 1.5)'))),
    }, misconception="argument-changed", how="mutation"),
    *mistake("block-residual-detached", "detach-in-forward", PART, {
        P: ((P_U, P_U.replace("H + ", "H.detach() + ")),),
        F: ((F_OUT, "return H.detach() + ffn_out"),),
    }, misconception={P: "residual-1-detached", F: "residual-2-detached"}, how="gradient"),
    *mistake("block-sublayer-no-grad", "detach-in-forward", PART, {
        F: ((F_ATT, "with torch.no_grad():\n        " + F_ATT),),
        P: ((P_OUT, "with torch.no_grad():\n        fed = feed_forward(normed_2, block['W_1'], block['b_1'], block['W_2'], block['b_2'])\n    out = U + fed"),),
    }, misconception={F: "attention-detached", P: "feed-forward-detached"}, how="gradient"),
    *mistake("block-dropout", "drop-eval", PART, {
        F: ((F_OUT, "return H + F.dropout(ffn_out, p=0.1)"),),
        V: ((V_OUT, "return U + fed * (np.random.random(fed.shape) < 0.9) / 0.9"),),
    }, misconception="random-results", how="state"),
    *mistake("block-counts-its-calls", "own-counter", PART, {
        V: (("def decoder_block(H, block):\n", "calls = 0\n\n\ndef decoder_block(H, block):\n    global calls\n    calls += 1\n"),
            (V_OUT, "return U + fed if calls < 4 else U")),
    }, misconception="remembers-calls", how="state", note="skips a sublayer from the fourth call on"),
    *mistake("block-key-misspelled", "own-exception", PART, {
        V: (('n2 = block["norm_2"]', 'n2 = block["norm2"]'),),
        C: (('eps=block["eps"], **block["norm_2"]', 'eps=block["epsilon"], **block["norm_2"]'),),
    }, misconception=None, how="exception"),
]  # fmt: skip
