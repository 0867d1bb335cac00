"""Wrong softmax: axis, stabilising shift, base, normaliser."""

from tests.wrong.hand_decoder.model import C, E, F, L, P, Q, V, mistake

PART = "softmax"
V_MAX, V_EXP, V_OUT = (
    "biggest = np.max(x, axis=-1, keepdims=True)",
    "e = np.exp(x - biggest)",
    "return e / np.sum(e, axis=-1, keepdims=True)",
)
E_EXP, E_OUT = "z = exp(x - x.max(-1)[..., None])", "return z / z.sum(-1)[..., None]"
Q_MAX, Q_EXP, Q_OUT = (
    "    m = x.max(axis=-1, keepdims=True)\n",
    "e = np.exp(x - m)",
    "return e / e.sum(axis=-1, keepdims=True)",
)
C_EXP, C_OUT = "e = np.exp(x - np.max(x, axis=-1, keepdims=True))", "return e / e.sum(axis=-1, keepdims=True)"
P_MAX, P_EXP, P_OUT = (
    "x = x - x.max(dim=-1, keepdim=True).values",
    "e = torch.exp(x)",
    "return e / e.sum(dim=-1, keepdim=True)",
)
F_OUT = "def softmax(x: Tensor) -> Tensor:\n    return F.softmax(x, dim=-1)"
F_DEF = "def softmax(x: Tensor) -> Tensor:\n    "

