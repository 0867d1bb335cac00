"""What goes wrong in a language model: positions, attention, norms, wiring, readout; and modules that others wrote."""

from __future__ import annotations

from typing import Any

from grader.misconceptions import pattern

PART = "DecoderLM"
WAYS: list[tuple[str, dict[str, Any]]] = []  # a mistake's id, and choices of `Forward` that make it; some have several


def _known(key: str, title: str, formula: str, why: str, cure: str, *ways: dict[str, Any]) -> None:
    pattern(f"lm-{key}", part=(PART,), title=title, formula=formula, why=why, cure=cure, file=__file__)
    WAYS.extend((f"lm-{key}", way) for way in ways)


# From scratch.
_known(
    "ready-made",
    "a transformer module that others wrote is used",
    "torch.nn.MultiheadAttention, torch.nn.Transformer*, scaled_dot_product_attention, ...",
    "They are one line, and quick.",
    "Write attention with matrix products and softmax, and the block with your own modules.",
)

# Rotary positions.
TURN = "Turn queries and keys, in pairs (i, i + d_k/2), by position · 10000^(-2i/d_k)."
_known(
    "rotary-missing",
    "no rotation reaches the scores",
    "S = Q Kᵀ / √d_k without positions",
    "It is not called, its result is dropped, or it turns by something that is the same for query and key.",
    TURN,
    {"turned": "none"},
    {"turn": "heads"},
)
_known("rotary-only-q", "only the queries are turned", "(R_t q)·k", "The keys are forgotten.", TURN, {"turned": "q"})
_known("rotary-only-k", "only the keys are turned", "q·(R_s k)", "The queries are forgotten.", TURN, {"turned": "k"})
_known(
    "rotary-on-values",
    "values are turned too",
    "Σ_s A[t, s] R_s v_s",
    "Queries, keys and values are one tensor, which is turned whole.",
    "Turn queries and keys alone: what is retrieved does not depend on where it stood.",
    {"turned": "q k v"},
)
_known(
    "rotary-interleaved",
    "neighbours are paired in place of halves",
    "pairs (2i, 2i + 1)",
    "The first paper pairs neighbours; models since pair halves.",
    "The pairs are (i, i + d_k/2): split the last axis into two halves.",
    {"turn": "interleaved"},
)
_known(
    "rotary-mixed-layouts",
    "angles for neighbours and pairs of halves are mixed",
    "x · repeat(cos, 2) + (-b, a) · repeat(sin, 2)",
    "Two implementations, each right, are put together.",
    "With pairs (i, i + d_k/2) the angles are joined as (φ, φ), not repeated one by one.",
    {"turn": "mixed"},
)
_known(
    "rotary-sign",
    "turned the other way",
    "(a cos φ + b sin φ, -a sin φ + b cos φ)",
    "A sign is lost, or sine and cosine change places.",
    "(a, b) -> (a cos φ - b sin φ, a sin φ + b cos φ).",
    {"turn": "other way"},
)
_known(
    "rotary-no-minus",
    "the minus is missing in the rotation",
    "(a cos φ + b sin φ, a sin φ + b cos φ)",
    "Both lines look alike; lengths are not kept then.",
    "(a, b) -> (a cos φ - b sin φ, a sin φ + b cos φ).",
    {"turn": "no minus"},
)
_known(
    "rotary-exponent",
    "the exponent of the angles is wrong",
    "10000^(-i/d_k), 10000^(-4i/d_k) or 10000^(+2i/d_k)",
    "The index of the pair and that of the coordinate are mixed up: 2i is even already in arange(0, d_k, 2).",
    "The angles are 10000^(-2i/d_k) for i = 0 .. d_k/2 - 1.",
    {"frequencies": "half exponent"},
    {"frequencies": "double exponent"},
    {"frequencies": "growing"},
    {"frequencies": "one"},
)
_known(
    "rotary-width",
    "the angles are made from the model's width",
    "10000^(-2i/d)",
    "The table is made before the split into heads.",
    "Each head has d_k = d / h coordinates: 10000^(-2i/d_k).",
    {"frequencies": "of the width"},
)
_known(
    "rotary-base",
    "another base than 10000",
    "1000^(-2i/d_k), 500000^(-2i/d_k), ...",
    "A zero is lost, or the base is that of a model with a long context.",
    "The base is 10000.",
    {"frequencies": "base 1000"},
    {"frequencies": "base 100000"},
    {"frequencies": "base 500000"},
)
_known(
    "rotary-half-precision",
    "positions or angles are in half precision",
    "2049 becomes 2048 in float16, 257 becomes 256 in bfloat16",
    "Half precision saves memory, and is exact for small positions.",
    "Compute positions, angles, sine and cosine in float32 at least.",
)

