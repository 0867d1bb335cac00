"""`grader grade`: what is no submission, a reader that leaves early, files from before, and rows of earlier ones."""

import csv
import json
import subprocess
import sys

import pytest

from grader import lane
from grader.gradebook import COLUMNS, Row, cell, merged
from grader.worker import GraderFault
from tests.folders import clean_environment
from tests.reports.submissions import RIGHT, SOURCES


@pytest.fixture
def subs(tmp_path):
    """A class of folders, and one whose file has another name."""
    for name in ("ann", "bob"):
        (tmp_path / "subs" / name).mkdir(parents=True)
        (tmp_path / "subs" / name / "decoder.py").write_text(RIGHT, "utf-8")
    (tmp_path / "subs" / "carol").mkdir()
    (tmp_path / "subs" / "carol" / "my_decoder.py").write_text(RIGHT, "utf-8")
    return tmp_path / "subs"


@pytest.fixture
def grade(run, tmp_path):
    return lambda *arguments: run("grade", *arguments, "--assignment", "hand-decoder", "--out", tmp_path / "out")


def book(tmp_path):
    with open(tmp_path / "out" / "gradebook.csv", encoding="utf-8", newline="") as file:
        return {row["name"]: row for row in csv.DictReader(file)}


def test_a_path_that_is_not_there_is_said_before_anything_is_graded(grade, subs, tmp_path):
    done = grade(subs / "ann", subs / "bobb", tmp_path / "none" / "x.py")
    assert done.status == 2
    assert f"{subs / 'bobb'}: there is no such file or folder; did you mean {subs / 'bob'}?" in done.err
    assert f"{tmp_path / 'none' / 'x.py'}: there is no such file or folder\n" in done.err
    assert str(subs / "ann") not in done.err.replace(str(subs / "bob"), "")
    assert not (tmp_path / "out").exists()


def test_a_folder_of_folders_is_no_submission(grade, subs, tmp_path):
    done = grade(subs)
    assert done.status == 2
    assert f"{subs}: has no decoder.py, and holds several submissions; did you mean {subs / '*'}?" in done.err
    assert not (tmp_path / "out").exists()


def test_a_folder_of_files_is_no_submission(grade, tmp_path):
    folder = tmp_path / "files"
    folder.mkdir()
    for name in ("ann", "bob"):
        (folder / f"{name}.py").write_text(RIGHT, "utf-8")
    done = grade(folder)
    assert done.status == 2
    assert f"did you mean {folder / '*.py'}?" in done.err


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"my_decoder.py": RIGHT},
        {"src/decoder.py": RIGHT},
        {"attention.py": "def attention_scores(Q, K): ...\n", "norms.py": "def layer_norm(H, g, s, e): ...\n"},
        {"notes.txt": "", "decoder.ipynb": "{}"},
    ],
)
def test_a_folder_that_lacks_the_file_is_unreadable_and_the_line_says_why(grade, tmp_path, files):
    folder = tmp_path / "alice"
    folder.mkdir()
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    done = grade(folder)
    assert done.status == 1
    assert done.out.startswith("alice: 0 of 100 (0 %), unreadable: ")
    assert "has no decoder.py" in done.out
    assert "rename your file" in book(tmp_path)["alice"]["reason"]


def test_one_that_holds_many_does_not_stop_the_others(grade, subs, tmp_path):
    (tmp_path / "right.py").write_text(RIGHT, "utf-8")
    done = grade(subs, tmp_path / "right.py")
    assert done.status == 1
    assert [row["status"] for row in book(tmp_path).values()] == ["unreadable", "graded"]


def test_the_reason_is_known_when_it_was_graded_before(grade, tmp_path):
    (tmp_path / "bad.py").write_text("def softmax(:\n", "utf-8")
    first = grade(tmp_path / "bad.py")
    reason = book(tmp_path)["bad"]["reason"]
    again = grade(tmp_path / "bad.py", "--resume")
    assert "unreadable: bad.py, line 1: SyntaxError" in first.out
    assert "unreadable (graded before): bad.py, line 1: SyntaxError" in again.out
    assert reason == book(tmp_path)["bad"]["reason"] != ""


