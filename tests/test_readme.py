"""Runs what the README says, and compares what it shows; `GRADER_UPDATE_GOLDEN=1` writes the output anew."""

import json
import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.folders import clean_environment
from tests.test_architecture import ROOT

README = ROOT / "README.md"
TEXT = README.read_text("utf-8")
SCRIPTS = Path(sysconfig.get_path("scripts"))


def block(kind: str, name: str) -> str:
    found = re.search(rf"<!-- {kind}: {name} -->\n```\w*\n(.*?)```", TEXT, re.DOTALL)
    assert found, f"README.md has no block <!-- {kind}: {name} -->"
    return found[1]


def run(line: str, cwd: Path, status: int = 0) -> str:
    """A line of the README in this environment, from a folder that looks like the clone."""
    command = re.sub(r"(\.\./)?\.venv/bin/", f"{SCRIPTS}{os.sep}".replace("\\", "/"), line)
    done = subprocess.run(
        command, shell=True, cwd=cwd, env=clean_environment(), capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == status, f"{line}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture
def clone(tmp_path) -> Path:
    """A folder with what the README's commands name."""
    (tmp_path / "tests").symlink_to(ROOT / "tests", target_is_directory=True)
    return tmp_path


pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the README's commands are for a POSIX shell")


def test_the_set_up_is_two_commands_and_uses_the_constraints():
    install, check = block("commands", "set-up").splitlines()
    assert "-c constraints.txt -e '.[all]'" in install
    assert check.startswith(".venv/bin/grader check ")


def test_the_output_shown_is_real(clone):
    shown, real = block("output", "check"), run(block("commands", "set-up").splitlines()[1], clone).strip("\n") + "\n"
    if os.environ.get("GRADER_UPDATE_GOLDEN") == "1":
        README.write_text(
            TEXT.replace(f"<!-- output: check -->\n```text\n{shown}", f"<!-- output: check -->\n```text\n{real}")
        )
        shown = real
    assert timeless(shown) == timeless(real)


def timeless(text: str) -> str:
    return re.sub(r"\d+(\.\d+)? (s|ms|seconds)\b", "0 s", text)


def test_what_students_type_works(clone):
    init, check = block("commands", "student").splitlines()
    run(init, clone)
    assert "Score 0 of 100" in run(check, clone, status=1)
    out = run(block("commands", "student-pytest"), clone, status=1)
    assert "FAILED decoder.py::attention-scores.shape" in out


def test_what_instructors_type_works(clone):
    run(block("commands", "instructor"), clone)
    rubric = json.loads((clone / "graded" / "decoder" / "rubric.json").read_text("utf-8"))
    assert rubric["status"] == "graded"
    assert (clone / "graded" / "gradebook.csv").exists()


def test_the_python_example_works(clone):
    (clone / "example.py").write_text(block("python", "api"), "utf-8")
    out = run(".venv/bin/python example.py", clone).split()
    assert 80 < float(out[0]) < 100
    assert out[1:] == ["True", "scale-by-width"]


def test_the_launcher_works(clone):
    run(block("commands", "launcher"), clone, status=1)
    report = json.loads((clone / ".report.json").read_text("utf-8"))
    assert report["rubric"]["misconceptions"]


def test_links_lead_somewhere():
    for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        for link in re.findall(r"\]\(([^)#:]+)\)", (ROOT / name).read_text("utf-8")):
            assert (ROOT / link).exists(), f"{name}: {link}"