# Learned positions.
LEARNED = "With rotary=False: H = E[tokens] + P[:T], P a parameter (context, d)."
_known(
    "positions-missing",
    "no positions are added where rotary is False",
    "H = E[tokens]",
    "The table is made and not added, or rotary=False only switches the rotation off.",
    LEARNED,
    {"places": "none"},
)
_known("positions-not-learned", "positions are fixed", "sin(t / 10000^(2i/d))", "Sinusoids are older.", LEARNED)
_known(
    "positions-off-by-one",
    "positions begin at 1",
    "H_t = E[token] + P[t + 1]",
    "Counting begins at 1, or at 0 for padding.",
    LEARNED,
    {"places": "one ahead"},
)
_known(
    "positions-reversed",
    "positions count from the end",
    "H_t = E[token] + P[T - 1 - t]",
    "The latest token is given the first place.",
    LEARNED,
    {"places": "reversed"},
)
_known(
    "positions-all-first",
    "every position gets the first row",
    "H_t = E[token] + P[0]",
    "One row is broadcast over time.",
    LEARNED,
    {"places": "first"},
)
_known(
    "positions-twice",
    "positions are both learned and turned",
    "H = E[tokens] + P, and Q, K turned",
    "Both are in the code, and the flag switches only one of them, or none.",
    "rotary=True turns and adds nothing; rotary=False adds and turns nothing.",
    {"turned": "always"},
)

