"""Builds the wheel, installs it where the checkout is out of reach, and grades from a folder that holds decoys."""

import json
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from tests.folders import RIGHT, clean_environment, patched
from tests.test_architecture import ROOT, ids, tracked

pytestmark = pytest.mark.slow
DECOYS = ("numpy", "grader", "decoder_grader", "pydantic", "click", "torch", "json")
FOLDERS = ("reference", "specs", "student_template", "tests")
WRONG = patched(("Q.shape[1] ** -0.5", "Q.shape[0] ** -0.5"))


def call(*command: object, cwd: Path, status: int = 0) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=clean_environment(),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    call(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, ROOT, cwd=out)
    return next(out.glob("*.whl"))


@pytest.fixture(scope="module")
def scripts(wheel, tmp_path_factory) -> Path:
    """A fresh environment with the wheel; what it depends on is lent from the environment of the tests."""
    home = tmp_path_factory.mktemp("fresh")
    venv.create(home, with_pip=False, symlinks=sys.platform != "win32")
    folder = home / ("Scripts" if sys.platform == "win32" else "bin")
    python = folder / "python"
    site = Path(call(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=home).strip())
    (site / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n", "utf-8")
    call(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", "-q", wheel, cwd=home)
    where = call(python, "-c", "import grader, reference, specs; print(grader.__file__, specs.__file__)", cwd=home)
    assert str(home) in where.split()[0]
    assert str(home) in where.split()[1]
    return folder


@pytest.fixture
def decoys(tmp_path) -> Path:
    """A folder full of traps, and two submissions; each trap tells when it is run."""
    for name in DECOYS:
        (tmp_path / f"{name}.py").write_text(f"raise SystemExit('the decoy {name}.py was run')\n", "utf-8")
    for name in FOLDERS:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(f"raise SystemExit('the decoy {name} was run')\n", "utf-8")
    (tmp_path / "specs" / "hand-decoder.toml").write_text("id = 'decoy'\n", "utf-8")
    (tmp_path / "sitecustomize.py").write_text("raise SystemExit('the decoy sitecustomize.py was run')\n", "utf-8")
    (tmp_path / "alice.py").write_text(RIGHT, "utf-8")
    (tmp_path / "bob.py").write_text(WRONG, "utf-8")
    return tmp_path


def test_the_wheel_holds_every_file_of_the_packages_and_no_other(wheel):
    packages = ("grader/", "reference/", "specs/", "student_template/")
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert held == {ids(path) for path in tracked() if ids(path).startswith(packages)}


def test_the_script_is_not_led_astray(scripts, decoys):
    for name, right in (("alice", True), ("bob", False)):
        command = ("grade", f"{name}.py", "--assignment", "hand-decoder", "--out", "out")
        call(scripts / "grader", *command, cwd=decoys)
        rubric = json.loads((decoys / "out" / name / "rubric.json").read_text("utf-8"))
        assert rubric["assignment"]["title"].startswith("One attention head")
        assert rubric["status"] == "graded"
        assert (rubric["score"] == 100) is right


def test_the_pytest_launcher_is_not_led_astray(scripts, decoys):
    command = ("-m", "grader.pytest_plugin", "alice.py", "--assignment", "hand-decoder", "-q")
    assert "100 of 100 points, passed" in call(scripts / "python", "-I", *command, cwd=decoys)


def test_init_then_check_then_pytest(scripts, tmp_path):
    call(scripts / "grader", "init", "hand-decoder", "work", cwd=tmp_path)
    (tmp_path / "work" / "decoder.py").write_text(RIGHT, "utf-8")
    assert "100 of 100" in call(scripts / "grader", "check", cwd=tmp_path / "work")
    assert "100 of 100 points, passed" in call(scripts / "python", "-m", "pytest", "-q", cwd=tmp_path / "work")


def test_an_installed_grader_is_found_by_pytest_without_asking(scripts, tmp_path):
    assert "decoder-grader" in call(scripts / "python", "-m", "pytest", "--version", "--version", cwd=tmp_path)
