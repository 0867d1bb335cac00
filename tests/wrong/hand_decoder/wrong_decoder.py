"""Wrong decoders: positions, order of the blocks, final norm, readout."""

from tests.wrong.hand_decoder.model import C, E, F, L, P, Q, V, mistake

PART = "decoder"
V_EMB = 'X = params["embedding"][tokens]'
V_POS = 'X = X + params["positions"][:T]'
V_FOR, V_BLOCK = 'for block in params["blocks"]:', "X = decoder_block(X, block)"
V_FINAL, V_NORM = 'final = params["norm_f"]', 'X = layer_norm(X, final["gain"], final["shift"], params["eps"])'
V_Z = 'Z = X @ params["W_out"] + params["b_out"]'
E_POS, E_FOR = "h = h + p[: len(tokens)]", 'for b in params["blocks"]:'
E_NORM = 'h = norm_with(h, params["norm_f"], params["eps"])'
E_OUT = 'return einsum("td,dv->tv", h, params["W_out"]) + params["b_out"]'
Q_POS = 'x = x + params["positions"][np.arange(len(tokens))]'
Q_FOR = 'for layer in params["blocks"]:'
Q_NORM = 'x = layer_norm(x, params["norm_f"]["gain"], params["norm_f"]["shift"], params["eps"])'
Q_OUT = 'return x @ params["W_out"] + params["b_out"]'
L_POS = 'H[t, j] += params["positions"][t, j]'
L_BLOCK = 'H = decoder_block(H, params["blocks"][l])'
C_EMB = "return x if self.positions is None else x + self.positions[: len(tokens)]"
C_FOR, C_OUT = "for block in self.blocks:", "return self.norm(x) @ self.W_out + self.b_out"
P_EMB = 'H = params["embedding"][tokens]'
P_POS = 'H = H + params["positions"][: tokens.shape[0]]'
P_FOR = 'for block in params["blocks"]:'
P_NORM = 'H = layer_norm(H, params["norm_f"]["gain"], params["norm_f"]["shift"], params["eps"])'
P_OUT = 'return H @ params["W_out"] + params["b_out"]'
F_EMB = 'H = F.embedding(tokens, params["embedding"])'
F_POS = "H = H + F.embedding(torch.arange(len(tokens)), positions)"
F_FOR = 'for layer in params["blocks"]:'
F_NORM = 'H = layer_norm(H, f["gain"], f["shift"], params["eps"])'
F_OUT = 'return F.linear(H, params["W_out"].T, params["b_out"])'

