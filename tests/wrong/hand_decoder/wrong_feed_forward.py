"""Wrong feed-forward layers: the nonlinearity, its place, and the biases."""

from tests.wrong.hand_decoder.model import C, E, F, L, P, Q, V, mistake

PART = "feed_forward"
V_HIDDEN, V_ACT, V_OUT = "hidden = H @ W_1 + b_1", "active = np.maximum(hidden, 0)", "return active @ W_2 + b_2"
E_ACT, E_OUT = 'a = maximum(0, einsum("td,dm->tm", H, W_1) + b_1)', 'return einsum("tm,md->td", a, W_2) + b_2'
Q_HIDDEN, Q_ACT, Q_OUT = "z = H @ W_1 + b_1", "z = z * (z > 0)", "return z @ W_2 + b_2"
L_TEST = "            if hidden[t, j] < 0:\n                hidden[t, j] = 0\n"
L_B1, L_B2 = "            hidden[t, j] += b_1[j]\n", "            out[t, j] += b_2[j]\n    return out\n\n\ndef decoder_block"
C_OUT = "return np.maximum(x @ self.W_1 + self.b_1, 0.0) @ self.W_2 + self.b_2"
P_ACT, P_OUT = "hidden = torch.relu(H @ W_1 + b_1)", "return hidden @ W_2 + b_2"
F_ACT, F_OUT = "inner = F.relu(F.linear(H, W_1.T, b_1))", "return F.linear(inner, W_2.T, b_2)"

