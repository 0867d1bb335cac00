"""How what the student's code returned is read as what was asked for: arrays, dicts, text, trees, handles."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .arrays import a, as_array, is_ndarray, is_numeric_scalar, items_of, kind
from .faults import Fault, bad, plain, type_name
from .tensors import is_tensor
from .tree import LARGEST, SMALLEST, Handle

ENTRIES, KEY, DEEPEST = 5_000, 1_000, 20
_Array = np.ndarray[Any, Any]


@dataclass
class Taken:
    """Reads one reply; ``kinds`` and ``dtypes`` tell each value's own form, in order."""

    cap: int
    keep: Any  # stores an object, gives its Handle
    kinds: list[str] = field(default_factory=list)
    dtypes: list[str] = field(default_factory=list)

    def value(self, value: Any, want: Any) -> Any:
        """The tree of what was wanted. Raises Fault."""
        if isinstance(want, list):
            return tuple(map(self.one, self.several(value, want), want))
        if type(value) is tuple and want == "array" and any(map(_is_block, value)):
            raise bad(f"returned a tuple of {len(value)}, 1 array is asked")
        return self.one(value, want)

    def several(self, value: Any, want: list[str]) -> list[Any]:
        """The elements of a tuple or list of as many values as are wanted."""
        asked = f"{len(want)} are asked" + (": (O, A)" if want == ["array", "array"] else "")
        if value is None:
            raise bad(f"returned None, {asked}: is a `return` missing?")
        if not ({tuple, list} & set(type.mro(type(value)))):
            raise bad(f"returned 1 {'array' if _is_block(value) else type_name(value)}, {asked}")
        items = items_of(value)
        if len(items) != len(want):
            raise bad(f"returned {len(items)} value{'s' * (len(items) != 1)}, {asked}")
        return items

    def one(self, value: Any, want: str) -> Any:
        """One value as ``want``: array, dict, handle, text, tree or none."""
        self.kinds.append(kind(value))
        if want == "array":
            array, name = as_array(value, self.cap, 0)
            self.dtypes.append(name)
            return self.spend(array)
        self.dtypes.append("")
        if want == "handle":
            return self.keep(value)
        if want == "text":
            if type(value) is not str:
                raise bad(f"returned {a(value)}, a string is wanted")
            return value
        if want == "dict":
            return self.dictionary(value)
        return tree(value, self) if want == "tree" else None

    def dictionary(self, value: Any) -> dict[str, Any]:
        """A dict of str -> array."""
        if dict not in type.mro(type(value)):
            raise bad(f"returned {a(value)}, a dict is wanted" + _hint(value))
        taken = {}
        if (count := dict.__len__(value)) > ENTRIES:
            raise bad(f"returned a dict of {count:,} entries, at most {ENTRIES:,} are taken")
        for key, item in dict.items(value):
            if type(key) is not str:
                raise bad(f"returned a dict with the key {plain(key)[:80]}; keys are strings")
            if len(key) > KEY:
                raise bad(f"returned a dict with a key of {len(key):,} characters, at most {KEY:,} are taken")
            try:
                taken[key] = self.one(item, "array")
            except Fault as fault:
                said = str(fault.report["message"]).removeprefix("returned ")
                raise bad(f"returned a dict whose {key[:80]!r} is no array: {said}") from None
        return taken

    def spend(self, array: _Array) -> _Array:
        """Count the array's bytes against the cap."""
        self.cap -= array.nbytes
        if self.cap < 0:
            raise bad("returned more in all than is taken")
        return array


def _is_block(value: Any) -> bool:
    return (is_ndarray(value) or is_tensor(value)) and len(value.shape) != 1


def _hint(value: Any) -> str:
    return ": is a `return` missing?" if value is None else ""


def tree(value: Any, taken: Taken, depth: int = 0) -> Any:
    """Nested lists, tuples and dicts of None, numbers, strings and arrays. Raises Fault."""
    mro = type.mro(type(value))
    if depth > DEEPEST:
        raise bad(f"returned containers nested deeper than {DEEPEST}")
    if type(value) is int and not SMALLEST <= value < LARGEST:
        raise bad("returned an integer that does not fit 64 bits")
    if value is None or type(value) in (bool, int, float, str):
        return value
    if is_ndarray(value) or is_numeric_scalar(value) or is_tensor(value):
        return taken.spend(as_array(value, taken.cap, depth)[0])
    if list in mro or tuple in mro:
        items = [tree(item, taken, depth + 1) for item in items_of(value)]
        return items if list in mro else tuple(items)
    if dict in mro:
        if not all(type(key) in (str, int) for key in dict.keys(value)):
            raise bad("returned a dict with a key that is neither a string nor an integer")
        return {key: tree(item, taken, depth + 1) for key, item in dict.items(value)}
    raise bad(f"returned {a(value)}, which is no array, number, string, list or dict")


def echo(value: Any, taken: Taken, depth: int = 0) -> Any:
    """The arguments after a call; what cannot be told any more becomes a note."""
    if type(value) is Handle:
        return value
    if depth <= DEEPEST and type(value) in (list, tuple):
        items = [echo(item, taken, depth + 1) for item in value]
        return items if type(value) is list else tuple(items)
    if depth <= DEEPEST and type(value) is dict:
        return {_key(key): echo(item, taken, depth + 1) for key, item in value.items()}
    try:
        return tree(value, taken, depth)
    except Fault:
        return f"<now {a(value)}>"


def _key(key: Any) -> Any:
    return key if type(key) is str or (type(key) is int and SMALLEST <= key < LARGEST) else plain(key)
