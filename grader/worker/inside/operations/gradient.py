"""Differentiate sum(cotangent * output) with respect to chosen arguments, by the student's own autograd graph."""

from typing import Any

from ..arrays import as_array, kind
from ..faults import Fault, bad
from ..submission import Submission
from ..tensors import get_torch, is_tensor, to_tensor
from ..tree import unpack


def run(submission: Submission, arguments: Any, body: bytearray) -> dict[str, Any]:
    """arguments: call, args, cotangent (one array or None per output), wrt (paths) -> one array or None per path."""
    torch = get_torch()
    if submission.backend != "torch":
        raise Fault("no_gradient", message="the submission takes NumPy arrays, which carry no gradient")
    asked = unpack(arguments, body, submission.leaf)
    args, cotangent = asked["args"], asked["cotangent"]
    leaves = [_at(args, path) for path in asked["wrt"]]
    for leaf in leaves:
        leaf.requires_grad_(True)
    function = submission.find(asked["call"]["target"])
    with torch.inference_mode(False), torch.enable_grad():
        value = submission.run(function, *args)
        total = submission.run(_weighted_sum, torch, submission, value, asked["call"]["want"], cotangent)
        found = submission.run(torch.autograd.grad, total, leaves, allow_unused=True)
    cap = int(submission.limits["result_bytes"])
    return {
        "value": [None if g is None else as_array(g, cap, 0)[0] for g in found],
        "kinds": [kind(g) for g in found],
        "dtypes": ["" if g is None else str(g.dtype).removeprefix("torch.") for g in found],
        "after": None,
    }


def _at(args: Any, path: Any) -> Any:
    for key in path:
        args = args[key]
    return args


def _weighted_sum(torch: Any, submission: Submission, value: Any, want: Any, cotangent: list[Any]) -> Any:
    outputs = submission.taken().several(value, want) if isinstance(want, list) else [value]
    total = None
    for output, weights in zip(outputs, cotangent, strict=True):
        if weights is None:
            continue
        tensor = _tensor(torch, output, submission)
        if tuple(tensor.shape) != tuple(weights.shape):
            raise bad(f"returned the shape {list(tensor.shape)}, {list(weights.shape)} is wanted")
        term = (tensor * weights).sum()
        total = term if total is None else total + term
    if total is None or not total.requires_grad:
        raise Fault(
            "no_gradient", message="the output carries no gradient: is there a detach, .numpy(), .item() or no_grad?"
        )
    return total


def _tensor(torch: Any, value: Any, submission: Submission) -> Any:
    """The output with its graph; a list of tensors is stacked, what is not a tensor has no graph."""
    if is_tensor(value):
        return value
    if type(value) in (list, tuple):
        return torch.stack([_tensor(torch, item, submission) for item in value])
    return to_tensor(as_array(value, int(submission.limits["result_bytes"]), 0)[0].copy())