# Attention.
SCALE = "Divide Q Kᵀ by the square root of d_k = d / h, once."
_known("scale-missing", "the scale is missing", "S = Q Kᵀ", "It looks complete.", SCALE, {"scale": "none"})
_known(
    "scale-by-width",
    "scaled by d_k, not √d_k",
    "S = Q Kᵀ / d_k",
    "The root is forgotten, or √d_k is divided out twice.",
    SCALE,
    {"scale": "d_k"},
)
_known(
    "scale-multiplied",
    "multiplied in place of divided",
    "S = Q Kᵀ · √d_k",
    "Scaling is taken for multiplying.",
    SCALE,
    {"scale": "times"},
    {"scale": "times d_k"},
)
_known(
    "scale-by-model-width",
    "scaled by the root of the model's width",
    "S = Q Kᵀ / √d",
    "d is at hand, d_k is not.",
    SCALE,
    {"scale": "width"},
)
_known(
    "scale-other",
    "scaled by something else than √d_k",
    "S = Q Kᵀ / √h, / √T, / d_k^(1/4)",
    "The wrong axis of a shape is read.",
    SCALE,
    {"scale": "heads"},
    {"scale": "length"},
    {"scale": "fourth"},
)
MASK = "Fill S[t, s] with -inf for s > t, before the softmax over s."
_known(
    "mask-missing",
    "no causal mask",
    "A = softmax(S)",
    "Without it everything runs, and the training loss is wonderful.",
    MASK,
    {"mask": "none"},
)
_known("mask-zero", "masked scores are 0, not -inf", "softmax(S · mask)", "0 looks like off.", MASK, {"mask": "zero"})
_known(
    "mask-after-softmax",
    "masked after the softmax",
    "softmax(S) · mask",
    "Weights are what is to be 0.",
    MASK,
    {"mask": "after"},
)
_known(
    "mask-one-ahead",
    "each position sees the next one",
    "s ≤ t + 1",
    "diagonal=1 of tril is one too many.",
    MASK,
    {"mask": "one ahead"},
)
_known(
    "mask-transposed", "the mask is transposed", "s ≥ t", "triu and tril are mixed up.", MASK, {"mask": "transposed"}
)
_known("sees-every-position", "every position sees every other", "t depends on s > t", "The mask comes too late.", MASK)
_known("mask-two-ahead", "each position sees the next two", "s ≤ t + 2", "diagonal=2.", MASK)
_known(
    "mask-strict",
    "positions do not see themselves",
    "s < t",
    "diagonal=-1 of tril is one too few: row 0 may consult nothing.",
    "Position t consults every s ≤ t, itself included.",
)
_known(
    "mask-inverted",
    "the mask is inverted",
    "s > t is kept, s ≤ t is masked",
    "True means 'may be consulted' here and 'is masked' there.",
    MASK,
)
_known("mask-only-self", "positions see themselves alone", "s = t", "The mask is the identity.", MASK)
_known("mask-window", "positions see a window alone", "t - w < s ≤ t", "Some models do it so, for speed.", MASK)
_known(
    "weights-not-normalized",
    "attention weights do not sum to 1",
    "Σ_s A[t, s] ≠ 1",
    "Entries are removed after the softmax, or it runs over another axis.",
    MASK,
)
SOFTMAX = "softmax over the last axis, that of the keys, once."
_known(
    "softmax-axis",
    "softmax over another axis than that of the keys",
    "Σ_t A[t, s] = 1",
    "dim is counted from the wrong end.",
    SOFTMAX,
    {"weights": "over queries"},
    {"weights": "over heads"},
)
_known(
    "softmax-twice",
    "softmax is taken twice",
    "softmax(softmax(S))",
    "It is in two functions.",
    SOFTMAX,
    {"weights": "twice"},
)
SPLIT = "view(B, T, h, d_k).transpose(1, 2) splits, transpose(1, 2).reshape(B, T, d) merges."
_known(
    "heads-split-without-transpose",
    "heads are split by a reshape in place of a transpose",
    "view(B, h, T, d_k)",
    "The shape is right, and the numbers are another token's.",
    SPLIT,
    {"split": "no transpose"},
)
_known(
    "heads-merged-without-transpose",
    "heads are merged by a reshape in place of a transpose",
    "(B, h, T, d_k).reshape(B, T, d)",
    "The shape is right, and the numbers are another token's.",
    SPLIT,
    {"merged": "no transpose"},
)
_known(
    "heads-both-without-transpose",
    "heads are split and merged by reshapes in place of transposes",
    "view(B, h, T, d_k), later reshape(B, T, d)",
    "The shapes are right, and each head attends within a piece of the sequence.",
    SPLIT,
    {"split": "no transpose", "merged": "no transpose"},
)
_known(
    "heads-inside-out",
    "heads are the inner axis of a split",
    "view(B, T, d_k, h)",
    "Columns of one head are taken to lie h apart.",
    SPLIT,
    {"split": "inside out"},
    {"merged": "inside out"},
    {"split": "inside out", "merged": "inside out"},
)
_known(
    "heads-reversed",
    "heads are joined in another order",
    "[O_h … O_1]",
    "A stack is undone from its end.",
    SPLIT,
    {"merged": "reversed"},
)
_known(
    "heads-ignored",
    "the number of heads changes nothing",
    "one softmax over the whole width",
    "heads is stored and not used.",
    SPLIT,
    {"split": "one"},
    {"split": "one", "scale": "width"},
)
_known(
    "no-output-projection",
    "W_O is missing",
    "MHA = [O_1 … O_h]",
    "The joined heads have the right width already.",
    "Multiply the joined heads by W_O.",
    {"out": "missing"},
)
_known(
    "wrong-projection",
    "queries, keys and values are mixed up",
    "S = K Qᵀ, S = Q Qᵀ, or V = K",
    "Three lines look alike.",
    "Q = N W_Q, K = N W_K, V = N W_V; S = Q Kᵀ; O = A V.",
    *({"scores": way} for way in ("swapped", "q q", "k k", "v is k", "v is q", "v is read")),
)
_known(
    "load-untransposed",
    "load_reference copies square matrices without transposing them",
    "linear.weight = W",
    "nn.Linear keeps its weight transposed, and a square one fits both ways.",
    "linear.weight.copy_(W.T).",
    {"matrices": "transposed"},
)

