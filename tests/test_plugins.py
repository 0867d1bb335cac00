"""Follows CONTRIBUTING.md word for word: a check from a package of one's own is found, runs, and is in the rubric."""

import json
import re
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

from tests.folders import RIGHT, clean_environment, patched

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", re.DOTALL)
NEGATED = patched(("    z = exp(x - x.max(-1)[..., None])", "    z = exp(-x + x.min(-1)[..., None])"))
GRADE = """
import grader, json, sys
result = grader.grade(sys.argv[1], assignment=sys.argv[2])
print(json.dumps(result.rubric))
"""


def documented() -> dict[str, str]:
    return dict(BLOCK.findall((ROOT / "CONTRIBUTING.md").read_text("utf-8")))


def install(package: Path, target: Path) -> None:
    """As pip does it, without the network."""
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--target", str(target)]
    command = [sys.executable, "-m", "pip", "install", *options, str(package)]
    subprocess.run(command, env=clean_environment(), check=True, timeout=120)


def package(folder: Path, *changes: tuple[str, str]) -> Path:
    """The documented package, with changes to its files."""
    for name, text in documented().items():
        if not name.startswith("my-checks/"):
            continue
        for old, new in changes:
            text = text.replace(old, new)
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return folder / "my-checks"


def grade(folder: Path, source: str, packages: Path | None = None, assignment: str = "hand-decoder"):
    (folder / "alice.py").write_text(source, "utf-8")
    return subprocess.run(
        [sys.executable, "-c", GRADE, str(folder / "alice.py"), assignment],
        env=clean_environment(**({"PYTHONPATH": str(packages)} if packages else {})),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


def checks(done) -> dict[str, dict]:
    assert done.returncode == 0, done.stderr
    return {check["id"]: check for line in json.loads(done.stdout)["criteria"] for check in line["checks"]}


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    target = tmp_path_factory.mktemp("site")
    install(package(tmp_path_factory.mktemp("source")), target)
    return target


def test_the_three_steps_are_documented():
    assert list(documented())[:2] == ["my-checks/my_checks.py", "my-checks/pyproject.toml"]


def test_a_right_submission_passes_the_new_check(installed, tmp_path):
    done = grade(tmp_path, RIGHT, installed)
    new = {key: check["status"] for key, check in checks(done).items() if key.endswith(".order-kept")}
    assert new == {"softmax.order-kept": "passed", "next-token-probabilities.order-kept": "passed"}
    assert json.loads(done.stdout)["score"] == 100


def test_a_wrong_submission_fails_it_with_its_own_words(installed, tmp_path):
    found = checks(grade(tmp_path, NEGATED, installed))["softmax.order-kept"]
    assert found["status"] == "failed"
    assert "is the most probable" in found["message"]
    assert found["evidence"]["hint"].endswith("look for a minus sign.")


def test_without_the_package_there_is_no_such_check(tmp_path):
    assert "softmax.order-kept" not in checks(grade(tmp_path, RIGHT))


def test_a_name_that_is_taken_is_an_error_that_names_both_files(tmp_path):
    install(package(tmp_path, ("order_kept", "row_sums")), tmp_path / "site")
    done = grade(tmp_path, RIGHT, tmp_path / "site")
    assert done.returncode != 0
    assert "RegistrationError" in done.stderr
    assert re.search(r"my_checks\.py: the check 'row-sums' is already defined in .*distributions\.py", done.stderr)


def test_a_package_that_cannot_be_imported_is_an_error_that_names_it(tmp_path):
    install(package(tmp_path, ("from grader.cases", "from grader.caess")), tmp_path / "site")
    done = grade(tmp_path, RIGHT, tmp_path / "site")
    assert done.returncode != 0
    assert "the entry point my-checks = my_checks of my-checks in grader.checks cannot be loaded" in done.stderr


def test_an_entry_point_to_nothing_is_an_error_that_names_it(tmp_path):
    install(package(tmp_path, ('my-checks = "my_checks"', 'my-checks = "no_such_module"')), tmp_path / "site")
    done = grade(tmp_path, RIGHT, tmp_path / "site")
    assert "the entry point my-checks = no_such_module of my-checks in grader.checks cannot be loaded" in done.stderr


def test_a_check_without_a_sentence_is_an_error_that_names_its_file(tmp_path):
    install(package(tmp_path, ("largest probability.", "largest probability")), tmp_path / "site")
    assert "my_checks.py: the check 'order-kept' needs" in grade(tmp_path, RIGHT, tmp_path / "site").stderr


def own_spec(folder: Path, plugin: str | None) -> str:
    """An instructor's spec with a check file beside it."""
    folder.mkdir(exist_ok=True)
    text = (files("specs") / "hand-decoder.toml").read_text("utf-8")
    text = text.replace('id = "hand-decoder"', 'id = "our-decoder"\nplugins = ["hidden_checks.py"]')
    (folder / "our.toml").write_text(text, "utf-8")
    if plugin is not None:
        (folder / "hidden_checks.py").write_text(plugin, "utf-8")
    return str(folder / "our.toml")


def test_a_check_file_beside_an_instructors_spec_is_found(tmp_path):
    spec = own_spec(tmp_path / "course", documented()["my-checks/my_checks.py"])
    assert checks(grade(tmp_path, RIGHT, assignment=spec))["softmax.order-kept"]["status"] == "passed"
    assert checks(grade(tmp_path, NEGATED, assignment=spec))["softmax.order-kept"]["status"] == "failed"


def test_the_spec_and_its_check_file_are_both_in_its_digest(tmp_path):
    digests = set()
    for plugin in ("", "# another\n"):
        done = grade(tmp_path, RIGHT, assignment=own_spec(tmp_path / "course", plugin))
        digests.add(json.loads(done.stdout)["assignment"]["spec_sha256"])
    assert len(digests) == 2


@pytest.mark.parametrize(
    ("plugin", "says"), [(None, "cannot be read"), ("1 // 0", "cannot be imported: integer division")]
)
def test_a_check_file_that_fails_is_an_error_that_names_it(tmp_path, plugin, says):
    done = grade(tmp_path, RIGHT, assignment=own_spec(tmp_path / "course", plugin))
    assert "SpecError" in done.stderr
    assert "hidden_checks.py" in done.stderr
    assert says in done.stderr


def test_an_assignment_of_another_package_is_found(tmp_path):
    own_spec(tmp_path / "site", documented()["my-checks/my_checks.py"])
    (tmp_path / "site" / "ours.py").write_text("import pathlib\nspec = pathlib.Path(__file__).with_name('our.toml')\n")
    entry_points(tmp_path / "site", "[grader.assignments]\nour-decoder = ours:spec\n")
    done = grade(tmp_path, RIGHT, tmp_path / "site", "our-decoder")
    assert json.loads(done.stdout)["assignment"]["id"] == "our-decoder", done.stderr


def entry_points(site: Path, text: str) -> None:
    """What an installed package leaves."""
    info = site / "ours-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: ours\nVersion: 1\n", "utf-8")
    (info / "entry_points.txt").write_text(text, "utf-8")


