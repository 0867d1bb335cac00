"""Read a number, a string or a tree from an object's attribute."""

from typing import Any

from ..arrays import a
from ..faults import bad
from ..submission import Submission
from ..tree import unpack


def run(submission: Submission, arguments: Any, body: bytearray) -> Any:
    """arguments: object (a handle), attribute (a name) -> its value. Raises Fault where there is none, or a method."""
    asked = unpack(arguments, body, submission.leaf)
    held, name = asked["object"], asked["attribute"]
    if not submission.run(hasattr, held, name):
        raise bad(f"returned {a(held)}, which has no {name}")
    value = submission.run(getattr, held, name)
    if callable(value):
        raise bad(f"{name} is a method; it is an attribute that holds a value")
    return submission.run(submission.taken().one, value, "tree")
