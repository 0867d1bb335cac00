"""Blocks whose residuals, norms or branches are put together in another way, or have another shape."""

from tests.wrong.decoder_block.model import FUSED, HEADS, MHA, PLAIN, SDPA, block

P_1, P_U = "attended = self.attention(self.norm_1(x))", "u = x + attended"
P_2, P_OUT = "fed = self.feed_forward(self.norm_2(u))", "return u + fed"
M_N, M_A, M_F = "n = self.ln1(x)", "x = x + a", "x = x + self.mlp(self.ln2(x))"
F_1, F_2 = "x = x + self.attend(self.ln_1(x))", "x = x + self.resid_dropout(self.c_out(F.gelu(self.c_fc(self.ln_2(x)))))"
S_1, S_2 = "x = x + self.proj(y.transpose(1, 2).reshape(B, T, C))", "return x + self.mlp(self.norms[1](x))"
H_1, H_2 = "x = x + self.proj(torch.cat([head(n) for head in self.heads], dim=-1))", "return x + self.ffn(self.ln2(x))"
RAISES = 'raise ValueError("width must be a multiple of heads")'

WRONG = [
    *block("post-norm", "blk-post-for-pre", "module-post-norm", {
        PLAIN: ((P_1, "attended = self.attention(x)"), (P_U, "u = self.norm_1(x + attended)"), (P_2, "fed = self.feed_forward(u)"), (P_OUT, "return self.norm_2(u + fed)")),
        MHA: ((M_N, "n = x"), (M_A, "x = self.ln1(x + a)"), (M_F, "x = self.ln2(x + self.mlp(x))")),
        FUSED: ((F_1, "x = self.ln_1(x + self.attend(x))"), (F_2, "x = self.ln_2(x + self.c_out(F.gelu(self.c_fc(x))))")),
    }),
    *block("norm-on-branch", "own-sandwich", "module-norm-on-branch", {
        PLAIN: ((P_1, "attended = self.norm_1(self.attention(x))"), (P_2, "fed = self.norm_2(self.feed_forward(u))")),
        FUSED: ((F_1, "x = x + self.ln_1(self.attend(x))"), (F_2, "x = x + self.ln_2(self.c_out(F.gelu(self.c_fc(x))))")),
    }),
    *block("norm-on-attention", "own-sandwich", "module-norm-on-branch", {
        PLAIN: ((P_1, "attended = self.norm_1(self.attention(x))"),),
    }),
    *block("residual-from-norm", "blk-res-from-norm", "module-residual-from-norm", {
        PLAIN: ((P_U, "u = self.norm_1(x) + attended"), (P_OUT, "return self.norm_2(u) + fed")),
        MHA: ((M_N, "n = x = self.ln1(x)"),),
        SDPA: ((S_2, "x = self.norms[1](x)\n        return x + self.mlp(x)"),),
    }),
    *block("no-residual-attention", "blk-no-res-attn", "module-no-residual-attention", {
        PLAIN: ((P_U, "u = attended"),), MHA: ((M_A, "x = a"),), HEADS: ((H_1, H_1.replace("x + ", "")),),
    }),
    *block("no-residual-feed-forward", "blk-no-res-ffn", "module-no-residual-feed-forward", {
        PLAIN: ((P_OUT, "return fed"),), MHA: ((M_F, "x = self.mlp(self.ln2(x))"),), SDPA: ((S_2, S_2.replace("x + ", "")),),
    }),
    *block("no-residuals", "blk-no-res", "module-no-residuals", {
        PLAIN: ((P_U, "u = attended"), (P_OUT, "return fed")),
        FUSED: ((F_1, F_1.replace("x + ", "")), (F_2, F_2.replace("x + ", ""))),
    }),
    *block("residual-doubled", "blk-double-res", "module-residual-doubled", {
        PLAIN: ((P_U, "u = x + x + attended"),), MHA: ((M_F, "x = x + x + self.mlp(self.ln2(x))"),),
    }),
    *block("no-norm-attention", "blk-no-norm-attn", "module-no-norm-attention", {
        FUSED: ((F_1, "x = x + self.attend(x)"),), HEADS: (("n = self.ln1(x)", "n = x"),),
    }),
    *block("no-norm-feed-forward", "blk-no-norm-ffn", "module-no-norm-feed-forward", {
        PLAIN: ((P_2, "fed = self.feed_forward(u)"),), SDPA: ((S_2, "return x + self.mlp(x)"),),
    }),
    *block("no-norms", "blk-no-norm", "module-no-norms", {
        PLAIN: ((P_1, "attended = self.attention(x)"), (P_2, "fed = self.feed_forward(u)")),
    }),
    *block("parallel", "blk-parallel", "module-parallel", {
        PLAIN: ((P_2, "fed = self.feed_forward(self.norm_2(x))"),), SDPA: ((S_1, "u = x\n        " + S_1), (S_2, "return x + self.mlp(self.norms[1](u))")),
    }),
    *block("feed-forward-first", "blk-ffn-first", "module-feed-forward-first", {
        PLAIN: ((P_1, "attended = self.feed_forward(self.norm_2(x))"), (P_2, "fed = self.attention(self.norm_1(u))")),
        FUSED: ((F_1, "y = x"), (F_2, F_2 + "\n        x = x + self.attend(self.ln_1(x))"), ("y = x\n", "pass\n")),
    }),
    *block("residual-skips", "own-residual-skips", "module-residual-skips", {
        PLAIN: ((P_OUT, "return x + fed"),), SDPA: ((S_1, "u = x\n        " + S_1), (S_2, S_2.replace("return x", "return u"))),
    }),
    *block("no-activation", "ffn-noact", "module-no-activation", {
        PLAIN: (("F.gelu(self.up(x))", "self.up(x)"),), MHA: (("nn.ReLU(), ", ""),), HEADS: (("nn.ReLU(), ", ""),),
        FUSED: (("F.gelu(self.c_fc(self.ln_2(x)))", "self.c_fc(self.ln_2(x))"),),
    }),
    *block("activation-last", "ffn-act-last", "module-activation-last", {
        PLAIN: (("self.down(F.gelu(self.up(x)))", "F.gelu(self.down(self.up(x)))"),),
        MHA: (("nn.ReLU(), nn.Linear(4 * width, width))", "nn.ReLU(), nn.Linear(4 * width, width), nn.ReLU())"),),
    }),
    *block("no-feed-forward", "own-no-ffn", "module-no-feed-forward", {
        PLAIN: ((P_OUT, "return u"),), HEADS: ((H_2, "return x"),),
    }),
    *block("branch-width", "own-branch-width", "module-branch-width", {
        PLAIN: (("nn.Linear(4 * width, width)", "nn.Linear(4 * width, 2 * width)"),),
        MHA: (("nn.Linear(4 * width, width)", "nn.Linear(4 * width, 2 * width)"),),
        FUSED: (("nn.Linear(4 * width, width, bias=False)", "nn.Linear(4 * width, width // 2, bias=False)"),),
    }),
    *block("branch-broadcast", "own-branch-broadcast", "module-branch-broadcast", {
        PLAIN: (("nn.Linear(4 * width, width)", "nn.Linear(4 * width, 1)"), ("self.out = nn.Linear(width, width)", "self.out = nn.Linear(width, 1)")),
    }),
    *block("any-heads", "own-any-heads", "module-accepts-any-heads", {
        PLAIN: ((RAISES, "pass"), ("return x.view(B, T, self.heads, self.d_k)", "return x[..., : self.heads * self.d_k].reshape(B, T, self.heads, self.d_k)"), ("reshape(B, T, width)", "reshape(B, T, self.heads * self.d_k)"), ("self.out = nn.Linear(width, width)", "self.out = nn.Linear(self.heads * self.d_k, width)")),
        HEADS: (("raise ValueError(f\"width {width} is no multiple of {heads}\")", "pass"), ("self.proj = nn.Linear(width, width)", "self.proj = nn.Linear(width // heads * heads, width)")),
    }),
    *block("last-only", "dec-last-only", "module-last-only", {
        PLAIN: ((P_OUT, "return (u + fed)[:, -1]"),),
    }),
    *block("time-first-returned", "own-axes", "module-axes-swapped", {
        MHA: (("return x\n\n\ndef temperature_lab", "return x.transpose(0, 1)\n\n\ndef temperature_lab"),),
    }),
    *block("returns-tuple", "own-tuple", "result-too-many", {
        PLAIN: ((P_OUT, "return u + fed, attended"),),
    }),
    *block("returns-nothing", "own-none", "result-none", {
        MHA: (("return x\n\n\ndef temperature_lab", "x\n\n\ndef temperature_lab"),),
    }),
    *block("short-mask", "own-short-mask", "module-length-limited", {
        FUSED: (("torch.ones(1024, 1024)).view(1, 1, 1024, 1024)", "torch.ones(32, 32)).view(1, 1, 32, 32)"),),
    }),
]  # fmt: skip
