"""Put the global random generators into a known state: whether results follow it tells noise from memory."""

import random
import sys
from typing import Any

from ..submission import Submission
from ..tree import unpack


def run(submission: Submission, arguments: Any, body: bytearray) -> None:
    """arguments: seed."""
    seed = int(unpack(arguments, body, submission.leaf)["seed"])
    random.seed(seed)
    for name, function in (("numpy.random", "seed"), ("torch", "manual_seed")):
        if name in sys.modules:
            submission.run(getattr(sys.modules[name], function), seed)