WRONG = [
    *mistake("positions-missing", "pe-missing", PART, {
        V: ((V_POS, "pass"),),
        C: ((C_EMB, "return x"),),
        P: ((P_POS, 'H + params["positions"][: tokens.shape[0]]'),),
    }, note="in torch_plain the sum is computed and dropped"),
    *mistake("positions-off-by-one", "pe-off1", PART, {
        V: ((V_POS, 'X = X + params["positions"][1 : T + 1]'),),
        E: ((E_POS, "h = h + p[1 : len(tokens) + 1]"),),
        F: ((F_POS, "H = H + F.embedding(torch.arange(1, len(tokens) + 1), positions)"),),
    }, misconception="positions-from-one"),
    *mistake("positions-reversed", "pe-reversed", PART, {
        V: ((V_POS, 'X = X + params["positions"][:T][::-1]'),),
        P: ((P_POS, 'H = H + params["positions"][: tokens.shape[0]].flip(0)'),),
    }),
    *mistake("positions-from-the-end", "own-positions-from-end", PART, {
        V: ((V_POS, 'X = X + params["positions"][-T:]'),),
        P: ((P_POS, 'H = H + params["positions"][-len(tokens):]'),),
    }, misconception="positions-last-rows"),
    *mistake("positions-first-for-all", "sin-slice", PART, {
        Q: ((Q_POS, 'x = x + params["positions"][0]'),),
        L: ((L_POS, 'H[t, j] += params["positions"][0, j]'),),
        F: ((F_POS, "H = H + positions[0]"),),
    }, misconception="positions-first-row"),
    *mistake("positions-by-token", "pe-by-batch", PART, {
        V: ((V_POS, 'X = X + params["positions"][np.asarray(tokens) % len(params["positions"])]'),),
        F: ((F_POS, "H = H + F.embedding(tokens % len(positions), positions)"),),
    }, note="looked up by token id, modulo the table's length"),
    *mistake("positions-multiplied", "own-positions-multiplied", PART, {
        V: ((V_POS, 'X = X * params["positions"][:T]'),),
        P: ((P_POS, P_POS.replace("H + ", "H * ")),),
    }),
    *mistake("positions-in-every-block", "own-positions-in-every-block", PART, {
        V: ((V_POS, "pass"), (V_BLOCK, 'X = decoder_block(X + params["positions"][:T] if "positions" in params else X, block)')),
        P: ((P_POS, "pass"), ("H = decoder_block(H, block)", 'H = decoder_block(H + params["positions"][: len(tokens)] if "positions" in params else H, block)')),
    }, misconception="positions-in-each-block"),
    *mistake("positions-after-blocks", "own-positions-after-blocks", PART, {
        V: ((V_POS, "pass"), (V_FINAL, 'if "positions" in params:\n        X = X + params["positions"][:T]\n    final = params["norm_f"]')),
    }),
    *mistake("positions-concatenated", "own-positions-concatenated", PART, {
        V: ((V_POS, 'X = np.concatenate([X, params["positions"][:T]], axis=1)'),),
        P: ((P_POS, 'H = torch.cat([H, params["positions"][: len(tokens)]], dim=-1)'),),
    }, misconception=None, how="exception"),
    *mistake("positions-required", "own-positions-required", PART, {
        V: (('if "positions" in params:\n        X = X', "X = X"),),
        P: (('if "positions" in params:\n        H = H', "H = H"),),
    }, misconception=None, how="exception", note="raises when there are none"),
    *mistake("embedding-scaled", "emb-sqrtd", PART, {
        V: ((V_EMB, 'X = params["embedding"][tokens] * math.sqrt(params["embedding"].shape[1])'),),
        F: ((F_EMB, F_EMB + " * params['embedding'].shape[1] ** 0.5"),),
    }, misconception="embedding-times-root-width", note="times sqrt d"),
    *mistake("embedding-shifted", "own-embedding-shifted", PART, {
        V: ((V_EMB, 'X = params["embedding"][np.asarray(tokens) - 1]'),),
        P: ((P_EMB, 'H = params["embedding"][tokens - 1]'),),
    }, misconception="embedding-shifted-down", note="ids counted from 1"),
    *mistake("tokens-reversed", "own-tokens-reversed", PART, {
        V: ((V_EMB, 'X = params["embedding"][tokens[::-1]]'),),
    }),
    *mistake("final-norm-missing", "dec-no-final-norm", PART, {
        V: ((V_NORM, "pass"),),
        C: ((C_OUT, "return x @ self.W_out + self.b_out"),),
        F: ((F_NORM, "pass"),),
    }),
    *mistake("final-norm-before-blocks", "own-final-norm-first", PART, {
        V: ((V_NORM, "pass"), (V_FOR, V_NORM.replace("final[", 'params["norm_f"][') + "\n    " + V_FOR)),
        P: ((P_FOR, P_NORM + "\n    " + P_FOR), ("        H = decoder_block(H, block)\n    " + P_NORM, "        H = decoder_block(H, block)")),
    }),
    *mistake("final-norm-in-every-block", "own-final-norm-each", PART, {
        E: (("        h = decoder_block(h, b)\n    " + E_NORM, "        h = decoder_block(h, b)\n        " + E_NORM),),
        P: (("        H = decoder_block(H, block)\n    " + P_NORM, "        H = decoder_block(H, block)\n        " + P_NORM),),
    }),
    *mistake("final-norm-twice", "own-final-norm-twice", PART, {
        Q: ((Q_NORM, Q_NORM + "\n    " + Q_NORM),),
    }),
    *mistake("final-norm-from-last-block", "ln-shared", PART, {
        V: ((V_FINAL, 'final = params["blocks"][-1]["norm_2"]'),),
        F: (('f = params["norm_f"]', 'f = params["blocks"][-1]["norm_2"]'),),
    }, misconception="final-norm-from-block"),
    *mistake("final-norm-eps-from-block", "ln-eps-value", PART, {
        V: ((V_NORM, V_NORM.replace('params["eps"]', 'block["eps"]')),),
        P: ((P_NORM, P_NORM.replace('params["eps"]', 'block["eps"]')),),
    }, note="eps of the last block for eps of the decoder"),
    *mistake("blocks-first-repeated", "dec-shared-block", PART, {
        V: ((V_BLOCK, 'X = decoder_block(X, params["blocks"][0])'),),
        L: ((L_BLOCK, 'H = decoder_block(H, params["blocks"][0])'),),
        F: ((F_FOR, 'for layer in params["blocks"][:1] * len(params["blocks"]):'),),
    }, misconception="layers-share-first"),
    *mistake("blocks-last-skipped", "dec-skip-last", PART, {
        V: ((V_FOR, 'for block in params["blocks"][:-1]:'),),
        C: ((C_FOR, "for block in self.blocks[:-1]:"),),
        P: ((P_FOR, 'for block in params["blocks"][:-1]:'),),
    }, misconception="layers-skip-last"),
    *mistake("blocks-first-skipped", "dec-skip-last", PART, {
        E: ((E_FOR, 'for b in params["blocks"][1:]:'),),
        F: ((F_FOR, 'for layer in params["blocks"][1:]:'),),
    }, misconception="layers-skip-first"),
    *mistake("blocks-first-only", "own-blocks-first-only", PART, {
        V: ((V_FOR, 'for block in params["blocks"][:1]:'),),
        P: (("        H = decoder_block(H, block)\n", "        H = decoder_block(H, block)\n        break\n"),),
    }, misconception="layers-only-first"),
    *mistake("blocks-last-only", "own-blocks-not-chained", PART, {
        V: ((V_FOR, "start = X\n    " + V_FOR), (V_BLOCK, "X = decoder_block(start, block)")),
        F: ((F_FOR, "start = H\n    " + F_FOR), ("H = decoder_block(H, layer)", "H = decoder_block(start, layer)")),
    }, misconception="layers-only-last", note="every block reads the embedding, so that only the last one counts"),
    *mistake("blocks-reversed", "dec-layer-order", PART, {
        V: ((V_FOR, 'for block in params["blocks"][::-1]:'),),
        Q: ((Q_FOR, 'for layer in reversed(params["blocks"]):'),),
        P: ((P_FOR, 'for block in reversed(params["blocks"]):'),),
    }, misconception="layers-reversed"),
    *mistake("blocks-missing", "own-blocks-missing", PART, {
        V: ((V_BLOCK, "decoder_block(X, block)"),),
    }, misconception="layers-none", note="results of the blocks dropped"),
    *mistake("blocks-residual-around", "blk-double-res", PART, {
        V: ((V_BLOCK, "X = X + decoder_block(X, block)"),),
        F: (("H = decoder_block(H, layer)", "H = H + decoder_block(H, layer)"),),
    }, misconception="residual-input-again", note="a second residual around each block"),
    *mistake("readout-tied", "dec-tied-wrong", PART, {
        V: ((V_Z, 'Z = X @ params["embedding"].T + params["b_out"]'),),
        F: ((F_OUT, 'return F.linear(H, params["embedding"], params["b_out"])'),),
    }),
    *mistake("readout-bias-missing", "mh-bias-lost", PART, {
        V: ((V_Z, 'Z = X @ params["W_out"]'),),
        E: ((E_OUT, 'return einsum("td,dv->tv", h, params["W_out"])'),),
        F: ((F_OUT, 'return F.linear(H, params["W_out"].T)'),),
    }),
    *mistake("readout-probabilities", "dec-probs-out", PART, {
        V: (("    return Z\n", "    return softmax(Z)\n"),),
        F: ((F_OUT, 'return F.softmax(F.linear(H, params["W_out"].T, params["b_out"]), dim=-1)'),),
    }, misconception="decoder-returns-probabilities"),
    *mistake("readout-log-probabilities", "dec-logprobs-out", PART, {
        V: (("    return Z\n", "    return np.log(softmax(Z))\n"),),
        F: ((F_OUT, 'return F.log_softmax(F.linear(H, params["W_out"].T, params["b_out"]), dim=-1)'),),
    }, misconception="decoder-returns-logarithms"),
    *mistake("readout-last-position", "dec-last-only", PART, {
        V: (("    return Z\n", "    return Z[-1:]\n"),),
        C: ((C_OUT, "return self.norm(x)[-1] @ self.W_out + self.b_out"),),
        P: ((P_OUT, P_OUT.replace("H @", "H[-1:] @")),),
    }, misconception={V: "decoder-last-row-only", C: "decoder-last-only", P: "decoder-last-row-only"}, how="structure"),
    *mistake("readout-relu", "own-readout-relu", PART, {
        Q: ((Q_OUT, 'return np.maximum(x, 0) @ params["W_out"] + params["b_out"]'),),
    }, note="a ReLU before the readout"),
    *mistake("readout-token-ids", "own-argmax-out", PART, {
        V: (("    return Z\n", "    return Z.argmax(axis=-1)\n"),),
        P: ((P_OUT, "return (H @ params['W_out'] + params['b_out']).argmax(-1)"),),
    }, misconception="decoder-returns-tokens", how="structure"),
    *mistake("decoder-consumes-blocks", "own-consumed", PART, {
        V: ((V_FOR, 'while params["blocks"]:\n        block = params["blocks"].pop(0)'),),
        P: ((P_FOR, 'params["blocks"].reverse()\n    while params["blocks"]:\n        block = params["blocks"].pop()'), ),
    }, misconception="argument-changed", how="mutation"),
    *mistake("decoder-changes-embedding", "blk-inplace", PART, {
        P: ((P_EMB, "params['embedding'].mul_(1.0).add_(0.0)\n    H = params['embedding'][tokens]\n    params['embedding'][tokens] = 0.0"),),
    }, misconception="argument-changed", how="mutation"),
    *mistake("decoder-position-counter", "kv-stale", PART, {
        V: (("def decoder(tokens, params):\n", "SEEN = 0\n\n\ndef decoder(tokens, params):\n    global SEEN\n"),
            (V_POS, 'rows = (SEEN + np.arange(T)) % len(params["positions"])\n        SEEN += T\n        X = X + params["positions"][rows]')),
        F: (("def decoder(tokens: Tensor", "offset = [0]\n\n\ndef decoder(tokens: Tensor"),
            (F_POS, "rows = (offset[0] + torch.arange(len(tokens))) % len(positions)\n        offset[0] += len(tokens)\n        H = H + positions[rows]")),
    }, misconception="remembers-calls", how="state", note="positions go on from the previous call"),
    *mistake("decoder-embedding-detached", "detach-in-forward", PART, {
        P: ((P_EMB, 'H = params["embedding"][tokens].detach().clone()'),),
        F: ((F_NORM, F_NORM + "\n    H = torch.as_tensor(H.detach().numpy())"),),
    }, misconception={P: "argument-detached", F: "readout-input-detached"}, how="gradient"),
    *mistake("decoder-not-written", "own-exception", PART, {
        V: (("    T = len(tokens)\n", "    raise NotImplementedError\n"),),
        F: ((F_FOR, 'for layer in params["layers"]:'),),
    }, misconception=None, how="exception"),
]  # fmt: skip
