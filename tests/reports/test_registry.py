"""Reports are found, and one that cannot be used says why."""

import pytest

from grader.registry import RegistrationError
from grader.reports import all_reports, report


def test_our_formats_are_there():
    assert {"json", "text", "markdown", "html"} <= {known.name for known in all_reports()}


def test_file_names_differ():
    names = [known.file_name for known in all_reports()]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("file", ["../rubric.json", "a\\b", ".hidden", ""])
def test_file_name_that_leads_elsewhere_is_refused(file):
    with pytest.raises(RegistrationError, match="plain `file` name"):
        report("elsewhere", file=file, says="no")(lambda result: "")


def test_name_that_is_taken_is_refused():
    all_reports()
    with pytest.raises(RegistrationError, match="already defined"):
        report("json", file="other.json", says="again")(lambda result: "")
