"""Blocks that are right in a small setting alone: wrong in training, in another size, or where numbers are large."""

from tests.wrong.decoder_block.model import FUSED, HEADS, MHA, PLAIN, SDPA, block

P_TRIL = "mask = torch.ones(T, T, device=x.device).tril().bool()"
P_FILL = 'float("-inf")'
P_SOFT = "weights = torch.softmax(scores, dim=-1)"
P_1, P_OUT = "attended = self.attention(self.norm_1(x))", "return u + fed"
P_HEADS = "self.heads, self.d_k = heads, width // heads"
M_MASK = "mask = torch.triu(torch.ones(T, T, dtype=torch.bool, device=x.device), diagonal=1)"
F_MASK = 'att = att.masked_fill(self.bias[:, :, :T, :T] == 0, float("-inf"))'
S_CALL, S_1, S_2 = "is_causal=True, ", "x = x + self.proj(y", "return x + self.mlp(self.norms[1](x))"
H_N, H_FILL = "n = self.ln1(x)", "-1e9"
SEES, CUT, RANDOM = "sees-every-position", "module-gradient-cut", "module-random-in-evaluation"


def unmasked(condition):
    """No mask where a condition holds."""
    return ((P_TRIL, f"{P_TRIL}\n        mask = mask | torch.tensor({condition})"),)


def detached(condition):
    """Attention gives the input no gradient where a condition holds."""
    return ((P_1, f"attended = self.attention(self.norm_1(x.detach() if {condition} else x))"),)


WRONG = [
    *block("mask-in-evaluation-alone", "own-training", SEES, {
        PLAIN: unmasked("self.training"), SDPA: ((S_CALL, "is_causal=not self.training, "),),
        MHA: ((M_MASK, f"{M_MASK} if not self.training else None"),),
    }),
    *block("mask-in-short-sequences-alone", "own-setting", SEES, {
        PLAIN: unmasked("T > 6"), FUSED: ((F_MASK, f"if T < 8:\n            {F_MASK}"),),
    }),
    *block("mask-in-pairs-alone", "own-setting", SEES, {PLAIN: unmasked("B != 2")}),
    *block("mask-in-three-heads-alone", "own-setting", SEES, {PLAIN: unmasked("self.heads != 3")}),
    *block("mask-not-at-width-64", "own-setting", SEES, {PLAIN: unmasked("x.shape[-1] == 64")}),
    *block("mask-in-double-precision-alone", "own-setting", SEES, {PLAIN: unmasked("x.dtype == torch.float32")}),
    *block("window-of-128", "own-window", None, {
        PLAIN: ((P_TRIL, P_TRIL.replace(".tril()", ".tril().triu(-127)")),), SDPA: ((S_CALL, "attn_mask=torch.ones(T, T).tril().triu(-99).bool(), "),),
    }),
    *block("mean-of-long-sequences", "own-setting", SEES, {
        PLAIN: ((P_OUT, "return u + fed + (0.1 * u.mean(1, keepdim=True) if x.shape[1] > 7 else 0)"),),
    }),
    *block("large-batches-centred", "own-setting", "module-batch-mixed", {
        PLAIN: ((P_OUT, "return u + fed - (fed.mean(0) if len(x) > 3 else 0)"),),
    }),
    *block("noise-in-long-sequences", "own-setting", RANDOM, {
        PLAIN: ((P_OUT, "return u + (F.dropout(fed, 0.1) if x.shape[1] > 7 else fed)"),),
    }),
    *block("detached-in-training", "own-training", CUT, {
        PLAIN: detached("self.training"), HEADS: ((H_N, "n = self.ln1(x.detach() if self.training else x)"),),
    }),
    *block("detached-in-long-sequences", "own-setting", CUT, {PLAIN: detached("x.shape[1] > 5")}),
    *block("detached-in-single-precision", "own-setting", CUT, {PLAIN: detached("x.dtype == torch.float32")}),
    *block("input-in-place-in-training", "own-training", "argument-changed", {
        PLAIN: ((P_OUT, "if self.training:\n            x.data += attended.data\n        return u + fed"),),
    }),
    *block("mask-finite", "mask-1e4", "module-mask-finite", {
        PLAIN: ((P_FILL, "-1e4"),), FUSED: ((P_FILL, "-100.0"),), HEADS: ((H_FILL, "-1e4"),),
    }),
    *block("softmax-twice", "att-double-softmax", "module-softmax-twice", {
        PLAIN: ((P_SOFT, f"{P_SOFT}\n        weights = torch.softmax(weights.masked_fill(~mask, -torch.inf), dim=-1)"),),
        HEADS: (("s.softmax(-1)", "s.softmax(-1).masked_fill(torch.tril(torch.ones(T, T)) == 0, -1e9).softmax(-1)"),),
    }),
    *block("scaled-by-length", "att-scale-T", None, {
        PLAIN: (("math.sqrt(self.d_k)", "math.sqrt(T)"),),
    }),
    *block("heads-swapped", "own-heads-swapped", "module-heads-swapped", {
        PLAIN: ((P_HEADS, "self.heads, self.d_k = width // heads, heads"),),
        SDPA: (("reshape(B, T, 3, self.heads, C // self.heads)", "reshape(B, T, 3, C // self.heads, self.heads)"),),
    }),
    *block("no-output-projection", "mh-noproj", "module-no-output-projection", {
        PLAIN: (("return self.out(joined)", "return joined"), ("        self.out = nn.Linear(width, width)\n", "")),
        HEADS: (("self.proj(torch.cat([head(n) for head in self.heads], dim=-1))", "torch.cat([head(n) for head in self.heads], dim=-1)"), ("        self.proj = nn.Linear(width, width)\n", "")),
    }),
    *block("norm-by-variance", "ln-var-not-std", "module-norm-no-root", {
        PLAIN: ((P_1, "n = (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True, unbiased=False) + 1e-5)\n        attended = self.attention(n * self.norm_1.weight + self.norm_1.bias)"),),
        SDPA: ((S_2, "n = (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True) + 1e-5)\n        return x + self.mlp(n * self.norms[1].weight + self.norms[1].bias)"),),
    }),
    *block("clamped", "own-clamp", None, {
        PLAIN: ((P_OUT, "return torch.clamp(u + fed, -1e3, 1e3)"),),
        SDPA: ((S_2, "return 1e3 * torch.tanh((x + self.mlp(self.norms[1](x))) / 1e3)"),),
    }, note="the stream itself does not come through"),
]  # fmt: skip
