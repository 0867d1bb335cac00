"""Differentiate sum(cotangent * result) of torch modules in a row, with respect to x and to every parameter."""

from typing import Any

import numpy as np

from ..arrays import as_array
from ..faults import Fault, bad
from ..modules import parameters, tensor, through
from ..submission import Submission
from ..tensors import get_torch
from ..tree import unpack


def run(submission: Submission, arguments: Any, body: bytearray) -> dict[str, Any]:
    """arguments: modules, x, cotangent, seed, whole.

    -> x, parameters (of each module once, one after the other; empty unless ``whole``): gradients or None
       norms (of the parameters' gradients), forward (of every stage), backward (of the gradient at every stage):
       arrays of norms, -1 where there is no gradient
    """
    torch = get_torch()
    asked = unpack(arguments, body, submission.leaf)
    cap = int(submission.limits["result_bytes"])
    x = asked["x"].requires_grad_(asked["x"].is_floating_point())
    with torch.inference_mode(False), torch.enable_grad():
        stages = through(submission, asked["modules"], x, asked["seed"])
        total = submission.run(_weighted_sum, tensor(stages[-1]), asked["cotangent"])
        modules = {id(module): module for module in asked["modules"]}.values()
        weights = [p for module in modules for _, p in parameters(submission, module)]
        wanted = [leaf for leaf in (*stages, *weights) if leaf.requires_grad]
        given = submission.run(torch.autograd.grad, total, wanted, allow_unused=True)
    found = dict(zip(map(id, wanted), given, strict=True))

    def gradient(leaf: Any) -> Any:
        value = found.get(id(leaf))
        return None if value is None else as_array(value, cap, 0)[0]

    def norms(leaves: list[Any]) -> Any:
        values = [found.get(id(leaf)) for leaf in leaves]
        return np.array([-1.0 if value is None else _norm(value) for value in values])

    return {
        "x": gradient(x),
        "parameters": [gradient(p) for p in weights] if asked["whole"] else [],
        "norms": norms(weights),
        "forward": np.array([_norm(stage) for stage in stages]),
        "backward": norms(stages),
    }


def _norm(value: Any) -> float:
    return float(value.detach().double().norm())


def _weighted_sum(value: Any, cotangent: Any) -> Any:
    if tuple(value.shape) != tuple(cotangent.shape):
        raise bad(f"returned the shape {list(value.shape)}, {list(cotangent.shape)} is wanted")
    total = (value * cotangent).sum()
    if not total.requires_grad:
        raise Fault("no_gradient", message="the output carries no gradient: is there a detach, .item() or no_grad?")
    return total
