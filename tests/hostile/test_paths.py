"""What is handed in may itself be hostile: names, links, pipes, archives, encodings, modules that shadow ours."""

import os
import sys
import zipfile

import pytest

import grader
from grader.worker.levels import levels_available
from tests.hostile import HONEST
from tests.hostile.conftest import SPEC

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links and pipes of POSIX")
RIGHT = HONEST["numpy"]


def grade(bench, path):
    return grader.grade(path, assignment=SPEC, hosts=bench.hosts, name="hostile")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "alice").mkdir()
    (tmp_path / "answers").mkdir()
    (tmp_path / "answers" / "secret.py").write_text(RIGHT)
    return tmp_path / "alice"


@pytest.fixture(autouse=True)
def _one_level(bench):
    if bench.level != levels_available()[0]:
        pytest.skip("one level is enough: it is the reading that is tried")


@pytest.mark.parametrize("target", ["../answers/secret.py", "../answers", "/etc/passwd", "decoder.py", "/dev/zero"])
def test_links_out_of_the_folder_are_not_followed(bench, folder, target):
    (folder / "helper.py").symlink_to(target)
    (folder / "decoder.py").write_text("from helper import *\n")
    result = grade(bench, folder)
    assert result.score == 0
    assert "root:" not in result.to_json()


def test_the_assignments_file_as_a_link_is_not_followed(bench, folder):
    (folder / "decoder.py").symlink_to("../answers/secret.py")
    result = grade(bench, folder)
    assert result.rubric["status"] == "unreadable"


@pytest.mark.parametrize(("name", "whole"), [("decoder.py", True), ("decoder.py", False), ("bob.py", False)])
def test_a_pipe_is_not_waited_for(bench, folder, name, whole):
    os.mkfifo(folder / name)
    result = grade(bench, folder if whole else folder / name)
    assert result.rubric["status"] == "unreadable"


def test_a_folder_with_the_files_name_is_no_file(bench, folder):
    (folder / "decoder.py").mkdir()
    assert grade(bench, folder).rubric["status"] == "unreadable"


@pytest.mark.parametrize("name", ["..\\..\\x.py", "a\nb.py", "\x1b[31mred.py", "‮gpj.py", " .py", "-rf.py", "a b.py"])
def test_odd_names_harm_nothing(bench, folder, name):
    (folder / "decoder.py").write_text(RIGHT)
    (folder / name).write_text("raise SystemExit\n")
    result = grade(bench, folder)
    assert result.score == result.rubric["max_score"]


def test_an_archive_is_not_opened(bench, folder):
    path = folder / "decoder.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("../../escaped.py", RIGHT)
        archive.writestr("decoder.py", RIGHT)
    assert grade(bench, path).rubric["status"] == "unreadable"
    assert not list(folder.parent.parent.glob("escaped.py"))
    os.rename(path, folder / "decoder.py")  # an archive that is named as a module
    assert grade(bench, folder).rubric["status"] == "unreadable"


@pytest.mark.parametrize(
    "data",
    [
        b"\0\0\0\0",
        b"\xff\xfe\x00d\x00e\x00f",
        b"# coding: no-such\n",
        b"# coding: zlib\n\x78\x9c",
        b"def f():\n\treturn 1\n        return 2\n",
        b"(" * 5_000,
        b"x = " + b"-" * 100_000 + b"1",
        b"\r\r\r",
    ],
)
def test_sources_that_are_no_text_are_unreadable_or_empty(bench, folder, data):
    (folder / "decoder.py").write_bytes(data)
    result = grade(bench, folder)
    assert result.score == 0


def test_too_much_is_not_read(bench, folder):
    (folder / "decoder.py").write_bytes(RIGHT.encode() + b"#" * 6_000_000)
    assert grade(bench, folder).rubric["status"] == "unreadable"


def test_many_files_are_not_read(bench, folder):
    (folder / "decoder.py").write_text(RIGHT)
    for number in range(600):
        (folder / f"m{number}.py").write_text("")
    assert grade(bench, folder).rubric["status"] == "unreadable"


@pytest.mark.parametrize(
    "name",
    [
        *(
            "sitecustomize",
            "usercustomize",
            "conftest",
            "grader",
            "reference",
            "specs",
            "json",
            "os",
            "numpy",
            "ctypes",
        ),
        *("_decoder_grader_inside", "builtins", "__main__", "encodings", "site"),
    ],
)
def test_modules_that_shadow_others_harm_only_themselves(bench, folder, name):
    (folder / "decoder.py").write_text(RIGHT)
    (folder / f"{name}.py").write_text("import sys\nsys.stdout.write('loaded')\ncos = exp = None\n")
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --exitfirst\n")
    result = grade(bench, folder)
    assert result.rubric["status"] in ("graded", "unreadable")
    if name not in ("json", "os", "numpy", "builtins"):
        assert result.score == result.rubric["max_score"]
    assert bench.honestly("numpy", only="loss").verdicts
