"""The frame format, this side: read a request from a descriptor, write a reply. The format is told in wire.py."""

import json
import math
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from .faults import bad

# What wire.py takes is a little more than this: what a submission returns is refused here, and no tampering there.
HEADER_BYTES, ARRAYS, DEPTH, DIMENSIONS = (1 << 20) - (1 << 12), 9_000, 36, 32
SMALLEST, LARGEST, LONGEST = -(1 << 63), 1 << 64, 1 << 40

_read, _write, _ndarray = os.read, os.write, np.ndarray
_frombuffer, _dtype, _prod = np.frombuffer, np.dtype, math.prod
# The compiled halves of json: its Python halves would use builtins that a submission may have replaced.
_encoder: Any = vars(json.encoder)["c_make_encoder"]
_chunks = _encoder(None, None, json.encoder.encode_basestring_ascii, None, ":", ",", False, False, True)
_scan: Any = vars(json.JSONDecoder())["scan_once"]
_int_from, _int_to = int.from_bytes, int.to_bytes
_CHUNK = 1 << 16
_NAMES = {
    np.dtype(name): name
    for name in "float64 float32 int64 bool uint8 int8 uint16 int16 uint32 int32 uint64".split()  # noqa: SIM905
}


class Handle(str):
    """The name of an object that stays in this process."""

    __slots__ = ()


class Stream:
    """Frames over two descriptors, which may be the same."""

    def __init__(self, source: int, sink: int) -> None:
        self.source, self.sink = source, sink
        self._ahead = bytearray()

    def _take(self, count: int) -> bytearray | None:
        while len(self._ahead) < count:
            data = _read(self.source, max(_CHUNK, min(count - len(self._ahead), 1 << 22)))
            if not data:
                return None
            self._ahead += data
        taken = self._ahead[:count]
        del self._ahead[:count]
        return taken

    def read(self) -> tuple[dict[str, Any], bytearray] | None:
        """A header and its arrays' bytes; None when the other side has closed."""
        if (length := self._take(4)) is None or (text := self._take(_int_from(length, "big"))) is None:
            return None
        header = _scan(text.decode(), 0)[0]
        body = self._take(header["bytes"])
        return None if body is None else (header, body)

    def write(self, text: bytes, blocks: list[bytes]) -> None:
        """One frame, whole: a header's text, and the arrays' bytes."""
        parts = [_int_to(len(text), 4, "big") + text, *blocks]
        if sum(map(len, parts)) <= _CHUNK:  # one write, one awakening of the other side
            parts = [b"".join(parts)]
        for part in parts:
            view = memoryview(part)
            while view:
                view = view[_write(self.sink, view) :]


def frame(nonce: str, key: str, value: Any, cap: int) -> tuple[bytes, list[bytes]]:
    """What `Stream.write` takes, of a value or a fault. Raises Fault for what is more than is taken there."""
    blocks: list[bytes] = []
    text = "".join(_chunks({"nonce": nonce, key: pack(value, blocks)}, 0)).encode()
    if len(text) > HEADER_BYTES:
        mib = f"{len(text) / 2**20:,.1f} MiB, at most {HEADER_BYTES / 2**20:,.1f} MiB are taken"
        raise bad(f"returned text, numbers in lists or names that are too long together ({mib}); return arrays")
    if len(blocks) > ARRAYS:
        raise bad(f"returned {len(blocks):,} arrays, at most {ARRAYS:,} are taken")
    if (size := sum(map(len, blocks))) > cap:
        raise bad(f"returned {size / 2**20:,.1f} MiB in all, at most {cap / 2**20:,.1f} MiB are taken")
    return text, blocks


def pack(value: Any, blocks: list[bytes], depth: int = 0) -> Any:
    """A tree of exact Python types and plain NumPy arrays as JSON; the arrays' bytes are appended to ``blocks``.

    Raises Fault for what cannot be told: other depths, numbers and shapes than those above.
    """
    kind = type(value)
    if kind is int and not SMALLEST <= value < LARGEST:
        raise bad("returned an integer that does not fit 64 bits")
    if value is None or kind in (bool, int, float, str):
        return value
    if kind is Handle:
        return {"o": str(value)}
    if kind is _ndarray:
        blocks.append(_bytes(value))
        return {"a": [_NAMES[value.dtype], list(value.shape)]}
    if depth >= DEPTH:
        raise bad(f"returned containers nested deeper than {DEPTH}")
    if kind in (list, tuple):
        return {"l" if kind is list else "t": [pack(item, blocks, depth + 1) for item in value]}
    return {"d": [[pack(key, blocks), pack(item, blocks, depth + 1)] for key, item in value.items()]}


def _bytes(array: Any) -> bytes:
    shape = list(array.shape)
    if len(shape) > DIMENSIONS:
        raise bad(f"returned an array of {len(shape)} dimensions, at most {DIMENSIONS} are taken")
    if any(n >= LONGEST for n in shape) or _prod(n or 1 for n in shape) >= LARGEST >> 8:
        raise bad(f"returned an array of the shape {shape}, which no array of numbers has")
    data: bytes = array.tobytes()
    return data


def unpack(node: Any, body: bytearray, leaf: Callable[[Any], Any] = lambda leaf: leaf) -> Any:
    """A request's tree, its arrays writable and its own. ``leaf`` is applied to each array and handle."""
    at = 0

    def build(node: Any) -> Any:
        nonlocal at
        if type(node) is not dict:
            return node
        ((tag, content),) = node.items()
        if tag == "a":
            dtype, shape = _dtype(content[0]), content[1]
            start, at = at, at + _prod(shape) * dtype.itemsize
            return leaf(_frombuffer(body[start:at], dtype).reshape(shape).copy())
        if tag == "b":
            start, at = at, at + content
            return bytes(body[start:at])
        if tag == "o":
            return leaf(Handle(content))
        if tag == "d":
            return {key: build(item) for key, item in content}
        items = [build(item) for item in content]
        return items if tag == "l" else tuple(items)

    return build(node)
