"""Grades the same submissions by command line, pytest, launcher and Python, and finds the same verdicts."""

import json
import subprocess
import sysconfig
from importlib.util import find_spec
from pathlib import Path

import pytest

import grader
from grader.hosts import Hosts
from tests.folders import Ran, clean_environment, lay, patched, run_launcher, run_pytest
from tests.right.hand_decoder import HERE

TORCH = (HERE / "torch_plain.py").read_text("utf-8")
SUBMISSIONS = {
    "right": patched(),
    "right in torch": TORCH,
    "scaled by the sequence": patched(("Q.shape[1] ** -0.5", "Q.shape[0] ** -0.5")),
    "future not masked": patched(("softmax(S + NEG * future)", "softmax(S)")),
    "post-norm": patched(("    a = norm_with(H, block", "    a = norm_with(2 * H + 1, block")),
    "raises": patched(("    mu = einsum", "    raise ValueError(f'shape is {H.shape}')\n    mu = einsum")),
    "leaves the process": patched(("    c = Z - Z.max", "    __import__('os')._exit(3)\n    c = Z - Z.max")),
    "two names missing": patched(("def loss(", "def cross_entropy("), ("def layer_norm(", "def norm(")),
    "syntax error": patched(("def loss(Z, targets):", "def loss(Z, targets)")),
    "exits at import": "raise SystemExit('done')\n",
    "nothing in it": "",
}


@pytest.fixture(scope="module")
def hosts():
    with Hosts() as hosts:
        yield hosts


@pytest.fixture(scope="module", params=list(SUBMISSIONS))
def folder(request, tmp_path_factory) -> Path:
    if request.param == "right in torch" and not find_spec("torch"):
        pytest.skip("torch is not installed")
    return lay(tmp_path_factory.mktemp("front") / "alice", decoder=SUBMISSIONS[request.param])


@pytest.fixture(scope="module")
def result(folder, hosts) -> grader.Result:
    return grader.grade(folder, assignment="hand-decoder", hosts=hosts)


@pytest.fixture(scope="module")
def in_pytest(folder) -> Ran:
    return run_pytest(folder)


def timeless(rubric):
    return {key: value for key, value in rubric.items() if key != "timing"}


def test_command_line_gives_the_same_rubric(folder, result, tmp_path):
    script = Path(sysconfig.get_path("scripts")) / "grader"
    command = [script, "grade", folder, "--assignment", "hand-decoder", "--out", tmp_path / "out"]
    done = subprocess.run(
        [*map(str, command), "--json", str(tmp_path / "rubric.json")],
        cwd=tmp_path,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == (0 if result.passed else 1), done.stdout + done.stderr
    rubric = json.loads((tmp_path / "rubric.json").read_text("utf-8"))
    assert timeless(rubric) == timeless(result.rubric)
    assert timeless(json.loads((tmp_path / "out" / "alice" / "rubric.json").read_text("utf-8"))) == timeless(rubric)


def test_pytest_gives_the_same_rubric(result, in_pytest):
    assert timeless(in_pytest.report["rubric"]) == timeless(result.rubric)


def test_pytest_items_have_the_same_verdicts(result, in_pytest):
    assert in_pytest.statuses == {verdict.id: verdict.status for verdict in result.verdicts}
    passed = {verdict.id for verdict in result.verdicts if verdict.passed}
    assert {key for key, outcome in in_pytest.outcomes.items() if outcome == "passed"} == passed


def test_pytest_fails_where_something_is_not_passed(result, in_pytest):
    assert in_pytest.status == (0 if all(verdict.passed for verdict in result.verdicts) else 1), in_pytest.out


def test_the_launcher_gives_the_same_rubric(folder, result):
    assert timeless(run_launcher(folder).report["rubric"]) == timeless(result.rubric)
