"""What goes wrong with a bundle: what is left out of it, what comes back changed, what is not noticed."""

from __future__ import annotations

from grader.misconceptions import pattern


def _known(key: str, title: str, formula: str, why: str, cure: str) -> None:
    pattern(key, part=("save_bundle",), title=title, formula=formula, why=why, cure=cure, file=__file__)


_known(
    "bundle-in-pieces",
    "the bundle is more than one file",
    "path and path.tokenizer",
    "Each part has a function of its own that writes a file.",
    "Put all parts into one dict, and write that.",
)
_known(
    "bundle-needs-its-process",
    "the bundle can be loaded only where it was saved",
    "load_bundle reads what is not in the file",
    "In the process that saved it everything is still there.",
    "Write everything that load_bundle needs into the file.",
)
_known(
    "bundle-training-mode",
    "the model comes back in training",
    "model.training = True",
    "A new module is in training until eval() is called.",
    "Call model.eval() before it is returned.",
)
_known(
    "bundle-weights-left-out",
    "the weights do not come back",
    "load_bundle gives a model with new random numbers",
    "load_state_dict is not called, or its result is not returned.",
    "Write model.state_dict(), and load it into the new model.",
)
_known(
    "bundle-weights-rounded",
    "the weights come back rounded",
    "half precision, or a few digits",
    "The file becomes smaller.",
    "Write every number as it is.",
)
_known(
    "bundle-tie-lost",
    "weights that were shared come back apart",
    "W_out is E before, and a copy of it afterwards",
    "They are written twice, and each is assigned.",
    "Make the model by its class, which shares them, and load the numbers into it.",
)
_known(
    "bundle-architecture-lost",
    "an argument of the model is not in the bundle",
    "DecoderLM(...) with a default in place of what was given",
    "Sizes can be read off the weights; heads and rotary cannot.",
    "Write all arguments of the class.",
)
_known(
    "bundle-specials-lost",
    "the tokenizer comes back without its special tokens",
    "encode('<|end|>') has several ids",
    "Only the merges are written.",
    "Write the special tokens too.",
)
_known(
    "bundle-merges-lost",
    "the tokenizer comes back without its merges",
    "encode(s) = list(s.encode())",
    "Only the vocabulary is written.",
    "Write the merges, in their order.",
)
_known(
    "bundle-merges-reordered",
    "the merges come back in another order",
    "the same tokens, other ids",
    "They are written as a set, or sorted.",
    "Write the merges as a list, in the order in which they were learned.",
)
_known(
    "bundle-generation-lost",
    "the policy of generation does not come back",
    "generation = {} or a default",
    "It is taken for something that the caller keeps.",
    "Write the dict as it is, and return it.",
)
_known(
    "bundle-order",
    "the three come back in another order",
    "(tokenizer, model, generation)",
    "They were saved in that order.",
    "Return (model, tokenizer, generation).",
)
_known(
    "bundle-unchecked",
    "a changed bundle is loaded as if nothing had happened",
    "no checksum",
    "The file's format notices some changes, such as a missing end.",
    "Write a checksum of all bytes, such as hashlib.sha256, and compare it before anything is read.",
)
_known(
    "bundle-checked-in-part",
    "the checksum does not cover everything",
    "sha256(weights)",
    "The weights are the most of it.",
    "Write everything into one row of bytes, and take the checksum of that.",
)
_known(
    "bundle-version-ignored",
    "the version is written and not looked at",
    '{"version": 2} is loaded like {"version": 1}',
    "There is one version only, so far.",
    "Raise ValueError for a version that load_bundle does not know.",
)
_known(
    "bundle-failure-hidden",
    "a broken bundle gives something in place of an exception",
    "except Exception: return None",
    "The program is not to stop.",
    "Raise ValueError that says what is wrong.",
)
_known(
    "bundle-failure-unclear",
    "the exception for a broken bundle says nothing",
    "raise ValueError",
    "The type seems enough.",
    'Say what is wrong: raise ValueError(f"{path} is cut off").',
)
