"""Wrong layer norms: axis, variance, eps, gain and shift."""

from tests.wrong.hand_decoder.model import C, E, F, L, P, Q, V, mistake

PART = "layer_norm"
V_MEAN, V_VAR = "mean = H.mean(axis=-1, keepdims=True)", "variance = H.var(axis=-1, keepdims=True)"
V_NORM, V_OUT = "normalized = (H - mean) / np.sqrt(variance + eps)", "return gain * normalized + shift"
E_C, E_VAR = "c = H - mu", 'var = einsum("td,td->t", c, c)[:, None] / d'
E_OUT = "return c / sqrt(var + eps) * gain + shift"
Q_CENTRED, Q_SPREAD = "centred = H - H.mean(1, keepdims=True)", "spread = (centred**2).mean(1, keepdims=True)"
Q_OUT = "return centred * (spread + eps) ** -0.5 * gain + shift"
L_VAR = "var += (H[t, j] - mean) ** 2 / d"
L_OUT = "out[t, j] = gain[j] * (H[t, j] - mean) / (var + eps) ** 0.5 + shift[j]"
C_CENTRED = "centred = x - x.mean(axis=-1, keepdims=True)"
C_OUT = "return self.gain * centred / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + self.eps) + self.shift"
P_MEAN, P_VAR = "mu = H.mean(dim=-1, keepdim=True)", "var = ((H - mu) ** 2).mean(dim=-1, keepdim=True)"
P_HAT, P_OUT = "x_hat = (H - mu) / torch.sqrt(var + eps)", "return x_hat * gain + shift"
F_OUT = "return F.layer_norm(H, (H.shape[-1],), gain, shift, eps)"

