"""Knows the submissions of the audit of `decoder-lm`: a right language model as text, and changes of that text."""

from __future__ import annotations

from collections.abc import Iterator

from grader.audit.changes import of_text, read
from grader.audit.variants import Variant, template_of
from grader.spec import Spec


def variants(spec: Spec) -> Iterator[Variant]:
    """Every variant, in a fixed order. A wrong one is graded by the checks of the part that is wrong."""
    yield from of_text(spec, read("of_decoder_lm.toml"), "DecoderLM")
    yield from template_of(spec)
