"""What goes wrong in a torch module, known by its pattern: wiring, dependence, gradients, conduct."""

from __future__ import annotations

from grader.misconceptions import pattern

MODULES = ("DecoderBlock",)
FORMULA = "Write x = x + attention(norm_1(x)); x = x + feed_forward(norm_2(x))."


def _known(key: str, title: str, formula: str, why: str, cure: str) -> None:
    pattern(f"module-{key}", part=MODULES, title=title, formula=formula, why=why, cure=cure, file=__file__)


# Wiring.
_known(
    "post-norm",
    "post-norm in place of pre-norm",
    "LN(U + FF(U))",
    "The first paper's figure shows the norm after the sum.",
    FORMULA,
)
_known(
    "residual-from-norm",
    "a residual starts from the normalized stream",
    "LN(x) + f(LN(x))",
    "x is overwritten: x = norm(x), then x = x + f(x).",
    "Keep x: write x = x + f(norm(x)).",
)
_known("residual-doubled", "the stream is added twice", "2x + f(x)", "The branch adds x already.", "Add x once.")
_known(
    "no-residual-attention",
    "the residual around attention is missing",
    "U = attention(norm_1(x))",
    "The sum is taken for part of attention.",
    FORMULA,
)
_known(
    "no-residual-feed-forward",
    "the residual around the feed-forward is missing",
    "H' = feed_forward(norm_2(U))",
    "The sum is forgotten once.",
    FORMULA,
)
_known("no-residuals", "no residual at all", "FF(LN(attention(LN(x))))", "Layers are chained as in an MLP.", FORMULA)
_known(
    "residual-skips",
    "the second residual starts from the block's input",
    "x + FF(norm_2(U))",
    "x is still there, and U is forgotten in the sum.",
    FORMULA,
)
_known(
    "no-norm-attention",
    "attention reads the raw stream",
    "x + attention(x)",
    "The first norm is made and not applied.",
    FORMULA,
)
_known(
    "no-norm-feed-forward",
    "the feed-forward reads the raw stream",
    "U + FF(U)",
    "The second norm is made and not applied.",
    FORMULA,
)
_known("no-norms", "neither branch reads a normalized stream", "x + f(x)", "The norms are left out.", FORMULA)
_known(
    "norm-on-branch",
    "a branch's output is normalized",
    "x + LN(f(x))",
    "Norm and sum change places.",
    FORMULA,
)
_known(
    "activation-last",
    "a nonlinearity comes after the last linear map",
    "x + GELU(W_2 h)",
    "Every layer gets an activation, the last one too.",
    "Leave out the activation after the second linear map.",
)
_known(
    "no-activation",
    "the feed-forward is linear",
    "W_2 W_1 x",
    "The activation is forgotten between the linear maps.",
    "Put GELU or ReLU between the two linear maps.",
)
_known(
    "parallel",
    "the branches stand side by side",
    "x + attention(norm_1(x)) + FF(norm_2(x))",
    "Some models do it so, for speed.",
    FORMULA,
)
_known(
    "feed-forward-first",
    "the feed-forward comes first",
    "U = x + FF(x), then attention",
    "The order is turned.",
    FORMULA,
)
_known("no-feed-forward", "there is no feed-forward", "x + attention(norm_1(x))", "It is not called.", FORMULA)
_known(
    "branch-width",
    "a branch ends in another width than the stream has",
    "[B, T, width] + [B, T, 2·width]",
    "The last linear map back to the width is missing or of another size.",
    "End each branch in a linear map to `width`.",
)
_known(
    "branch-broadcast",
    "a branch ends in one number for each position",
    "[B, T, width] + [B, T, 1]",
    "torch stretches an axis of length 1 without a word.",
    "End each branch in a linear map to `width`.",
)

