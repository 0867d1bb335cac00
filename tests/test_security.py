"""SECURITY.md names a test for each promise, and each of them is there."""

import ast
import re
from pathlib import Path

import pytest

from grader.worker.inside.syscalls import numbers
from grader.worker.launch import LEVELS

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "SECURITY.md").read_text("utf-8")
PROMISES = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", TEXT)


@pytest.mark.parametrize(("file", "name"), PROMISES, ids=lambda part: part)
def test_a_promises_test_is_there(file, name):
    tree = ast.parse((ROOT / file).read_text("utf-8"))
    assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_every_promise_has_a_test_and_every_level_is_told():
    table = TEXT.split("## Promises")[1].split("## What is not")[0]
    rows = [line for line in table.splitlines() if line.startswith("|")][2:]
    assert len(rows) == len(PROMISES) >= 12
    assert all(f"`{level}`" in TEXT for level in LEVELS if level != "auto")


def test_the_number_of_calls_is_about_the_one_that_is_told():
    (told,) = re.findall(r"about (\d+) system calls", TEXT)
    assert abs(len(numbers("x86_64")) - int(told)) < 15
