"""Call a function, a class or an object's method with fresh arguments, and read what it returns."""

from typing import Any

from ..results import echo
from ..session import Session
from ..tree import unpack


def run(session: Session, arguments: Any, body: bytearray) -> dict[str, Any]:
    """arguments: call = {target, want, echo} and args, kwargs -> value, kinds, dtypes, after."""
    asked = unpack(arguments, body, session.leaf)
    function = session.find(asked["call"]["target"])
    args, kwargs = asked["args"], asked["kwargs"]
    value = session.run(function, *args, **kwargs)
    taken = session.taken()
    told = session.run(taken.value, value, asked["call"]["want"])
    after = session.run(echo, args, session.taken()) if asked["call"]["echo"] else None
    return {"value": told, "kinds": taken.kinds, "dtypes": taken.dtypes, "after": after}
