"""Import torch into a process that was started without it."""

from typing import Any

from ..submission import Submission
from ..tensors import get_torch, import_torch


def run(submission: Submission, arguments: Any, body: bytearray) -> str | None:
    """torch's version, or None where it is not installed."""
    version = import_torch()
    if version is not None:
        get_torch().manual_seed(0)
    return version
