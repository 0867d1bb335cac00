"""Knows the ini keys, and whether this pytest run grades something; if not, costs nothing and changes nothing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the ini keys."""
    parser.addini("grader_assignment", "id of an assignment or path of its spec; its checks become items", default="")
    parser.addini(
        "grader_submission", "file or folder to grade, seen from the ini file's folder; default: that", default=""
    )
    parser.addini("grader_seed", "changes the numbers of the cases", default="0")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Take over collection and running where the ini file names an assignment."""
    if config.getini("grader_assignment"):
        home = config.inipath.parent if config.inipath else config.rootpath
        # `python -m pytest` puts the folder on the path, where a numpy.py of the student's would become ours
        sys.path[:] = [entry for entry in sys.path if entry and Path(entry).resolve() != home.resolve()]
        from grader.pytest_plugin import graded

        graded.take_over(config, home)
