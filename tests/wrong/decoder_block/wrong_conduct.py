"""Blocks that lose gradients, keep state, are random in evaluation, change their input, or are not finite."""

from tests.wrong.decoder_block.model import FUSED, HEADS, MHA, PLAIN, SDPA, block

P_1, P_U = "attended = self.attention(self.norm_1(x))", "u = x + attended"
P_2, P_OUT = "fed = self.feed_forward(self.norm_2(u))", "return u + fed"
P_SOFT = "weights = torch.softmax(scores, dim=-1)"
M_F = "x = x + self.mlp(self.ln2(x))"
S_2 = "return x + self.mlp(self.norms[1](x))"
CUT = "module-gradient-cut"

WRONG = [
    *block("weights-detached", "detach-in-forward", CUT, {
        PLAIN: ((P_SOFT, "weights = torch.softmax(scores, dim=-1).detach()"),), HEADS: (("s.softmax(-1)", "s.softmax(-1).data"),),
    }),
    *block("attention-no-grad", "detach-in-forward", CUT, {
        PLAIN: ((P_1, "with torch.no_grad():\n            attended = self.attention(self.norm_1(x))"),),
        SDPA: (("y = F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=p)", "with torch.no_grad():\n            y = F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=p)"),),
    }),
    *block("branch-input-detached", "detach-in-forward", CUT, {
        PLAIN: ((P_2, "fed = self.feed_forward(self.norm_2(u.detach()))"),), MHA: ((M_F, "x = x + self.mlp(self.ln2(x.detach()))"),),
    }),
    *block("residual-detached", "detach-in-forward", CUT, {
        PLAIN: ((P_U, "u = x.data + attended"),), FUSED: (("x = x + self.attend(self.ln_1(x))", "x = x.detach() + self.attend(self.ln_1(x))"),),
    }),
    *block("through-numpy", "detach-in-forward", CUT, {
        PLAIN: ((P_2, "fed = self.feed_forward(torch.from_numpy(self.norm_2(u).detach().numpy()))"),),
    }),
    *block("statistics-detached", "ln-detach", CUT, {
        PLAIN: ((P_1, "m, s = x.mean(-1, keepdim=True).detach(), x.std(-1, keepdim=True, unbiased=False).detach()\n        attended = self.attention((x - m) / (s + 1e-5) * self.norm_1.weight + self.norm_1.bias)"),),
    }),
    *block("scale-from-item", "detach-in-forward", CUT, {
        PLAIN: ((P_OUT, "return u + fed * torch.tanh(self.up.weight.mean()).item()"),),
    }),
    *block("weight-data", "detach-in-forward", CUT, {
        PLAIN: (("return self.out(joined)", "return F.linear(joined, self.out.weight.data, self.out.bias.data)"),),
    }),
    *block("no-gradient", "detach-in-forward", "no-gradient", {
        PLAIN: ((P_OUT, "return (u + fed).detach()"),), MHA: (("def forward(self, x):", "@torch.no_grad()\n    def forward(self, x):"),),
    }),
    *block("frozen", "own-frozen", "module-frozen", {
        PLAIN: (("self.down = nn.Linear(4 * width, width)", "self.down = nn.Linear(4 * width, width)\n        for p in self.norm_1.parameters():\n            p.requires_grad = False"),),
        FUSED: (('self.register_buffer("bias", torch.tril(torch.ones(1024, 1024)).view(1, 1, 1024, 1024))', "self.bias = nn.Parameter(torch.tril(torch.ones(1024, 1024)).view(1, 1, 1024, 1024), requires_grad=False)"),),
    }),
    *block("norm-shared", "ln-shared", "module-parameter-unused", {
        PLAIN: ((P_2, "fed = self.feed_forward(self.norm_1(u))"),), MHA: ((M_F, "x = x + self.mlp(self.ln1(x))"),),
        SDPA: ((S_2, S_2.replace("norms[1]", "norms[0]")),),
    }),
    *block("first-head-for-all", "mh-share-head0", "module-parameter-unused", {
        HEADS: (("head(n) for head in self.heads", "self.heads[0](n) for head in self.heads"),),
    }),
    *block("first-values-for-all", "mh-share-head0", "module-parameter-unused", {
        "einsum": (('n, self.w_v)', 'n, self.w_v[:1].expand_as(self.w_v))'),),
    }),
    *block("projection-missing", "mh-noproj", "module-no-output-projection", {
        SDPA: (("x = x + self.proj(y.transpose(1, 2).reshape(B, T, C))", "x = x + y.transpose(1, 2).reshape(B, T, C)"),),
    }),
    *block("queries-for-keys", "own-unused", "module-parameter-unused", {
        PLAIN: (("self.split(self.key(x))", "self.split(self.query(x))"),),
    }),
    *block("memoizes-by-shape", "own-memo", "module-remembers-calls", {
        PLAIN: (("class DecoderBlock(nn.Module):", "class DecoderBlock(nn.Module):\n    found = {}\n"), (P_OUT, "return self.found.setdefault(x.shape, u + fed)")),
        HEADS: (("return x + self.ffn(self.ln2(x))", "self.seen = getattr(self, 'seen', {})\n        return self.seen.setdefault(x.shape, x + self.ffn(self.ln2(x)))"),),
    }),
    *block("batch-norm", "own-running", "module-remembers-calls", {
        PLAIN: (("self.norm_1 = nn.LayerNorm(width)", "self.norm_1 = nn.BatchNorm1d(width)"), ("self.norm_1(x)", "self.norm_1(x.transpose(1, 2)).transpose(1, 2)")),
    }),
    *block("input-in-bfloat16", "own-half", "module-half-precision", {
        PLAIN: (("attended = self.attention", "x = x.bfloat16().to(x.dtype)\n        attended = self.attention"),),
    }),
    *block("result-in-half", "own-half", "module-half-precision", {
        PLAIN: ((P_OUT, "return (u + fed).half()"),), SDPA: ((S_2, f"{S_2}.half()"),),
    }),
    *block("infinite", "own-infinite", None, {
        PLAIN: ((P_OUT, "return (u + fed) / 0.0"),),
    }, note="of what a result depends on nothing can be said"),
    *block("mask-renormalized", "mask-post-renorm", None, {
        PLAIN: (('scores = scores.masked_fill(~mask, float("-inf"))', ""), (P_SOFT, P_SOFT + "\n        weights = weights * mask\n        weights = weights / weights.sum(-1, keepdim=True)")),
    }, note="0/0 where a masked score is far above the others"),
    *block("layers-in-list", "dec-python-list", "module-loose-layers", {
        HEADS: (("nn.ModuleList(Head(width, width // heads) for _ in range(heads))", "[Head(width, width // heads) for _ in range(heads)]"),),
        SDPA: (("nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])", "[nn.LayerNorm(width), nn.LayerNorm(width)]"),),
    }),
    *block("input-in-place", "blk-inplace", "argument-changed", {
        PLAIN: ((P_U, "x += attended\n        u = x"),), MHA: (("x = x + a", "x += a"),),
    }),
    *block("input-data-in-place", "blk-inplace", "argument-changed", {
        PLAIN: ((P_OUT, "x.data.copy_(u.data)\n        return u + fed"),),
    }),
    *block("overwritten", "own-overwritten", "module-overwritten-in-place", {
        PLAIN: ((P_SOFT, P_SOFT + "\n        weights[..., 0] *= 1.0"), ("joined = (weights @ v)", "joined = (weights @ v)")),
    }),
    *block("dropout-in-evaluation", "drop-eval", "module-random-in-evaluation", {
        PLAIN: ((P_SOFT, P_SOFT + "\n        weights = F.dropout(weights, 0.1)"),), SDPA: (("p = self.dropout if self.training else 0.0", "p = self.dropout"),),
        FUSED: (("att = self.attn_dropout(att)", "att = F.dropout(att, 0.2)"),),
    }),
    *block("counts-calls", "own-counter", "module-remembers-calls", {
        PLAIN: ((P_OUT, "self.calls = getattr(self, 'calls', 0) + 1\n        return u + fed * self.calls"),),
    }),
    *block("running-mean", "own-running", "module-remembers-calls", {
        SDPA: ((S_2, "if self.training:\n            self.scale = float(x.std())\n        return x + self.mlp(self.norms[1](x)) * getattr(self, 'scale', 1.0)"),),
    }),
    *block("shared-layers", "own-shared", "module-shares-state", {
        PLAIN: (("class DecoderBlock(nn.Module):", "SHARED = {}\n\n\nclass DecoderBlock(nn.Module):"), ("self.down = nn.Linear(4 * width, width)", "self.down = SHARED.setdefault(width, nn.Linear(4 * width, width))")),
    }),
    *block("hidden-numbers", "own-hidden", "module-hidden-state", {
        PLAIN: (("self.down = nn.Linear(4 * width, width)", "self.down = nn.Linear(4 * width, width)\n        self.noise = torch.rand(1).item()"), (P_OUT, "return u + fed * (1 + self.noise)")),
    }),
    *block("half-precision", "own-half", "module-half-precision", {
        PLAIN: (("joined = (weights @ v)", "joined = (weights.bfloat16() @ v.bfloat16()).to(x.dtype)"),),
    }),
    *block("norm-no-eps", "ln-noeps", "module-norm-no-eps", {
        PLAIN: ((P_1, "n = (x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True, unbiased=False)\n        attended = self.attention(n * self.norm_1.weight + self.norm_1.bias)"),),
        HEADS: (("n = self.ln1(x)", "n = (x - x.mean(-1, keepdim=True)) / x.var(-1, keepdim=True).sqrt() * self.ln1.weight + self.ln1.bias"),),
    }),
    *block("softmax-no-maximum", "sm-nomax", "module-softmax-no-maximum", {
        PLAIN: ((P_SOFT, "weights = scores.exp()\n        weights = weights / weights.sum(-1, keepdim=True)"),),
    }),
    *block("not-a-module", "own-no-module", None, {
        PLAIN: (("class DecoderBlock(nn.Module):", "class DecoderBlock:"), ("super().__init__()", "pass")),
    }),
]  # fmt: skip
