"""Blocks that look where they are not to look, or do not look where they are."""

from tests.wrong.decoder_block.model import FUSED, HEADS, MHA, PLAIN, SDPA, block

P_MASK = 'scores = scores.masked_fill(~mask, float("-inf"))'
P_TRIL = "mask = torch.ones(T, T, device=x.device).tril().bool()"
P_SOFT = "weights = torch.softmax(scores, dim=-1)"
P_JOIN = "joined = (weights @ v).transpose(1, 2).reshape(B, T, width)"
P_SPLIT = "return x.view(B, T, self.heads, self.d_k).transpose(1, 2)"
M_MASK = "mask = torch.triu(torch.ones(T, T, dtype=torch.bool, device=x.device), diagonal=1)"
M_CALL = "a, _ = self.attn(n, n, n, attn_mask=mask, need_weights=False)"
M_INIT = "nn.MultiheadAttention(width, heads, batch_first=True)"
F_MASK = 'att = att.masked_fill(self.bias[:, :, :T, :T] == 0, float("-inf"))'
F_SOFT = "att = F.softmax(att, dim=-1)"
F_MERGE = "y = y.transpose(1, 2).contiguous().view(B, T, C)"
F_TRIL = 'torch.tril(torch.ones(1024, 1024))'
S_CALL = "is_causal=True, "
H_MASK = "s = s.masked_fill(torch.tril(torch.ones(T, T)) == 0, -1e9)"

