"""What goes wrong around the draws: temperature 0, seeds, what is fed to the model, what is returned."""

from __future__ import annotations

from grader.misconceptions import pattern
from grader.misconceptions.sampling import PART


def _known(key: str, title: str, formula: str, why: str, cure: str) -> None:
    pattern(f"sampling-{key}", part=(PART,), title=title, formula=formula, why=why, cure=cure, file=__file__)


# Greedy, seeds.
_known(
    "zero-divides",
    "temperature 0 divides by zero",
    "z / 0",
    "Temperature 0 is a limit, and no number to divide by.",
    "Take the argmax where the temperature is 0.",
)
_known(
    "zero-draws",
    "temperature 0 still draws",
    "a draw in place of argmax z",
    "0 is replaced by a small number or by 1, or counts as not given.",
    "Take the argmax where the temperature is 0.",
)
_known("smallest", "the smallest logit is taken", "argmin z", "A sign is turned.", "Take the argmax.")
SEED = "Make generator = torch.Generator().manual_seed(seed) once a call, where seed is not None, and draw with it."
_known("seed-ignored", "the seed has no effect", "the same seed, other ids", "It is not used.", SEED)
_known(
    "seed-zero-ignored",
    "the seed 0 counts as none",
    "if seed: in place of if seed is not None:",
    "0 is false.",
    SEED,
)
_known(
    "seed-fixed",
    "every seed gives the same ids",
    "a fixed seed in place of the argument",
    "A seed is written into the code.",
    SEED,
)
_known(
    "fixed-without-seed",
    "without a seed every call gives the same ids",
    "seed=None draws as a fixed seed does",
    "None is replaced by 0.",
    SEED,
)
_known(
    "seeded-every-step",
    "every step draws with the same random number",
    "manual_seed(seed) inside the loop",
    "The generator is made anew for every token.",
    SEED,
)

# What is returned, what is asked of the model.
_known(
    "prompt-returned",
    "the prompt stands before the new ids",
    "prompt + new ids",
    "The sequence grows in one list.",
    "Return the ids after the prompt: ids[len(prompt):].",
)
_known("one-short", "one id less than asked for", "max_new_tokens - 1 ids", "A loop begins at 1.",
       "Loop max_new_tokens times.")  # fmt: skip
_known("one-more", "one id more than asked for", "max_new_tokens + 1 ids", "A token is taken before the loop.",
       "Loop max_new_tokens times.")  # fmt: skip
_known(
    "prompt-counted",
    "the prompt counts among the new ids",
    "max_new_tokens - len(prompt) ids",
    "The number is taken for the length of the whole.",
    "Loop max_new_tokens times.",
)
_known(
    "batch-returned",
    "ids in a batch of one",
    "[[i, j, ...]] in place of [i, j, ...]",
    "The tensor that the model takes is returned as it is.",
    "Return tokens[0, len(prompt):].tolist().",
)
_known(
    "prompt-changed",
    "the caller's prompt grows",
    "prompt.append(id)",
    "The argument is used as the list of all ids.",
    "Copy it first: ids = list(prompt).",
)
STEP = "Call model.decode(prompt) once, then model.decode([[newest id]], cache) with the cache of the call before."
_known("cache-unused", "use_cache=True does not use the cache", "the model itself is called", "The path is missing.",
       STEP)  # fmt: skip
_known(
    "cache-always",
    "use_cache=False decodes with a cache",
    "model.decode in place of model(tokens)",
    "The argument is ignored.",
    "Call model(tokens) with all tokens where use_cache is False.",
)
_known(
    "everything-again",
    "all tokens are fed again into a cache that holds them",
    "decode(all tokens, cache)",
    "The loop without a cache is used again.",
    STEP,
)
_known(
    "cache-dropped",
    "the cache is not given back to the model",
    "decode(tokens, None) in every step",
    "The second result of decode is thrown away.",
    STEP,
)
_known(
    "cache-old",
    "the first cache is given in every step",
    "decode(token, cache of the prompt)",
    "The new cache is not kept.",
    STEP,
)
_known(
    "last-token-again",
    "the prompt's last token is fed twice",
    "decode(prompt), then decode(prompt[-1:])",
    "The loop begins with the last token, which the cache holds already.",
    STEP,
)
_known(
    "context-lost",
    "without a cache the model sees the newest token only",
    "model([[newest id]])",
    "The loop with a cache is used again.",
    "Call model(tokens) with the prompt and all new ids.",
)
_known(
    "context-cut",
    "without a cache the model sees the newest few tokens only",
    "model(tokens[-w:])",
    "A window is taken though everything fits into the context.",
    "Call model(tokens) with the prompt and all new ids.",
)
_known(
    "prompt-again",
    "without a cache the model sees the prompt only",
    "model(prompt) in every step",
    "New ids are not joined to what is fed.",
    "Call model(tokens) with the prompt and all new ids.",
)
_known(
    "prompt-cut",
    "only the last token of the prompt is fed",
    "decode(prompt[-1:])",
    "The first step is taken for one like the others.",
    STEP,
)
_known(
    "in-training",
    "the model is in training while it generates",
    "dropout is on",
    "model.eval() is missing, or model.train() is called.",
    "Call model.eval() first, and restore the mode afterwards.",
)