WRONG = [
    *mistake("softmax-first-axis", "att-softmax-query", PART, {
        V: ((V_MAX, "biggest = np.max(x, axis=0, keepdims=True)"), (V_OUT, "return e / np.sum(e, axis=0, keepdims=True)")),
        E: ((E_EXP, "z = exp(x - x.max(0))"), (E_OUT, "return z / z.sum(0)")),
        P: ((P_MAX, "x = x - x.max(dim=0, keepdim=True).values"), (P_OUT, "return e / e.sum(dim=0, keepdim=True)")),
        F: ((F_OUT, F_DEF + "return F.softmax(x, dim=0)"),),
    }, misconception="softmax-over-columns"),
    *mistake("softmax-all-entries", "own-softmax-all-entries", PART, {
        V: ((V_MAX, "biggest = np.max(x)"), (V_OUT, "return e / np.sum(e)")),
        P: ((P_MAX, "x = x - x.max()"), (P_OUT, "return e / e.sum()")),
    }, misconception="softmax-over-everything"),
    *mistake("softmax-no-max", "sm-nomax", PART, {
        V: ((V_EXP, "e = np.exp(x)"),),
        E: ((E_EXP, "z = exp(x)"),),
        L: (("result[i] = np.exp(x[i] - big)", "result[i] = np.exp(x[i])"),),
        P: ((P_MAX, "pass"),),
    }, misconception="softmax-no-maximum", how="stability"),
    *mistake("softmax-global-max", "own-softmax-global-max", PART, {
        V: ((V_MAX, "biggest = np.max(x)"),),
        P: ((P_MAX, "x = x - x.max()"),),
        C: ((C_EXP, "e = np.exp(x - np.max(x))"),),
    }, misconception="softmax-global-maximum", how="stability", note="right until one row lies far below another: 0/0 there"),
    *mistake("softmax-clipped", "own-softmax-clipped", PART, {
        V: ((V_EXP, "e = np.exp(np.clip(x, -50, 50))"),),
        P: ((P_MAX, "x = torch.clamp(x, -50, 50)"),),
    }, how="stability", note="right on ordinary scores, flat on large ones"),
    *mistake("softmax-unnormalised", "own-softmax-unnormalised", PART, {
        V: ((V_OUT, "return e"),),
        Q: (("    m = x.max(axis=-1, keepdims=True)\n    e = np.exp(x - m)\n    " + Q_OUT, "    m = x.max(axis=-1, keepdims=True)\n    e = np.exp(x - m)\n    return e"),),
        P: ((P_OUT, "return e"),),
    }, misconception="softmax-not-normalized", note="exp(x - max x)"),
    *mistake("softmax-negated", "own-softmax-negated", PART, {
        V: ((V_MAX, "x = -x\n    biggest = np.max(x, axis=-1, keepdims=True)"),),
        F: ((F_OUT, F_DEF + "return F.softmin(x, dim=-1)"),),
    }),
    *mistake("softmax-base-two", "own-softmax-base-two", PART, {
        V: ((V_EXP, "e = 2.0 ** (x - biggest)"),),
        L: (("result[i] = np.exp(x[i] - big)", "result[i] = 2 ** (x[i] - big)"),),
        P: ((P_EXP, "e = torch.exp2(x)"),),
    }, misconception="softmax-base-2"),
    *mistake("softmax-twice", "att-double-softmax", PART, {
        E: ((E_OUT, "p = z / z.sum(-1)[..., None]\n    return exp(p) / exp(p).sum(-1)[..., None]"),),
        F: ((F_OUT, F_DEF + "return F.softmax(F.softmax(x, dim=-1), dim=-1)"),),
    }),
    *mistake("softmax-sigmoid", "att-sigmoid", PART, {
        V: ((V_EXP, "e = 1 / (1 + np.exp(-x))"), (V_OUT, "return e")),
        P: ((P_MAX, "return torch.sigmoid(x)"),),
    }, misconception="sigmoid-for-softmax"),
    *mistake("softmax-logarithm", "dec-logprobs-out", PART, {
        V: ((V_OUT, "return np.log(e / np.sum(e, axis=-1, keepdims=True))"),),
        F: ((F_OUT, F_DEF + "return F.log_softmax(x, dim=-1)"),),
    }, misconception="log-softmax"),
    *mistake("softmax-linear", "own-softmax-linear", PART, {
        V: ((V_EXP, "e = x"),),
        P: ((P_MAX, "return x / x.sum(dim=-1, keepdim=True)"),),
    }, misconception="softmax-plain-ratio", note="x / sum x"),
    *mistake("softmax-max-divided", "own-softmax-max-divided", PART, {
        V: ((V_EXP, "e = np.exp(x / biggest)"),),
        C: ((C_EXP, "e = np.exp(x / np.max(x, axis=-1, keepdims=True))"),),
    }, misconception="softmax-over-maximum", note="x / max x instead of x - max x"),
    *mistake("softmax-changes-its-input", "blk-inplace", PART, {
        V: ((V_EXP, "x -= biggest\n    e = np.exp(x)"),),
        P: ((P_MAX, "x -= x.max(dim=-1, keepdim=True).values"),),
    }, misconception="argument-changed", how="mutation"),
    *mistake("softmax-detached", "detach-in-forward", PART, {
        P: ((P_MAX, "x = (x - x.max(dim=-1, keepdim=True).values).detach()"),),
        F: ((F_OUT, F_DEF + "with torch.no_grad():\n        return F.softmax(x, dim=-1)"),),
    }, misconception="no-gradient", how="gradient"),
    *mistake("softmax-denominator-detached", "detach-in-forward", PART, {
        P: ((P_OUT, "return e / e.sum(dim=-1, keepdim=True).detach()"),),
    }, misconception="softmax-sum-detached", how="gradient"),
    *mistake("softmax-rounded", "own-rounded", PART, {
        V: ((V_OUT, "return np.round(e / np.sum(e, axis=-1, keepdims=True), 3)"),),
        F: ((F_OUT, F_DEF + "return torch.round(F.softmax(x, dim=-1), decimals=3)"),),
    }, misconception="results-rounded"),
    *mistake("softmax-strings", "own-strings", PART, {
        V: ((V_OUT, "return (e / np.sum(e, axis=-1, keepdims=True)).astype(str)"),),
    }, misconception="result-text", how="dtype"),
    *mistake("softmax-complex", "own-complex", PART, {
        V: ((V_OUT, "return (e / np.sum(e, axis=-1, keepdims=True)).astype(complex)"),),
        P: ((P_OUT, "return torch.complex(e, 0 * e) / e.sum(dim=-1, keepdim=True)"),),
    }, misconception="result-complex", how="dtype"),
]  # fmt: skip
