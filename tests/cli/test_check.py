"""`grader check`, as a student uses it."""

import json
import threading
import time

import pytest

from grader import watch
from tests.cli.conftest import process
from tests.reports.submissions import MISTAKES, RIGHT, SOURCES, changed

NOT_CAUSAL = MISTAKES[1]


@pytest.fixture
def folder(tmp_path):
    """A student's folder with a right decoder.py."""
    (tmp_path / "decoder.py").write_text(RIGHT, "utf-8")
    return tmp_path


def test_right_submission_is_status_0_with_full_marks(run, folder):
    done = run("check", folder)
    assert (done.status, done.err) == (0, "")
    assert "Score 100 of 100 (100 %)   passed" in done.out
    assert "Next:" not in done.out


def test_gate_that_does_not_hold_is_status_1_whatever_the_points(run, folder):
    (folder / "decoder.py").write_text(changed(NOT_CAUSAL), "utf-8")
    done = run("check", folder, "--json", folder / "rubric.json")
    rubric = json.loads((folder / "rubric.json").read_text("utf-8"))
    assert done.status == 1
    assert rubric["percent"] >= rubric["passing_percent"]
    assert "is needed whatever the points" in " ".join(done.out.split())


def test_unreadable_submission_is_status_1_with_the_students_line(run, folder):
    (folder / "decoder.py").write_text(SOURCES["unreadable"], "utf-8")
    done = run("check", folder)
    assert done.status == 1
    assert "decoder.py, line 7" in done.out
    assert "def softmax(x)  # <script>" in done.out


