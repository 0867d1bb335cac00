"""Call a function, a class or an object's method with fresh arguments, and read what it returns."""

from typing import Any

from ..results import echo
from ..submission import Submission
from ..tree import unpack


def run(submission: Submission, arguments: Any, body: bytearray) -> dict[str, Any]:
    """arguments: call = {target, want, echo} and args, kwargs -> value, kinds, dtypes, after."""
    asked = unpack(arguments, body, submission.leaf)
    function = submission.find(asked["call"]["target"])
    args, kwargs = asked["args"], asked["kwargs"]
    value = submission.run(function, *args, **kwargs)
    taken = submission.taken()
    told = submission.run(taken.value, value, asked["call"]["want"])
    after = submission.run(echo, args, submission.taken()) if asked["call"]["echo"] else None
    return {"value": told, "kinds": taken.kinds, "dtypes": taken.dtypes, "after": after}
