"""Wrong numbers in the example that is computed by hand; `HAND_KEYS` tells which keys are off."""

from tests.wrong.hand_decoder.model import E, F, L, P, Q, V, mistake

PART = "hand_calculation"
T_W, T_A, T_H = '"w": 0.330238', '"A": [[1, 0], [0.330238, 0.669762]]', '"H_prime": [[2, 0], [0.330238, 1.669762]]'
TYPED = "numpy_typed_numbers"

WRONG = [
    *mistake("hand-unscaled", "att-noscale", PART, {
        V: (("w = 1 / (1 + np.exp(1 / np.sqrt(2)))", "w = 1 / (1 + np.exp(1))"),),
        F: (("w = 1 / (1 + torch.exp(1 / root))", "w = 1 / (1 + torch.exp(root / root))"),),
    }, note="scores of 1 instead of 1/sqrt 2"),
    *mistake("hand-scaled-by-d", "att-scale-dk", PART, {
        L: (("w = 1 / (1 + np.e ** (1 / 2**0.5))", "w = 1 / (1 + np.e ** (1 / 2))"),),
        TYPED: ((T_W, '"w": 0.377541'),),
    }, note="scores of 1/2: only w where the numbers are typed"),
    *mistake("hand-weights-exchanged", "own-hand-exchanged", PART, {
        V: (("A = np.array([[1.0, 0.0], [w, 1 - w]])", "A = np.array([[1.0, 0.0], [1 - w, w]])"),),
        TYPED: ((T_A, '"A": [[1, 0], [0.669762, 0.330238]]'),),
    }),
    *mistake("hand-unmasked", "mask-missing", PART, {
        L: (('"A": [[1, 0], [w, 1 - w]],', '"A": [[1 - w, w], [w, 1 - w]],'),),
        TYPED: ((T_A, '"A": [[0.669762, 0.330238], [0.330238, 0.669762]]'),),
    }),
    *mistake("hand-residual-missing", "blk-no-res-attn", PART, {
        V: (("H_prime = I + A @ I", "H_prime = A @ I"),),
        TYPED: ((T_H, '"H_prime": [[1, 0], [0.330238, 0.669762]]'),),
    }),
    *mistake("hand-p-without-residual-for-p", "own-hand-p", PART, {
        P: (('"p_B": p[1, 1]', '"p_B": next_token_probabilities(O)[1, 1]'),),
        TYPED: (('"p_B": 0.792412', '"p_B": 0.584075'),),
    }),
    *mistake("hand-p-of-the-wrong-token", "own-hand-p-a", PART, {
        Q: (('"p_B": probs[1, 1]', '"p_B": probs[1, 0]'),),
        TYPED: (('"p_B": 0.792412', '"p_B": 0.207588'),),
    }),
    *mistake("hand-loss-in-bits", "ce-base-2", PART, {
        V: (('"loss": -np.log(p_B)', '"loss": -np.log2(p_B)'),),
        TYPED: (('"loss": 0.232674', '"loss": 0.335678'),),
    }),
    *mistake("hand-loss-sign", "own-loss-sign", PART, {
        E: (("loss=-log(p[1])", "loss=log(p[1])"),),
        TYPED: (('"loss": 0.232674', '"loss": -0.232674'),),
    }),
    *mistake("hand-loss-of-both-rows", "own-hand-loss-mean", PART, {
        P: (("loss(H_prime[1:], torch.tensor([1]))", "loss(H_prime, torch.tensor([1, 1]))"),),
    }, misconception="hand-loss-of-both-rows", note="the mean over both positions"),
    *mistake("hand-last-row-without-residual", "own-hand-row", PART, {
        V: (("row = (zeroed + A @ zeroed)[1]", "row = (A @ zeroed)[1]"),),
        P: (("(V + A @ V)[1]", "(A @ V)[1]"),),
    }),
    *mistake("hand-last-row-unchanged", "own-hand-row", PART, {
        F: (('[0.0, 2 - w.item()]', "[w.item(), 2 - w.item()]"),),
        TYPED: (("[0, 1.669762]", "[0.330238, 1.669762]"),),
    }, note="the first value was not zeroed"),
    *mistake("hand-weights-zeroed-too", "own-hand-zeroed", PART, {
        Q: (('"A_first_value_zeroed": A.copy()', '"A_first_value_zeroed": A @ zero_first'),),
        TYPED: (('"A_first_value_zeroed": [[1, 0], [0.330238, 0.669762]]', '"A_first_value_zeroed": [[0, 0], [0, 0.669762]]'),),
    }, note="the column of the zeroed value set to 0"),
    *mistake("hand-weights-renormalised", "own-hand-zeroed", PART, {
        L: (('"A_first_value_zeroed": [[1, 0], [w, 1 - w]]', '"A_first_value_zeroed": [[1, 0], [0, 1]]'),),
    }),
    *mistake("hand-layer-norm-sample-variance", "ln-ddof1", PART, {
        V: (("np.array([-1.0, 1.0])", "np.array([-1.0, 1.0]) / np.sqrt(2)"),),
        TYPED: (('"layer_norm_of_1_3": [-1, 1]', '"layer_norm_of_1_3": [-0.707107, 0.707107]'),),
    }),
    *mistake("hand-layer-norm-with-eps", "ln-eps-value", PART, {
        E: (("n = layer_norm(x, ones(2), 0 * ones(2), 0.0)", "n = layer_norm(x, ones(2), 0 * ones(2), 1e-5)"),),
    }, note="off by 5e-6"),
    *mistake("hand-residual-of-norm", "blk-res-from-norm", PART, {
        V: (("np.array([0.0, 4.0])", "np.array([-2.0, 2.0])"),),
        F: (("[0.0, 4.0]", "[-2.0, 2.0]"),),
    }, note="the norm added to itself"),
    *mistake("hand-two-digits", "own-hand-rounded", PART, {
        TYPED: ((T_W, '"w": 0.33'), ('"p_B": 0.792412', '"p_B": 0.79')),
    }, misconception="figure-rounded", note="rounded to two digits"),
    *mistake("hand-last-digit", "own-hand-rounded", PART, {
        TYPED: (('"p_B_without_residual": 0.584075', '"p_B_without_residual": 0.584074'),),
    }, misconception="figure-cut", note="cut instead of rounded: 6.7e-7 off"),
    *mistake("hand-percent", "own-hand-percent", PART, {
        TYPED: (('"p_B": 0.792412', '"p_B": 79.2412'),),
    }, misconception="figure-in-percent"),
    *mistake("hand-key-missing", "own-missing", PART, {
        TYPED: (('        "residual_of_1_3": [0, 4],\n', ""),),
        V: (('        "loss": -np.log(p_B),\n', ""),),
    }, misconception="figure-missing", how="structure"),
    *mistake("hand-not-returned", "own-none", PART, {
        TYPED: (("    return {\n", "    numbers = {\n"),),
        L: (("    p_B = 1 / (1 + np.e ** (-2 * (1 - w)))\n    return {", "    p_B = 1 / (1 + np.e ** (-2 * (1 - w)))\n    {"),),
    }, misconception="result-none", how="structure"),
]  # fmt: skip
