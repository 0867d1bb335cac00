"""Compares what students read with stored text. GRADER_UPDATE_GOLDEN=1 writes the stored text anew."""

import os
from pathlib import Path

import pytest

from grader.reports import all_reports
from tests.reports.submissions import SOURCES, result_of

GOLDEN = Path(__file__).parent / "golden"
FORMATS = {"text": "txt", "html": "html", "markdown": "md"}


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("name", SOURCES)
def test_report_is_the_stored_one(name, format_):
    text = all_reports().get(format_).write(result_of(name))
    golden = GOLDEN / f"{name}.{FORMATS[format_]}"
    if os.environ.get("GRADER_UPDATE_GOLDEN") == "1":
        golden.write_text(text, "utf-8", newline="\n")
    assert text == golden.read_text("utf-8")
