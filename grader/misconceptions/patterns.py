"""What a check knows by its pattern alone, without a wrong function: conduct, structure, dependence, gradients."""

from __future__ import annotations

from collections.abc import Sequence

from grader.misconceptions import pattern

PARTS = (
    "softmax",
    "attention_scores",
    "causal_attention_weights",
    "attention_head",
    "multi_head_attention",
    "layer_norm",
    "feed_forward",
    "decoder_block",
    "decoder",
    "next_token_probabilities",
    "loss",
    "attention",
    "multi_head",
    "ffn",
    "encoder_block",
    "cross_attention",
    "decoder_layer",
    "shift_targets",
)
CAUSAL = (
    "causal_attention_weights",
    "attention_head",
    "multi_head_attention",
    "decoder_block",
    "decoder",
    "decoder_layer",
)


def _known(key: str, title: str, formula: str, why: str, cure: str, parts: Sequence[str] = PARTS) -> None:
    pattern(key, part=parts, title=title, formula=formula, why=why, cure=cure, file=__file__)


# Gradients: those of one part are in cuts.py.
_known(
    "no-gradient",
    "the result has no gradient",
    "automatic differentiation ends before the result",
    "detach, .data, .item(), .numpy(), torch.tensor(...) or no_grad stands on the way to it.",
    "Return the tensor that was computed, without detach, .item() or .numpy(), and outside no_grad.",
)
_known(
    "argument-detached",
    "one argument gets no gradient",
    "the result depends on it, its gradient is 0 or nothing",
    "It is detached, or read through .data, before it is used.",
    "Use the argument itself.",
)

# Conduct.
_known(
    "argument-changed",
    "an argument is changed in place",
    "after the call the caller's array holds other numbers",
    "x += y, x[...] = y and methods such as mul_ work on the caller's own array.",
    "Make a new array: x = x + y; copy before you fill entries in.",
)
_known(
    "remembers-calls",
    "the result depends on earlier calls",
    "f(x) is another number after f(y)",
    "A global list, a cache, a counter or a running mean outlives the call.",
    "Compute everything from the arguments.",
)
_known(
    "random-results",
    "the result is random",
    "f(x) is another number each time, and follows the state of the random generator",
    "Dropout or noise stays switched on.",
    "Leave dropout and noise out: nothing is trained here.",
)

# Numbers.
_known(
    "results-rounded",
    "the numbers are rounded",
    "round(result, k)",
    "They look tidier that way; what follows computes on with the error.",
    "Return the numbers as they are; round when you print.",
)
_known(
    "results-integer",
    "the numbers are integers",
    "the digits after the point are lost",
    "The result is converted, or filled into an array of integers.",
    "Keep the numbers floating-point: make arrays of the input's dtype.",
)
_known(
    "half-precision",
    "computed in half precision",
    "every number has 11 or fewer significant bits",
    "float16 or bfloat16 saves memory in training.",
    "Compute in the precision of the arguments.",
)

# Structure.
_known(
    "result-missing",
    "a result is missing",
    "one result where two are asked",
    "The second one is taken for a by-product.",
    "Return (O, A).",
    ("attention_head", "attention"),
)
_known(
    "result-none",
    "nothing is returned, or None in place of a result",
    "None",
    "The last line computes and does not return; a function without return gives None.",
    "End with return and the result.",
    (*PARTS, "hand_calculation"),
)
_known(
    "result-too-many",
    "more is returned than is asked",
    "a tuple where one result is asked",
    "An intermediate result is handed over too.",
    "Return the result alone.",
)
_known(
    "result-dict",
    "a dict is returned",
    "{name: result}",
    "Names are kinder to the reader than places.",
    "Return the arrays themselves, in the contract's order.",
)
_known(
    "result-text",
    "text is returned",
    "strings in place of numbers",
    "The numbers are formatted for printing.",
    "Return the numbers; format when you print.",
)
_known(
    "result-complex",
    "complex numbers are returned",
    "x + 0i",
    "A conversion, or a root of a negative number.",
    "Return real numbers.",
)

# Figures of the two-token example.
_known(
    "figure-missing",
    "a figure is missing",
    "the dict has no such key",
    "It is computed and not put into the dict, or its key is misspelt.",
    "Give every key of the contract, spelt as there.",
    ("hand_calculation",),
)
_known(
    "figure-rounded",
    "rounded too early",
    "fewer digits than are asked",
    "Two digits seem enough.",
    "Give six significant digits.",
    ("hand_calculation",),
)
_known(
    "figure-cut",
    "digits are cut off, not rounded",
    "the digits after the sixth are dropped",
    "A calculator's display is copied.",
    "Round the last digit.",
    ("hand_calculation",),
)
_known(
    "figure-in-percent",
    "in percent",
    "100 times the figure",
    "Probabilities are often said in percent.",
    "Give the number between 0 and 1.",
    ("hand_calculation",),
)

# Dependence of position t on position s; masks that can be told from it are in masks.py.
_known(
    "sees-every-position",
    "every position sees every other",
    "the result at t depends on every s, also on s > t",
    "The mask is missing, comes too late, or a sum runs over the positions.",
    "Fill S[t, s] with -inf for s > t before the softmax; keep everything else in its own row.",
    CAUSAL,
)
