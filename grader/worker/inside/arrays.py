"""How one value that the student's code returned becomes a plain array, or a sentence that says why it cannot."""

import sys
from typing import Any

import numpy as np

from .faults import bad, type_name
from .tensors import dtype_name, is_tensor, over_cap, to_array

_ndarray, _view, _array, _stack, _generic = np.ndarray, np.ndarray.view, np.array, np.stack, np.generic
_astype, _float64, _float32, _uint8 = np.ndarray.astype, np.float64, np.float32, np.uint8
_NUMBERS = (bool, int, float)
_DEEPEST = 8
_LONGEST = 4_000_000
_Array = np.ndarray[Any, Any]


def a(value: Any) -> str:
    """ "None", "a str", "an int"."""
    name = type_name(value)
    return "None" if value is None else f"{'an' if name[:1] in 'aeiouAEIOU' else 'a'} {name[:80]}"


def kind(value: Any) -> str:
    """What came, for a reader: "torch.Tensor float64 [4, 3]", "list"."""
    try:
        if is_ndarray(value):
            return f"numpy.{type_name(value)} {numpy_name(value.dtype)} {list(value.shape)}"[:200]
        if is_tensor(value):
            return f"torch.{type_name(value)} {dtype_name(value)} {list(value.shape)}"[:200]
    except BaseException:  # noqa: BLE001 - student code runs in attributes of a subclass
        return type_name(value)[:200]
    return type_name(value)[:200]


def numpy_name(dtype: np.dtype[Any]) -> str:
    """ "float64" of a dtype, without NumPy's own code for it, which relies on builtins that may have been replaced."""
    stem = {"f": "float", "i": "int", "u": "uint", "c": "complex"}.get(dtype.kind)
    return f"{stem}{8 * dtype.itemsize}" if stem else {"b": "bool", "O": "object"}.get(dtype.kind, dtype.char)


def is_ndarray(value: Any) -> bool:
    """Whether the value's real type is an array's."""
    return _ndarray in type.mro(type(value))


def is_numeric_scalar(value: Any) -> bool:
    """Whether it is a NumPy scalar."""
    return _generic in type.mro(type(value))


def items_of(value: Any) -> list[Any]:
    """What a list or tuple really holds, whatever its subclass says."""
    held = list if list in type.mro(type(value)) else tuple
    return list(held.__getitem__(value, slice(None)))


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
        return _sequence(items_of(value), cap, depth)
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
        raise bad(f"returned an array of {names.get(dtype.kind, 'another kind')}; real numbers are wanted")
    if array.nbytes > cap:
        raise bad(over_cap(array.nbytes, cap))
    if dtype.kind == "b":
        return _array(_view(array, _uint8) != 0), "bool"
    if dtype.kind == "f" and dtype.itemsize not in (4, 8):
        return _astype(array, _float32 if dtype.itemsize == 2 else _float64), numpy_name(dtype)
    return (array if dtype.isnative else _astype(array, dtype.newbyteorder("="))), numpy_name(dtype)


def _sequence(items: list[Any], cap: int, depth: int) -> tuple[_Array, str]:
    if depth >= _DEEPEST:
        raise bad(f"returned lists nested deeper than {_DEEPEST}")
    if len(items) > _LONGEST:
        raise bad(f"returned a list of {len(items)} entries, at most {_LONGEST} are taken")
    if all(type(item) in _NUMBERS for item in items):
        array = _array(items)
        if array.dtype.kind not in "biuf":
            raise bad("returned a list with an integer that does not fit 64 bits")
        return array, numpy_name(array.dtype)
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
    return stacked, names[0] if len(set(names)) == 1 else numpy_name(stacked.dtype)
