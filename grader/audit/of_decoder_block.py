"""Knows the submissions of the audit of `decoder-block`: a right torch block as text, and changes of that text."""

from __future__ import annotations

from collections.abc import Iterator

from grader.audit.changes import of_text, read
from grader.audit.variants import Variant, as_submission, mistakes_of, template_of
from grader.misconceptions import all_misconceptions
from grader.spec import Spec, slug

BLOCK, LAB = "DecoderBlock", "temperature_lab"
NUMBERS = """
import numpy as np
import {module}
from audited_registry import WRONG


def temperature_lab(scores, temperature):
    return WRONG[{key!r}](np.asarray(scores, float), float(temperature))
"""


def variants(spec: Spec) -> Iterator[Variant]:
    """Every variant, in a fixed order."""
    base = (data := read("of_decoder_block.toml"))["base"].lstrip()
    yield from of_text(spec, data, BLOCK)
    yield from template_of(spec)
    for known in all_misconceptions():
        if LAB in known.parts and known.wrong is not None:
            module, sources = mistakes_of(spec, known)
            sources[spec.file] = (base + NUMBERS.format(module=module, key=known.id)).encode()
            yield Variant(f"{slug(LAB)}.{known.id}", "wrong", LAB, known.id, as_submission(spec, sources))
