"""Knows submissions of an audit that are changes of one right text, both held by a TOML file beside this one."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

from grader.audit.variants import Variant, as_submission
from grader.spec import Spec, slug


def read(file: str) -> dict[str, Any]:
    """The content of a TOML file in this folder."""
    return tomllib.loads((files("grader.audit") / file).read_text("utf-8"))


def of_text(spec: Spec, data: dict[str, Any], part: str) -> Iterator[Variant]:
    """Right ones, degenerate ones, wrong ones; `part` is where a mistake sits whose entry names none."""
    base = data["base"].lstrip()
    for kind in ("right", "degenerate", "wrong"):
        for entry in data[kind]:
            where = entry.get("part", part) if kind == "wrong" else ""
            key = f"{_label(spec, where)}.{entry['id']}" if where else entry["id"]
            submission = as_submission(spec, {spec.file: changed(base, entry).encode()})
            yield Variant(key, kind, where, entry.get("expect", ""), submission)


def _label(spec: Spec, part: str) -> str:
    return next((p.slug for p in spec.parts if p.name == part), slug(part))


def changed(base: str, entry: dict[str, Any]) -> str:
    """The base with an entry's changes. errors: ValueError when one does not fit exactly once."""
    for old, new in entry.get("change", ()):
        if base.count(old) != 1:
            raise ValueError(f"{entry['id']}: {old!r} occurs {base.count(old)} times")
        base = base.replace(old, new)
    return base