def test_a_misconception_of_another_package_is_named(tmp_path):
    entry_points(tmp_path / "site", "[grader.misconceptions]\nmine = my_mistake\n")
    (tmp_path / "site" / "my_mistake.py").write_text(documented()["more/my_mistake.py"], "utf-8")
    halved = patched(("    z = exp(x - x.max(-1)[..., None])", "    z = exp((x - x.max(-1)[..., None]) / 2)"))
    done = grade(tmp_path, halved, tmp_path / "site")
    assert done.returncode == 0, done.stderr
    assert {"softmax-halved"} == {named["id"] for named in json.loads(done.stdout)["misconceptions"]}


def test_a_report_of_another_package_is_written(tmp_path):
    entry_points(tmp_path / "site", "[grader.reports]\nmine = my_report\n")
    (tmp_path / "site" / "my_report.py").write_text(documented()["more/my_report.py"], "utf-8")
    (tmp_path / "alice.py").write_text(RIGHT, "utf-8")
    command = ["-m", "grader", "grade", "alice.py", "-a", "hand-decoder", "--out", "out", "--format", "points"]
    environment = clean_environment(PYTHONPATH=str(tmp_path / "site"))
    subprocess.run([sys.executable, *command], cwd=tmp_path, env=environment, check=True, timeout=120)
    assert (tmp_path / "out" / "alice" / "points.txt").read_text("utf-8") == "100\n"


def test_the_order_of_what_is_found_is_that_of_the_files_whoever_imported_one_of_them_before():
    code = "import grader.checks{}; print([check.name for check in grader.checks.all_checks()])"
    told = {
        subprocess.run(
            [sys.executable, "-c", code.format(first)],
            env=clean_environment(),
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for first in ("", ".wiring", ".temperature")
    }
    assert len(told) == 1
