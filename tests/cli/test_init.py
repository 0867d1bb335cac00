"""`grader init` and the template: nothing is overwritten, as is it earns nothing, filled it earns everything."""

import ast
import re
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

import grader
from grader.spec import load

TEMPLATE = "hand-decoder"
STUBS = (files("student_template") / TEMPLATE / "decoder.py").read_text("utf-8")
PRELUDE = """
from collections.abc import Mapping, Sequence
from typing import Any
from numpy.typing import ArrayLike, NDArray
Array, Head, Parts = NDArray[Any], Any, Any
def real(x):
    return np.asarray(x, dtype=np.float64)
"""


def filled() -> str:
    """The template with each stub's body replaced by the reference's, its sub-parts by the file's own functions."""
    texts = [Path(path).read_text("utf-8") for path in Path(str(files("reference"))).glob("*.py")]
    bodies = {}
    for text in texts:
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef) and "BOOK.register" in map(ast.unparse, node.decorator_list):
                node.decorator_list, node.returns = [], None
                node.args.kwonlyargs, node.args.kw_defaults = [], []
                for argument in node.args.args:
                    argument.annotation = None
                bodies[node.name] = re.sub(r"\bthe\.", "", ast.unparse(node))
    lines, tree = STUBS.splitlines(keepends=True), ast.parse(STUBS)
    stubs = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    text = "".join(lines[: stubs[0].lineno - 1]) + PRELUDE
    return text + "\n\n".join(bodies[node.name] for node in stubs) + "\n"


@pytest.fixture
def folder(run, tmp_path) -> Path:
    """A folder that `grader init` has made."""
    assert run("init", TEMPLATE, tmp_path / "work").status == 0
    return tmp_path / "work"


def test_folder_has_what_is_needed_and_the_next_commands_are_shown(run, tmp_path):
    done = run("init", TEMPLATE, tmp_path / "work")
    assert {path.name for path in (tmp_path / "work").iterdir()} == {
        "decoder.py",
        "grader.toml",
        "pytest.ini",
        "README.md",
    }
    for command in (f"cd {tmp_path / 'work'}", "edit decoder.py", "grader check"):
        assert f"  {command}" in done.out


def test_folder_is_named_after_the_assignment(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("init", TEMPLATE).status == 0
    assert (tmp_path / TEMPLATE / "decoder.py").is_file()


@pytest.mark.parametrize("name", ["decoder.py", "pytest.ini"])
def test_nothing_is_overwritten(run, tmp_path, name):
    (tmp_path / name).write_text("mine", "utf-8")
    done = run("init", TEMPLATE, tmp_path)
    assert done.status == 2
    assert name in done.err
    assert [(path.name, path.read_text("utf-8")) for path in tmp_path.iterdir()] == [(name, "mine")]


def test_unknown_assignment_lists_the_known(run, tmp_path):
    done = run("init", "hand-decodr", tmp_path)
    assert done.status == 2
    assert "there are: " in done.err
    assert "hand-decoder" in done.err


def test_own_spec_is_named_in_the_settings(run, tmp_path):
    spec = (files("specs") / "hand-decoder.toml").read_text("utf-8").replace('id = "hand-decoder"', 'id = "mine"', 1)
    (tmp_path / "mine.toml").write_text(spec, "utf-8")
    assert run("init", tmp_path / "mine.toml", tmp_path / "work").status == 0
    settings = tomllib.loads((tmp_path / "work" / "grader.toml").read_text("utf-8"))
    assert settings == {"assignment": "../mine.toml"}
    assert "grader_assignment = ../mine.toml\n" in (tmp_path / "work" / "pytest.ini").read_text("utf-8")
    assert run("check", tmp_path / "work", "--only", "softmax").status == 1


def test_untouched_template_earns_nothing_and_is_told_what_to_write_first(run, folder):
    done = run("check", folder)
    assert done.status == 1
    assert "Score 0 of 100" in done.out
    assert "Next: Write softmax first:" in done.out
    assert "Not written yet: softmax, attention_scores" in done.out


def test_untouched_template_passes_no_check():
    result = grader.grade(str(files("student_template") / TEMPLATE), assignment=TEMPLATE)
    assert [verdict.id for verdict in result.verdicts if verdict.passed] == []


def test_filled_template_gets_full_marks(folder, run):
    (folder / "decoder.py").write_text(filled(), "utf-8")
    done = run("check", folder)
    assert "Score 100 of 100" in done.out, done.out
    assert done.status == 0


def test_stubs_are_the_contracts_functions_in_order_and_name_their_step():
    spec = load(TEMPLATE)
    stubs = [node for node in ast.parse(STUBS).body if isinstance(node, ast.FunctionDef)]
    signatures = [f"{node.name}({', '.join(argument.arg for argument in node.args.args)})" for node in stubs]
    assert signatures == [part.signature for part in spec.parts]
    for number, stub in enumerate(stubs, 1):
        assert ast.get_docstring(stub)
        assert f"step {number}: " in ast.unparse(stub.body[-1])


def test_template_says_what_a_mask_means():
    assert "True = may be consulted" in str(ast.get_docstring(ast.parse(STUBS)))
