"""What the sandbox may read: all of NumPy's and torch's, nothing of ours, wherever either lies."""

import sys
from pathlib import Path

import pytest

from grader.worker import Host
from grader.worker.inside.landlock import LIST, READ
from grader.worker.launch import library_paths
from grader.worker.levels import levels_available
from grader.worker.view import OURS, _opened, view, withheld

ROOT = Path(__file__).parents[2]
posix = pytest.mark.skipif(sys.platform == "win32", reason="paths of POSIX")


def readable(rules, path):
    return any(kind == READ and (str(path) == p or str(path).startswith(f"{p}/")) for kind, p in rules)


@posix
def test_the_libraries_are_in_view_and_the_grader_is_not():
    rules = view(sys.executable, tuple(library_paths()))
    import numpy

    assert readable(rules, numpy.__file__)
    assert readable(rules, json_file())
    assert not any(readable(rules, ROOT / name / "__init__.py") for name in OURS)


def json_file():
    import json

    return json.__file__


@pytest.fixture
def packages(tmp_path):
    """A folder of packages as pip leaves it: ours beside NumPy, a course's own package that extends us, links."""
    folder = tmp_path / "site-packages"
    for name in ("grader", "reference", "specs", "student_template", "numpy", "course", "innocent"):
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text(f"name = {name!r}\n")
    (folder / "single.py").write_text("answers = 42\n")
    for dist, text in {
        "course-1.0": "[console_scripts]\nc = innocent:x\n\n[grader.checks]\nx = course.checks\n\n[other]\ny = numpy\n",
        "single-2.0": "[grader.assignments]\nz = single:spec\n",
    }.items():
        (folder / f"{dist}.dist-info").mkdir()
        (folder / f"{dist}.dist-info" / "entry_points.txt").write_text(text)
    (folder / "alias").symlink_to(folder / "reference")
    (folder / "outward").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").mkdir()
    (folder / "editable.pth").write_text(str(tmp_path))
    return folder


@posix
def test_a_folder_with_something_withheld_is_opened_entry_by_entry(packages):
    hidden = withheld([str(packages)])
    rules = list(_opened(str(packages), hidden, [str(packages)]))
    assert rules[0] == (LIST, str(packages))
    shown = {Path(path).name for kind, path in rules if kind == READ}
    assert shown == {"numpy", "innocent", "course-1.0.dist-info", "single-2.0.dist-info"}


@posix
def test_what_lies_deeper_splits_the_folders_above(packages):
    hidden = withheld([str(packages)])
    rules = list(_opened(str(packages.parent), hidden, [str(packages.parent)]))
    assert not readable(rules, packages / "course" / "__init__.py")
    assert readable(rules, packages / "numpy" / "__init__.py")


@pytest.mark.skipif("sandbox" not in levels_available(), reason="this machine gives no sandbox")
def test_a_grader_installed_beside_numpy_cannot_be_read(packages, monkeypatch):
    monkeypatch.setattr("grader.worker.levels.library_paths", lambda: [str(packages)])
    source = "def f(path):\n    return open(path).read()\n"
    with Host("numpy", "sandbox") as host, host.start() as worker:
        worker.load({"m.py": source}, "m")
        for name in (*OURS, "course", "single.py", "alias"):
            path = packages / name if name.endswith(".py") else packages / name / "__init__.py"
            with pytest.raises(Exception, match=r"PermissionError|FileNotFoundError"):
                worker.call("f", (str(path),), "text")
        assert worker.call("f", (str(packages / "innocent" / "__init__.py"),), "text").value == "name = 'innocent'\n"


@posix
def test_a_python_that_does_not_answer_gives_an_empty_list_of_packages(tmp_path):
    assert view(str(tmp_path / "none")) == view("/bin/false")
