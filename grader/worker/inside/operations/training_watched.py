"""Call the student's `train` or `evaluate` on a model and note what happens to it."""

import random
from typing import Any

import numpy as np

from ..arrays import as_array
from ..modules import checked, parameters
from ..results import echo
from ..stepping import Watch
from ..submission import Submission
from ..tensors import get_torch
from ..tree import unpack


def run(submission: Submission, arguments: Any, body: bytearray) -> dict[str, Any]:
    """arguments: target, model, tokens, kwargs, seed of the global generators, training (the mode before).

    -> value (an array), tokens (as they are afterwards), calls, pulled, events, reached, learning, first as in `Watch`,
       before and after (the parameters), modes (of every module before and after), grads (whether a parameter has one)
    """
    asked = unpack(arguments, body, submission.leaf)
    torch, model, tokens = get_torch(), asked["model"], asked["tokens"]
    checked(submission, model)
    cap = int(submission.limits["result_bytes"])
    random.seed(asked["seed"])
    np.random.seed(asked["seed"])
    torch.manual_seed(asked["seed"])
    submission.run(model.train, asked["training"])

    def numbers() -> list[Any]:
        found = [parameter for _, parameter in parameters(submission, model)]
        return [as_array(p.detach().double().clone(), cap, 0)[0] for p in found]

    before, modes = numbers(), _modes(torch, model)
    function = submission.find(asked["target"])
    watch = Watch(submission, model)
    with watch:
        value = submission.run(function, model, tokens, **asked["kwargs"])
    taken = submission.taken()
    told = {
        "value": submission.run(taken.value, value, "array"),
        "tokens": submission.run(echo, tokens, submission.taken()),
        "calls": watch.calls,
        "pulled": watch.pulled,
        "events": np.array(watch.events, np.int64).reshape(-1, 3),
        "reached": np.array(watch.reached, float),
        "learning": np.array(watch.learning, bool),
        "first": before if watch.first is None else watch.first,
        "before": before,
        "after": numbers(),
        "modes": [modes, _modes(torch, model)],
        "grads": any(parameter.grad is not None for parameter in torch.nn.Module.parameters(model)),
    }
    return {"value": told, "kinds": taken.kinds, "dtypes": taken.dtypes, "after": None}


def _modes(torch: Any, model: Any) -> list[bool]:
    return [bool(module.training) for module in torch.nn.Module.modules(model)]
