"""Holds the wrong models: attention, positions, norms, wiring, what a forward pass gives."""

from tests.wrong.decoder_lm.model import A, D, F, L, P, R, S, T, chapter

LOAD = '            linear(block.inner, weights[at + "W_1"], weights[at + "b_1"])\n'

WRONG = chapter(
    "model.*",
    # attention
    ("no-scale", "scores are not divided", "lm-scale-missing", P, ((" / math.sqrt(q.shape[-1])\n        allowed", "\n        allowed"),)),
    ("scale-width", "scores are divided by the root of the whole width", "lm-scale-by-model-width", P, (
        ("/ math.sqrt(q.shape[-1])", "/ math.sqrt(x.shape[-1])"),
    )),
    ("scale-no-root", "scores are divided by d_k", "lm-scale-by-width", L, (("/ Q.shape[-1] ** 0.5", "/ Q.shape[-1]"),)),
    ("scale-times", "scores are multiplied by the root of d_k", "lm-scale-multiplied", F, (
        ("/ q.shape[-1] ** 0.5\n    later", "* q.shape[-1] ** 0.5\n    later"),
    )),
    ("softmax-of-queries", "the softmax is over the queries", "lm-softmax-axis", P, (("scores.softmax(dim=-1) @ v", "scores.softmax(dim=-2).nan_to_num() @ v"),)),
    ("softmax-twice", "a softmax of a softmax", "lm-softmax-twice", D, (
        ("att = self.attn_drop(F.softmax(att, dim=-1))", "att = self.attn_drop(F.softmax(F.softmax(att, dim=-1), dim=-1))"),
    )),
    ("softmax-of-heads", "the softmax is over the heads", None, S, (
        ("scores.masked_fill(~allowed, -math.inf), -1)", "scores, 1).masked_fill(~allowed, 0)"),
    )),
    ("keys-are-queries", "the queries are used as keys", "lm-wrong-projection", P, (("self.split(self.W_K(x))", "self.split(self.W_Q(x))"),)),
    ("values-are-keys", "the keys are used as values", "lm-parameter-unused", R, (("for f in (self.q, self.k, self.v))", "for f in (self.q, self.k, self.k))"),)),
    ("queries-keys-swapped", "queries and keys change places when the reference is loaded", "lm-wrong-projection", S, (
        ('torch.stack([w["W_Q"], w["W_K"], w["W_V"]])', 'torch.stack([w["W_K"], w["W_Q"], w["W_V"]])'),
    )),
    ("no-mask", "every position sees every other", "lm-mask-missing", P, (
        ('        scores = scores.masked_fill(~allowed, float("-inf"))\n', ""),
    )),
    ("mask-one-ahead", "a position sees the next one", "lm-mask-one-ahead", L, (
        ("later = torch.arange(K.shape[1])[None, :] > torch", "later = torch.arange(K.shape[1])[None, :] > 1 + torch"),
    )),
    ("mask-strict", "a position does not see itself", "lm-mask-strict", P, ((".tril(start)", ".tril(start - 1)"), ("scores.softmax(dim=-1)", "scores.softmax(dim=-1).nan_to_num()"))),
    ("mask-transposed", "a position sees itself and the later ones", "lm-mask-transposed", D, (
        ("torch.tril(torch.ones(context, context)).bool()", "torch.triu(torch.ones(context, context)).bool()"),
    )),
    ("mask-times", "masked scores are 0 and take part in the softmax", "lm-mask-zero", F, (
        ("weights = scores.masked_fill(later, -torch.inf)", "weights = scores * ~later"),
    )),
    ("mask-after-softmax", "weights are masked after the softmax and not divided anew", "lm-mask-after-softmax", P, (
        ('        scores = scores.masked_fill(~allowed, float("-inf"))\n        out = scores.softmax(dim=-1) @ v',
         "        out = scores.softmax(dim=-1).masked_fill(~allowed, 0.0) @ v"),
    )),
    ("mask-pairs", "the second of each two positions is seen by the first", None, L, (
        ("later = torch.arange(K.shape[1])[None, :] > torch.arange(start, K.shape[1])[:, None]",
         "later = torch.arange(K.shape[1])[None, :] // 2 > torch.arange(start, K.shape[1])[:, None] // 2"),
    )),
    ("mask-short", "the mask covers the first eight positions only", None, S, (
        ("allowed = torch.tril(ones, diagonal=length) == 1",
         "allowed = torch.tril(ones, diagonal=length) == 1\n        allowed[:, 8:] = True"),
    )),
    ("window", "a position sees the last four only", "lm-mask-window", F, (
        ("later = torch.arange(k.shape[1]) > positions[:, None]",
         "later = (torch.arange(k.shape[1]) - positions[:, None] + 1.5).abs() > 2"),
    )),
    ("heads-view", "heads are cut out of the wrong axes", "lm-heads-split-without-transpose", P, (
        ("return x.view(B, T, self.heads, d // self.heads).transpose(1, 2)", "return x.reshape(B, self.heads, T, d // self.heads)"),
    )),
    ("heads-merged-wrongly", "heads are put together without going back to one row a position", "lm-heads-merged-without-transpose", D, (
        ("(att @ v).transpose(1, 2).contiguous().view(B, T, C)", "(att @ v).contiguous().view(B, T, C)"),
    )),
    ("one-head", "the number of heads is ignored", "lm-heads-ignored", A, (("self.n_head, self.rope = n_head, rope", "self.n_head, self.rope = 1, rope"),)),
    ("first-head-only", "the first head does the work of all", "lm-parameter-unused", L, (
        ("            out, now = head(N, past[i] if past else None)\n",
         "            out, now = self.heads[0](N, past[i] if past else None)\n"),
    )),
    ("heads-added", "heads are added instead of put side by side", None, L, (
        ("H = H + torch.cat(outs, -1) @ self.W_O", "H = H + sum(outs).repeat(1, 1, len(outs)) @ self.W_O"),
    )),
    ("no-output-matrix", "the heads' results are not multiplied by W_O", "lm-no-output-projection", P, (
        ("return self.W_O(out.transpose(1, 2).flatten(2)), (k, v)", "return out.transpose(1, 2).flatten(2), (k, v)"),
    )),
    ("weights-detached", "no gradient through the attention weights", "lm-gradient-cut", T, (
        ("-torch.inf).softmax(-1)\n", "-torch.inf).softmax(-1).detach()\n"),
    )),
    # positions
    ("pairs-next-to-each-other", "the pairs are 2i and 2i + 1", "lm-rotary-interleaved", P, (
        ("    a, b = x[..., : d_k // 2], x[..., d_k // 2 :]\n    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)",
         "    a, b = x[..., 0::2], x[..., 1::2]\n    return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)"),
    )),
    ("turned-backwards", "the angles are negative", "lm-rotary-sign", S, (
        ("torch.cat([x1 * c - x2 * s, x2 * c + x1 * s], -1)", "torch.cat([x1 * c + x2 * s, x2 * c - x1 * s], -1)"),
    )),
    ("no-minus", "the minus of the rotation is missing", "lm-rotary-no-minus", D, (
        ("torch.cat((-b, a), dim=-1)", "torch.cat((b, a), dim=-1)"),
    )),
    ("frequency-without-2", "the exponent is i / d_k", "lm-rotary-exponent", P, (("10000.0 ** (-2 * torch", "10000.0 ** (-torch"),)),
    ("frequency-4", "the exponent is 4i / d_k", "lm-rotary-exponent", A, (("2 * i / d_k)\n            a = a", "4 * i / d_k)\n            a = a"),)),
    ("base-1000", "the base is 1000", "lm-rotary-base", F, (("torch.tensor(10000.0)", "torch.tensor(1000.0)"),)),
    ("turned-by-head", "the angle goes with the head instead of the position", "lm-rotary-missing", R, (
        ("q, k = self.turned(q, start), self.turned(k, start)",
         "q, k = (self.turned(y.transpose(1, 2), start).transpose(1, 2) for y in (q, k))"),
    )),
    ("values-turned", "values are turned as well", "lm-rotary-on-values", P, (
        ("            q, k = turn(q, start), turn(k, start)\n", "            q, k, v = turn(q, start), turn(k, start), turn(v, start)\n"),
    )),
    ("queries-only", "only queries are turned", "lm-rotary-only-q", D, (("q, k = self.rope(q, at), self.rope(k, at)", "q = self.rope(q, at)"),)),
    ("keys-only", "only keys are turned", "lm-rotary-only-k", S, (
        ("q, k = self.rotate(q, length), self.rotate(k, length)", "k = self.rotate(k, length)"),
    )),
    ("not-turned", "there are no positions", "lm-rotary-missing", T, (
        ("q, k = self.rotate(q, positions), self.rotate(k, positions)", "pass"),
    )),
    ("positions-half", "positions are counted in half precision", "lm-rotary-half-precision", P, (
        ("    angle = torch.arange(start, start + T, dtype=torch.float64)[:, None] * frequency",
         "    angle = torch.arange(start, start + T).to(torch.bfloat16).double()[:, None] * frequency"),
    )),
    ("positions-fraction", "the position is divided by the number of positions", "lm-length-matters", R, (
        ("torch.arange(start, start + x.shape[-2]).double().unsqueeze(1)\n",
         "torch.arange(start, start + x.shape[-2]).double().unsqueeze(1) / (start + x.shape[-2])\n"),
    )),
    ("positions-not-added", "the learned positions are never added", "lm-positions-missing", P, (
        ("            x = x + self.positions(torch.arange(start, start + T, device=tokens.device))\n",
         "            x = x + 0 * self.positions.weight[0].detach()\n"),
    )),
    ("positions-first-only", "every position gets the first learned one", "lm-positions-all-first", F, (
        ("[torch.arange(start, start + tokens.shape[1])]\n", "[torch.zeros(tokens.shape[1], dtype=torch.long)]\n"),
    )),
    ("positions-by-token", "learned positions are looked up by token", None, S, (
        ("self.pos(torch.arange(start, start + tokens.shape[1])).unsqueeze(0)", "self.pos(tokens)"),
    )),
    ("positions-twice", "learned positions are added twice", None, D, (
        ("            x = x + self.wpe.weight[at : at + tokens.size(1)]\n",
         "            x = x + 2 * self.wpe.weight[at : at + tokens.size(1)]\n"),
    )),
    # norms
    ("no-norm-1", "no norm before attention", "lm-no-norm-attention", P, (("self.attention(self.norm_1(x), past)", "self.attention(x, past)"),)),
    ("no-norm-2", "no norm before the feed-forward layer", "lm-no-norm-feed-forward", R, (("self.up(self.norm_m(x))", "self.up(x)"),)),
    ("no-final-norm", "no norm before the readout", "lm-no-final-norm", P, (("self.readout(self.norm_f(x))", "self.readout(x)"),)),
    ("norm-shared", "the first norm does the work of the second", "lm-norm-shared", D, (("self.ln_2(x))))", "self.ln_1(x))))"),)),
    ("post-norm", "norms come after the residuals", "lm-post-norm", P, (
        ("        attended, kept = self.attention(self.norm_1(x), past)\n        x = x + attended\n"
         "        return x + self.outer(torch.relu(self.inner(self.norm_2(x)))), kept",
         "        attended, kept = self.attention(x, past)\n        x = self.norm_1(x + attended)\n"
         "        return self.norm_2(x + self.outer(torch.relu(self.inner(x)))), kept"),
    )),
    ("norm-over-time", "the statistics are of a coordinate over all positions", "lm-sees-every-position", L, (
        ("centred = x - x.mean(-1, keepdim=True)\n        return centred / (centred.pow(2).mean(-1, keepdim=True)",
         "centred = x - x.mean(1, keepdim=True)\n        return centred / (centred.pow(2).mean(1, keepdim=True)"),
    )),
    ("norm-over-all", "the statistics are of all positions and coordinates", "lm-sees-every-position", F, (
        ("    mean = x.mean(-1, keepdim=True)\n    variance = ((x - mean) ** 2).mean(-1, keepdim=True)",
         "    mean = x.mean((1, 2), keepdim=True)\n    variance = ((x - mean) ** 2).mean((1, 2), keepdim=True)"),
    )),
    ("variance-unbiased", "the variance is divided by d - 1", "lm-norm-unbiased", F, (
        ("variance = ((x - mean) ** 2).mean(-1, keepdim=True)", "variance = x.var(-1, keepdim=True)"),
    )),
    ("eps-outside", "eps is added to the root", "lm-norm-eps-outside", L, (
        ("(centred.pow(2).mean(-1, keepdim=True) + 1e-5).sqrt()", "(centred.pow(2).mean(-1, keepdim=True).sqrt() + 1e-5)"),
    )),
    ("no-eps", "there is no eps", "lm-norm-eps-value", L, (("keepdim=True) + 1e-5).sqrt()", "keepdim=True)).sqrt()"),)),
    ("eps-large", "eps is 1e-2", None, F, (("torch.rsqrt(variance + 1e-5)", "torch.rsqrt(variance + 1e-2)"),)),
    ("variance-not-root", "divided by the variance", "lm-norm-by-variance", F, (("torch.rsqrt(variance + 1e-5)", "1 / (variance + 1e-5)"),)),
    ("no-mean", "the mean is not taken off", None, L, (("centred = x - x.mean(-1, keepdim=True)", "centred = x"),)),
    ("no-gain", "the gain of a norm is not used", "lm-norm-no-gain", L, ((".sqrt() * self.gain + self.shift", ".sqrt() + self.shift"),)),
    ("norm-detached", "no gradient through the statistics", "lm-gradient-cut", L, (
        ("/ (centred.pow(2).mean(-1, keepdim=True) + 1e-5).sqrt()", "/ (centred.pow(2).mean(-1, keepdim=True) + 1e-5).sqrt().detach()"),
    )),
    # wiring
    ("no-residual-attention", "the stream is not added to attention", "lm-no-residual-attention", P, (("        x = x + attended\n", "        x = attended\n"),)),
    ("no-residual-feed-forward", "the stream is not added to the feed-forward layer", "lm-no-residual-feed-forward", L, (
        ("return H + torch.clamp(", "return torch.clamp("),
    )),
    ("residual-of-norm", "what is added is the normalised stream", "lm-residual-from-norm", P, (
        ("        attended, kept = self.attention(self.norm_1(x), past)\n", "        x = self.norm_1(x)\n        attended, kept = self.attention(x, past)\n"),
    )),
    ("parallel", "attention and feed-forward side by side", "lm-parallel", A, (
        ("            x = x + y\n            x = x + layer[\"mlp\"](layer[\"ln_b\"](x))\n", "            x = x + y + layer[\"mlp\"](layer[\"ln_b\"](x))\n"),
    )),
    ("no-activation", "nothing between the two layers", "lm-no-activation", P, (("torch.relu(self.inner(self.norm_2(x)))", "self.inner(self.norm_2(x))"),)),
    ("activation-last", "the activation comes after the second layer", "lm-activation-last", L, (
        ("torch.clamp(self.norm_2(H) @ self.W_1 + self.b_1, min=0) @ self.W_2 + self.b_2",
         "torch.clamp((self.norm_2(H) @ self.W_1 + self.b_1) @ self.W_2 + self.b_2, min=0)"),
    )),
    ("feed-forward-first", "the feed-forward layer comes before attention", "lm-feed-forward-first", F, (
        ("            mixed, now = attention(norm(x, self.of(f\"{layer}_1\")), p, rotary, past[layer])\n            x = x + mixed\n", ""),
        ('p["W1"] + p["b1"]) @ p["W2"] + p["b2"]\n',
         'p["W1"] + p["b1"]) @ p["W2"] + p["b2"]\n'
         '            mixed, now = attention(norm(x, self.of(f"{layer}_1")), p, rotary, past[layer])\n            x = x + mixed\n'),
    )),
    ("no-feed-forward", "the feed-forward layer is not used", "lm-no-feed-forward", S, (
        ("        return x + self.linear2(self.act(self.linear1(self.norm2(x)))), past", "        return x, past"),
    )),
    ("embedding-scaled", "embeddings are multiplied by the root of the width", "lm-embedding-scaled", P, (
        ("        x = self.embedding(tokens)\n", "        x = self.embedding(tokens) * math.sqrt(self.embedding.embedding_dim)\n"),
    )),
    ("readout-tied-by-accident", "the readout has a matrix of its own and uses the embeddings", "lm-readout-tied", P, (
        ("return self.readout(self.norm_f(x)), kept", "return F.linear(self.norm_f(x), self.embedding.weight, self.readout.bias), kept"),
    )),
    ("layers-shared", "all layers are the same one", "lm-shared-block", P, (
        ("nn.ModuleList(Block(width, heads, hidden, rotary) for _ in range(layers))",
         "nn.ModuleList([Block(width, heads, hidden, rotary)] * layers)"),
    )),
    ("layers-in-a-list", "the layers are in a list that torch does not see", "lm-loose-layers", R, (
        ("self.layers = nn.ModuleList(Layer(width, heads, hidden, rotary) for _ in range(layers))",
         "self.layers = [Layer(width, heads, hidden, rotary) for _ in range(layers)]"),
    )),
    ("last-layer-left-out", "the last layer is never used", "lm-layer-skipped", L, (
        ("        for i, block in enumerate(self.blocks):\n            H, now",
         "        for i, block in enumerate(self.blocks[: max(1, len(self.blocks) - 1)]):\n            H, now"),
    )),
    ("layers-reversed", "the last layer comes first", "lm-layers-reversed", S, (
        ("        for layer in self.transformer:\n            x, _ = layer(x)", "        for layer in reversed(self.transformer):\n            x, _ = layer(x)"),
        ("zip(self.transformer, stores):", "zip(reversed(self.transformer), stores):"),
    )),
    # what a forward pass gives
    ("probabilities", "probabilities instead of logits", "lm-returns-probabilities", P, (
        ("        return self.decode(tokens)[0]\n\n    def decode", "        return self.decode(tokens)[0].softmax(-1)\n\n    def decode"),
    )),
    ("log-probabilities", "log-probabilities instead of logits", "lm-returns-log-probabilities", L, (
        ("        return logits\n\n    def decode", "        return logits.log_softmax(-1)\n\n    def decode"),
    )),
    ("last-only", "the logits of the last position only", "lm-last-only", D, (
        ("        return self._run(tokens, [None] * len(self.h))[0]\n", "        return self._run(tokens, [None] * len(self.h))[0][:, -1]\n"),
    )),
    ("vocabulary-before-time", "the axes of time and vocabulary change places", "lm-axes-swapped", S, (
        ("        return self.head(self.norm(x))\n\n    @torch.no_grad()\n    def decode", "        return self.head(self.norm(x)).transpose(1, 2)\n\n    @torch.no_grad()\n    def decode"),
    )),
    ("dropout-always", "dropout is on in evaluation", "lm-random-in-evaluation", D, (
        ("        x, kept = self.drop(x), []\n", "        x, kept = F.dropout(x, 0.1), []\n"),
    )),
    ("batch-centred", "the mean over the batch is taken off", "lm-batch-mixed", R, (
        ("        x = self.embed(tokens)\n", "        x = self.embed(tokens)\n        x = x - x.mean(0)\n"),
    )),
    ("time-centred", "the mean over all positions is taken off", "lm-sees-every-position", T, (
        ("        x = self.tok(tokens)\n", "        x = self.tok(tokens)\n        x = x - x.mean(1, keepdim=True)\n"),
    )),
    ("next-token-seen", "each position is given the embedding of the next token", None, R, (
        ("        x = self.embed(tokens)\n", "        x = self.embed(tokens)\n        x = x + 0.5 * self.embed(tokens.roll(-1, 1))\n"),
    )),
    ("no-gradient", "forward runs without gradients", "no-gradient", P, (
        ("    def forward(self, tokens):\n        return self.decode(tokens)[0]", "    @torch.no_grad()\n    def forward(self, tokens):\n        return self.decode(tokens)[0]"),
    )),
    ("embedding-frozen", "the embeddings are not learned", "lm-frozen", A, (
        ("        self.wte = nn.Embedding(n_vocab, n_embd)\n", "        self.wte = nn.Embedding(n_vocab, n_embd).requires_grad_(False)\n"),
    )),
    ("stream-detached", "no gradient below the last layer", "lm-gradient-cut", D, (
        ("            x, now = block(x, past)\n", "            x, now = block(x.detach(), past)\n"),
    )),
    ("remembers", "a share of the last call's logits is added", "lm-remembers-calls", F, (
        ("        return self.decode(tokens, None)[0]\n",
         "        logits = self.decode(tokens, None)[0]\n"
         '        if getattr(self, "last", logits[:0]).shape == logits.shape:\n'
         "            logits = logits + 0.1 * self.last\n"
         "        self.last = logits.detach()\n"
         "        return logits\n"),
    )),
    ("sine-table-short", "the tables of angles end at 64 positions", None, S, (
        ("angles = torch.outer(torch.arange(context).float(), freqs)", "angles = torch.outer(torch.arange(context).clamp(max=63).float(), freqs)"),
    )),
    # loading the reference
    ("loaded-untransposed", "square matrices are loaded without being transposed", "lm-load-untransposed", P, (
        ("            layer.weight.copy_(W.T)\n", "            layer.weight.copy_(W if W.shape[0] == W.shape[1] else W.T)\n"),
    )),
    ("loaded-without-bias", "the biases of the feed-forward layer are not loaded", "lm-bias-missing", P, (
        (LOAD, '            linear(block.inner, weights[at + "W_1"])\n'),
    )),
)