# Norms and wiring.
FORMULA = "H = H + attention(norm_1(H)); H = H + feed_forward(norm_2(H)); logits = norm_f(H) W_out + b_out."
NORM = "LN(x) = gain · (x - mean) / √(variance + 1e-5) + shift, over the last axis, variance divided by d."
_known(
    "norm-unbiased",
    "the variance is divided by d - 1",
    "x.std() or x.var() without unbiased=False",
    "It is the default in torch.",
    NORM,
    {"norm": "unbiased"},
)
_known(
    "norm-eps-outside",
    "eps stands outside the root",
    "(x - mean) / (σ + eps)",
    "std() is at hand.",
    NORM,
    {"norm": "eps outside"},
)
_known(
    "norm-eps-value",
    "another eps than 1e-5",
    "(x - mean) / √(variance + 1e-6)",
    "Defaults differ from library to library.",
    NORM,
    *({"eps": eps} for eps in (1e-6, 1e-8, 1e-12, 1e-3, 1e-4, 0.0)),
)
_known(
    "norm-by-variance",
    "divided by the variance",
    "(x - mean) / (σ² + eps)",
    "The root is forgotten.",
    NORM,
    {"norm": "variance"},
)
_known(
    "norm-no-gain", "the norm has no gain", "(x - mean) / σ + shift", "At the start it is 1.", NORM, {"norm": "no gain"}
)
_known(
    "norm-no-shift",
    "the norm has no shift",
    "gain · (x - mean) / σ",
    "At the start it is 0.",
    NORM,
    {"norm": "no shift"},
)
_known(
    "norm-shared",
    "one norm serves both branches",
    "attention(norm_1(H)), feed_forward(norm_1(H))",
    "At the start both norms are the same.",
    "Make two norms for each block.",
    {"norms": "1 1"},
    {"norms": "2 2"},
)
_known(
    "norms-swapped",
    "the two norms change places",
    "attention(norm_2(H)), feed_forward(norm_1(H))",
    "At the start both norms are the same.",
    FORMULA,
    {"norms": "2 1"},
)
_known(
    "post-norm",
    "post-norm in place of pre-norm",
    "norm(H + f(H))",
    "The first paper has it so.",
    FORMULA,
    {"wiring": "post"},
)
_known(
    "no-norms",
    "neither branch reads a normalized stream",
    "H + f(H)",
    "The norms are left out.",
    FORMULA,
    {"wiring": "none"},
)
_known(
    "no-norm-attention",
    "attention reads the raw stream",
    "H + attention(H)",
    "The first norm is made and not applied.",
    FORMULA,
    {"wiring": "no norm before attention"},
)
_known(
    "no-norm-feed-forward",
    "the feed-forward reads the raw stream",
    "H + feed_forward(H)",
    "The second norm is made and not applied.",
    FORMULA,
    {"wiring": "no norm before feed-forward"},
)
_known(
    "norm-on-branch",
    "a branch's output is normalized",
    "H + norm(f(H))",
    "Norm and branch change places.",
    FORMULA,
    {"wiring": "norm on branch"},
)
_known(
    "residual-from-norm",
    "a residual starts from the normalized stream",
    "norm(H) + f(norm(H))",
    "H is overwritten: H = norm(H), then H = H + f(H).",
    "Keep H: write H = H + f(norm(H)).",
    {"wiring": "from norm"},
    {"wiring": "attention from norm"},
    {"wiring": "feed-forward from norm"},
)
_known(
    "no-residual-attention",
    "the residual around attention is missing",
    "H = attention(norm_1(H))",
    "The sum is taken for part of attention.",
    FORMULA,
    {"wiring": "no residual around attention"},
)
_known(
    "no-residual-feed-forward",
    "the residual around the feed-forward is missing",
    "H = feed_forward(norm_2(H))",
    "The sum is forgotten once.",
    FORMULA,
    {"wiring": "no residual around feed-forward"},
)
_known(
    "no-residuals", "no residual at all", "H = f(norm(H))", "Layers are chained.", FORMULA, {"wiring": "no residuals"}
)
_known("residual-doubled", "the stream is added twice", "2 H + f(H)", "f adds it too.", FORMULA, {"wiring": "doubled"})
_known(
    "residual-skips",
    "the second residual starts from the block's input",
    "H + feed_forward(norm_2(U))",
    "H is still there, and U is forgotten in the sum.",
    FORMULA,
    {"wiring": "from the input"},
)
_known(
    "parallel",
    "the branches stand side by side",
    "H + attention(norm_1(H)) + feed_forward(norm_2(H))",
    "Some models do it so, for speed.",
    FORMULA,
    {"wiring": "parallel"},
    {"wiring": "one norm"},
)
_known(
    "feed-forward-first",
    "the feed-forward comes before attention",
    "U = H + feed_forward(norm_2(H)), then attention",
    "The order is turned.",
    FORMULA,
    {"wiring": "feed-forward first"},
)
_known(
    "no-attention",
    "there is no attention",
    "H + feed_forward(norm_2(H))",
    "It is not called.",
    FORMULA,
    {"wiring": "no attention"},
)
_known(
    "no-feed-forward",
    "there is no feed-forward",
    "H + attention(norm_1(H))",
    "It is not called.",
    FORMULA,
    {"wiring": "no feed-forward"},
)
_known(
    "no-final-norm",
    "the readout works on the raw stream",
    "logits = H W_out + b_out",
    "Blocks have their norms already; in pre-norm nothing has normalized the sum.",
    FORMULA,
    {"final": "missing"},
)
FF = "feed_forward(N) = act(N W_1 + b_1) W_2 + b_2, act ReLU or GELU."
_known(
    "no-activation",
    "the feed-forward is linear",
    "N W_1 W_2",
    "The activation is forgotten.",
    FF,
    {"activation": "none"},
)
_known(
    "activation-last",
    "an activation comes after the last linear map",
    "act(N W_1 W_2)",
    "Every layer gets one, the last one too.",
    FF,
    {"activation": "last"},
    {"activation": "twice"},
)
_known(
    "bias-missing",
    "a bias of the feed-forward is missing",
    "act(N W_1) W_2",
    "bias=False.",
    FF,
    {"biases": "no first"},
    {"biases": "no second"},
)

