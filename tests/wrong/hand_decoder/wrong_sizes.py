"""Wrong at some sizes alone, and what is changed besides arrays of numbers."""

from tests.wrong.hand_decoder.model import V, Wrong, mistake

WRONG: list[Wrong] = [
    *mistake(
        "mask-of-a-fixed-size",
        "own-fixed-mask",
        "causal_attention_weights",
        {V: (("    allowed = np.tril(np.ones((T, T), dtype=bool))", "    allowed = np.tri(16, dtype=bool)[:T, :T]"),)},
        misconception=None,
        how="size",
    ),
    *mistake(
        "no-mask-in-long-sequences",
        "own-long",
        "causal_attention_weights",
        {V: (("    return softmax(masked)", "    return softmax(masked if T < 10 else S)"),)},
        misconception=None,
        how="size",
    ),
    *mistake(
        "sample-variance-of-wide-rows",
        "own-wide",
        "layer_norm",
        {V: (("H.var(axis=-1, keepdims=True)", "H.var(axis=-1, keepdims=True, ddof=int(H.shape[-1] > 8))"),)},
        misconception=None,
        how="size",
    ),
    *mistake(
        "eps-clamped",
        "own-eps",
        "layer_norm",
        {V: (("np.sqrt(variance + eps)", "np.sqrt(variance + min(eps, 0.1))"),)},
        misconception=None,
        how="size",
    ),
    *mistake(
        "square-matrix-transposed",
        "mh-W-untransposed",
        "feed_forward",
        {
            V: (
                (
                    "    hidden = H @ W_1 + b_1",
                    "    hidden = H @ (W_1.T if W_1.shape[0] == W_1.shape[1] else W_1) + b_1",
                ),
            )
        },
        misconception=None,
        how="size",
    ),
    *mistake(
        "keys-for-values-where-they-fit",
        "att-v-is-k",
        "attention_head",
        {V: (("    O = A @ V", "    O = A @ (K if K.shape == V.shape else V)"),)},
        misconception=None,
        how="size",
    ),
    *mistake(
        "eps-of-the-first-block",
        "own-eps",
        "decoder",
        {
            V: (
                (
                    "        X = decoder_block(X, block)",
                    '        X = decoder_block(X, {**block, "eps": params["blocks"][0]["eps"]})',
                ),
            )
        },
        misconception=None,
    ),
    *mistake(
        "eps-taken-out-of-the-block",
        "own-mutation",
        "decoder_block",
        {V: (('    eps = block["eps"]', '    eps = block.pop("eps")'),)},
        misconception="argument-changed",
        how="mutation",
        also=("decoder",),
    ),
    *mistake(
        "a-key-more-in-the-block",
        "own-mutation",
        "decoder_block",
        {V: (('    eps = block["eps"]', '    eps = block["eps"]\n    block["seen"] = 1'),)},
        misconception="argument-changed",
        how="mutation",
        also=("decoder",),
    ),
    *mistake(
        "a-head-more",
        "own-mutation",
        "multi_head_attention",
        {
            V: (
                (
                    "    joined = np.concatenate(outputs, axis=-1)",
                    "    heads.append(heads[0])\n    joined = np.concatenate(outputs, axis=-1)",
                ),
            )
        },
        misconception="argument-changed",
        how="mutation",
        also=("decoder_block", "decoder"),
    ),
    *mistake(
        "noise-in-the-sixth-digit",
        "own-noise",
        "feed_forward",
        {V: (("    return active @ W_2 + b_2", "    return (active @ W_2 + b_2) * (1 + 1e-5 * np.random.randn())"),)},
        misconception="random-results",
        how="state",
    ),
    *mistake(
        "softmax-sum-over-everything",
        "att-softmax-query",
        "softmax",
        {V: (("e / np.sum(e, axis=-1, keepdims=True)", "e / np.sum(e)"),)},
    ),
    *mistake(
        "softmax-sum-over-columns",
        "att-softmax-query",
        "softmax",
        {V: (("e / np.sum(e, axis=-1, keepdims=True)", "e / np.sum(e, axis=0, keepdims=True)"),)},
    ),
]
