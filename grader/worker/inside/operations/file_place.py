"""Make an empty folder in the process's private folder, for files that the submission writes."""

import os
from typing import Any

from ..submission import Submission
from ..tree import unpack

_mkdir, _getcwd, _join = os.mkdir, os.getcwd, os.path.join


def run(submission: Submission, arguments: Any, body: bytearray) -> str:
    """arguments: folder, a plain name that is not there yet -> its path."""
    path = _join(_getcwd(), unpack(arguments, body, submission.leaf)["folder"])
    submission.run(_mkdir, path)
    return path
