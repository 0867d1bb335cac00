"""Knows a submission's bundle as checks see it: saved in one process, loaded in another, read part by part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.compare import Array
from grader.part import Part
from grader.probes.lm import model
from grader.probes.module import student_of
from grader.probes.tokens import BYTES, Files, brought, made, placed, taken, train
from grader.worker import BadResult, Handle, Raised

__all__ = ["NAME", "BadResult", "Files", "Held", "Raised", "Saved", "State", "load", "reordered", "save"]

FOLDER, NAME = "bundle", "model.bundle"
PATH = f"{FOLDER}/{NAME}"  # within the working folder, so that messages with it are the same in every run
MOST, GREEDY = 1000, 6  # ids of a vocabulary; tokens that are generated
MERGES, SPECIAL = 12, ("<|end|>", "<|user|>")
TEXT = "the old dog barks, the old cow moos, the young owl hoots; " * 3
TEXTS = (TEXT, "<|user|>the dog?<|end|>", "caf\xe9\r\n", *SPECIAL)
STATE = {"names": list, "values": list, "training": bool}


@dataclass(frozen=True)
class State:
    """A model as it is: its parameters by name, whether it is in training, its logits for one row of tokens."""

    parameters: dict[str, Array]
    training: bool
    logits: Array

    def weights_as(self, other: State) -> bool:
        """Whether every parameter is there and holds the same numbers."""
        return self.parameters.keys() == other.parameters.keys() and all(
            value.dtype == other.parameters[name].dtype and np.array_equal(value, other.parameters[name])
            for name, value in self.parameters.items()
        )

    def logits_as(self, other: State) -> bool:
        """Whether the logits agree to single precision."""
        if self.logits.shape != other.logits.shape:
            return False
        if np.array_equal(self.logits, other.logits, equal_nan=True):
            return True
        size = max(1.0, float(np.abs(self.logits).max(initial=0.0)))
        return bool(np.abs(self.logits - other.logits).max(initial=0.0) <= 1e-5 * size)


@dataclass(frozen=True)
class Held:
    """A model, a tokenizer and a policy of generation in the submission's process.

    row     tokens for the logits, (1, T)
    errors  of the methods: the worker's faults, BadResult for what is no model or tokenizer
    """

    part: Part
    module: Handle
    tokenizer: Handle
    generation: Any
    row: Array

    def state(self) -> State:
        """The model, which is in evaluation afterwards."""
        asked = student_of(self.part)
        told = asked.ask(self.part.part, lambda w: w.told("module_state", STATE, module=self.module))
        names, values = told["names"], told["values"]
        if len(names) != len(values) or not all(isinstance(name, str) for name in names):
            raise BadResult("has parameters that cannot be told")
        if not all(isinstance(value, np.ndarray) for value in values):
            raise BadResult("has parameters that cannot be told")
        asked.ask(self.part.part, lambda w: w.op("module_train", modules=[self.module], training=False))
        logits = asked.ask(self.part.part, lambda w: w.call(str(self.module), (self.row,))).value
        return State(dict(zip(names, values, strict=True)), told["training"], np.asarray(logits, np.float64))

    def greedy(self) -> list[float] | None:
        """What generate gives at temperature 0 for a short prompt; None where it does not work."""
        asked, prompt = student_of(self.part), [int(i) for i in self.row[0, :2]]
        if not asked.defines("generate"):
            return None
        args = self.module, prompt, GREEDY, 0.0
        try:
            given = asked.ask(self.part.part, lambda w: w.call("generate", args)).value
        except (Raised, BadResult):
            return None
        return [float(i) for i in given.ravel()[:GREEDY]]

    def ids(self) -> tuple[int, list[list[int]]]:
        """The tokenizer: vocab_size, and the ids of some texts."""
        tokens = made(self.part, self.tokenizer)
        return tokens.vocab_size, [tokens.encode(text) for text in TEXTS]


@dataclass(frozen=True)
class Saved:
    """The files that save_bundle has written, what is to come back, and the tokens that the logits are of."""

    files: Files
    state: State
    greedy: list[float] | None
    ids: tuple[int, list[list[int]]]
    generation: dict[str, Any]
    row: Array


def reordered(part: Part, held: Held) -> bool:
    """Whether the tokenizer has the same tokens as the one that was saved, so that only their order is another one."""
    before = train(part, TEXT, BYTES + MERGES + len(SPECIAL), SPECIAL)
    return sorted(before.strings) == sorted(made(held.part, held.tokenizer).strings)


def save(part: Part, generation: dict[str, Any], seed: int, **arguments: Any) -> Saved:
    """A bundle of a tokenizer with special tokens and of a model in training, with numbers of ordinary size."""
    tokens = train(part, TEXT, BYTES + MERGES + len(SPECIAL), SPECIAL)
    lm = model(part, precision="float32", fresh=True, **{"vocab_size": min(tokens.vocab_size, MOST), **arguments})
    lm.redraw(seed)
    row: Array = np.random.default_rng((seed, 83)).integers(0, lm.vocab_size, (1, lm.arguments["context"]))
    held = Held(part, lm.handle, tokens.handle, generation, row)
    state, greedy, ids = held.state(), held.greedy(), held.ids()
    lm.instance.train(True)
    placed(part, FOLDER)
    args = PATH, lm.handle, tokens.handle, generation
    student_of(part).ask(part.part, lambda w: w.call("save_bundle", args, "none"))
    return Saved(taken(part, FOLDER), state, greedy, ids, generation, row)


def load(part: Part, saved: Saved, files: Files | None = None) -> Held:
    """What load_bundle gives for the files, or for other ones. errors: BadResult for what is no three values."""
    given = saved.files if files is None else files
    brought(part, FOLDER, given)
    want = ("handle", "handle", "tree")
    module, tokenizer, generation = (
        student_of(part)
        .ask(
            part.part,
            lambda w: w.call("load_bundle", (PATH,), want),  # type: ignore[arg-type]
        )
        .value
    )
    return Held(part, module, tokenizer, generation, saved.row)
