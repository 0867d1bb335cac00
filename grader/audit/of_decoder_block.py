"""Knows the submissions of the audit of `decoder-block`: a right torch block as text, and changes of that text."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

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
    data: dict[str, Any] = tomllib.loads((files("grader.audit") / "of_decoder_block.toml").read_text("utf-8"))
    base = data["base"].lstrip()
    for kind in ("right", "degenerate", "wrong"):
        for entry in data[kind]:
            part = entry.get("part", BLOCK) if kind == "wrong" else ""
            key = f"{slug(part)}.{entry['id']}" if part else entry["id"]
            source = changed(base, entry)
            submission = as_submission(spec, {spec.file: source.encode()})
            yield Variant(key, kind, part, entry.get("expect", ""), submission)
    yield from template_of(spec)
    for known in all_misconceptions():
        if LAB in known.parts and known.wrong is not None:
            module, sources = mistakes_of(spec, known)
            sources[spec.file] = (base + NUMBERS.format(module=module, key=known.id)).encode()
            yield Variant(f"{slug(LAB)}.{known.id}", "wrong", LAB, known.id, as_submission(spec, sources))


def changed(base: str, entry: dict[str, Any]) -> str:
    """The base with an entry's changes. errors: ValueError when one does not fit exactly once."""
    for old, new in entry.get("change", ()):
        if base.count(old) != 1:
            raise ValueError(f"{entry['id']}: {old!r} occurs {base.count(old)} times")
        base = base.replace(old, new)
    return base
