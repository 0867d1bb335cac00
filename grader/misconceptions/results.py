"""What goes wrong in handing results over, whatever the part: one row alone, transposed, an axis too many."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from grader.misconceptions import misconception
from reference import BOOK, Parts

FORMS: dict[str, Any] = {
    "last": lambda y: y[-1],
    "last-row": lambda y: y[-1:],
    "transposed": lambda y: y.T,
    "batch": lambda y: y[None],
}
TEXTS = {
    "last": (
        "only the last position is returned",
        "the row of position T-1 alone",
        "Generating needs no more.",
        "Return the rows of all positions.",
    ),
    "last-row": (
        "only the last position is returned",
        "the row of position T-1 alone, as 1 × n",
        "Generating needs no more.",
        "Return the rows of all positions.",
    ),
    "transposed": (
        "the result is transposed",
        "columns are positions",
        "Rows and columns are mixed up.",
        "Row t is position t.",
    ),
    "batch": (
        "an axis of length 1 is left over",
        "1 × T × n",
        "A batch axis was added for a library's function.",
        "One sequence comes in, one goes out: remove the axis again.",
    ),
}
PREFIX = {
    "softmax": "softmax",
    "attention_scores": "scores",
    "causal_attention_weights": "weights",
    "attention_head": "head",
    "multi_head_attention": "multi-head",
    "layer_norm": "norm",
    "feed_forward": "feed-forward",
    "decoder_block": "block",
    "next_token_probabilities": "probabilities",
    "decoder": "decoder",
}
KNOWN = {  # in the file of their part
    "scores-transposed",
    "weights-transposed",
    "decoder-last-only",
    "decoder-last-row-only",
}


def handed_over(*args: Any, part: str, form: str, second: bool = True, the: Parts = BOOK) -> Any:
    """The part's right results in another form; of two results only the first one when `second` is False."""
    results = getattr(the.replace(**{part: BOOK.functions[part]}), part)(*args)
    change = FORMS[form]
    if isinstance(results, tuple):
        first, *others = results
        return (change(first), *(change(other) if second else other for other in others))
    return change(np.asarray(results))


for _part, _prefix in PREFIX.items():
    for _form, (_title, _formula, _why, _cure) in TEXTS.items():
        _id = {"last": "last-only", "last-row": "last-row-only", "batch": "batch-axis"}.get(_form, _form)
        if f"{_prefix}-{_id}" not in KNOWN:
            misconception(f"{_prefix}-{_id}", part=_part, title=_title, formula=_formula, why=_why, cure=_cure)(
                partial(handed_over, part=_part, form=_form)
            )
for _form in ("last", "last-row"):
    _title, _formula, _why, _cure = TEXTS[_form]
    misconception(
        f"head-output-{_form}-only",
        part="attention_head",
        title="only the last position of O is returned",
        formula=f"{_formula}, of O; A is whole",
        why=_why,
        cure=_cure,
    )(partial(handed_over, part="attention_head", form=_form, second=False))
