"""What a failure says, and what becomes of submissions that cannot be read, tamper, print, or meet a failing grader."""

import pytest

from tests.folders import INI, lay, patched, run_pytest

WRITER = """
import os

def write_everywhere():
    for fd in range(3, 20):
        try:
            os.write(fd, b"score 100")
        except OSError:
            pass

"""

BROKEN_CHECK = '''
"""A check with a bug of its own."""
from grader import check
from grader.cases import only_once


@check(parts=["softmax"], says="The grader has a bug.", cases=only_once, needs=())
def broken(part, case):
    return 1 // 0
'''


def test_a_failure_is_the_verdict_and_no_traceback_of_ours(tmp_path):
    ran = run_pytest(lay(tmp_path, decoder=patched(("Q.shape[1] ** -0.5", "Q.shape[0] ** -0.5"))))
    text = ran.text("attention-scores.value")
    assert text.startswith("the output: 6 of 6 entries differ")
    for part in ("The check:", "The case:", "  Q = [[", "Expected:", "Observed:", "Hint:"):
        assert part in text
    assert "pytest_plugin" not in ran.out
    assert "Traceback" not in ran.out
    assert "FAILED decoder.py::attention-scores.value - the output" in ran.out


def test_an_exception_shows_the_students_own_lines(tmp_path):
    broken = patched(("    mu = einsum", "    H.no_such_thing\n    mu = einsum"))
    text = run_pytest(lay(tmp_path, decoder=broken), "-k", "layer-norm").text("layer-norm.shape")
    assert text.startswith("error: AttributeError")
    assert "decoder.py, line 40, in layer_norm\n    H.no_such_thing" in text
    assert "grader" not in text


def test_a_missing_name_fails_and_says_what_to_write(tmp_path):
    ran = run_pytest(lay(tmp_path, decoder=patched(("def loss(", "def cross_entropy("))), "-k", "loss and not hand")
    assert set(ran.outcomes.values()) == {"failed"}
    assert "loss is not defined" in ran.text("loss.shape")
    assert "Write def loss(Z, targets): ..." in ran.text("loss.shape")


def test_a_file_that_cannot_be_imported_fails_once_and_skips_the_rest(tmp_path):
    ran = run_pytest(lay(tmp_path, decoder="def softmax(x)\n"))
    outcomes = list(ran.outcomes.values())
    assert outcomes[0] == "failed"
    assert set(outcomes[1:]) == {"skipped"}
    assert "line 1: SyntaxError" in ran.text("softmax.shape")
    assert ran.report["rubric"]["status"] == "unreadable"
    assert ran.status == 1


def test_no_file_at_all_fails_and_says_so(tmp_path):
    ran = run_pytest(lay(tmp_path))
    assert ran.status == 1
    assert "has no decoder.py" in ran.out


def test_tampering_fails_the_run_whatever_had_passed(tmp_path):
    liar = WRITER + patched(("    c = Z - Z.max", "    write_everywhere()\n    c = Z - Z.max"))
    ran = run_pytest(lay(tmp_path, decoder=liar))
    assert ran.report["rubric"]["status"] == "tampered"
    assert ran.report["rubric"]["score"] == 0
    assert "tampered" in ran.out
    assert ran.status == 1


def test_prints_are_in_the_captured_section_of_their_item(tmp_path):
    chatty = "print('at import')\n" + patched(
        ("    c = Z - Z.max", "    print('in loss')\n    return 1 // 0\n    c = Z - Z.max")
    )
    ran = run_pytest(lay(tmp_path, decoder=chatty), "-k", "loss and not hand", "-x")
    assert "Captured stdout call" in ran.out
    assert "at import" in ran.out
    assert "in loss" in ran.out


def instructors(folder, extra, check=BROKEN_CHECK):
    """A spec of an instructor's own, with a plugin beside it."""
    from importlib.resources import files

    spec = (files("specs") / "hand-decoder.toml").read_text("utf-8")
    head, rest = spec.split("[tolerances", 1)
    text = head.replace('id = "hand-decoder"', 'id = "ours"') + 'plugins = ["extra.py"]\n\n[tolerances' + rest
    (folder / "ours.toml").write_text(text.replace('id = "softmax"', f'id = "softmax"\n{extra}'), "utf-8")
    (folder / "extra.py").write_text(check, "utf-8")


def test_a_grader_that_fails_is_an_error_that_says_not_graded(tmp_path):
    instructors(tmp_path, "")
    ran = run_pytest(lay(tmp_path, INI.replace("hand-decoder", "ours.toml"), decoder=patched()))
    assert ran.status == 3
    assert ran.outcomes["softmax.broken"] == "error"
    assert ran.text("softmax.broken").startswith("not graded: ")
    assert ran.report["rubric"] is None
    assert ran.report["rubric_absent"].startswith("not graded: ")
    assert " 1 error in " in ran.out


def test_a_hidden_check_shows_nothing_but_that_it_failed(tmp_path):
    hidden = BROKEN_CHECK.replace("return 1 // 0", "part(case.rng.random((2, 3))); return Violation('the secret')")
    hidden = hidden.replace("import check", "import Violation, check")
    instructors(tmp_path, 'hidden = ["softmax.broken"]', hidden)
    loud = patched(("    z = exp", "    print('secret input', x)\n    z = exp"))
    folder = lay(tmp_path, INI.replace("hand-decoder", "ours.toml"), decoder=loud)
    ran = run_pytest(folder, "-k", "softmax and broken")
    assert ran.outcomes == {"softmax.broken": "failed"}
    assert ran.text("softmax.broken") == "a hidden check has not passed"
    assert "secret" not in ran.out


@pytest.mark.parametrize(
    ("assignment", "says"), [("no-such", "no assignment is called"), ("no.toml", "cannot be read")]
)
def test_an_unknown_assignment_is_a_usage_error(tmp_path, assignment, says):
    ran = run_pytest(lay(tmp_path, f"[pytest]\ngrader_assignment = {assignment}\n", decoder=patched()))
    assert ran.status == 4
    assert says in ran.out
