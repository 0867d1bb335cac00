"""Jobs: the same bytes as alone, and a job that dies touches the submission that it had."""

import sys
import tempfile
from pathlib import Path

import pytest

from tests.batch.conftest import ENDLESS, WRONG, written
from tests.folders import RIGHT
from tests.right.hand_decoder import HERE

posix = pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is needed")


def folders() -> set[str]:
    return {path.name for path in Path(tempfile.gettempdir()).glob("decoder-grader-job-*")}


def test_a_class_is_graded_alike_by_one_and_by_several(grade, hand_in, tmp_path):
    before = folders()
    paths = hand_in(ann=RIGHT, bob=WRONG, carol=ENDLESS, dora="def softmax(x)\n", eve="import os\nos._exit(0)\n")
    paths += [HERE / "with_helpers", HERE / "numpy_fused_qkv.py", tmp_path / "nobody.py"]
    alone = grade(paths, "alone")
    several = grade(reversed(paths), "several", jobs=3)
    assert {name: str(outcome) for name, outcome in several.items()} == {
        n: str(outcome) for n, outcome in alone.items()
    }
    assert [alone[name].rubric["score"] for name in ("ann", "with_helpers")] == [10, 10]
    assert [alone[name].rubric["status"] for name in ("dora", "eve", "nobody")] == ["unreadable"] * 3
    assert written(tmp_path / "several") == written(tmp_path / "alone")
    assert len(written(tmp_path / "alone")) == 5 * len(paths)
    assert folders() <= before


@posix
@pytest.mark.parametrize("jobs", [2, 3])
def test_a_job_that_is_killed_touches_one_submission(grade, hand_in, tmp_path, jobs):
    before = folders()
    outcomes = grade(hand_in(ann=RIGHT, bob=WRONG, dies=RIGHT, dies_once=RIGHT, fault=RIGHT), jobs=jobs)
    reasons = {name: outcome.reason for name, outcome in outcomes.items() if outcome.rubric is None}
    assert reasons["dies"] == "the grader's process has ended 2 times while it graded this (killed by signal 9)"
    assert "RuntimeError: of the check" in reasons["fault"]
    assert set(reasons) == {"dies", "fault"}, "what is retried is graded"
    assert outcomes["dies_once"].rubric["score"] == 10
    assert outcomes["dies"].row.rubric is None, "never zero"
    assert not (tmp_path / "out" / "dies").exists()
    assert folders() <= before