WRONG = [
    *mistake("norm-over-positions", "ln-axis-T", PART, {
        V: ((V_MEAN, "mean = H.mean(axis=0, keepdims=True)"), (V_VAR, "variance = H.var(axis=0, keepdims=True)")),
        Q: ((Q_CENTRED, "centred = H - H.mean(0, keepdims=True)"), (Q_SPREAD, "spread = (centred**2).mean(0, keepdims=True)")),
        P: ((P_MEAN, "mu = H.mean(dim=0, keepdim=True)"), (P_VAR, "var = ((H - mu) ** 2).mean(dim=0, keepdim=True)")),
    }, misconception="norm-over-time"),
    *mistake("norm-over-everything", "ln-all-dims", PART, {
        V: ((V_MEAN, "mean = H.mean()"), (V_VAR, "variance = H.var()")),
        C: ((C_CENTRED, "centred = x - x.mean()"), (C_OUT, C_OUT.replace("mean(axis=-1, keepdims=True)", "mean()"))),
        F: ((F_OUT, "return F.layer_norm(H, H.shape, None, None, eps) * gain + shift"),),
    }),
    *mistake("norm-sample-variance", "ln-ddof1", PART, {
        V: ((V_VAR, "variance = H.var(axis=-1, keepdims=True, ddof=1)"),),
        E: ((E_VAR, 'var = einsum("td,td->t", c, c)[:, None] / (d - 1)'),),
        L: ((L_VAR, "var += (H[t, j] - mean) ** 2 / (d - 1)"),),
        P: ((P_VAR, "var = H.var(dim=-1, keepdim=True)"),),
    }),
    *mistake("norm-eps-outside-root", "ln-eps-out", PART, {
        V: ((V_NORM, "normalized = (H - mean) / (np.sqrt(variance) + eps)"),),
        Q: ((Q_OUT, "return centred / (spread**0.5 + eps) * gain + shift"),),
        P: ((P_HAT, "x_hat = (H - mu) / (torch.sqrt(var) + eps)"),),
    }, misconception="norm-eps-outside"),
    *mistake("norm-eps-missing", "ln-noeps", PART, {
        V: ((V_NORM, "normalized = (H - mean) / np.sqrt(variance)"),),
        E: ((E_OUT, "return c / sqrt(var) * gain + shift"),),
        F: ((F_OUT, "return F.layer_norm(H, (H.shape[-1],), gain, shift, 0.0)"),),
    }, misconception="norm-no-eps", note="a constant row is NaN, in torch_functional not"),
    *mistake("norm-eps-fixed", "ln-eps-value", PART, {
        V: ((V_NORM, "normalized = (H - mean) / np.sqrt(variance + 1e-5)"),),
        F: ((F_OUT, "return F.layer_norm(H, (H.shape[-1],), gain, shift)"),),
    }, misconception="norm-eps-1e-5", note="1e-5, whatever eps is"),
    *mistake("norm-eps-squared", "own-eps-squared", PART, {
        P: ((P_HAT, "x_hat = (H - mu) / torch.sqrt(var + eps**2)"),),
    }),
    *mistake("norm-by-variance", "ln-var-not-std", PART, {
        V: ((V_NORM, "normalized = (H - mean) / (variance + eps)"),),
        L: ((L_OUT, "out[t, j] = gain[j] * (H[t, j] - mean) / (var + eps) + shift[j]"),),
        P: ((P_HAT, "x_hat = (H - mu) / (var + eps)"),),
    }, misconception="norm-root-missing"),
    *mistake("norm-rms", "ln-nomean", PART, {
        V: ((V_MEAN, "mean = 0"), (V_VAR, "variance = np.mean(H**2, axis=-1, keepdims=True)")),
        Q: ((Q_CENTRED, "centred = H"),),
        F: ((F_OUT, "return F.rms_norm(H, (H.shape[-1],), gain, eps) + shift"),),
    }, misconception="norm-without-mean", note="no mean at all: RMS norm, with the shift"),
    *mistake("norm-mean-not-subtracted", "ln-nomean", PART, {
        V: ((V_NORM, "normalized = H / np.sqrt(variance + eps)"),),
        P: ((P_HAT, "x_hat = H / torch.sqrt(var + eps)"),),
    }, misconception="norm-mean-kept-above", note="the variance is right"),
    *mistake("norm-raw-second-moment", "own-raw-second-moment", PART, {
        E: ((E_VAR, 'var = einsum("td,td->t", H, H)[:, None] / d'),),
        P: ((P_VAR, "var = (H ** 2).mean(dim=-1, keepdim=True)"),),
    }, misconception="norm-square-not-centred", note="(x - mean) / sqrt(mean x^2 + eps)"),
    *mistake("norm-not-divided", "own-not-divided", PART, {
        V: ((V_NORM, "normalized = H - mean"),),
        C: ((C_OUT, "return self.gain * centred + self.shift"),),
    }),
    *mistake("norm-sum-for-mean", "rms-sum", PART, {
        Q: ((Q_SPREAD, "spread = (centred**2).sum(1, keepdims=True)"),),
        P: ((P_VAR, "var = ((H - mu) ** 2).sum(dim=-1, keepdim=True)"),),
    }, misconception="norm-sum-of-squares"),
    *mistake("norm-mean-deviation", "own-mean-deviation", PART, {
        V: ((V_NORM, "normalized = (H - mean) / (np.abs(H - mean).mean(axis=-1, keepdims=True) + eps)"),),
    }, misconception="norm-absolute-deviation", note="mean absolute deviation for the root of the variance"),
    *mistake("norm-gain-missing", "ln-nogain", PART, {
        V: ((V_OUT, "return normalized + shift"),),
        E: ((E_OUT, "return c / sqrt(var + eps) + shift"),),
        F: ((F_OUT, "return F.layer_norm(H, (H.shape[-1],), None, shift, eps)"),),
    }, misconception="norm-no-gain"),
    *mistake("norm-shift-missing", "ln-nobias", PART, {
        V: ((V_OUT, "return gain * normalized"),),
        L: ((L_OUT, "out[t, j] = gain[j] * (H[t, j] - mean) / (var + eps) ** 0.5"),),
        P: ((P_OUT, "return x_hat * gain"),),
    }, misconception="norm-no-shift"),
    *mistake("norm-gain-and-shift-missing", "ln-nogain", PART, {
        C: ((C_OUT, "return centred / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + self.eps)"),),
        F: ((F_OUT, "return F.layer_norm(H, (H.shape[-1],), eps=eps)"),),
    }, misconception=("norm-no-gain", "norm-no-shift")),
    *mistake("norm-shift-before-gain", "ln-bias-before-gain", PART, {
        V: ((V_OUT, "return gain * (normalized + shift)"),),
        P: ((P_OUT, "return (x_hat + shift) * gain"),),
    }),
    *mistake("norm-gain-shift-swapped", "own-gain-shift-swapped", PART, {
        V: ((V_OUT, "return shift * normalized + gain"),),
        F: ((F_OUT, "return F.layer_norm(H, (H.shape[-1],), shift, gain, eps)"),),
    }, misconception="norm-gain-and-shift-swapped"),
    *mistake("norm-gain-plus-one", "rms-gain-plus1", PART, {
        E: ((E_OUT, "return c / sqrt(var + eps) * (1 + gain) + shift"),),
        P: ((P_OUT, "return x_hat * (1 + gain) + shift"),),
    }),
    *mistake("norm-shift-subtracted", "own-shift-sign", PART, {
        L: ((L_OUT, "out[t, j] = gain[j] * (H[t, j] - mean) / (var + eps) ** 0.5 - shift[j]"),),
    }),
    *mistake("norm-eps-subtracted", "own-eps-sign", PART, {
        V: ((V_NORM, "normalized = (H - mean) / np.sqrt(variance - eps)"),),
    }, misconception="norm-eps-subtracted", note="NaN where the variance is below eps"),
    *mistake("norm-gain-shift-first", "own-gain-first", PART, {
        V: ((V_MEAN, "H = H * gain + shift\n    mean = H.mean(axis=-1, keepdims=True)"), (V_OUT, "return normalized")),
        P: ((P_MEAN, "H = H * gain + shift\n    mu = H.mean(dim=-1, keepdim=True)"), (P_OUT, "return x_hat")),
    }, misconception="norm-gain-and-shift-first", note="gain and shift before the normalization"),
    *mistake("norm-statistics-detached", "ln-detach", PART, {
        P: ((P_VAR, P_VAR + "\n    mu, var = mu.detach(), var.detach()"),),
        F: ((F_OUT, "with torch.no_grad():\n        mean, var = H.mean(-1, keepdim=True), H.var(-1, correction=0, keepdim=True)\n    return (H - mean) / torch.sqrt(var + eps) * gain + shift"),),
    }, how="gradient", note="forward the same"),
    *mistake("norm-gain-detached", "detach-in-forward", PART, {
        P: ((P_OUT, "return x_hat * gain.data + shift"),),
        F: ((F_OUT, "return F.layer_norm(H, (H.shape[-1],), gain.detach(), shift, eps)"),),
    }, misconception="argument-detached", how="gradient"),
    *mistake("norm-changes-its-input", "blk-inplace", PART, {
        V: ((V_NORM, "H -= mean\n    normalized = H / np.sqrt(variance + eps)"),
            ("X = layer_norm(H, n1", "X = layer_norm(H.copy(), n1"), ("Y = layer_norm(U, n2", "Y = layer_norm(U.copy(), n2")),
        P: ((P_HAT, "H.sub_(mu)\n    x_hat = H / torch.sqrt(var + eps)"),
            ("normed = layer_norm(H,", "normed = layer_norm(H.clone(),"), ("normed_2 = layer_norm(U,", "normed_2 = layer_norm(U.clone(),"),
            ("ln = layer_norm(x,", "ln = layer_norm(x.clone(),")),
    }, misconception="argument-changed", how="mutation"),
    *mistake("norm-running-statistics", "own-running-statistics", PART, {
        V: (("def layer_norm(H, gain, shift, eps):\n", "RUNNING = []\n\n\ndef layer_norm(H, gain, shift, eps):\n"),
            (V_NORM, "RUNNING.append(variance.mean())\n    variance = variance + 0.1 * (RUNNING[0] - RUNNING[-1])\n    " + V_NORM)),
    }, misconception="remembers-calls", how="state", note="a running average over calls, as in batch norm"),
]  # fmt: skip