WRONG = [
    *block("mask-missing", "mask-missing", "sees-every-position", {
        PLAIN: ((P_MASK, ""),), MHA: ((M_CALL, "a, _ = self.attn(n, n, n, need_weights=False)"),),
        FUSED: ((F_MASK, ""),), SDPA: ((S_CALL, ""),), HEADS: ((H_MASK, ""),),
    }),
    *block("mask-zero-fill", "mask-mul", "sees-every-position", {
        PLAIN: ((P_MASK, "scores = scores * mask"),), FUSED: ((F_MASK, F_MASK.replace('float("-inf")', "0.0")),),
    }),
    *block("mask-after-softmax", "mask-post", "sees-every-position", {
        PLAIN: ((P_MASK, ""), (P_SOFT, P_SOFT + "\n        weights = weights * mask")),
        FUSED: ((F_MASK, ""), (F_SOFT, F_SOFT + "\n        att = att * self.bias[:, :, :T, :T]")),
    }),
    *block("mask-one-ahead", "mask-peek1", "mask-one-ahead", {
        PLAIN: ((P_TRIL, P_TRIL.replace("tril()", "tril(1)")),), MHA: ((M_MASK, M_MASK.replace("diagonal=1", "diagonal=2")),),
    }),
    *block("mask-transposed", "mask-transposed", "mask-transposed", {
        PLAIN: ((P_TRIL, P_TRIL.replace("tril", "triu")),), FUSED: ((F_TRIL, F_TRIL.replace("tril", "triu")),),
        HEADS: ((H_MASK, H_MASK.replace("tril", "triu")),),
    }),
    *block("mask-flipped", "mask-inverted", "mask-inverted", {
        PLAIN: ((P_MASK, P_MASK.replace("~mask", "mask")),),
    }, note="the last row may consult nothing"),
    *block("mask-flipped-zero", "mask-inverted", "mask-transposed", {
        MHA: ((M_MASK, "mask = torch.ones(T, T).tril().bool()"),),
    }, note="torch gives 0 to a row that may consult nothing; with the residual, as if it consulted itself"),
    *block("mask-flipped-finite", "mask-inverted", "mask-inverted-finite", {
        HEADS: ((H_MASK, H_MASK.replace("== 0", "== 1")),),
    }),
    *block("mask-strict", "mask-strict", "mask-strict", {
        PLAIN: ((P_TRIL, P_TRIL.replace("tril()", "tril(-1)")),), FUSED: ((F_TRIL, F_TRIL.replace("1024)", "1024), diagonal=-1")),),
    }),
    *block("mask-strict-zero", "mask-strict", "mask-strict-zero", {
        MHA: ((M_MASK, M_MASK.replace("diagonal=1", "diagonal=0")),),
    }),
    *block("mask-strict-finite", "mask-strict", "mask-strict-finite", {
        HEADS: ((H_MASK, H_MASK.replace("torch.ones(T, T))", "torch.ones(T, T), -1)")),),
    }),
    *block("softmax-over-queries", "att-softmax-query", "sees-every-position", {
        HEADS: (("s.softmax(-1)", "s.softmax(-2)"),),
    }),
    *block("softmax-over-batch", "att-softmax-dim0", None, {
        PLAIN: ((P_SOFT, P_SOFT.replace("dim=-1", "dim=0")),),
    }, note="everything is NaN"),
    *block("softmax-over-batch-finite", "att-softmax-dim0", "module-batch-mixed", {
        HEADS: (("s.softmax(-1)", "s.softmax(0)"),),
    }),
    *block("split-without-transpose", "mh-view-split", "heads-split-without-transpose", {
        PLAIN: ((P_SPLIT, "return x.reshape(B, self.heads, T, self.d_k)"),),
    }),
    *block("merged-without-transpose", "mh-merge-noperm", "heads-merged-without-transpose", {
        PLAIN: ((P_JOIN, P_JOIN.replace(".transpose(1, 2)", "")),), FUSED: ((F_MERGE, F_MERGE.replace(".transpose(1, 2)", "")),),
        SDPA: (("y.transpose(1, 2).reshape(B, T, C)", "y.reshape(B, T, C)"),),
    }),
    *block("batch-first-missing", "own-batch-first", "module-batch-as-time", {
        MHA: ((M_INIT, "nn.MultiheadAttention(width, heads)"), ("T = x.size(1)", "T = x.size(0)")),
    }),
    *block("norm-over-time", "ln-axis-T", "sees-every-position", {
        PLAIN: (("attended = self.attention(self.norm_1(x))", "attended = self.attention(self.norm_1.weight * (x - x.mean(1, keepdim=True)) / (x.std(1, keepdim=True, unbiased=False) + 1e-3) + self.norm_1.bias)"),),
    }),
    *block("norm-over-batch", "own-norm-batch", "module-batch-mixed", {
        PLAIN: (("attended = self.attention(self.norm_1(x))", "attended = self.attention(self.norm_1(x - x.mean(0, keepdim=True)))"),),
        MHA: (("n = self.ln1(x)", "n = self.ln1(x) - self.ln1(x).mean(0)"),),
    }),
    *block("batch-and-heads-viewed", "own-view-batch", "module-batch-mixed", {
        FUSED: (("y = att @ v", "y = (att @ v).permute(1, 0, 2, 3).reshape(B, self.heads, T, -1)"),),
    }),
    *block("no-attention", "own-no-attention", "mask-only-self", {
        PLAIN: ((P_JOIN, "joined = v.transpose(1, 2).reshape(B, T, width) + 0 * scores.sum()"), (P_MASK, "")),
        MHA: ((M_CALL, "a = self.attn.out_proj(n)"),),
    }),
    *block("identity", "own-identity", "mask-only-self", {
        PLAIN: (("return u + fed", "return x"),),
    }),
    *block("window-of-two", "own-window", "mask-window", {
        PLAIN: ((P_TRIL, P_TRIL.replace(".tril()", ".tril().triu(-1)")),),
    }),
    *block("sigmoid", "att-sigmoid", "module-weights-not-normalized", {
        PLAIN: ((P_SOFT, "weights = torch.sigmoid(scores)"),), HEADS: (("s.softmax(-1)", "s.sigmoid()"),),
    }),
    *block("no-softmax", "own-linear-attention", "module-weights-not-normalized", {
        PLAIN: ((P_MASK, "weights = scores.masked_fill(~mask, 0.0)"), (P_SOFT, "")),
    }),
    *block("masked-and-not-renormalized", "own-not-normalized", "module-weights-not-normalized", {
        FUSED: ((F_SOFT, "att = torch.exp(att - att.amax(-1, keepdim=True)) / T"),),
    }),
    *block("one-head", "own-one-head", "module-heads-ignored", {
        PLAIN: (("self.heads, self.d_k = heads, width // heads", "self.heads, self.d_k = 1, width"),),
        SDPA: (("self.heads, self.dropout = heads, dropout", "self.heads, self.dropout = 1, dropout"),),
    }),
]  # fmt: skip
