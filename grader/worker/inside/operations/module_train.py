"""Put torch modules into training or evaluation."""

from typing import Any

from ..submission import Submission
from ..tree import unpack


def run(submission: Submission, arguments: Any, body: bytearray) -> None:
    """arguments: modules, training."""
    asked = unpack(arguments, body, submission.leaf)
    for module in asked["modules"]:
        submission.run(module.train, asked["training"])
