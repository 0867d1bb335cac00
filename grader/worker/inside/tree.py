"""The frame format, this side: read a request from a descriptor, write a reply. The format is told in wire.py."""

import json
import math
import os
from collections.abc import Callable
from typing import Any

import numpy as np

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

    def write(self, header: dict[str, Any], blocks: list[bytes]) -> None:
        """One frame, whole."""
        text = "".join(_chunks(header, 0)).encode()
        parts = [_int_to(len(text), 4, "big") + text, *blocks]
        if sum(map(len, parts)) <= _CHUNK:  # one write, one awakening of the other side
            parts = [b"".join(parts)]
        for part in parts:
            view = memoryview(part)
            while view:
                view = view[_write(self.sink, view) :]


def pack(value: Any, blocks: list[bytes]) -> Any:
    """A tree of exact Python types and plain NumPy arrays as JSON; the arrays' bytes are appended to ``blocks``."""
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if kind is Handle:
        return {"o": str(value)}
    if kind is _ndarray:
        blocks.append(value.tobytes())
        return {"a": [_NAMES[value.dtype], list(value.shape)]}
    if kind in (list, tuple):
        return {"l" if kind is list else "t": [pack(item, blocks) for item in value]}
    return {"d": [[key, pack(item, blocks)] for key, item in value.items()]}


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
