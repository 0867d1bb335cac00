"""What runs: -k, -x, --lf, single ids, --collect-only, and what happens to checks that wait for others."""

import sys

import pytest

from tests.folders import INI, lay, patched, run, run_pytest

WRONG_LOSS = patched(("return -logp[arange(len(targets)), targets].mean()", "return logp"))


@pytest.fixture(scope="module")
def wrong_loss(tmp_path_factory):
    return lay(tmp_path_factory.mktemp("selection"), decoder=WRONG_LOSS)


def test_ids_are_file_part_and_check(wrong_loss):
    ran = run_pytest(wrong_loss, "decoder.py::attention-head.row-sums")
    assert ran.outcomes == {"attention-head.row-sums": "passed"}
    assert ran.report["tests"][0]["nodeid"] == "decoder.py::attention-head.row-sums"
    assert ran.status == 0


def test_k_selects_by_check_part_and_criterion(wrong_loss):
    assert {key.split(".")[1] for key in run_pytest(wrong_loss, "-k", "row-sums").outcomes} == {"row-sums"}
    by_part = run_pytest(wrong_loss, "-k", "attention_head and not multi_head_attention").outcomes
    assert {key.split(".")[0] for key in by_part} == {"attention-head"}
    by_criterion = run_pytest(wrong_loss, "-k", "causality").outcomes
    assert {key.split(".")[1] for key in by_criterion} == {
        "future-does-not-matter",
        "past-matters",
        "zeros-above-diagonal",
    }


def test_part_of_the_checks_makes_no_score(wrong_loss):
    ran = run_pytest(wrong_loss, "-k", "row-sums")
    assert ran.report["rubric"] is None
    assert "checks ran" in ran.report["rubric_absent"]
    assert "no score" in ran.out


def test_what_waits_for_a_failed_check_is_skipped_beside_it(wrong_loss):
    ran = run_pytest(wrong_loss, "-k", "loss and not hand")
    assert ran.outcomes["loss.shape"] == "failed"
    assert ran.statuses["loss.value"] == "blocked"
    assert ran.outcomes["loss.value"] == "skipped"
    assert ran.status == 1


def test_what_waits_for_a_failed_check_that_does_not_run_fails_and_says_why(wrong_loss):
    ran = run_pytest(wrong_loss, "decoder.py::loss.value")
    assert ran.outcomes == {"loss.value": "failed"}
    assert "waits for loss.shape" in ran.text("loss.value")
    assert "expected a single number" in ran.text("loss.value")
    assert ran.status == 1


def test_x_stops_at_the_first_failure_and_lf_repeats_it(tmp_path):
    wrong_loss = lay(tmp_path, decoder=WRONG_LOSS)
    first = run_pytest(wrong_loss, "-x")
    assert list(first.outcomes)[-1] == "loss.shape"
    assert first.status == 1
    again = run_pytest(wrong_loss, "--lf")
    assert again.outcomes == {"loss.shape": "failed"}


def test_collecting_runs_no_code_of_the_submission(tmp_path):
    loud = "open('was-here', 'w').close()\nraise SystemExit\n"
    ran = run_pytest(lay(tmp_path, decoder=loud), "--collect-only", "-q")
    assert "decoder.py::softmax.shape" in ran.out
    assert not (tmp_path / "was-here").exists()


def test_numprocesses_of_xdist_is_passed_over(wrong_loss):
    pytest.importorskip("xdist")
    ran = run_pytest(wrong_loss, "-n", "2")
    assert "xdist is not used here" in ran.out
    assert ran.report["rubric"]["status"] == "graded"


def test_the_submission_is_seen_from_the_ini_file_as_the_assignment_is(tmp_path):
    """pytest may be started above it, or below."""
    folder = lay(tmp_path / "course", ini=INI + "grader_submission = handed/alice\n", decoder="")
    lay(folder / "handed" / "alice", ini="", decoder=WRONG_LOSS)
    (folder / "handed" / "alice" / "pytest.ini").unlink()
    for where, arguments in ((tmp_path, ("course",)), (folder / "handed", ("..",))):
        command = (sys.executable, "-m", "pytest", "-c", str(folder / "pytest.ini"), "--json-report", *arguments)
        ran = run(where, *command, "-k", "loss and value and not hand")
        assert ran.statuses["loss.value"] == "blocked", ran.out
