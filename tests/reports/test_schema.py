"""What the grader writes fits the schema that it ships, and is the same bytes again, also in another process."""

import json
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest

import grader
from grader.worker import Tampered
from tests.folders import clean_environment
from tests.reports.submissions import SOURCES

SCHEMA = json.loads((files("specs") / "rubric.schema.json").read_text("utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
MORE = {
    "empty": "",
    "crashing": SOURCES["right"].replace("def loss(Z, targets):", "def loss(Z, targets):\n    import os; os._exit(3)"),
    "nan": SOURCES["right"].replace("    return e / np", "    return np.nan * e / np"),
    "infinite": SOURCES["right"].replace("    return softmax(masked)", "    return np.where(S > 0, np.inf, S)"),
    "huge": SOURCES["right"].replace("    return softmax(masked)", "    return S * 1e308 * 10 ** (S.sum() > 0)"),
    "strings": SOURCES["right"].replace("    return gain * normalized + shift", "    return 'x'"),
}


def problems(rubric):
    return [f"{error.json_path}: {error.message[:200]}" for error in VALIDATOR.iter_errors(rubric)]


def put(folder: Path, name: str) -> Path:
    path = folder / f"{name}.py"
    path.write_text({**SOURCES, **MORE}[name], "utf-8")
    return path


def timeless(text: str) -> bytes:
    rubric = json.loads(text)
    del rubric["timing"]
    return json.dumps(rubric, sort_keys=False).encode()


def test_schema_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("name", [*SOURCES, *MORE])
def test_rubric_fits_the_schema(tmp_path, name):
    assert problems(json.loads(grader.grade(put(tmp_path, name), assignment="hand-decoder").to_json())) == []


def test_missing_submission_fits_the_schema(tmp_path):
    rubric = grader.grade(tmp_path / "nothing.py", assignment="hand-decoder").rubric
    assert problems(rubric) == []
    assert rubric["submission"]["sha256"] is None


def test_tampered_submission_fits_the_schema(tmp_path, monkeypatch):
    from grader.student import Student

    def tampered(*_):
        raise Tampered("a reply that was not asked for")

    monkeypatch.setattr(Student, "call", tampered)
    rubric = grader.grade(put(tmp_path, "right"), assignment="hand-decoder").rubric
    assert rubric["status"] == "tampered"
    assert (rubric["score"], rubric["passed"]) == (0, False)
    assert problems(rubric) == []


@pytest.mark.parametrize("change", [{"extra": 1}, {"status": "done"}, {"score": "46"}, {"schema_version": 2}])
def test_schema_refuses_what_is_not_in_the_contract(tmp_path, change):
    rubric = grader.grade(put(tmp_path, "unreadable"), assignment="hand-decoder").rubric
    assert problems({**rubric, **change})


def test_same_bytes_again_and_in_other_processes(tmp_path):
    path = put(tmp_path, "wrong")
    here = grader.grade(path, assignment="hand-decoder").to_json()
    again = grader.grade(path, assignment="hand-decoder").to_json()
    command = [sys.executable, "-m", "grader", "check", str(path), "-a", "hand-decoder", "--json", "-"]
    others = []
    for hash_seed in ("1", "2"):
        done = subprocess.run(
            command,
            env={**clean_environment(), "PYTHONHASHSEED": hash_seed},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )
        assert (done.returncode, done.stderr) == (1, "")
        others.append(done.stdout)
    assert {timeless(text) for text in (here, again, *others)} == {timeless(here)}


def test_seed_changes_the_numbers_and_is_recorded(tmp_path):
    path = put(tmp_path, "wrong")
    first, second = (grader.grade(path, assignment="hand-decoder", seed=seed).rubric for seed in (0, 1))
    assert second["provenance"]["seed"] == 1
    assert first["criteria"] != second["criteria"]
