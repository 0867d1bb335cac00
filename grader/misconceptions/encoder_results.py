"""What goes wrong in handing over results of the post-norm layers: one row alone, transposed, an axis too many."""

from __future__ import annotations

from typing import Any

import numpy as np

from grader.misconceptions import misconception, pattern
from grader.misconceptions.results import FORMS, TEXTS
from reference.encoder import ENCODER
from reference.parts import Parts

PREFIX = {
    "attention": "attention",
    "multi_head": "multi",
    "ffn": "ffn",
    "encoder_block": "encoder",
    "cross_attention": "cross",
    "decoder_layer": "layer",
}


KEYS = {"last": "last-only", "last-row": "last-row-only", "batch": "batch-axis"}


def _known(part: str, form: str) -> None:
    title, formula, why, cure = TEXTS[form]
    key = f"{PREFIX[part]}-{KEYS.get(form, form)}"

    @misconception(key, part=part, title=title, formula=formula, why=why, cure=cure)
    def handed_over(*args: Any, the: Parts = ENCODER) -> Any:
        results = getattr(the.replace(**{part: ENCODER.functions[part]}), part)(*args)
        change = FORMS[form]
        return tuple(map(change, results)) if isinstance(results, tuple) else change(np.asarray(results))


for _part in PREFIX:
    for _form in TEXTS:
        _known(_part, _form)

pattern(
    "nothing-allowed-nan-gradient",
    part=("attention", "multi_head", "encoder_block", "decoder_layer"),
    title="the gradient of a row that may consult nothing is NaN",
    formula="nan_to_num(softmax(S - inf …)): the value is 0, its derivative goes through NaN",
    why="NaN is replaced after the softmax; the derivative still goes through it, and on to Q and K.",
    cure="Give such a row finite scores before the softmax, and set its weights to 0 after it.",
    file=__file__,
)