def test_rows_of_earlier_submissions_stay_while_their_rubric_does(grade, subs, tmp_path):
    grade(subs / "ann", subs / "bob")
    assert grade(subs / "carol").status == 1
    assert {name: row["status"] for name, row in book(tmp_path).items()} == {
        "carol": "unreadable",
        "ann": "graded",
        "bob": "graded",
    }
    (tmp_path / "out" / "bob" / "rubric.json").unlink()
    grade(subs / "ann")
    assert list(book(tmp_path)) == ["ann", "carol"]


def test_what_is_no_gradebook_is_replaced(grade, subs, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "gradebook.csv").write_bytes(b"\xff\0,\n")
    grade(subs / "ann")
    assert list(book(tmp_path)) == ["ann"]


def test_names_with_formulas_and_spaces_are_kept():
    old = merged([Row("=1  +1", None), Row("x", None)], "", lambda _: True)
    new = merged([Row("y", None)], old, {cell("=1  +1")}.__contains__)
    assert [line.split(",")[0] for line in new.splitlines()] == ["name", "y", "'=1 +1"]


@pytest.mark.parametrize("text", [" =1", "\xa0=1", "\n\t-1", "＝1", "\u2003@x"])
def test_formulas_after_spaces_get_an_apostrophe(text):
    assert cell(text).startswith("'")


def test_cells_are_one_line_with_single_spaces():
    assert cell("a  b\n\n c\t") == "a b c"
    assert len(COLUMNS) == 8


def test_a_result_from_before_is_removed_when_it_is_not_graded(grade, subs, tmp_path, monkeypatch):
    file = tmp_path / "one.json"
    assert grade(subs / "ann", "--json", file).status == 0
    assert json.loads(file.read_text("utf-8"))["score"] == 100

    def failing(*_, **__):
        raise GraderFault("no memory")

    monkeypatch.setattr(lane, "grade", failing)
    assert grade(subs / "ann", "--json", file).status == 3
    assert not file.exists()


def test_the_file_may_be_the_rubric_itself(grade, subs, tmp_path):
    file = tmp_path / "out" / "ann" / "rubric.json"
    grade(subs / "ann", "--json", file)
    assert "(graded before)" in grade(subs / "ann", "--json", file, "--resume").out
    assert file.exists()


def test_a_dash_prints_the_rubric_alone(grade, subs):
    done = grade(subs / "ann", "--json", "-")
    assert json.loads(done.out)["score"] == 100
    assert done.err.startswith("ann: 100 of 100")


def test_no_page_goes_to_standard_output(run, subs):
    done = run("check", subs / "ann", "--html", "-")
    assert done.status == 2
    assert "--html writes a page into a file, and - is none; name one" in done.err


@pytest.mark.parametrize("command", ["check", "grade"])
def test_json_is_utf_8_whatever_the_terminal_has(subs, tmp_path, command):
    (subs / "ann" / "decoder.py").write_text("def softmax(x):\n    raise ValueError('é∑')\n", "utf-8")
    more = ["--out", tmp_path / "out"] if command == "grade" else []
    arguments = [command, subs / "ann", "-a", "hand-decoder", "--json", "-", *more]
    done = subprocess.run(
        [sys.executable, "-m", "grader", *map(str, arguments)],
        env={**clean_environment(), "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"},
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert "é∑" in done.stdout.decode("utf-8")
    assert json.loads(done.stdout)["status"] == "graded"


@pytest.mark.skipif(sys.platform == "win32", reason="pipes of POSIX")
@pytest.mark.parametrize(("source", "status"), [("right", 0), ("wrong", 1)])
@pytest.mark.parametrize(
    "arguments", [["check"], ["check", "--json", "-"], ["grade"], ["grade", "--json", "-"], ["grade", "-j", "2"]]
)
def test_a_reader_that_leaves_changes_nothing(tmp_path, source, status, arguments):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "decoder.py").write_text(SOURCES[source], "utf-8")
    names = ["one", "two"] if "-j" in arguments else ["one"]
    more = ["--out", str(tmp_path / "out")] if arguments[0] == "grade" else []
    command = [sys.executable, "-m", "grader", arguments[0], *(str(tmp_path / name) for name in names)]
    ran = [*command, "-a", "hand-decoder", *arguments[1:], *more]
    pipe = subprocess.PIPE
    with subprocess.Popen(ran, env=clean_environment(), stdout=pipe, stderr=pipe, text=True) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()
        said = running.stderr.read()
    assert running.returncode == status, said
    assert "Broken" not in said
    assert "Traceback" not in said
    if arguments[0] == "grade":
        assert set(book(tmp_path)) == set(names)