def test_this_folder_is_the_default(run, folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert run("check", "--only", "softmax").status == 0


def test_json_on_stdout_is_json_alone(run, folder):
    done = run("check", folder, "--json", "-")
    assert json.loads(done.out)["score"] == 100


def test_page_is_written_and_named(run, folder):
    done = run("check", folder, "--html", folder / "report.html")
    assert done.out.endswith(f"The page: {folder / 'report.html'}\n")
    assert (folder / "report.html").read_text("utf-8").startswith("<!DOCTYPE html>")


def test_file_that_cannot_be_written_is_status_2(run, folder):
    done = run("check", folder, "--only", "softmax", "--json", folder / "decoder.py" / "x.json")
    assert done.status == 2
    assert "cannot be written" in done.err


class TestOnly:
    def test_status_is_that_of_the_chosen_checks(self, run, folder):
        (folder / "decoder.py").write_text(changed(NOT_CAUSAL), "utf-8")
        chosen = run("check", folder, "--only", "layer_norm")
        assert chosen.status == 0
        assert "this is no score of the assignment" in " ".join(chosen.out.split())
        assert "Score" not in chosen.out
        assert run("check", folder, "--only", "*.future-does-not-matter").status == 1

    def test_every_failure_is_shown_in_full(self, run, folder):
        (folder / "decoder.py").write_text(changed(*MISTAKES[:2]), "utf-8")
        done = run("check", folder, "--only", "attention_scores")
        assert done.out.count("observed (") > 1

    def test_pattern_without_a_match_lists_what_is_close(self, run, folder):
        done = run("check", folder, "--only", "softmax.vale")
        assert done.status == 2
        assert "close to it: softmax.value" in done.err

    def test_pattern_that_is_close_to_nothing_lists_the_functions(self, run, folder):
        done = run("check", folder, "--only", "qqq")
        assert done.status == 2
        assert "the functions of hand-decoder are softmax, attention_scores, " in done.err

    def test_given_twice_both_count_and_both_must_match(self, run, folder):
        done = run("check", folder, "--only", "softmax.value", "--only", "loss.value")
        assert done.status == 0
        assert "2 of the 2 chosen checks pass" in " ".join(done.out.split())
        assert "(only softmax.value, loss.value: this is no score" in " ".join(done.out.split())
        assert run("check", folder, "--only", "softmax.value", "--only", "qqq").status == 2


class TestAssignment:
    def test_settings_name_it(self, run, folder):
        (folder / "grader.toml").write_text('assignment = "no-such"\n', "utf-8")
        done = run("check", folder)
        assert done.status == 2
        assert "no assignment is called 'no-such'; there are:" in done.err

    def test_settings_may_name_a_spec_beside_them(self, run, folder):
        (folder / "grader.toml").write_text('assignment = "mine.toml"\n', "utf-8")
        assert f"{folder / 'mine.toml'}: cannot be read" in run("check", folder).err

    @pytest.mark.parametrize("text", ['assigment = "hand-decoder"', "assignment = 3", "assignment =", "\udcff"])
    def test_settings_that_cannot_be_used_are_named(self, run, folder, text):
        (folder / "grader.toml").write_bytes(text.encode("utf-8", "surrogateescape"))
        done = run("check", folder)
        assert done.status == 2
        assert str(folder / "grader.toml") in done.err

    def test_option_wins(self, run, folder):
        (folder / "grader.toml").write_text('assignment = "no-such"\n', "utf-8")
        assert run("check", folder, "-a", "hand-decoder", "--only", "softmax").status == 0

    def test_without_any_sign_the_choices_are_listed(self, run, tmp_path):
        (tmp_path / "mine.py").write_text(RIGHT, "utf-8")
        for path in (tmp_path, tmp_path / "mine.py"):
            done = run("check", path)
            assert done.status == 2
            assert "--assignment hand-decoder" in done.err


class TestWatch:
    def test_grades_again_after_a_change_and_ends_cleanly(self, tmp_path, capsys):
        graded = []

        def once() -> int:
            graded.append(1)
            if len(graded) == 2:
                raise KeyboardInterrupt
            threading.Timer(0.1, lambda: (tmp_path / "decoder.py").write_text("x = 1\n", "utf-8")).start()
            return 1

        assert watch.watch(tmp_path, once, pause=0.01) == 0
        assert len(graded) == 2
        assert "Ctrl-C ends" in capsys.readouterr().err

    def test_a_fault_does_not_end_it(self, tmp_path, capsys):
        def once() -> int:
            if (tmp_path / "a.py").exists():
                raise KeyboardInterrupt
            (tmp_path / "a.py").write_text("", "utf-8")
            raise ValueError("of the grader")

        assert watch.watch(tmp_path, once, pause=0.01) == 0
        assert "not graded: ValueError: of the grader" in capsys.readouterr().err

    def test_only_python_files_count(self, tmp_path):
        before = watch.snapshot(tmp_path)
        (tmp_path / "notes.txt").write_text("", "utf-8")
        (tmp_path / ".hidden").mkdir()
        (tmp_path / ".hidden" / "a.py").write_text("", "utf-8")
        assert watch.snapshot(tmp_path) == before
        (tmp_path / "a.py").write_text("", "utf-8")
        assert watch.snapshot(tmp_path) != before


class TestTerminal:
    def test_piped_is_plain(self, folder):
        (folder / "decoder.py").write_text(SOURCES["wrong"], "utf-8")
        done = process("check", cwd=folder)
        assert done.status == 1
        assert "\x1b" not in done.out
        assert done.err == ""

    def test_encoding_without_the_symbols_gets_letters(self, folder):
        (folder / "decoder.py").write_text(SOURCES["wrong"], "utf-8")
        done = process("check", cwd=folder, PYTHONIOENCODING="cp1252")
        assert done.status == 1
        assert "S = Q K^T / sqrt d_k" in done.out

    def test_width_of_the_terminal_is_kept(self, folder):
        done = process("check", cwd=folder, COLUMNS="60")
        assert max(map(len, done.out.splitlines())) <= 60

    @pytest.mark.skipif("sys.platform == 'win32'", reason="a pseudo-terminal is needed")
    @pytest.mark.parametrize(
        ("environment", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
    )
    def test_colour_on_a_terminal_unless_it_is_not_wanted(self, folder, environment, coloured):
        out = on_terminal(["check", "--only", "softmax"], folder, {"TERM": "xterm", **environment})
        assert "11 of the 11" in out or "chosen checks pass" in out
        assert ("\x1b[" in out) == coloured

    @pytest.mark.skipif("sys.platform == 'win32'", reason="a pseudo-terminal is needed")
    def test_a_line_moves_while_it_takes_long(self, folder):
        (folder / "decoder.py").write_text(RIGHT + "\nimport time\ntime.sleep(2.6)\n", "utf-8")
        out = on_terminal(["check", "--only", "softmax.shape"], folder, {"TERM": "xterm"})
        assert "starting  2 s" in out


def on_terminal(arguments, folder, environment):
    """What a command prints on a pseudo-terminal."""
    import os
    import pty
    import subprocess
    import sys

    from tests.folders import clean_environment

    ours, theirs = pty.openpty()
    started = subprocess.Popen(
        [sys.executable, "-m", "grader", *arguments],
        cwd=folder,
        env={**clean_environment(), **environment},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    chunks, deadline = [], time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            chunk = os.read(ours, 65536)
        except OSError:
            break
        if not chunk:
            break
        chunks.append(chunk)
    os.close(ours)
    assert started.wait(60) in (0, 1)
    return b"".join(chunks).decode("utf-8")
