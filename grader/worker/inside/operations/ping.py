"""Answer, and do nothing else: whoever wrote out of turn before is found."""

from typing import Any

from ..submission import Submission


def run(submission: Submission, arguments: Any, body: bytearray) -> None:
    """None."""
