"""The frame: help, list, statuses, faults in one line, and what is imported when."""

import subprocess
import sys

import pytest

from grader import cli
from grader.worker import GraderFault
from tests.cli.conftest import process
from tests.folders import clean_environment

COMMANDS = ("list", "init", "check", "grade", "explain")


def test_help_lists_the_commands_in_the_order_of_use(run):
    done = run("--help")
    assert done.status == 0
    places = [done.out.index(f"\n  {name} ") for name in COMMANDS]
    assert places == sorted(places)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(run, command):
    done = run(command, "--help")
    assert done.status == 0
    assert done.out.startswith(f"Usage: grader {command}")


@pytest.mark.parametrize("arguments", ["--help", "list", "init --help", "--version"])
def test_light_commands_import_nothing_heavy(arguments):
    code = (
        "import sys; from grader import cli; cli.run(sys.argv[1:]);"
        "print(sorted({'numpy', 'pydantic', 'rich', 'torch', 'reference'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments.split()],
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_list_has_a_line_for_each_assignment(run):
    done = run("list")
    assert done.status == 0
    lines = [" ".join(line.split()) for line in done.out.splitlines()]
    assert "hand-decoder decoder.py One attention head, and a decoder computed by hand" in lines
    assert "encoder-block encoder.py The original transformer: post-norm encoder and decoder layers" in lines


@pytest.mark.parametrize("arguments", [["nothing"], ["check", "--nothing"], ["grade"], ["check", "no/such/path"]])
def test_unusable_arguments_are_status_2(run, arguments):
    done = run(*arguments)
    assert done.status == 2
    assert "Traceback" not in done.err


@pytest.fixture
def broken(monkeypatch):
    """A grader that fails."""

    def make(error: Exception) -> None:
        def grade(*_, **__):
            raise error

        monkeypatch.setattr("grader.api.grade", grade)

    return make


@pytest.mark.parametrize(
    ("error", "says"),
    [(GraderFault("no process can be started"), "no process can be started"), (KeyError("x"), "KeyError: 'x'")],
)
def test_a_fault_of_the_grader_is_status_3_and_one_line(run, broken, tmp_path, error, says):
    (tmp_path / "decoder.py").write_text("", "utf-8")
    broken(error)
    done = run("check", tmp_path)
    assert done.status == 3
    assert f"grader: not graded: {says}\n" in done.err
    assert "GRADER_DEBUG=1" in done.err
    assert "Traceback" not in done.err


def test_debugging_shows_the_traceback(broken, tmp_path, monkeypatch):
    (tmp_path / "decoder.py").write_text("", "utf-8")
    broken(KeyError("x"))
    monkeypatch.setenv("GRADER_DEBUG", "1")
    with pytest.raises(KeyError):
        cli.run(["check", str(tmp_path)])


def test_interruption_is_said_without_a_traceback(run, broken, tmp_path):
    (tmp_path / "decoder.py").write_text("", "utf-8")
    broken(KeyboardInterrupt())
    done = run("check", tmp_path)
    assert (done.status, done.err.strip()) == (130, "interrupted")


def test_wrong_spec_is_status_2_and_names_file_and_key(run, tmp_path):
    (tmp_path / "mine.toml").write_text('id = "Mine!"\n', "utf-8")
    done = run("check", tmp_path, "--assignment", tmp_path / "mine.toml")
    assert done.status == 2
    assert "mine.toml: id:" in done.err


def test_main_ends_with_the_status():
    with pytest.raises(SystemExit) as ended:
        cli.main(["list"])
    assert ended.value.code == 0


def test_reader_that_goes_away_is_no_fault(tmp_path):
    command = f"{sys.executable} -m grader explain softmax | true"
    done = subprocess.run(command, shell=True, env=clean_environment(), capture_output=True, timeout=60, check=False)
    assert b"Traceback" not in done.stderr


def test_module_and_script_are_the_same(tmp_path):
    assert process("--version", cwd=tmp_path).out.startswith("grader, version ")
