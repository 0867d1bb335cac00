"""Knows how files are damaged: cut off, without a part, with one bit changed, of another version."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from grader.probes.tokens import Files

FLIPS = 16
# what stands in the file where it is written as text: a change there leaves the weights alone
MARKED = (b"rompt_template", b"{prompt}", b"temperature", b"max_new_tokens", b"<|user|>", b"rotary")
VERSION = re.compile(rb'("(?:format_|bundle_)?version"\s*:\s*)(\d+)(?=[,}\s])')


@dataclass(frozen=True)
class Change:
    """One way to damage a bundle's files; marked where it is text of the tokenizer or the policy that changes."""

    said: str
    files: Files
    marked: bool = False


def cuts(files: Files) -> Iterator[Change]:
    """The largest file cut off, emptied, or not there."""
    name = max(files, key=lambda name: (len(files[name]), name))
    data = files[name]
    for keep, said in ((0, "empty"), (len(data) // 3, "cut off after a third"), (len(data) // 2, "cut in half")):
        yield Change(said, {**files, name: data[:keep]})
    yield Change("cut off before its last byte", {**files, name: data[:-1]})
    for other in sorted(files) if len(files) > 1 else ():
        yield Change(f"without {other[:60]!a}", {key: value for key, value in files.items() if key != other})


def keys(files: Files) -> Iterator[Change]:
    """Where a file is a JSON object: without each of its keys."""
    for name, data in sorted(files.items()):
        try:
            content = json.loads(data)
        except (ValueError, RecursionError):
            continue
        for key in list(content)[:20] if isinstance(content, dict) else ():
            rest = {other: value for other, value in content.items() if other != key}
            yield Change(f"without its key {key[:60]!a}", {**files, name: json.dumps(rest).encode()}, marked=True)


def flips(files: Files, seed: int) -> Iterator[Change]:
    """One bit changed: in the texts that are found, then anywhere."""
    rng = np.random.default_rng((seed, 89))
    for word in MARKED:
        for name, data in sorted(files.items()):
            if (at := data.find(word)) >= 0:
                where = at + len(word) // 2
                yield Change(
                    f"changed within {word.decode()!r}", {**files, name: _flipped(data, where, 0)}, marked=True
                )
                break
    names = sorted(name for name, data in files.items() if data)
    sizes = np.array([len(files[name]) for name in names], float)
    for _ in range(FLIPS):
        name = names[int(rng.choice(len(names), p=sizes / sizes.sum()))]
        where, bit = int(rng.integers(len(files[name]))), int(rng.integers(3))
        yield Change(f"changed by one bit at byte {where}", {**files, name: _flipped(files[name], where, bit)})


def _flipped(data: bytes, where: int, bit: int) -> bytes:
    return data[:where] + bytes([data[where] ^ (1 << bit)]) + data[where + 1 :]


def versions(files: Files) -> Iterator[Change]:
    """Of another version, where one is found that is written as JSON."""
    for name, data in sorted(files.items()):
        if VERSION.search(data):
            other = VERSION.sub(lambda match: match[1] + b"9" * len(match[2]), data, count=1)
            yield Change("of another version", {**files, name: other})
