"""What comes back from a submission, as values; and whether a reply has the form that was asked for."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from .faults import Tampered
from .text import scrub
from .wire import Handle

_WORDS = 200
One = Literal["array", "dict", "handle", "text", "tree", "none"]
Want = One | tuple[One, ...]


@dataclass(frozen=True)
class Loaded:
    """An imported submission: its public callables (and BACKEND), the arrays it takes, what it printed, versions."""

    names: tuple[str, ...]
    backend: str
    printed: str
    versions: dict[str, str | None]


@dataclass(frozen=True)
class Reply:
    """One answer.

    value       what was wanted, arrays as NumPy arrays (read-only or not, not shared with anything)
    kinds       what came for each output, for a reader: "torch.Tensor float64 [4, 3]", "list"
    dtypes      each output's own dtype, "bfloat16" where the value was widened; "" for what is no array
    args_after  the arguments after the call, where they were asked for
    printed     standard output and error of this exchange
    seconds     measured on the trusted side
    """

    value: Any
    kinds: tuple[str, ...]
    dtypes: tuple[str, ...]
    args_after: Any
    printed: str
    seconds: float

    KEYS: ClassVar[frozenset[str]] = frozenset({"value", "kinds", "dtypes", "after"})

    @classmethod
    def of(cls, told: dict[str, Any], printed: str, seconds: float, tampered: Callable[[str], Tampered]) -> "Reply":
        """From an operation's answer. Raises Tampered where the descriptions are not a text for each output."""
        kinds, dtypes = (told.get(key) or () for key in ("kinds", "dtypes"))
        if not all(isinstance(texts, list | tuple) and all(type(t) is str for t in texts) for texts in (kinds, dtypes)):
            raise tampered("a reply of the wrong form")
        if len(kinds) != len(dtypes) or (told.keys() == cls.KEYS and not kinds):
            raise tampered("a reply of the wrong form")
        return cls(
            told["value"],
            tuple(scrub(text, _WORDS) for text in kinds),
            tuple(scrub(text, _WORDS) for text in dtypes),
            told.get("after"),
            printed,
            seconds,
        )


def check_value(reply: Reply, want: Want, tampered: Callable[[str], Tampered], echoed: int | None = None) -> Reply:
    """The reply if its value has the form of ``want``, each described, and ``echoed`` arguments. Raises Tampered."""
    wants, values = (want, reply.value) if isinstance(want, tuple) else ((want,), (reply.value,))
    if not isinstance(values, tuple) or len(values) != len(wants) or not all(map(_fits, values, wants)):
        raise tampered("a reply of the wrong form")
    if len(reply.dtypes) < len(wants):  # a dict's arrays are described, too
        raise tampered("a reply of the wrong form")
    after = reply.args_after
    if after is not None if echoed is None else not isinstance(after, tuple) or len(after) != echoed:
        raise tampered("a reply of the wrong form")
    return reply


def _fits(value: Any, want: str) -> bool:
    if want == "dict":
        return isinstance(value, dict) and all(
            isinstance(key, str) and isinstance(item, np.ndarray) for key, item in value.items()
        )
    forms: dict[str, type] = {"array": np.ndarray, "handle": Handle, "text": str, "none": type(None), "tree": object}
    return isinstance(value, forms[want])


def checked(value: Any, form: dict[str, Any], tampered: Callable[[str], Tampered]) -> dict[str, Any]:
    """``value`` if it is a dict of exactly these keys and types. Raises Tampered."""
    if not isinstance(value, dict) or value.keys() != form.keys():
        raise tampered("a reply of the wrong form")
    if not all(isinstance(value[key], kind) for key, kind in form.items()):
        raise tampered("a reply of the wrong form")
    return value