WRONG = [
    *mistake("ffn-no-activation", "ffn-noact", PART, {
        V: ((V_ACT, "active = hidden"),),
        L: ((L_TEST, ""),),
        P: ((P_ACT, "hidden = H @ W_1 + b_1"),),
    }, misconception="activation-missing"),
    *mistake("ffn-activation-last", "ffn-act-last", PART, {
        V: ((V_ACT, "active = hidden"), (V_OUT, "return np.maximum(active @ W_2 + b_2, 0)")),
        C: ((C_OUT, "return np.maximum((x @ self.W_1 + self.b_1) @ self.W_2 + self.b_2, 0.0)"),),
        F: ((F_ACT, "inner = F.linear(H, W_1.T, b_1)"), (F_OUT, "return F.relu(F.linear(inner, W_2.T, b_2))")),
    }, misconception="activation-last"),
    *mistake("ffn-activation-twice", "own-ffn-activation-twice", PART, {
        E: ((E_OUT, 'return maximum(0, einsum("tm,md->td", a, W_2) + b_2)'),),
        P: ((P_OUT, "return torch.relu(hidden @ W_2 + b_2)"),),
    }, misconception="activation-on-both-layers", note="after W_1 and again after W_2"),
    *mistake("ffn-activation-on-input", "own-ffn-activation-on-input", PART, {
        V: ((V_HIDDEN, "hidden = np.maximum(H, 0) @ W_1 + b_1"), (V_ACT, "active = hidden")),
        F: ((F_ACT, "inner = F.linear(F.relu(H), W_1.T, b_1)"),),
    }, misconception="activation-first"),
    *mistake("ffn-activation-before-bias", "own-ffn-activation-before-bias", PART, {
        V: ((V_HIDDEN, "hidden = H @ W_1"), (V_ACT, "active = np.maximum(hidden, 0) + b_1")),
        L: ((L_B1, ""), (L_TEST, L_TEST + L_B1)),
        P: ((P_ACT, "hidden = torch.relu(H @ W_1) + b_1"),),
    }, misconception="bias-1-after-activation"),
    *mistake("ffn-gelu", "ffn-act-wrong", PART, {
        F: ((F_ACT, "inner = F.gelu(F.linear(H, W_1.T, b_1))"),),
        P: ((P_ACT, "hidden = torch.nn.functional.gelu(H @ W_1 + b_1)"),),
    }, misconception="activation-gelu"),
    *mistake("ffn-gelu-tanh", "ffn-gelu-approx", PART, {
        V: ((V_ACT, "active = 0.5 * hidden * (1 + np.tanh(math.sqrt(2 / math.pi) * (hidden + 0.044715 * hidden**3)))"),),
        F: ((F_ACT, 'inner = F.gelu(F.linear(H, W_1.T, b_1), approximate="tanh")'),),
    }, misconception="activation-gelu-tanh", note="apart from ffn-gelu by less than 1e-3"),
    *mistake("ffn-silu", "ffn-act-wrong", PART, {
        E: ((E_ACT, 'a = einsum("td,dm->tm", H, W_1) + b_1\n    a = a / (1 + exp(-a))'),),
        F: ((F_ACT, "inner = F.silu(F.linear(H, W_1.T, b_1))"),),
    }, misconception="activation-silu"),
    *mistake("ffn-sigmoid", "ffn-act-wrong", PART, {
        V: ((V_ACT, "active = 1 / (1 + np.exp(-hidden))"),),
        P: ((P_ACT, "hidden = torch.sigmoid(H @ W_1 + b_1)"),),
    }, misconception="activation-sigmoid"),
    *mistake("ffn-tanh", "ffn-act-wrong", PART, {
        V: ((V_ACT, "active = np.tanh(hidden)"),),
        F: ((F_ACT, "inner = F.linear(H, W_1.T, b_1).tanh()"),),
    }, misconception="activation-tanh"),
    *mistake("ffn-leaky-relu", "ffn-act-wrong", PART, {
        V: ((V_ACT, "active = np.where(hidden > 0, hidden, 0.01 * hidden)"),),
        P: ((P_ACT, "hidden = torch.nn.functional.leaky_relu(H @ W_1 + b_1)"),),
    }, misconception="activation-leaky", note="slope 0.01"),
    *mistake("ffn-absolute-value", "own-ffn-abs", PART, {
        V: ((V_ACT, "active = np.abs(hidden)"),),
        F: ((F_ACT, "inner = F.linear(H, W_1.T, b_1).abs()"),),
    }, misconception="activation-absolute"),
    *mistake("ffn-relu-flipped", "own-ffn-relu-flipped", PART, {
        V: ((V_ACT, "active = np.minimum(hidden, 0)"),),
        Q: ((Q_ACT, "z = z * (z < 0)"),),
        P: ((P_ACT, "hidden = (H @ W_1 + b_1).clamp(max=0)"),),
    }, misconception="activation-negative"),
    *mistake("ffn-step", "own-ffn-step", PART, {
        Q: ((Q_ACT, "z = 1.0 * (z > 0)"),),
        P: ((P_ACT, "hidden = (H @ W_1 + b_1 > 0).to(H.dtype)"),),
    }, misconception="activation-step", note="1 where positive"),
    *mistake("ffn-relu-squared", "own-ffn-relu-squared", PART, {
        Q: ((Q_ACT, "z = z * z * (z > 0)"),),
        F: ((F_ACT, "inner = F.relu(F.linear(H, W_1.T, b_1)) ** 2"),),
    }, misconception="activation-squared"),
    *mistake("ffn-relu-capped", "own-ffn-relu-capped", PART, {
        V: ((V_ACT, "active = np.clip(hidden, 0, 1)"),),
        P: ((P_ACT, "hidden = (H @ W_1 + b_1).clamp(0, 1)"),),
    }, misconception="activation-unit", note="clipped to 0..1"),
    *mistake("ffn-b1-missing", "mh-bias-lost", PART, {
        V: ((V_HIDDEN, "hidden = H @ W_1"),),
        L: ((L_B1, ""),),
        F: ((F_ACT, "inner = F.relu(F.linear(H, W_1.T))"),),
    }, misconception="bias-1-missing"),
    *mistake("ffn-b2-missing", "mh-bias-lost", PART, {
        V: ((V_OUT, "return active @ W_2"),),
        E: ((E_OUT, 'return einsum("tm,md->td", a, W_2)'),),
        F: ((F_OUT, "return F.linear(inner, W_2.T)"),),
    }, misconception="bias-2-missing"),
    *mistake("ffn-biases-missing", "mh-bias-lost", PART, {
        C: ((C_OUT, "return np.maximum(x @ self.W_1, 0.0) @ self.W_2"),),
        P: ((P_ACT, "hidden = torch.relu(H @ W_1)"), (P_OUT, "return hidden @ W_2")),
    }, misconception=("bias-1-missing", "bias-2-missing")),
    *mistake("ffn-residual-inside", "own-ffn-residual", PART, {
        V: ((V_OUT, "return H + active @ W_2 + b_2"),),
        F: ((F_OUT, "return H + F.linear(inner, W_2.T, b_2)"),),
    }, misconception="feed-forward-adds-residual"),
    *mistake("ffn-softmax", "own-ffn-softmax", PART, {
        V: ((V_ACT, "active = softmax(hidden)"),),
        P: ((P_ACT, "hidden = softmax(H @ W_1 + b_1)"),),
    }, misconception="activation-softmax"),
    *mistake("ffn-mixes-positions", "own-ffn-mixes-positions", PART, {
        V: ((V_HIDDEN, "hidden = (H - H.mean(axis=0)) @ W_1 + b_1"),),
    }, misconception="feed-forward-centres-positions", note="batch-norm-like centring over the positions"),
    *mistake("ffn-biases-swapped", "own-ffn-biases-swapped", PART, {
        V: ((V_HIDDEN, "hidden = H @ W_1 + b_2"), (V_OUT, "return active @ W_2 + b_1")),
        P: ((P_ACT, "hidden = torch.relu(H @ W_1 + b_2)"), (P_OUT, "return hidden @ W_2 + b_1")),
    }, misconception=None, how="exception", note="a value only where m = d"),
    *mistake("ffn-changes-its-bias", "blk-inplace", PART, {
        V: ((V_HIDDEN, "hidden = H @ W_1 + b_1\n    b_1 *= 0"),),
        P: ((P_ACT, "hidden = torch.relu(H @ W_1 + b_1)\n    b_1.zero_()"),),
    }, misconception="argument-changed", how="mutation"),
    *mistake("ffn-activation-detached", "detach-in-forward", PART, {
        P: ((P_ACT, "hidden = torch.relu(H @ W_1 + b_1).detach()"),),
        F: ((F_ACT, "inner = F.relu(F.linear(H.detach(), W_1.T, b_1))"),),
    }, misconception={P: "hidden-layer-detached", F: "argument-detached"}, how="gradient"),
    *mistake("ffn-integers", "own-integers", PART, {
        V: ((V_OUT, "return (active @ W_2 + b_2).astype(int)"),),
        P: ((P_OUT, "return (hidden @ W_2 + b_2).long()"),),
    }, misconception="results-integer", how="dtype"),
]  # fmt: skip
