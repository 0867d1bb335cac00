"""`grader grade`: a class, files that are whole, a gradebook that a spreadsheet can open."""

import csv
import json
import os
from pathlib import Path

import pytest

from grader import batch, lane, names
from grader.gradebook import COLUMNS, Row, cell, gradebook
from grader.output import write_whole
from grader.spec import load
from grader.worker import GraderFault
from tests.reports.submissions import RIGHT, SOURCES


@pytest.fixture
def handed_in(tmp_path) -> Path:
    """Three submissions as files."""
    folder = tmp_path / "handed-in"
    folder.mkdir()
    for name, source in SOURCES.items():
        (folder / f"{name}.py").write_text(source, "utf-8")
    return folder


def rows(out: Path) -> list[dict[str, str]]:
    with open(out / "gradebook.csv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def rubrics(out: Path) -> dict[str, dict]:
    found = {}
    for path in out.glob("*/rubric.json"):
        found[path.parent.name] = json.loads(path.read_text("utf-8"))
        del found[path.parent.name]["timing"]
    return found


@pytest.fixture
def grade(run, tmp_path):
    """Grade into `tmp_path / out`."""
    return lambda *arguments: run("grade", *arguments, "--assignment", "hand-decoder", "--out", tmp_path / "out")


@pytest.fixture
def failing(monkeypatch):
    """A grader that fails on the submission of one name."""
    whole = lane.grade

    def make(name: str, error: BaseException) -> None:
        def grade(path, **options):
            if options["name"] == name:
                raise error
            return whole(path, **options)

        monkeypatch.setattr(lane, "grade", grade)

    return make


def test_each_submission_gets_a_rubric_and_a_row(grade, handed_in, tmp_path):
    done = grade(*sorted(handed_in.iterdir()))
    assert done.status == 1
    assert [line.split(":")[0] for line in done.out.splitlines()] == ["right", "unreadable", "wrong"]
    book = rows(tmp_path / "out")
    assert [(row["name"], row["passed"], row["status"]) for row in book] == [
        ("right", "yes", "graded"),
        ("unreadable", "no", "unreadable"),
        ("wrong", "no", "graded"),
    ]
    for row in book:
        rubric = rubrics(tmp_path / "out")[row["name"]]
        assert float(row["score"]) == pytest.approx(rubric["score"], abs=1e-4)
        assert row["sha256"] == rubric["submission"]["sha256"]
    assert {path.name for path in (tmp_path / "out").rglob(".*")} == {".graded.json"}


def test_all_passed_is_status_0(grade, handed_in, tmp_path):
    assert grade(handed_in / "right.py", "--json", tmp_path / "one.json").status == 0
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "out" / "right" / "rubric.json").read_bytes()


def test_more_formats_lie_beside_the_rubric(grade, handed_in, tmp_path):
    grade(handed_in / "right.py", "--format", "text", "--format", "html", "--format", "markdown", "--format", "json")
    names = {path.name for path in (tmp_path / "out" / "right").iterdir()}
    assert names == {"rubric.json", ".graded.json", "report.txt", "report.html", "report.md"}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--format", "pdf"], "'pdf' is not known; there are: html, json, markdown, text"),
        (["--isolation", "moat"], "'moat' is not to be had; there are:"),
        (["--json", "x.json"], "--json takes one PATH, 2 are given"),
    ],
)
def test_unusable_options_are_status_2(grade, handed_in, arguments, says):
    done = grade(handed_in / "right.py", handed_in / "wrong.py", *arguments)
    assert done.status == 2
    assert says in done.err


@pytest.mark.parametrize(
    ("error", "reason"), [(GraderFault("no memory"), "no memory"), (TypeError("ours"), "TypeError: ours")]
)
def test_a_fault_of_ours_is_not_graded_and_never_zero(grade, handed_in, tmp_path, failing, error, reason):
    grade(handed_in / "right.py")
    failing("right", error)
    done = grade(*sorted(handed_in.iterdir()))
    assert done.status == 3
    first, *others = rows(tmp_path / "out")
    assert first == {**dict.fromkeys(COLUMNS, ""), "name": "right", "status": "not-graded", "reason": reason}
    assert [row["status"] for row in others] == ["unreadable", "graded"]
    assert "through no fault of the submission" in done.err
    assert not (tmp_path / "out" / "right" / "rubric.json").exists(), "an earlier result would pass for this one"


def test_interruption_loses_nothing_and_says_so(grade, handed_in, tmp_path, failing):
    failing("unreadable", KeyboardInterrupt())
    done = grade(*sorted(handed_in.iterdir()))
    assert done.status == 130
    assert "1 of 3 are graded, and stay; the same command with --resume goes on" in done.err
    assert [(row["name"], row["score"], row["status"]) for row in rows(tmp_path / "out")] == [
        ("right", "100", "graded"),
        ("unreadable", "", "not-graded"),
        ("wrong", "", "not-graded"),
    ]


