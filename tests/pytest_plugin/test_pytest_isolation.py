"""Where code runs: nothing of the submission in pytest's process, nothing of ours in a run that grades nothing."""

import sys

import pytest

from tests.folders import lay, patched, run, run_launcher, run_pytest

TELLTALE = "import sys\nassert 'pytest' not in sys.modules, 'imported by pytest'\n" + patched()
FEW = ("-k", "softmax and row-sums")


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("decoder.py",),
        ("--doctest-modules",),
        ("-o", "python_files=*.py"),
        ("--import-mode=importlib", "decoder.py"),
    ],
    ids=" ".join,
)
def test_no_way_to_call_pytest_imports_the_submission(tmp_path, arguments):
    lay(tmp_path, decoder=TELLTALE, test_mine="raise ImportError('imported')\n")
    ran = run_pytest(tmp_path, *arguments, *FEW)
    assert ran.outcomes == {"softmax.row-sums": "passed"}, ran.out
    assert ran.status == 0


def test_a_package_is_not_imported_either(tmp_path):
    lay(tmp_path, decoder=TELLTALE, __init__="import pathlib; pathlib.Path(__file__ + '.ran').touch()\n")
    assert run_pytest(tmp_path, *FEW).outcomes == {"softmax.row-sums": "passed"}
    assert not (tmp_path / "__init__.py.ran").exists()


def test_a_module_of_the_students_own_does_not_become_ours(tmp_path):
    lay(tmp_path, decoder=TELLTALE, pydantic="raise ImportError('decoy')\n")
    assert run_pytest(tmp_path, *FEW).outcomes == {"softmax.row-sums": "passed"}


def test_the_launcher_reads_nothing_of_the_folder(tmp_path):
    decoy = "raise SystemExit('decoy')\n"
    lay(
        tmp_path, "[pytest]\naddopts = --no-such-option\n", decoder=TELLTALE, conftest=decoy, pytest=decoy, pluggy=decoy
    )
    ran = run_launcher(tmp_path, *FEW, PYTEST_ADDOPTS="--no-such-option", PYTEST_PLUGINS="conftest")
    assert ran.outcomes == {"softmax.row-sums": "passed"}, ran.out
    assert ran.status == 0
    assert not (tmp_path / ".pytest_cache").exists()


def test_the_launcher_takes_a_file_from_anywhere(tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    lay(tmp_path / "in", alice=TELLTALE)
    command = [sys.executable, "-I", "-m", "grader.pytest_plugin", "../in/alice.py", "--assignment", "hand-decoder"]
    ran = run(elsewhere, *command, "--json-report", "--seed", "5")
    assert ran.report["rubric"]["submission"]["name"] == "alice"
    assert ran.report["rubric"]["provenance"]["seed"] == 5
    assert ran.report["rubric"]["score"] == 100
    assert {test["nodeid"].split("::")[0] for test in ran.report["tests"]} == {"decoder.py"}


def test_the_launcher_refuses_an_unknown_assignment(tmp_path):
    command = [sys.executable, "-I", "-m", "grader.pytest_plugin", ".", "--assignment", "no-such"]
    ran = run(tmp_path, *command)
    assert ran.status == 2
    assert "there are: decoder-block, decoder-lm, encoder-block, hand-decoder;" in ran.out


def test_without_the_key_the_plugin_loads_nothing(tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\n", "utf-8")
    (tmp_path / "test_other.py").write_text(
        "import sys\n\ndef test_it():\n"
        "    ours = sorted(n for n in sys.modules if n.split('.')[0] in ('grader', 'reference', 'specs'))\n"
        "    assert ours == ['grader', 'grader.pytest_plugin', 'grader.pytest_plugin.entry']\n"
        "    assert not {'numpy', 'pydantic', 'torch'} & set(sys.modules)\n",
        "utf-8",
    )
    ran = run_pytest(tmp_path, "-p", "no:hypothesispytest")
    assert ran.status == 0, ran.out
    assert "rubric" not in ran.report
