"""Run torch modules one after the other."""

from typing import Any

from ..arrays import as_array, kind
from ..modules import through
from ..submission import Submission
from ..tree import unpack


def run(submission: Submission, arguments: Any, body: bytearray) -> dict[str, Any]:
    """arguments: modules, x, seed, strided -> the last one's result; after: x as it is then."""
    asked = unpack(arguments, body, submission.leaf)
    x = asked["x"]
    if asked["strided"]:
        x = x.transpose(0, 1).contiguous().transpose(0, 1)
    stages = through(submission, asked["modules"], x, asked["seed"])
    taken = submission.taken()
    told = submission.run(taken.value, stages[-1], "array")
    cap = int(submission.limits["result_bytes"])
    return {"value": told, "kinds": [kind(stages[-1])], "dtypes": taken.dtypes, "after": as_array(x, cap, 0)[0]}
