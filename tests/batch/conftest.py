"""A small assignment, a class that hands it in, and a check that ends the grader's own process."""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path

import pytest

from grader.batch import Order, Outcome, run
from grader.checks import registry
from grader.names import tasks
from grader.reports import all_reports
from grader.spec import load
from tests.folders import RIGHT, clean_environment, patched

PLUGIN = '''
import os, signal, time
from pathlib import Path
from grader import Violation, check
from grader.cases import SMALLEST, some

@check(parts=["softmax"], says="The grader lives while it grades this.", cases=some(SMALLEST))
def grader_lives(part, case):
    """What a fault of the machine would do: end the process that grades, once or always, or take long."""
    name = part.caller.submission.name
    once = Path(__file__).with_name("killed")
    if name == "dies" or (name == "dies_once" and not once.exists()):
        once.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    if name.startswith("slow"):
        time.sleep(0.5)
    if name == "fault":
        raise RuntimeError("of the check")
'''
CRITERION = '[[criteria]]\nid = "softmax"\ntitle = "softmax"\npoints = 10\nchecks = ["softmax.*"]\n'
WRONG = patched(("    z = exp(x - x.max(-1)[..., None])", "    print('here')\n    z = exp(-x + x.min(-1)[..., None])"))
ENDLESS = RIGHT + "\n\ndef softmax(x):\n    while True:\n        pass\n"


@pytest.fixture(autouse=True)
def temporary(monkeypatch, tmp_path_factory) -> Iterator[None]:
    """Temporary folders are made in a place that no other test of the same moment uses."""
    tmp_path_factory.getbasetemp()  # pytest's own is for all tests, whichever asks first
    with tempfile.TemporaryDirectory(prefix="decoder-grader-tests-") as folder:
        os.chmod(folder, 0o755)  # workers are other users
        monkeypatch.setenv("TMPDIR", folder)
        monkeypatch.setattr(tempfile, "tempdir", None)
        yield
        monkeypatch.undo()


@pytest.fixture
def spec(tmp_path) -> Iterator[Path]:
    """One function of hand-decoder, and the check above."""
    text = (files("specs") / "hand-decoder.toml").read_text("utf-8")
    head, *parts = re.split(r"(?=^\[\[)", text, flags=re.M)
    head = head.replace('id = "hand-decoder"', 'id = "softmax-only"\nplugins = ["lives.py"]')
    head = head.replace("call_seconds = 5", "call_seconds = 3")
    softmax = next(part for part in parts if 'name = "softmax"' in part)
    (tmp_path / "ours").mkdir()
    (tmp_path / "ours" / "softmax.toml").write_text(head + softmax + CRITERION, "utf-8")
    (tmp_path / "ours" / "lives.py").write_text(PLUGIN, "utf-8")
    yield tmp_path / "ours" / "softmax.toml"
    for known in (registry._things, registry._files, sys.modules):
        for key in [key for key in known if key == "grader-lives" or key.startswith("grader_plugin_")]:
            del known[key]


@pytest.fixture
def hand_in(tmp_path) -> Callable[..., list[Path]]:
    """Write submissions as files; the paths in the order of the names."""

    def write(**sources: str) -> list[Path]:
        folder = tmp_path / "handed-in"
        folder.mkdir(exist_ok=True)
        for name, source in sources.items():
            (folder / f"{name}.py").write_text(source, "utf-8")
        return sorted(folder.iterdir())

    return write


@pytest.fixture
def grade(tmp_path, spec) -> Callable[..., dict[str, Outcome]]:
    """Grade into a folder; the outcomes by name."""

    def grade(paths, out: str = "out", jobs: int = 1, **options) -> dict[str, Outcome]:
        reports = [all_reports().get(name) for name in ("html", "markdown", "text")]
        order = Order(load(spec), tmp_path / out, reports, **options)
        return {outcome.task.name: outcome for outcome in run(tasks(paths), order, jobs)}

    return grade


def written(out: Path) -> dict[str, bytes]:
    """Every file of a class's results; of a rubric all but `timing`."""
    found = {path.relative_to(out).as_posix(): path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()}
    for name in found:
        if name.endswith((".json",)):
            content = json.loads(found[name])
            content.pop("timing", None)
            content.pop("files", None)  # the rubric's hash, which the timing is a part of
            found[name] = json.dumps(content).encode()
    return found


def command(paths, spec: Path, out: Path, *more: object) -> "subprocess.Popen[str]":
    """`grader grade` as a process."""
    arguments = [sys.executable, "-m", "grader", "grade", *paths, "--assignment", spec, "--out", out, *more]
    return subprocess.Popen(
        list(map(str, arguments)),
        env=clean_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        start_new_session=True,
    )
