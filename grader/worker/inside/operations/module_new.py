"""Make torch modules of the submission's class, ready to be asked, and tell their parameters."""

from typing import Any

from ..modules import as_parameters, checked, computed, lazy, loose, parameters
from ..submission import Submission
from ..tensors import get_torch
from ..tree import unpack


def run(submission: Submission, arguments: Any, body: bytearray) -> dict[str, Any]:
    """arguments: target, kwargs, count, precision, seed, probe, plain; each is in evaluation, from a seed of its own.

    probe   an input; lazy modules get their shapes by it
    plain   whether weights that torch computes from parameters are to be parameters themselves

    -> modules (handles), parameters (of one: name, shape, trainable), loose (names of attributes), computed
    """
    asked = unpack(arguments, body, submission.leaf)
    function, modules = submission.find(asked["target"]), []
    for place in range(asked["count"]):
        submission.run(get_torch().manual_seed, asked["seed"] + place)
        modules.append(checked(submission, submission.run(function, **asked["kwargs"])))
        submission.run(modules[-1].double if asked["precision"] == "float64" else modules[-1].float)
        submission.run(modules[-1].train, False)
        if lazy(submission, modules[-1]):
            with get_torch().inference_mode(False):
                submission.run(modules[-1], asked["probe"])
        if asked["plain"]:
            as_parameters(submission, modules[-1])
    told = [
        (name, submission.run(list, parameter.shape), bool(parameter.requires_grad))
        for name, parameter in parameters(submission, modules[0])
    ]
    return {
        "modules": [submission.keep(module) for module in modules],
        "parameters": told,
        "loose": loose(submission, modules[0]),
        "computed": computed(submission, modules[0]),
    }
