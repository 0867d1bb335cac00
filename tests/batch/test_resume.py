"""Interrupted and resumed: nothing that is done is lost, and nothing stale is kept."""

import csv
import os
import signal
import sys
import time

import pytest

from grader import batch, lane
from tests.batch.conftest import WRONG, command, written
from tests.folders import RIGHT


def resumed(outcomes) -> set[str]:
    return {name for name, outcome in outcomes.items() if outcome.resumed}


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent")
@pytest.mark.parametrize(("number", "jobs"), [(signal.SIGINT, 2), (signal.SIGTERM, 2), (signal.SIGTERM, 1)])
def test_an_interrupted_run_goes_on_where_it_was(hand_in, spec, tmp_path, number, jobs):
    names = [f"slow_{letter}" for letter in "abcdef"]
    paths, out = hand_in(**dict.fromkeys(names, RIGHT)), tmp_path / "out"
    first = command(paths, spec, out, "--jobs", jobs)
    deadline = time.monotonic() + 60
    while len(list(out.glob("*/.graded.json"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    (os.killpg if number == signal.SIGINT else os.kill)(first.pid, number)  # Ctrl-C reaches the whole group
    printed, errors = first.communicate(timeout=60)
    done = {path.parent.name for path in out.glob("*/.graded.json")}
    assert first.returncode == 130, errors
    assert 2 <= len(done) < 6
    told = int(errors.split("interrupted: ")[1].split(" of 6 are graded")[0])
    assert len(done) - jobs <= told <= len(done), "the signal may come between files and their lines"
    assert {line.split(":")[0] for line in printed.splitlines()} <= done
    assert "--resume" in errors
    assert "Traceback" not in errors
    with open(out / "gradebook.csv", encoding="utf-8", newline="") as file:
        rows = {row["name"]: (row["score"], row["status"]) for row in csv.DictReader(file)}
    graded = {name for name, row in rows.items() if row == ("10", "graded")}
    assert graded <= done
    assert len(graded) == told
    assert {rows[name] for name in names if name not in graded} == {("", "not-graded")}
    second = command(paths, spec, out, "--jobs", jobs, "--resume")
    printed, errors = second.communicate(timeout=60)
    assert second.returncode == 0, errors
    assert printed.count("(graded before)") == len(done)
    assert len(list(out.glob("*/.graded.json"))) == 6


def test_nothing_is_graded_twice(grade, hand_in, tmp_path):
    paths = hand_in(ann=RIGHT, bob=WRONG)
    grade(paths)
    before = written(tmp_path / "out")
    times = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*")}
    assert resumed(grade(paths, resume=True)) == {"ann", "bob"}
    assert written(tmp_path / "out") == before
    assert {path: path.stat().st_mtime_ns for path in times} == times


def test_whatever_decides_a_result_decides_what_is_kept(grade, hand_in, spec, tmp_path, monkeypatch):
    paths = hand_in(ann=RIGHT, bob=WRONG)
    grade(paths)
    hand_in(bob=RIGHT)
    assert resumed(grade(paths, resume=True)) == {"ann"}, "another submission"
    assert resumed(grade(paths, resume=True, seed=1)) == set(), "other numbers"
    assert resumed(grade(paths, resume=True, seed=1, level="process")) == set(), "another isolation"
    grade(paths)
    (tmp_path / "out" / "ann" / "report.md").write_text("", "utf-8")
    (tmp_path / "out" / "bob" / "rubric.json").unlink()
    assert resumed(grade(paths, resume=True)) == set(), "files that are not whole"
    for module in (batch, lane):
        monkeypatch.setattr(module, "grader_sha256", lambda: "another")
    assert resumed(grade(paths, resume=True)) == set(), "another grader of the same version"
    spec.write_text(spec.read_text("utf-8") + "\n# changed\n", "utf-8")
    assert resumed(grade(paths, resume=True)) == set(), "another spec"
    assert resumed(grade(paths, resume=True)) == {"ann", "bob"}


@pytest.mark.parametrize("damage", ["", "{", "[]", "null", '{"files": 3}', '{"files": {}}'])
def test_a_damaged_state_is_graded_again(grade, hand_in, tmp_path, damage):
    grade(hand_in(ann=RIGHT))
    (tmp_path / "out" / "ann" / ".graded.json").write_text(damage, "utf-8")
    assert resumed(grade(hand_in(), resume=True)) == set()


def test_a_fault_leaves_nothing_that_would_pass_for_a_result(grade, hand_in, tmp_path):
    (path,) = hand_in(fault=WRONG)
    outcome = grade([path])["fault"]
    assert outcome.rubric is None
    (tmp_path / "out" / "fault").mkdir(parents=True)
    (tmp_path / "out" / "fault" / "rubric.json").write_text("{}", "utf-8")
    grade([path])
    assert not list((tmp_path / "out" / "fault").iterdir())
