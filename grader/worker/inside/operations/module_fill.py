"""Put numbers into the parameters of torch modules."""

from typing import Any

from ..faults import bad
from ..modules import parameters
from ..submission import Submission
from ..tensors import get_torch
from ..tree import unpack


def run(submission: Submission, arguments: Any, body: bytearray) -> None:
    """arguments: modules, values: an array or None for each parameter, module by module; precision to cast to or ""."""
    asked = unpack(arguments, body, submission.leaf)
    for module in asked["modules"] if asked["precision"] else ():
        submission.run(module.double if asked["precision"] == "float64" else module.float)
    found = [parameter for module in asked["modules"] for _, parameter in parameters(submission, module)]
    if len(found) != len(asked["values"]):
        raise bad(f"has {len(found)} parameters now, and had {len(asked['values'])} when it was made")
    submission.run(_fill, found, asked["values"])


def _fill(found: list[Any], values: list[Any]) -> None:
    torch = get_torch()
    with torch.no_grad():
        for parameter, value in zip(found, values, strict=True):
            if value is not None:
                torch.Tensor.copy_(parameter, value)
