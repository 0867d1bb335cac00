"""The frame format by itself: both sides agree, and text is made harmless."""

import json
import os
import select
import socket
import sys
import threading
import time

import numpy as np
import pytest

from grader.worker import wire
from grader.worker.inside.tree import Stream, pack, unpack
from grader.worker.text import Printed, clean, scrub


def test_a_request_is_read_as_it_was_written():
    tree = {"a": [np.eye(2), (1, None, "x", 2.5, True)], "b": b"raw\0", 3: {"deep": np.array(True)}, "f": float("nan")}
    read, write = os.pipe()
    for part in wire.encode("n", "call", tree):
        os.write(write, part)
    os.close(write)
    stream = Stream(read, -1)
    header, body = stream.read()
    back = unpack(header["arguments"], body)
    assert (header["nonce"], header["op"]) == ("n", "call")
    assert back["a"][0].tolist() == [[1, 0], [0, 1]]
    assert back["a"][0].flags.writeable
    assert back["a"][1] == (1, None, "x", 2.5, True)
    assert back["b"] == b"raw\0"
    assert back[3]["deep"].shape == ()
    assert back["f"] != back["f"]
    assert stream.read() is None
    os.close(read)


def test_a_reply_is_read_as_it_was_written():
    blocks = []
    tree = pack({"x": [np.arange(3, dtype=np.int16), "s"], "y": (np.zeros((2, 0)), None)}, blocks)
    data = json.dumps({"nonce": "n", "value": tree}).encode()
    header = wire.read_header(data, "n", 6)
    assert header.size == 6
    value = wire.decode(header, bytearray(b"".join(blocks)))
    assert value["x"][0].tolist() == [0, 1, 2]
    assert value["y"][0].shape == (2, 0)
    with pytest.raises(wire.Malformed, match="announces 6 bytes, at most 5"):
        wire.read_header(data, "n", 5)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain é ∑ 漢\n\ttab", "plain é ∑ 漢\n\ttab"),
        ("\x1b[1;31mred\x1b[0m \x1b]8;;http://x\x07link\x1b]8;;\x1b\\", "red link"),
        ("\x9b31m\x00\x08\x7f\u202egnp\r", "31mgnp"),
        ("a\r\nb", "a\nb"),
        ("x" * 60, "x" * 50 + "…"),
    ],
)
def test_text_is_made_harmless(text, expected):
    assert clean(text, 50) == expected


def test_addresses_are_scrubbed():
    assert scrub("<A object at 0x7f12ab34cd56> 0x10", 100) == "<A object at 0x…> 0x10"


def test_what_is_printed_is_cut():
    printed = Printed(4)
    printed.add(b"ab")
    printed.add(b"cdef")
    assert printed.take() == "abcd…"
    assert printed.take() == ""


@pytest.mark.skipif(sys.platform != "linux", reason="children of a warm parent")
@pytest.mark.parametrize("size", [2, 4, 100, 65_536, 65_537, 200_000])
def test_an_answer_that_comes_in_two_halves_is_put_together(size):
    """What has come may be as long as what is missing."""
    from grader.worker.forked import ForkedConnection

    ours, theirs = socket.socketpair()
    connection = ForkedConnection.__new__(ForkedConnection)
    ours.setblocking(False)
    connection._socket, connection._ahead, connection._out, connection._life = ours, bytearray(), -1, -1
    connection._poll = select.poll()
    connection._poll.register(ours, select.POLLIN)
    data = bytes(range(256)) * (size // 256 + 1)
    pieces = [data[: size // 2], data[size // 2 : size], b"rest"]
    with ours, theirs:
        sender = threading.Thread(target=lambda: [(time.sleep(0.02), theirs.sendall(piece)) for piece in pieces])
        sender.start()
        assert connection.receive(size, time.monotonic() + 20) == data[:size]
        assert connection.receive(4, time.monotonic() + 20) == b"rest"
        sender.join()