# Layers, embedding and readout.
_known(
    "shared-block",
    "all layers share one block",
    "nn.ModuleList([block] * layers)",
    "Multiplying a list repeats the same object.",
    "Make a block for each layer: [Block(...) for _ in range(layers)].",
    {"layers": "first again"},
    {"layers": "last again"},
)
_known(
    "shared-in-blocks",
    "layers share a part of the block",
    "a feed-forward or a norm that is made once",
    "It is made outside the loop, or given to every block.",
    "Make everything that learns in the block's own __init__.",
    {"network": "first"},
)
_known(
    "layers-reversed",
    "layers run from the last to the first",
    "block_1(block_2(H))",
    "Functions are written from the outside in.",
    "Run the blocks in the order in which they were made.",
    {"layers": "reversed"},
)
_known(
    "layer-skipped",
    "a layer is left out",
    "for block in blocks[:-1]",
    "A range ends one too early, or begins one too late.",
    "Run every block.",
    {"layers": "no last"},
    {"layers": "no first"},
)
_known(
    "layers-twice",
    "every layer runs twice",
    "block(block(H))",
    "It is called twice.",
    "Run each once.",
    {"layers": "twice"},
)
_known(
    "embedding-scaled",
    "embeddings are multiplied by √d",
    "H = E[tokens] · √d",
    "The first paper has it so, for tied embeddings.",
    "H = E[tokens].",
    {"embedded": "times root"},
)
LOGITS = "Return norm_f(H) W_out + b_out; softmax belongs to the loss and to sampling."
_known(
    "returns-probabilities",
    "probabilities are returned",
    "softmax(logits)",
    "They read better.",
    LOGITS,
    {"result": "probabilities"},
)
_known(
    "returns-log-probabilities",
    "log-probabilities are returned",
    "log_softmax(logits)",
    "The loss needs them, and its value is the same.",
    LOGITS,
    {"result": "log-probabilities"},
)
_known(
    "readout-tied",
    "the readout is the embedding's though W_out is given",
    "norm_f(H) Eᵀ + b_out",
    "Many models tie them; such a one cannot load the reference.",
    "Load W_out into a readout of its own, or leave load_reference out.",
    {"readout": "E"},
)
_known(
    "readout-no-bias", "the readout's bias is missing", "norm_f(H) W_out", "bias=False.", LOGITS, {"readout": "no bias"}
)
_known("last-only", "logits of the last position alone", "logits[:, -1]", "Sampling needs no more.", "Return all T.")
_known(
    "axes-swapped",
    "axes come in another order",
    "(T, B, v) or (B, v, T)",
    "A transpose is not undone.",
    "Return (B, T, v).",
)

