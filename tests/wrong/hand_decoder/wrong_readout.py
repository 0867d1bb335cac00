"""Wrong next-token probabilities and wrong losses."""

from tests.wrong.hand_decoder.model import C, E, F, L, P, Q, V, mistake

PROBS, LOSS = "next_token_probabilities", "loss"
V_PROBS = "def next_token_probabilities(Z):\n    return softmax(Z)"
P_PROBS, E_PROBS, Q_PROBS = V_PROBS, V_PROBS, V_PROBS
F_PROBS = "    return F.softmax(Z, dim=1)"
DEF = "def next_token_probabilities(Z):\n    "

V_T = "T = Z.shape[0]\n    top"
V_TOP = "top = Z.max(axis=-1, keepdims=True)"
V_TOTAL = "log_total = np.log(np.exp(Z - top).sum(axis=-1, keepdims=True)) + top"
V_LOGP, V_PICK = "log_p = Z - log_total", "picked = log_p[np.arange(T), targets]"
V_OUT = "return float(-picked.mean())"
E_LOGP = "logp = c - log(exp(c).sum(-1))[:, None]"
E_OUT = "return -logp[arange(len(targets)), targets].mean()"
Q_LSE = "lse = m + np.log(np.exp(Z - m[:, None]).sum(axis=1))"
Q_OUT = "return np.mean(lse - right)"
L_ADD, L_OUT = "total += np.log(s) + big - Z[t][targets[t]]", "return total / len(Z)"
C_OUT = "return np.mean(np.log(np.exp(Z).sum(axis=1)) - Z[np.arange(len(Z)), targets])"
P_LOGP = "log_p = Z - torch.logsumexp(Z, dim=-1, keepdim=True)"
P_OUT = "return -log_p[torch.arange(Z.size(0)), targets].mean()"
F_OUT = "return F.cross_entropy(Z, targets)"