# Dependence.
_known(
    "batch-as-time",
    "attention runs over the batch",
    "row b of the batch consults other rows, a position only itself",
    "nn.MultiheadAttention takes [time, batch, width] unless batch_first=True.",
    "Give batch_first=True, or transpose before and after.",
)
_known(
    "batch-mixed",
    "rows of the batch influence each other",
    "a norm, a softmax or a sum runs over the batch",
    "dim=0 is the batch; a view puts batch and heads together in the wrong order.",
    "Work along the last axis, or along time; keep the batch in front.",
)
_known(
    "weights-not-normalized",
    "attention weights do not sum to 1",
    "Σ_s A[t, s] ≠ 1",
    "The softmax is missing, runs over another axis, or entries are removed after it.",
    "Mask with -inf first, then softmax(dim=-1).",
)
_known(
    "softmax-twice",
    "the softmax is taken twice",
    "softmax(softmax(S))",
    "The weights are normalized once more, though they sum to 1 already.",
    "Take one softmax, of the masked scores.",
)
_known(
    "mask-finite",
    "the mask does not hold where scores are large",
    "S = -1e4 for s > t: allowed scores below that lose to masked ones",
    "A number that is low for ordinary scores is taken for -infinity, or the mask comes after the softmax.",
    "Mask with -inf before the softmax.",
)
_known(
    "heads-swapped",
    "heads and their width are exchanged",
    "width // heads heads, each `heads` wide",
    "The two axes that width is split into change places.",
    "Split width into heads of width // heads.",
)
_known(
    "no-output-projection",
    "no linear map after the heads",
    "concat(head_1, ..., head_h) in place of concat(head_1, ..., head_h) W_O",
    "The heads have the right width together, so that nothing seems to be missing.",
    "End attention in a linear map from width to width.",
)
_known(
    "heads-ignored",
    "the number of heads changes nothing",
    "one softmax over the whole width",
    "heads is stored and not used.",
    "Reshape to [B, T, heads, width // heads] and attend head by head.",
)
_known(
    "accepts-any-heads",
    "a width that heads do not divide is accepted",
    "width // heads, rounded down",
    "Integer division hides the rest.",
    "Raise ValueError in __init__ when width % heads is not 0.",
)
_known(
    "length-limited",
    "the sequence's length is built in",
    "mask[:16, :16]",
    "The mask is made once, for a length that seemed enough.",
    "Make the mask in forward, for x.shape[1] positions.",
)
_known(
    "axes-swapped",
    "the axes come back in another order",
    "[B, T, d] -> [T, B, d]",
    "A transpose is not undone.",
    "Return [batch, time, width].",
)
_known("last-only", "only one position is returned", "y[:, -1]", "Generation needs the last one only.", "Return all.")

# Gradients.
_known(
    "gradient-cut",
    "a part of the computation is cut off from the gradient",
    "the result moves with a parameter or the input, its gradient does not tell",
    "detach, no_grad, .data, .item(), .numpy() or round() stands on the way.",
    "Compute with the tensors themselves, outside no_grad.",
)
_known(
    "parameter-unused",
    "a parameter is never used",
    "∂y/∂p = 0 whatever the input",
    "A layer is made and not called, or another one is called twice.",
    "Call each layer in its place; leave out what is not needed.",
)
_known(
    "frozen",
    "a parameter cannot learn",
    "requires_grad = False",
    "It was frozen, or a constant was made a parameter.",
    "Leave requires_grad alone; register constants as buffers.",
)
_known(
    "overwritten-in-place",
    "a tensor that the gradient needs is overwritten",
    "h = f(x); h += y",
    "In-place steps save memory in evaluation.",
    "Write h = h + y.",
)
_known(
    "loose-layers",
    "layers stand in a list or dict, where torch does not find them",
    "self.layers = [nn.Linear(...)]",
    "A Python list looks the same in forward; parameters(), to() and eval() do not see it.",
    "Use nn.ModuleList, nn.ModuleDict or nn.ParameterList.",
)

# Conduct.
_known(
    "random-in-evaluation",
    "evaluation is random",
    "dropout(x), also after eval()",
    "F.dropout and dropout_p do not know whether the module trains.",
    "Use nn.Dropout, or training=self.training.",
)
_known(
    "remembers-calls",
    "the result depends on earlier calls",
    "f(x) is another number after f(y)",
    "A counter, a cache or running statistics outlive the call.",
    "Compute from the input and the parameters alone.",
)
_known(
    "shares-state",
    "instances share their parameters",
    "one.weight is other.weight",
    "Layers are made in the class or at the top of the file, or as a default argument.",
    "Make every layer in __init__.",
)
_known(
    "hidden-state",
    "instances differ by something that is no parameter",
    "two instances with the same parameters disagree",
    "Random numbers are kept in a plain attribute.",
    "Make it an nn.Parameter or register it as a buffer.",
)

# Numbers.
_known(
    "half-precision",
    "computed in half precision",
    "x.half() or x.bfloat16() on the way",
    "Half precision saves memory in training.",
    "Compute in the type of the input.",
)
_known(
    "norm-no-eps",
    "the norm divides by 0",
    "(x - mean) / √variance",
    "eps is left out; rows of equal numbers have variance 0.",
    "Divide by √(variance + eps).",
)
_known(
    "norm-no-root",
    "the norm divides by the variance",
    "(x - mean) / (variance + eps)",
    "The root is forgotten; where the variance is near 1 it does not show.",
    "Divide by √(variance + eps).",
)
_known(
    "softmax-no-maximum",
    "exp without subtracting the maximum",
    "exp(s) / Σ exp(s) = inf / inf",
    "On paper the maximum cancels.",
    "Use torch.softmax, or subtract each row's maximum first.",
)
