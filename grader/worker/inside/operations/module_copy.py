"""Give a torch module the state of another one of its class: parameters and buffers."""

from typing import Any

from ..modules import checked
from ..submission import Submission
from ..tensors import get_torch
from ..tree import unpack


def run(submission: Submission, arguments: Any, body: bytearray) -> None:
    """arguments: source, target (handles)."""
    asked = unpack(arguments, body, submission.leaf)
    source, target = (checked(submission, asked[name]) for name in ("source", "target"))
    module = get_torch().nn.Module
    submission.run(lambda: module.load_state_dict(target, module.state_dict(source), strict=False))
