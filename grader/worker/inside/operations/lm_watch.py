"""Run a language model once, and tell what it is made of, which operators it calls and what enters its softmax."""

from contextlib import nullcontext
from typing import Any

import numpy as np

from ..submission import Submission
from ..tensors import get_torch
from ..tree import unpack
from ..watching import Seen, modes, ready_made


def run(submission: Submission, arguments: Any, body: bytearray) -> dict[str, Any]:
    """arguments: module, tokens (B, T), method ("" for the module itself), training, gradients, matrices, rows, below.

    -> modules: (name, class) of transformer modules in the tree; operators: (name, file, line) of their operators
       scores: (n, rows, T) of the first softmax, at the rows asked for; values: (n, T, ·); projections: (B, ·)
    """
    asked = unpack(arguments, body, submission.leaf)
    torch, module, tokens = get_torch(), asked["module"], asked["tokens"]
    local = frozenset(path.split("/")[0].removesuffix(".py") for path in submission.sources.texts)
    B, T = tokens.shape
    seen = Seen(submission.sources.texts, B, T, asked["matrices"])
    function = submission.run(getattr, module, asked["method"]) if asked["method"] else module
    was = bool(module.training)
    submission.run(module.train, asked["training"])
    above, below = modes(seen)
    below = below if asked["below"] else nullcontext()
    submission.run(torch.manual_seed, 0)
    try:
        with torch.inference_mode(False), torch.set_grad_enabled(asked["gradients"]), above, below:
            submission.run(function, tokens)
    finally:
        submission.run(module.train, was)
    return {
        "modules": submission.run(ready_made, module, local),
        "operators": [(name, *(place or ("", 0))) for name, place in seen.operators.items()],
        "scores": submission.run(_stacked, [x[asked["rows"]] for x in seen.scores]),
        "values": submission.run(_stacked, seen.values),
        "projections": submission.run(lambda: [_array(x) for x in seen.projections]),
    }


def _array(x: Any) -> np.ndarray[Any, Any]:
    return np.array(x.double().numpy())


def _stacked(found: list[Any]) -> np.ndarray[Any, Any]:
    same = [x for x in found if x.shape == found[0].shape]
    return np.stack([_array(x) for x in same]) if same else np.zeros((0, 0, 0))
