"""What a submission must not learn or tell: the package with the answers, hidden checks' inputs, temporary folders."""

import importlib
import re
import sys
from importlib.resources import files

import pytest

import grader
from grader.spec import parse
from grader.student import Student, hosts_of
from grader.submission import Submission
from grader.worker.levels import levels_available
from tests.folders import RIGHT

TEXT = (files("specs") / "hand-decoder.toml").read_text("utf-8")
WRONG = "    raise ValueError(x)\n"


def handed_in(source: str) -> Submission:
    from pathlib import Path

    return Submission("decoder", Path("decoder.py"), {"decoder.py": source.encode()}, "decoder", None, "0" * 64)


@pytest.fixture
def course(tmp_path, monkeypatch):
    """An assignment whose reference is a package of the course's own, installed beside NumPy."""
    folder = tmp_path / "site-packages"
    (folder / "course_answers").mkdir(parents=True)
    (folder / "course_answers" / "__init__.py").write_text("from reference import BOOK\nSECRET = 'answer-42'\n")
    monkeypatch.syspath_prepend(folder)
    from grader.worker import launch, levels

    paths = [*launch.library_paths(), str(folder)]
    for module in (launch, levels):
        monkeypatch.setattr(module, "library_paths", lambda: paths)
    importlib.invalidate_caches()
    yield parse(TEXT.replace('"reference:BOOK"', '"course_answers:BOOK"').encode(), "course.toml"), folder
    sys.modules.pop("course_answers", None)


@pytest.mark.parametrize("level", ["sandbox", "process"])
def test_the_package_of_the_reference_is_withheld(course, level):
    if level not in levels_available():
        pytest.skip(f"this machine does not give the level {level}")
    spec, folder = course
    stolen = (
        RIGHT
        + f"""
import importlib
def softmax(x):
    try:
        module = importlib.import_module("course_answers")
    except ModuleNotFoundError:
        pass
    else:
        raise ValueError(module.SECRET)
    try:
        secret = open({str(folder / "course_answers" / "__init__.py")!r}).read()
    except OSError:
        secret = ""
    raise ValueError(secret or "nothing to be had")
"""
    )
    with hosts_of(spec, level) as hosts:
        result = grader.grade(handed_in(stolen), assignment=spec, hosts=hosts, only="softmax")
        right = grader.grade(handed_in(RIGHT), assignment=spec, hosts=hosts, only="softmax")
    assert all(verdict.passed for verdict in right.verdicts)
    assert any("ValueError" in verdict.message for verdict in result.verdicts)
    if level == "sandbox":
        assert "nothing to be had" in result.to_json()
        assert "answer-42" not in result.to_json()
    assert "ValueError: answer-42" not in result.to_json()


def printing(hidden: str) -> "grader.Result":
    """What is hidden as a TOML list, \\1 for all that a criterion selects."""
    more = rf"\g<0>\nhidden = {hidden}" if hidden else r"\g<0>"
    spec = parse(re.sub(r"^checks = (\[.*\])", more, TEXT, flags=re.M).encode(), "x")
    source = (
        RIGHT
        + """
right = softmax
calls = []
def softmax(x):
    calls.append(1)
    print("asked", len(calls))
    return right(x)
print("loaded")
"""
    )
    return grader.grade(handed_in(source), assignment=spec, only="softmax")


def test_what_is_printed_while_a_hidden_check_runs_is_dropped_everywhere():
    from grader.reports import all_reports

    shown, none = printing(""), printing(r"\1")
    assert "asked 1\n" in shown.printed
    assert none.printed.split() == ["loaded"]
    for report in all_reports():
        assert "asked" not in report.write(none)


def test_messages_hold_no_temporary_folder():
    source = """
import os, tempfile
print("here:", os.getcwd())
def softmax(x):
    open(os.path.join(os.getcwd(), "weights", "none.txt"))
def loss(Z, targets):
    raise ValueError(f"in {tempfile.gettempdir()}, at {os.getcwd()!r}; {os.path.dirname(os.getcwd())}")
"""
    told = []
    for _ in range(2):
        result = grader.grade(handed_in(source), assignment="hand-decoder")
        rubric = dict(result.rubric)
        rubric.pop("timing")
        told.append((rubric, result.printed))
    assert told[0] == told[1]
    assert "decoder-grader-" not in str(told)
    assert "./weights/none.txt" in str(told[0])
    assert "in ., at '.'" in str(told[0])


def test_what_takes_long_in_all_is_ended_and_said():
    source = RIGHT.replace("def softmax(x):\n", "def softmax(x):\n    time.sleep(0.2)\n", 1)
    source = "import time\n" + source
    assert "sleep" in source
    spec = parse(TEXT.replace("call_seconds = 5\n", "call_seconds = 5\ntotal_seconds = 1.5\n").encode(), "x")
    result = grader.grade(handed_in(source), assignment=spec)
    statuses = [verdict.status for verdict in result.verdicts]
    assert result.rubric["status"] == "graded"
    assert statuses[0] == "passed"
    late = [verdict for verdict in result.verdicts if verdict.status == "timeout"]
    assert len(late) > 20
    assert set(statuses[statuses.index("timeout") :]) == {"timeout", "blocked"}
    sentence = "not asked: the submission has used up its 1.5 seconds; what takes most of them is to be faster"
    assert {verdict.message for verdict in late} == {sentence}
    assert result.rubric["timing"]["seconds"] < 60


def test_fresh_processes_use_up_the_same_seconds():
    spec = parse(TEXT.replace("call_seconds = 5\n", "call_seconds = 5\ntotal_seconds = 100\n").encode(), "x")
    with hosts_of(spec) as hosts:
        student = Student(handed_in(RIGHT), hosts)
        student.load()
        others = (student.fresh(), student.anew())
        assert all(other._used is student._used for other in others)
        assert student._used.seconds > 0
        student.close()


@pytest.mark.parametrize("place", [".", "..", "./"])
def test_a_folder_is_called_by_its_own_name(tmp_path, monkeypatch, place):
    folder = tmp_path / "my.work"
    (folder / "below").mkdir(parents=True)
    monkeypatch.chdir(folder / "below" if place == ".." else folder)
    assert grader.grade(place, assignment="hand-decoder").rubric["submission"]["name"] == "my.work"


def test_what_is_printed_before_an_exception_is_shown():
    source = RIGHT + "\ndef softmax(x):\n    print('so far', x.shape)\n    raise ValueError('no')\n"
    assert "so far (" in grader.grade(handed_in(source), assignment="hand-decoder", only="softmax").printed