WRONG = [
    *mistake("softmax-first-axis", "att-softmax-query", PROBS, {
        V: ((V_PROBS, DEF + "return softmax(Z.T).T"),),
        F: ((F_PROBS, "    return F.softmax(Z, dim=0)"),),
    }, misconception="softmax-over-columns", note="over the positions"),
    *mistake("softmax-twice", "att-double-softmax", PROBS, {
        E: ((E_PROBS, DEF + "return softmax(softmax(Z))"),),
        P: ((P_PROBS, DEF + "return softmax(softmax(Z))"),),
    }),
    *mistake("softmax-logarithm", "dec-logprobs-out", PROBS, {
        V: ((V_PROBS, DEF + "return np.log(softmax(Z))"),),
        F: ((F_PROBS, "    return F.log_softmax(Z, dim=1)"),),
    }, misconception="log-softmax"),
    *mistake("softmax-sigmoid", "att-sigmoid", PROBS, {
        V: ((V_PROBS, DEF + "return 1 / (1 + np.exp(-Z))"),),
        P: ((P_PROBS, DEF + "return torch.sigmoid(Z)"),),
    }, misconception="sigmoid-for-softmax"),
    *mistake("softmax-no-max", "sm-nomax", PROBS, {
        V: ((V_PROBS, DEF + "return np.exp(Z) / np.exp(Z).sum(axis=-1, keepdims=True)"),),
        P: ((P_PROBS, DEF + "return torch.exp(Z) / torch.exp(Z).sum(dim=-1, keepdim=True)"),),
    }, misconception="softmax-no-maximum", how="stability"),
    *mistake("probabilities-greedy", "own-one-hot", PROBS, {
        V: ((V_PROBS, DEF + "return np.eye(Z.shape[1])[Z.argmax(axis=1)]"),),
        F: ((F_PROBS, "    return F.one_hot(Z.argmax(1), Z.shape[1]).to(Z.dtype)"),),
    }, misconception="softmax-one-hot", note="1 for the best token"),
    *mistake("probabilities-last-position", "dec-last-only", PROBS, {
        V: ((V_PROBS, DEF + "return softmax(Z[-1])"),),
        P: ((P_PROBS, DEF + "return softmax(Z[-1:])"), ("p = next_token_probabilities(H_prime)", "p = softmax(H_prime)"),
            ("next_token_probabilities(O)[1, 1]", "softmax(O)[1, 1]")),
    }, misconception={V: "probabilities-last-only", P: "probabilities-last-row-only"}, how="structure"),
    *mistake("probabilities-by-size", "own-linear", PROBS, {
        Q: ((Q_PROBS, DEF + "return Z / Z.sum(axis=-1, keepdims=True)"),),
    }, misconception="softmax-plain-ratio"),
    *mistake("probabilities-masked", "own-masked-probabilities", PROBS, {
        V: ((V_PROBS, DEF + "T, v = Z.shape\n    return softmax(np.where(np.tri(T, v, dtype=bool), Z, -np.inf))"),),
    }, note="a causal mask over the vocabulary"),
    *mistake("probabilities-strings", "own-strings", PROBS, {
        V: ((V_PROBS, DEF + "return [[f'{p:.6f}' for p in row] for row in softmax(Z)]"),),
    }, misconception="result-text", how="dtype"),
    *mistake("probabilities-detached", "detach-in-forward", PROBS, {
        P: ((P_PROBS, DEF + "return softmax(Z.detach())"),),
        F: ((F_PROBS, "    return torch.from_numpy(F.softmax(Z, dim=1).detach().numpy())"),),
    }, misconception="no-gradient", how="gradient"),
    *mistake("probabilities-not-returned", "own-none", PROBS, {
        V: ((V_PROBS, DEF + "softmax(Z)"),),
        F: ((F_PROBS, "    F.softmax(Z, dim=1)"),),
    }, misconception="result-none", how="structure"),
    *mistake("loss-shifted-again", "ce-double-shift", LOSS, {
        V: ((V_T, "Z, targets = Z[:-1], targets[1:]\n    " + V_T),),
        C: ((C_OUT, C_OUT.replace("Z)", "Z)")), ("    def __call__(self, Z, targets):\n", "    def __call__(self, Z, targets):\n        Z, targets = Z[:-1], targets[1:]\n"),
            ("loss((I + O)[1:], np.array([1]))", "-np.log(softmax(I + O)[1, 1])")),
        F: ((F_OUT, "return F.cross_entropy(Z[:-1], targets[1:])"),),
    }, misconception="loss-shifts-targets", note="targets[t] already is the token that follows"),
    *mistake("loss-shifted-back", "ce-noshift", LOSS, {
        V: ((V_T, "Z, targets = Z[1:], targets[:-1]\n    " + V_T),),
        F: ((F_OUT, "return F.cross_entropy(Z[1:], targets[:-1])"),),
    }, misconception="loss-shifts-back"),
    *mistake("loss-summed", "ce-sum", LOSS, {
        V: ((V_OUT, "return float(-picked.sum())"),),
        L: ((L_OUT, "return total"),),
        F: ((F_OUT, 'return F.cross_entropy(Z, targets, reduction="sum")'),),
    }),
    *mistake("loss-in-bits", "ce-base-2", LOSS, {
        V: ((V_OUT, "return float(-picked.mean() / np.log(2))"),),
        E: ((E_OUT, E_OUT + " / log(2)"),),
        P: ((P_OUT, P_OUT + " / math.log(2)"),),
    }),
    *mistake("loss-log-ten", "ce-base-2", LOSS, {
        V: ((V_TOTAL, V_TOTAL), (V_OUT, "return float(-picked.mean() / np.log(10))")),
        F: ((F_OUT, F_OUT + " / torch.log(torch.tensor(10.0, dtype=Z.dtype))"),),
    }, misconception="loss-base-10"),
    *mistake("loss-negative", "own-loss-sign", LOSS, {
        V: ((V_OUT, "return float(picked.mean())"),),
        P: ((P_OUT, P_OUT.replace("-log_p", "log_p")),),
    }, misconception="loss-sign"),
    *mistake("loss-on-probabilities", "ce-on-probs", LOSS, {
        V: ((V_T, "Z = softmax(Z)\n    " + V_T),),
        P: ((P_LOGP, "Z = softmax(Z)\n    " + P_LOGP),),
        F: ((F_OUT, "return F.cross_entropy(F.softmax(Z, dim=-1), targets)"),),
    }, misconception="loss-softmax-twice", note="softmax twice"),
    *mistake("loss-log-of-softmax", "ce-log-softmax", LOSS, {
        V: ((V_LOGP, "log_p = np.log(softmax(Z))"),),
        E: ((E_LOGP, "logp = log(softmax(Z))"),),
        P: ((P_LOGP, "log_p = torch.log(softmax(Z))"),),
    }, how="stability", note="inf where the probability underflows"),
    *mistake("loss-exp-overflows", "sm-nomax", LOSS, {
        V: ((V_TOP, "top = 0"),),
        Q: ((Q_LSE, "lse = np.log(np.exp(Z).sum(axis=1))"),),
        P: ((P_LOGP, "log_p = Z - torch.log(torch.exp(Z).sum(-1, keepdim=True))"),),
    }, misconception="loss-no-maximum", how="stability"),
    *mistake("loss-probability-floor", "own-loss-floor", LOSS, {
        V: ((V_LOGP, "log_p = np.log(np.maximum(softmax(Z), 1e-12))"),),
        P: ((P_LOGP, "log_p = torch.log(softmax(Z).clamp(min=1e-12))"),),
    }, misconception="loss-probability-floor-1e-12", how="stability", note="log(max(p, 1e-12)): never above 27.6"),
    *mistake("loss-last-position", "dec-last-only", LOSS, {
        V: ((V_OUT, "return float(-picked[-1])"),),
        F: ((F_OUT, "return F.cross_entropy(Z[-1:], targets[-1:])"),),
    }, misconception="loss-last-only"),
    *mistake("loss-divided-by-entries", "ce-wrong-denominator", LOSS, {
        V: ((V_OUT, "return float(-picked.sum() / Z.size)"),),
        P: ((P_OUT, "return -torch.mean(log_p * torch.nn.functional.one_hot(targets, Z.size(1)))"),),
    }, note="divided by T·v"),
    *mistake("loss-divided-by-t-minus-one", "ce-wrong-denominator", LOSS, {
        V: ((V_OUT, "return float(-picked.sum() / max(T - 1, 1))"),),
        L: ((L_OUT, "return total / max(1, len(Z) - 1)"),),
    }, misconception="loss-divided-by-one-less"),
    *mistake("loss-without-logarithm", "own-loss-no-log", LOSS, {
        V: ((V_OUT, "return float(-np.exp(picked).mean())"),),
        F: ((F_OUT, "return F.nll_loss(F.softmax(Z, dim=-1), targets)"),),
    }, misconception="loss-no-logarithm", note="minus the mean probability"),
    *mistake("loss-of-mean-probability", "own-log-of-mean", LOSS, {
        V: ((V_OUT, "return float(-np.log(np.exp(picked).mean()))"),),
        P: ((P_OUT, "return -log_p.exp()[torch.arange(Z.size(0)), targets].mean().log()"),),
    }),
    *mistake("loss-perplexity", "own-perplexity", LOSS, {
        V: ((V_OUT, "return float(np.exp(-picked.mean()))"),),
        F: ((F_OUT, "return torch.exp(F.cross_entropy(Z, targets))"),),
    }),
    *mistake("loss-squared-error", "own-brier", LOSS, {
        V: ((V_OUT, "return float(((softmax(Z) - np.eye(Z.shape[1])[targets]) ** 2).sum(axis=1).mean())"),),
    }),
    *mistake("loss-entropy", "own-entropy", LOSS, {
        V: ((V_OUT, "return float(-(np.exp(log_p) * log_p).sum(axis=1).mean())"),),
        P: ((P_OUT, "return -(log_p.exp() * log_p).sum(-1).mean()"),),
    }, note="the targets do not count"),
    *mistake("loss-raw-logits", "own-no-normaliser", LOSS, {
        V: ((V_LOGP, "log_p = Z"),),
        F: ((F_OUT, "return F.nll_loss(Z, targets)"),),
    }, misconception="loss-from-logit"),
    *mistake("loss-over-positions", "att-softmax-query", LOSS, {
        V: ((V_TOP, "top = Z.max(axis=0, keepdims=True)"), (V_TOTAL, V_TOTAL.replace("axis=-1", "axis=0"))),
        P: ((P_LOGP, "log_p = Z - torch.logsumexp(Z, dim=0, keepdim=True)"),),
    }, misconception="loss-column-mean"),
    *mistake("loss-all-targets-at-all-positions", "own-fancy-index", LOSS, {
        V: ((V_PICK, "picked = log_p[:, targets]"),),
        P: ((P_OUT, "return -log_p[:, targets].mean()"),),
    }, misconception="loss-every-target-everywhere", note="log_p[:, targets] is T by T"),
    *mistake("loss-median", "own-median", LOSS, {
        V: ((V_OUT, "return float(np.median(-picked))"),),
    }, misconception="loss-median"),
    *mistake("loss-per-position", "own-loss-vector", LOSS, {
        V: ((V_OUT, "return -picked"),),
        F: ((F_OUT, 'return F.cross_entropy(Z, targets, reduction="none")'),),
    }, how="structure"),
    *mistake("loss-item", "detach-in-forward", LOSS, {
        P: ((P_OUT, P_OUT + ".item()"),),
        F: ((F_OUT, "return float(F.cross_entropy(Z, targets))"),),
    }, misconception="no-gradient", how="gradient"),
    *mistake("loss-detached-normaliser", "detach-in-forward", LOSS, {
        P: ((P_LOGP, "log_p = Z - torch.logsumexp(Z, dim=-1, keepdim=True).detach()"),),
        F: ((F_OUT, "with torch.no_grad():\n        value = F.cross_entropy(Z, targets)\n    return value.requires_grad_()"),),
    }, misconception={P: "loss-sum-detached", F: "no-gradient"}, how="gradient"),
    *mistake("loss-changes-logits", "blk-inplace", LOSS, {
        V: ((V_TOTAL, "Z -= top\n    log_total = np.log(np.exp(Z).sum(axis=-1, keepdims=True))"),),
        P: ((P_LOGP, "log_p = Z.sub_(torch.logsumexp(Z, dim=-1, keepdim=True))"),),
    }, misconception="argument-changed", how="mutation"),
    *mistake("loss-running-average", "own-running", LOSS, {
        V: ((V_OUT, "HISTORY.append(float(-picked.mean()))\n    return sum(HISTORY) / len(HISTORY)"), ("def loss(Z, targets):", "HISTORY = []\n\n\ndef loss(Z, targets):")),
    }, misconception="remembers-calls", how="state"),
    *mistake("loss-string", "own-strings", LOSS, {
        V: ((V_OUT, "return f'{-picked.mean():.6f} nats'"),),
        F: ((F_OUT, "return str(F.cross_entropy(Z, targets).item())"),),
    }, misconception="result-text", how="dtype"),
    *mistake("loss-raises", "own-exception", LOSS, {
        V: ((V_PICK, "picked = log_p[np.arange(T), targets + T * 100]"),),
        F: ((F_OUT, "return F.cross_entropy(Z, targets.float()[:, None])"),),
    }, misconception=None, how="exception"),
]  # fmt: skip
