"""The rubric as JSON: what other programs read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.reports import report

if TYPE_CHECKING:
    from grader.api import Result


@report("json", file="rubric.json", says="the rubric for other programs, as in specs/rubric.schema.json")
def rubric_json(result: Result) -> str:
    """`rubric.json`, schema_version 1."""
    return result.to_json()
