"""The frame format, trusted side: encode a request, decode a reply within a cap; knows nothing of processes.

A frame is a header length (4 bytes, big-endian), a JSON header, and the arrays' bytes in C order, one after the other.
In a header a tree's scalars stand for themselves, and a container or an array is an object with one key:
``l`` list, ``t`` tuple, ``d`` dict as pairs, ``a`` array as [dtype, shape], ``b`` byte string by length, ``o`` handle.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

HEADER_BYTES = 1 << 20
_DEPTH = 40
_dumps = json.JSONEncoder(separators=(",", ":")).encode
_ARRAYS = 10_000
_PLAIN = frozenset((type(None), bool, int, float, str))
_IN = {np.dtype(name): name for name in ("float64", "float32", "int64", "bool")}
_OUT = {
    name: np.dtype(name) for name in (*_IN.values(), "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64")
}


class Handle(str):
    """An opaque name of an object that lives in the student's process."""

    __slots__ = ()


class Malformed(Exception):
    """A frame that the program in the student's process would not have written."""


def encode(nonce: str, op: str, arguments: dict[str, Any]) -> list[bytes]:
    """A request as a list of byte strings. Raises TypeError for a value that is no tree or a dtype that is not sent."""
    blocks: list[bytes] = []
    tree = _pack(arguments, blocks)
    header = _dumps({"nonce": nonce, "op": op, "bytes": sum(map(len, blocks)), "arguments": tree}).encode()
    return [len(header).to_bytes(4, "big") + header, *blocks]


def _pack(value: Any, blocks: list[bytes]) -> Any:
    if type(value) in _PLAIN:
        return value
    if isinstance(value, np.ndarray):
        name = _IN.get(value.dtype)
        if name is None:
            raise TypeError(f"an array of dtype {value.dtype} is not sent; {', '.join(_IN.values())} are")
        blocks.append(value.tobytes())
        return {"a": [name, list(value.shape)]}
    if isinstance(value, Handle):
        return {"o": str(value)}
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, list):
        return {"l": [_pack(item, blocks) for item in value]}
    if isinstance(value, tuple):
        return {"t": [_pack(item, blocks) for item in value]}
    if isinstance(value, dict):
        if not all(isinstance(key, (str, int)) for key in value):
            raise TypeError("a dict is sent with strings and integers as keys only")
        return {"d": [[key, _pack(item, blocks)] for key, item in value.items()]}
    if isinstance(value, bytes):
        blocks.append(value)
        return {"b": len(value)}
    raise TypeError(f"a {type(value).__name__} cannot be sent")


@dataclass(frozen=True)
class Header:
    """A reply's header after its checks: whether it tells a fault, its tree, and how many bytes of arrays follow."""

    fault: bool
    tree: Any
    size: int


def read_header(data: bytes, nonce: str, cap: int) -> Header:
    """Check a header against the request's nonce and against ``cap`` bytes of arrays. Raises Malformed."""
    try:
        content = json.loads(data)
    except (ValueError, RecursionError):
        raise Malformed("a header is not JSON") from None
    if not isinstance(content, dict) or content.get("nonce") != nonce:
        raise Malformed("a reply does not carry the request's number")
    if content.keys() not in ({"nonce", "value"}, {"nonce", "fault"}):
        raise Malformed("a header has unknown keys")
    fault = "fault" in content
    tree = content["fault" if fault else "value"]
    sizes: list[int] = []
    _measure(tree, sizes, 0)
    if sum(sizes) > cap:
        raise Malformed(f"a reply announces {sum(sizes)} bytes, at most {cap} are taken")
    return Header(fault, tree, sum(sizes))


def _node(node: dict[str, Any]) -> tuple[str, Any]:
    if len(node) != 1:
        raise Malformed("a header has a node of unknown form")
    return next(iter(node.items()))


def _measure(node: Any, sizes: list[int], depth: int) -> None:
    """Append the byte length of each array, in order; check everything else."""
    if depth > _DEPTH or len(sizes) > _ARRAYS:
        raise Malformed("a reply is nested too deeply or holds too many arrays")
    if type(node) is int and not -(1 << 63) <= node < 1 << 64:
        raise Malformed("an integer does not fit 64 bits")
    if type(node) in _PLAIN:  # JSON has no subclasses of them
        return
    if not isinstance(node, dict):
        raise Malformed("a header has a node of unknown form")
    tag, content = _node(node)
    if tag == "a":
        dtype, shape = _dtype_and_shape(content)
        sizes.append(math.prod(shape) * dtype.itemsize)
    elif tag == "o" and isinstance(content, str):
        return
    elif tag in ("l", "t") and isinstance(content, list):
        for item in content:
            _measure(item, sizes, depth + 1)
    elif tag == "d" and isinstance(content, list):
        for pair in content:
            if not (isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], (str, int))):
                raise Malformed("a dict has an entry of unknown form")
            _measure(pair[0], sizes, depth)
            _measure(pair[1], sizes, depth + 1)
    else:
        raise Malformed("a header has a node of unknown form")


def _dtype_and_shape(content: Any) -> tuple[np.dtype[Any], Sequence[int]]:
    if not (isinstance(content, list) and len(content) == 2 and isinstance(content[1], list)):
        raise Malformed("an array is announced in an unknown form")
    name, shape = content
    if not isinstance(name, str) or name not in _OUT:
        raise Malformed("an array is announced with an unknown dtype")
    if len(shape) > 32 or not all(type(n) is int and 0 <= n < 1 << 40 for n in shape):
        raise Malformed("an array is announced with an impossible shape")
    return _OUT[name], shape


def decode(header: Header, body: bytearray) -> Any:
    """The tree with its arrays, which share ``body``. Raises Malformed for what cannot be read, a bool byte above 1."""
    try:
        return _unpack(header.tree, memoryview(body), [0])
    except (ArithmeticError, LookupError, MemoryError, RecursionError, TypeError, ValueError):
        raise Malformed("arrays that cannot be read") from None


def _unpack(node: Any, body: memoryview, at: list[int]) -> Any:
    if not isinstance(node, dict):
        return node
    tag, content = _node(node)
    if tag == "a":
        dtype, shape = _dtype_and_shape(content)
        end = at[0] + math.prod(shape) * dtype.itemsize
        piece = body[at[0] : end]
        at[0] = end
        if dtype == np.bool_ and (np.frombuffer(piece, np.uint8) > 1).any():
            raise Malformed("a bool is neither 0 nor 1")
        return np.frombuffer(piece, dtype).reshape(shape)
    if tag == "l":
        return [_unpack(item, body, at) for item in content]
    if tag == "t":
        return tuple(_unpack(item, body, at) for item in content)
    if tag == "o":
        return Handle(content)
    return {key: _unpack(item, body, at) for key, item in content}
