"""Knows a submission's tokenizer as checks see it: trained there, asked for ids and texts, saved and loaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from grader.compare import Array
from grader.part import Part
from grader.probes.module import process, student_of
from grader.worker import BadResult, Handle, Raised, Worker

__all__ = ["Files", "Raised", "Tokens", "brought", "elsewhere", "limited", "load", "made", "placed", "taken", "train"]

TOKENIZER = "Tokenizer"
BYTES = 256
LONGEST = 80  # characters of a text in a message
MOST = 2000  # ids of a vocabulary that are looked at one by one
_trained: WeakKeyDictionary[Worker, dict[Any, tuple[Handle, int, list[str]]]] = WeakKeyDictionary()


@dataclass(frozen=True)
class Tokens:
    """A tokenizer in the submission's process.

    vocab_size  as it says itself
    errors      the worker's faults, which the engine turns into verdicts; BadResult for what are no ids
    """

    part: Part
    handle: Handle
    vocab_size: int
    known: list[str] = field(default_factory=list)

    def encode(self, text: str) -> list[int]:
        """The ids of a text."""
        value = student_of(self.part).ask(self.part.part, lambda w: w.call(f"{self.handle}.encode", (text,))).value
        return _ids(value)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of some ids."""
        given = [int(i) for i in ids]
        asked = student_of(self.part)
        return str(asked.ask(self.part.part, lambda w: w.call(f"{self.handle}.decode", (given,), "text")).value)

    def back(self, text: str) -> str:
        """decode(encode(text))."""
        return self.decode(self.encode(text))

    @property
    def strings(self) -> list[str]:
        """Each id's own text, where a part of a character is U+FFFD or whatever is made of it."""
        if not self.known:
            self.known.extend(self.decode([i]) for i in range(min(self.vocab_size, MOST)))
        return self.known

    def pieces(self, text: str) -> list[str]:
        """The texts of a text's ids."""
        return [self.strings[i] if 0 <= i < len(self.strings) else "" for i in self.encode(text)]

    def save(self, folder: str, name: str) -> Files:
        """The files that `save` has written, which are not there any more."""
        placed(self.part, folder)
        path = f"{folder}/{name}"  # within the working folder, so that messages with it are the same in every run
        student_of(self.part).ask(self.part.part, lambda w: w.call(f"{self.handle}.save", (path,), "none"))
        return taken(self.part, folder)


Files = Mapping[str, bytes]


def _ids(value: Array) -> list[int]:
    if value.size and (value.dtype.kind not in "iu" or value.ndim != 1):
        what = f"the shape {list(value.shape)}" if value.dtype.kind in "iu" else f"{value.dtype.name} numbers"
        raise BadResult(f"encode returned {what}; a list of integers is wanted")
    return [int(i) for i in value.ravel()]


def train(part: Part, text: str, vocab_size: int, special: tuple[str, ...] = (), *, fresh: bool = False) -> Tokens:
    """A tokenizer from a text; one that was trained before on the same is used again, unless a `fresh` one is asked."""
    part = part if part.name == TOKENIZER else part.sibling(TOKENIZER)
    known = _trained.setdefault(process(part), {})
    key = text, vocab_size, special
    if key in known and not fresh:
        return Tokens(part, *known[key])
    kwargs = {"special_tokens": special} if special else {}
    call = student_of(part).ask(
        part.part, lambda w: w.call(f"{TOKENIZER}.train", (text, vocab_size), "handle", kwargs=kwargs)
    )
    tokens = made(part, call.value)
    known[key] = tokens.handle, tokens.vocab_size, tokens.known
    return tokens


def made(part: Part, handle: Handle) -> Tokens:
    """A tokenizer that is there already. errors: BadResult for what has no vocab_size."""
    part = part if part.name == TOKENIZER else part.sibling(TOKENIZER)
    told = student_of(part).ask(part.part, lambda w: w.op("attribute", object=handle, attribute="vocab_size")).value
    size = np.asarray(told) if isinstance(told, int | np.ndarray) and not isinstance(told, bool) else np.zeros(2)
    if size.ndim or size.dtype.kind not in "iu" or not 0 < int(size) < 1 << 24:
        raise BadResult(f"vocab_size is {str(told)[:LONGEST]!r}; a number of ids is wanted")
    return Tokens(part, handle, int(size))


def load(there: Part, folder: str, files: Files, name: str) -> Tokens:
    """A tokenizer from the files of one that was saved elsewhere under this name."""
    brought(there, folder, files)
    path = f"{folder}/{name}"
    reply = student_of(there).ask(there.part, lambda w: w.call(f"{TOKENIZER}.load", (path,), "handle"))
    return made(there, reply.value)


def limited(part: Part, target: str, args: tuple[Any, ...], want: str, seconds: float) -> Any:
    """What a call gives within so many seconds of processor time; None when it takes longer."""
    form = {"value": object, "late": bool}
    asked = {"target": target, "args": args, "want": want, "cpu_seconds": seconds}
    told = student_of(part).ask(part.part, lambda w: w.told("call_limited", form, seconds=10 * seconds, **asked))
    return None if told["late"] else told["value"]


def placed(part: Part, folder: str) -> None:
    """A new folder in the process's private one, which is its working folder."""
    student_of(part).ask(part.part, lambda w: w.op("file_place", folder=folder))


def taken(part: Part, folder: str) -> Files:
    """What was written into a folder; it is removed there."""
    told = student_of(part).ask(part.part, lambda w: w.told("file_take", {"files": list}, folder=folder))["files"]
    files: dict[str, bytes] = {}
    for item in told:
        fits = isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str)
        if not fits or not isinstance(item[1], np.ndarray) or item[1].dtype != np.uint8:
            raise BadResult("wrote files that cannot be read")
        files[item[0]] = item[1].tobytes()
    return files


def brought(part: Part, folder: str, files: Files) -> None:
    """Files into a folder of the process's private one."""
    given = list(files.items())
    student_of(part).ask(part.part, lambda w: w.op("file_put", folder=folder, files=given))


def elsewhere(part: Part, *, hash_seed: int = 0) -> Part:
    """The same function in a new process, whose sets are ordered by another seed if one is given."""
    return Part(part.spec, part.part, student_of(part).anew(hash_seed), part.notes)