class TestResume:
    def test_what_has_not_changed_is_left(self, grade, handed_in, tmp_path):
        paths = sorted(handed_in.iterdir())
        grade(*paths)
        before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").glob("*/rubric.json")}
        book = (tmp_path / "out" / "gradebook.csv").read_bytes()
        done = grade(*paths, "--resume")
        assert done.out.count("(graded before)") == 3
        assert {path: path.stat().st_mtime_ns for path in before} == before
        assert (tmp_path / "out" / "gradebook.csv").read_bytes() == book

    def test_what_has_changed_is_graded_again(self, grade, handed_in, tmp_path):
        grade(handed_in / "right.py")
        assert "(graded before)" not in grade(handed_in / "right.py", "--resume", "--seed", "1").out
        (handed_in / "right.py").write_text(RIGHT + "# more\n", "utf-8")
        assert "(graded before)" not in grade(handed_in / "right.py", "--resume", "--seed", "1").out
        assert "(graded before)" not in grade(handed_in / "right.py", "--resume", "--seed", "1", "--format", "text").out
        assert "(graded before)" in grade(handed_in / "right.py", "--resume", "--seed", "1", "--format", "text").out


class TestNames:
    def paths(self, tmp_path, *names):
        for name in names:
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("", "utf-8")
        return [tmp_path / name for name in names]

    def called(self, paths):
        return [task.name for task in names.tasks(paths)]

    def test_files_and_folders_are_called_like_themselves(self, tmp_path):
        assert self.called([*self.paths(tmp_path, "a/alice.py"), tmp_path / "a"]) == ["alice", "a"]

    def test_colliding_names_get_the_parent_folder_in_front(self, tmp_path):
        paths = self.paths(tmp_path, "ann/decoder.py", "bob/decoder.py", "carol.py")
        assert self.called(paths) == ["ann-decoder", "bob-decoder", "carol"]

    def test_and_its_parent_when_that_is_not_enough(self, tmp_path):
        paths = self.paths(tmp_path, "1/ann/decoder.py", "2/ann/decoder.py", "2/bob/decoder.py")
        assert self.called(paths) == ["1-ann-decoder", "2-ann-decoder", "bob-decoder"]

    def test_case_does_not_tell_names_apart(self, tmp_path):
        assert self.called(self.paths(tmp_path, "x/Ann.py", "y/ann.py")) == ["x-Ann", "y-ann"]

    def test_the_same_path_twice_is_one_submission(self, tmp_path):
        (path,) = self.paths(tmp_path, "a/alice.py")
        assert self.called([path, tmp_path / "a" / ".." / "a" / "alice.py"]) == ["alice"]

    def test_names_that_collide_with_a_number_still_differ(self, tmp_path):
        paths = [Path("/x/a-b.py"), Path("/x/a/b.py"), Path("/y/a/b.py"), Path("/y/x-a-b.py")]
        assert len(set(self.called(paths))) == 4

    @pytest.mark.parametrize(
        "name", ["..", ".", "", "...", "a/b", "..\\x", "C:x", "\x1b[2J", "nul", "a\n", " ", "x" * 300]
    )
    def test_no_name_leads_out(self, name):
        safe = names.safe(name)
        assert safe
        assert safe not in (".", "..")
        assert len(safe) <= 101
        assert os.path.basename(safe) == safe
        assert not set(safe) & set('/\\:*?"<>|\n\x1b')

    def test_the_dot_is_called_like_the_folder(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        assert self.called([Path(".")]) == [tmp_path.name]

    def test_gradebook_keeps_its_place(self, tmp_path):
        (tmp_path / "gradebook.csv").mkdir()
        assert self.called([tmp_path / "gradebook.csv"]) != ["gradebook.csv"]


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"])
def test_formulas_get_an_apostrophe(text):
    assert cell(text).startswith("'")
    line = gradebook([Row(text, None, text)]).splitlines()[1]
    assert next(csv.reader([line]))[0].startswith("'")


@pytest.mark.parametrize("text", ["alice", "a=1", "Zoë", "0", ""])
def test_other_cells_stay(text):
    assert cell(text) == text


def test_writing_is_whole_or_not_at_all(tmp_path, monkeypatch):
    write_whole(tmp_path / "x.txt", "one")

    def refuse(*_):
        raise OSError("no space")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(OSError, match="no space"):
        write_whole(tmp_path / "x.txt", "two")
    assert [(path.name, path.read_text("utf-8")) for path in tmp_path.iterdir()] == [("x.txt", "one")]


def test_closing_the_run_ends_what_has_not_begun(handed_in, tmp_path):
    order = batch.Order(load("hand-decoder"), tmp_path / "out")
    running = batch.run(names.tasks(sorted(handed_in.iterdir())), order)
    assert next(running).task.name == "right"
    running.close()
    assert set(rubrics(tmp_path / "out")) == {"right"}


def test_what_nothing_confined_is_no_grade(grade, handed_in, tmp_path):
    ran = grade(handed_in / "right.py", "--isolation", "none")
    assert ran.status == 3
    assert "is for a debugger" in ran.err
    (row,) = rows(tmp_path / "out")
    assert (row["status"], row["score"]) == ("not-graded", "")
    assert not (tmp_path / "out" / "right" / "rubric.json").exists()
