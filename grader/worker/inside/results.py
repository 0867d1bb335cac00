"""How what the student's code returned becomes plain arrays, or a sentence that says why it cannot."""

import sys
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .faults import Fault, bad, plain, type_name
from .tensors import dtype_name, is_tensor, over_cap, to_array
from .tree import Handle

_ndarray, _view, _array, _stack, _empty = np.ndarray, np.ndarray.view, np.array, np.stack, np.empty
_generic, _astype, _float64, _float32, _uint8 = np.generic, np.ndarray.astype, np.float64, np.float32, np.uint8
_NUMBERS = (bool, int, float)
_DEEPEST = 8
_LONGEST = 4_000_000
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
        if len(value) != len(want):
            raise bad(f"returned {len(value)} value{'s' * (len(value) != 1)}, {asked}")
        return list(value)

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
        for key, item in dict.items(value):
            if type(key) is not str:
                raise bad(f"returned a dict with the key {plain(key)[:80]}; keys are strings")
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
    return (_ndarray in type.mro(type(value)) or is_tensor(value)) and len(value.shape) != 1


def _hint(value: Any) -> str:
    return ": is a `return` missing?" if value is None else ""


def a(value: Any) -> str:
    """ "None", "a str", "an int"."""
    name = type_name(value)
    return "None" if value is None else f"{'an' if name[:1] in 'aeiouAEIOU' else 'a'} {name[:80]}"


def kind(value: Any) -> str:
    """What came, for a reader: "torch.Tensor float64 [4, 3]", "list"."""
    try:
        if _ndarray in type.mro(type(value)):
            return f"numpy.{type_name(value)} {value.dtype.name} {list(value.shape)}"[:200]
        if is_tensor(value):
            return f"torch.{type_name(value)} {dtype_name(value)} {list(value.shape)}"[:200]
    except BaseException:  # noqa: BLE001 - student code runs in attributes of a subclass
        return type_name(value)[:200]
    return type_name(value)[:200]


def as_array(value: Any, cap: int, depth: int) -> tuple[_Array, str]:
    """A plain array of a dtype that is sent, and the value's own dtype. Raises Fault."""
    mro = type.mro(type(value))
    if is_tensor(value):
        return to_array(value, cap)
    if _ndarray in mro:
        return _plain(value, cap)
    if _generic in mro:
        return _plain(_array(value), cap)
    if type(value) in _NUMBERS:
        return _plain(_array(value), cap)
    if list in mro or tuple in mro:
        return _sequence(list(value), cap, depth)
    wanted = "an array is wanted"
    if type(value) is complex:
        raise bad("returned a complex number; real numbers are wanted")
    if value is None:
        raise bad(
            "returned None: is a `return` missing?" if depth == 0 else f"returned a list that holds None; {wanted}"
        )
    raise bad(f"returned {'' if depth == 0 else 'a list that holds '}{a(value)}; {wanted}")


def _plain(value: Any, cap: int) -> tuple[_Array, str]:
    masked = getattr(sys.modules.get("numpy.ma"), "MaskedArray", None)
    if masked in type.mro(type(value)):
        raise bad("returned a masked array; return a plain array, for example its filled(0)")
    array: _Array = _view(value, _ndarray)
    dtype = array.dtype
    if dtype.kind not in "biuf":
        names = {"c": "complex numbers", "O": "Python objects", "U": "strings", "S": "byte strings"}
        raise bad(f"returned an array of {names.get(dtype.kind, dtype.name)}; real numbers are wanted")
    if array.nbytes > cap:
        raise bad(over_cap(array.nbytes, cap))
    if dtype.kind == "b":
        return _astype(_view(array, _uint8) != 0, bool) if array.flags.c_contiguous else array.copy() != 0, "bool"
    if dtype.kind == "f" and dtype.itemsize not in (4, 8):
        return _astype(array, _float32 if dtype.itemsize == 2 else _float64), dtype.name
    return (array if dtype.isnative else _astype(array, dtype.newbyteorder("="))), dtype.name


def _sequence(items: list[Any], cap: int, depth: int) -> tuple[_Array, str]:
    if depth >= _DEEPEST:
        raise bad(f"returned lists nested deeper than {_DEEPEST}")
    if len(items) > _LONGEST:
        raise bad(f"returned a list of {len(items)} entries, at most {_LONGEST} are taken")
    if all(type(item) in _NUMBERS for item in items):
        array = _array(items)
        if array.dtype.kind not in "biuf":
            raise bad("returned a list with an integer that does not fit 64 bits")
        return array, array.dtype.name
    parts: list[_Array] = []
    names: list[str] = []
    for item in items:
        part, name = as_array(item, cap, depth + 1)
        cap -= part.nbytes
        if cap < 0:
            raise bad("returned a list that holds more than is taken")
        parts.append(part)
        names.append(name)
        if part.shape != parts[0].shape:
            raise bad(
                "returned a ragged list, which is no array: its entries have the shapes "
                f"{list(parts[0].shape)} and {list(part.shape)}"
            )
    stacked = _stack(parts)
    return stacked, names[0] if len(set(names)) == 1 else stacked.dtype.name


def tree(value: Any, taken: Taken, depth: int = 0) -> Any:
    """Nested lists, tuples and dicts of None, numbers, strings and arrays. Raises Fault."""
    mro = type.mro(type(value))
    if depth > 20:
        raise bad("returned containers nested deeper than 20")
    if value is None or type(value) in (bool, int, float, str):
        return value
    if _ndarray in mro or _generic in mro or is_tensor(value):
        return taken.spend(as_array(value, taken.cap, depth)[0])
    if list in mro or tuple in mro:
        items = [tree(item, taken, depth + 1) for item in list(value)]
        return items if list in mro else tuple(items)
    if dict in mro:
        if not all(type(key) in (str, int) for key in dict.keys(value)):
            raise bad("returned a dict with a key that is neither a string nor an integer")
        return {key: tree(item, taken, depth + 1) for key, item in dict.items(value)}
    raise bad(f"returned {a(value)}, which is no array, number, string, list or dict")


def echo(value: Any, taken: Taken) -> Any:
    """The arguments after a call; what cannot be told any more becomes a note."""
    if type(value) is Handle:
        return value
    if type(value) in (list, tuple):
        items = [echo(item, taken) for item in value]
        return items if type(value) is list else tuple(items)
    if type(value) is dict:
        return {key if type(key) in (str, int) else plain(key): echo(item, taken) for key, item in value.items()}
    try:
        return tree(value, taken)
    except Fault:
        return f"<now {a(value)}>"
