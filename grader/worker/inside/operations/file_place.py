"""Make an empty folder in the process's private folder, which is its working folder, for files to be written."""

import os
from typing import Any

from ..submission import Submission
from ..tree import unpack

_mkdir = os.mkdir


def run(submission: Submission, arguments: Any, body: bytearray) -> None:
    """arguments: folder, a plain name that is not there yet."""
    submission.run(_mkdir, unpack(arguments, body, submission.leaf)["folder"])
