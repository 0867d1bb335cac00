"""What goes wrong in shifting targets: the wrong way, by two, not at all, around the end, or one list alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from grader.misconceptions import misconception

CURE = "inputs = tokens[:-1], targets = tokens[1:]."

WAYS: dict[str, tuple[Any, str, str, str]] = {
    "wrong-way": (
        lambda x: (x[1:], x[:-1]),
        "shifted the wrong way",
        "inputs = tokens[1:], targets = tokens[:-1]: the target is the token before",
        "The two slices are swapped, or the pair is.",
    ),
    "by-two": (
        lambda x: (x[:-2], x[2:]),
        "shifted by two",
        "inputs = tokens[:-2], targets = tokens[2:]",
        "The targets are shifted here and once more in the loss.",
    ),
    "by-two-kept": (
        lambda x: (x[:-1], np.append(x[2:], x[-1:])),
        "shifted by two, the last token repeated",
        "targets = tokens[2:] and the last token again",
        "The lengths are made to fit.",
    ),
    "not-at-all": (
        lambda x: (x, x),
        "not shifted",
        "inputs = targets = tokens: the answer is part of the question",
        "The model is taken to shift by itself.",
    ),
    "cut-alike": (
        lambda x: (x[:-1], x[:-1]),
        "not shifted, both cut at the end",
        "inputs = targets = tokens[:-1]",
        "A slice is copied.",
    ),
    "cut-alike-at-start": (
        lambda x: (x[1:], x[1:]),
        "not shifted, both cut at the start",
        "inputs = targets = tokens[1:]",
        "A slice is copied.",
    ),
    "rolled": (
        lambda x: (x, np.roll(x, -1)),
        "rolled around the end",
        "targets = roll(tokens, -1): the last target is the first token",
        "np.roll keeps the length.",
    ),
    "rolled-back": (
        lambda x: (x, np.roll(x, 1)),
        "rolled the wrong way",
        "targets = roll(tokens, 1): the first target is the last token",
        "np.roll's sign is mixed up.",
    ),
    "inputs-whole": (
        lambda x: (x, x[1:]),
        "the last token stays in the inputs",
        "inputs = tokens, targets = tokens[1:]: the lengths differ",
        "Only the targets are cut.",
    ),
    "targets-whole": (
        lambda x: (x[:-1], x),
        "the first token stays in the targets",
        "inputs = tokens[:-1], targets = tokens: the lengths differ",
        "Only the inputs are cut.",
    ),
    "start-added": (
        lambda x: (np.append(0, x[:-1]), x),
        "a start token is put before the inputs",
        "inputs = (0, tokens[:-1]), targets = tokens",
        "The tokens hold their start token already.",
    ),
    "end-added": (
        lambda x: (x, np.append(x[1:], 0)),
        "an end token is put behind the targets",
        "inputs = tokens, targets = (tokens[1:], 0)",
        "The lengths are kept.",
    ),
    "cut-too-far": (
        lambda x: (x[:-2], x[1:-1]),
        "the last pair is lost",
        "inputs = tokens[:-2], targets = tokens[1:-1]",
        "A slice ends one too early.",
    ),
}


def shifted(tokens: Any, *, way: str) -> Any:
    """Inputs and targets, made in some way."""
    return WAYS[way][0](np.array(tokens, dtype=np.int64))


def _known(way: str) -> None:
    _, title, formula, why = WAYS[way]

    @misconception(f"shift-{way}", part="shift_targets", title=title, formula=formula, why=why, cure=CURE)
    def wrong(tokens: Any) -> Any:
        return shifted(tokens, way=way)


for _way in WAYS:
    _known(_way)
