"""Tell a torch module's parameters with their numbers, and whether it, or a module in it, is in training."""

from typing import Any

from ..arrays import as_array
from ..modules import checked, parameters
from ..submission import Submission
from ..tensors import get_torch
from ..tree import unpack


def run(submission: Submission, arguments: Any, body: bytearray) -> dict[str, Any]:
    """arguments: module (a handle) -> names, values (arrays, in the same order), training."""
    module = checked(submission, unpack(arguments, body, submission.leaf)["module"])
    found, cap = parameters(submission, module), int(submission.limits["result_bytes"])
    values = []
    for _, parameter in found:
        values.append(submission.run(as_array, parameter, cap, 0)[0])
        cap -= values[-1].nbytes
    training = submission.run(lambda: any(bool(inner.training) for inner in get_torch().nn.Module.modules(module)))
    return {"names": [name for name, _ in found], "values": values, "training": bool(training)}
