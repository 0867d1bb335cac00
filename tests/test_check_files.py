"""Check files beside a spec: known by where they lie and what they say, kept apart, whole or not at all."""

import os
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

from grader.checks import all_checks
from grader.engine import plan
from grader.explain import lookup
from grader.lane import address
from grader.misconceptions import all_misconceptions
from grader.spec import SpecError, load
from tests.folders import RIGHT, clean_environment

CHECK = """
from grader import Violation, check
from grader.cases import SMALLEST, some

@check(parts=["softmax"], says="{says}", cases=some(SMALLEST), carried={carried})
def half(part, case):
    return Violation("no")
"""
MISTAKE = """
from grader.misconceptions import misconception

@misconception("softmax-once-more", part="softmax", title="t", formula="f", why="w", cure="c")
def once_more(x):
    return x
"""


def course(folder: Path, plugin: str = CHECK.format(says="Half.", carried=True), more: str = "") -> Path:
    """A spec of one's own with a check file beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    text = (files("specs") / "hand-decoder.toml").read_text("utf-8")
    text = text.replace('id = "hand-decoder"', f'id = "ours"\nplugins = ["checks.py"{more}]')
    (folder / "ours.toml").write_text(text, "utf-8")
    (folder / "checks.py").write_text(plugin, "utf-8")
    return folder / "ours.toml"


def own(spec) -> list[str]:
    """What the plugin says, by check."""
    return [item.check.says for item in plan(spec) if item.check.name == "half"]


@pytest.fixture
def spellings(tmp_path, monkeypatch) -> dict[str, str]:
    """The same spec in words of several kinds, from a working directory beside it."""
    spec = course(tmp_path / "specs")
    (tmp_path / "work").mkdir()
    (tmp_path / "far" / "away").mkdir(parents=True)
    (tmp_path / "far" / "away" / "linked").symlink_to(tmp_path / "specs", target_is_directory=True)
    (tmp_path / "work" / "linked").symlink_to(tmp_path / "far" / "away", target_is_directory=True)
    monkeypatch.chdir(tmp_path / "work")
    return {
        "absolute": str(spec),
        "up": "../specs/ours.toml",
        "roundabout": "../work/.././specs/ours.toml",
        "link": "../far/away/linked/ours.toml",
        "up from a link": "linked/../../specs/ours.toml",
    }


@pytest.mark.parametrize("first", ["absolute", "up", "roundabout", "link", "up from a link"])
def test_a_spec_keeps_its_checks_however_its_path_is_written(spellings, first):
    for name in (first, *spellings):
        spec = load(spellings[name])
        assert own(spec) == ["Half."], name
        again = load(address(spec))
        assert own(again) == ["Half."], name
        assert again.sha256 == spec.sha256
    assert own(load("hand-decoder")) == []


@pytest.mark.parametrize(("jobs", "name"), [("1", "up"), ("2", "up from a link")])
def test_a_class_is_graded_by_them_in_one_process_and_in_several(spellings, tmp_path, jobs, name):
    Path("decoder.py").write_text(RIGHT, "utf-8")
    command = [sys.executable, "-m", "grader", "grade", "decoder.py", "-a", spellings[name], "-o", "out", "-j", jobs]
    subprocess.run(command, env=clean_environment(), check=False, timeout=120, capture_output=True)
    assert "softmax.half" in (tmp_path / "work" / "out" / "decoder" / "rubric.json").read_text("utf-8")


def test_of_a_file_that_fails_halfway_nothing_is_left_and_mended_it_loads(tmp_path):
    spec = course(tmp_path, CHECK.format(says="Half.", carried=True) + MISTAKE + "raise RuntimeError('oops')\n")
    with pytest.raises(SpecError, match=r"checks\.py cannot be imported: oops"):
        load(spec)
    assert "half" not in all_checks()
    assert "softmax-once-more" not in all_misconceptions()
    course(tmp_path, CHECK.format(says="Half.", carried=True) + MISTAKE)
    assert own(load(spec)) == ["Half."]
    assert "softmax-once-more" in all_misconceptions()


def test_a_file_that_ends_python_is_an_error(tmp_path):
    with pytest.raises(SpecError, match=r"checks\.py cannot be imported: 3"):
        load(course(tmp_path, "import sys\nsys.exit(3)\n"))


def test_a_changed_file_is_read_again_and_who_has_loaded_the_old_one_keeps_it(tmp_path):
    old = load(course(tmp_path))
    written = os.stat(tmp_path / "checks.py")
    new = course(tmp_path, CHECK.format(says="Hall.", carried=True))
    os.utime(tmp_path / "checks.py", ns=(written.st_atime_ns, written.st_mtime_ns))
    assert own(load(new)) == ["Hall."]
    assert own(old) == ["Half."]


def test_two_courses_may_use_the_same_name_for_a_check(tmp_path):
    one = load(course(tmp_path / "2025", CHECK.format(says="As in 2025.", carried=True)))
    other = load(course(tmp_path / "2026", CHECK.format(says="As in 2026.", carried=True)))
    assert own(one) == ["As in 2025."]
    assert own(other) == ["As in 2026."]


def test_two_files_of_one_spec_may_not(tmp_path):
    spec = course(tmp_path, more=', "more.py"')
    (tmp_path / "more.py").write_text(CHECK.format(says="More.", carried=True), "utf-8")
    with pytest.raises(SpecError, match=r"more\.py: the check 'half' is already defined in .*checks\.py"):
        load(spec)


def test_a_name_of_ours_is_taken(tmp_path):
    with pytest.raises(SpecError, match=r"checks\.py: the check 'row-sums' is already defined in .*distributions\.py"):
        load(course(tmp_path, CHECK.format(says="Half.", carried=True).replace("def half", "def row_sums")))


def test_what_is_no_python_file_is_an_error(tmp_path):
    spec = course(tmp_path)
    spec.write_text(spec.read_text("utf-8").replace('"checks.py"', '"checks.txt"'), "utf-8")
    (tmp_path / "checks.txt").write_text("", "utf-8")
    with pytest.raises(SpecError, match=r"plugins: .*checks\.txt is no Python file"):
        load(spec)


def test_they_are_explained(tmp_path):
    assert [text.splitlines()[0] for text in lookup("softmax.half", load(course(tmp_path)))] == [
        "softmax.half: a check"
    ]