# Conduct and gradients.
_known(
    "batch-mixed",
    "rows of the batch influence each other",
    "a norm, a softmax or a sum runs over the batch",
    "dim=0 is the batch; a view puts batch and time together in the wrong order.",
    "Work along the last axis, or along time; keep the batch in front.",
)
_known(
    "length-matters",
    "a longer sequence changes what stands before",
    "logits of tokens[:t] ≠ logits of tokens, up to t",
    "Something is divided by T, padded to the context, or counted from the end.",
    "Position t depends on tokens 0..t alone, however many come after.",
)
_known(
    "random-in-evaluation",
    "evaluation is random",
    "dropout(x), also after eval()",
    "F.dropout does not know whether the model trains.",
    "Use nn.Dropout, or training=self.training.",
)
_known(
    "remembers-calls",
    "the result depends on earlier calls",
    "f(x) is another number after f(y)",
    "A counter, a cache or running statistics outlive the call.",
    "Compute from the tokens and the parameters alone.",
)
_known("tokens-changed", "the tokens are changed in place", "tokens[...] = y", "In-place steps.", "Make a new tensor.")
_known(
    "softmax-no-maximum",
    "exp without subtracting the maximum",
    "exp(s) / Σ exp(s) = inf / inf",
    "On paper the maximum cancels.",
    "Use torch.softmax, or subtract each row's maximum first.",
)
_known(
    "norm-no-eps",
    "the norm divides by 0",
    "(x - mean) / √variance",
    "eps is left out; rows of equal numbers have variance 0.",
    "Divide by √(variance + 1e-5).",
)
_known(
    "half-precision",
    "computed in half precision",
    "x.half() or x.bfloat16() on the way",
    "Half precision saves memory in training.",
    "Compute in the type of the parameters.",
)
_known(
    "gradient-cut",
    "a part of the model is cut off from the gradient",
    "logits move with a parameter, its gradient does not tell",
    "detach, no_grad, .data, .item() or .numpy() stands on the way.",
    "Compute with the tensors themselves, outside no_grad.",
)
_known(
    "parameter-unused",
    "a parameter is never used",
    "∂logits/∂p = 0 whatever the tokens",
    "A layer is made and not called, or another one is called twice.",
    "Call each layer in its place; leave out what is not needed.",
)
_known(
    "frozen",
    "a parameter cannot learn",
    "requires_grad = False",
    "It was frozen while something was tried out.",
    "Leave requires_grad alone; register constants as buffers.",
)
_known(
    "loose-layers",
    "layers stand in a list or dict, where torch does not find them",
    "self.blocks = [Block(...) for ...]",
    "A Python list looks the same in forward; parameters(), to() and eval() do not see it.",
    "Use nn.ModuleList, nn.ModuleDict or nn.ParameterList.",
)
