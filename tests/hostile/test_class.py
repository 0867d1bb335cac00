"""One submission of a class, whatever it is made of, ends nothing but its own grading; our fault is never a zero."""

import errno
import os
import sys

import pytest

from grader import batch, submission
from grader.names import tasks
from tests.hostile import HONEST
from tests.hostile.conftest import SPEC

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links, names and rights of POSIX")
RIGHT = HONEST["numpy"]


@pytest.fixture
def grade(tmp_path):
    """Grade a hostile folder and an honest file beside it; both outcomes."""
    (tmp_path / "alice").mkdir()
    (tmp_path / "bob.py").write_text(RIGHT)

    def grade(jobs=1):
        order = batch.Order(SPEC, tmp_path / "out")
        done = {o.task.name: o for o in batch.run(tasks([tmp_path / "alice", tmp_path / "bob.py"]), order, jobs)}
        assert done["bob"].rubric is not None, done["bob"].reason
        assert done["bob"].rubric["passed"]
        return done["alice"]

    return grade


def loop(folder):
    (folder / "helper.py").symlink_to("helper.py")


def loop_of_folders(folder):
    (folder / "below").symlink_to(".")


def itself(folder):
    (folder / "decoder.py").unlink()
    (folder / "decoder.py").symlink_to("decoder.py")


def no_text(folder):
    open(os.path.join(os.fsencode(folder), b"caf\xe9.py"), "wb").close()
    os.mkdir(os.path.join(os.fsencode(folder), b"caf\xe9"))
    open(os.path.join(os.fsencode(folder), b"caf\xe9", b"x.py"), "wb").close()


def deep(folder):
    here = os.open(folder, os.O_RDONLY)
    for _ in range(1100):
        os.mkdir("deeper", dir_fd=here)
        below = os.open("deeper", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)


@pytest.mark.parametrize("lay", [loop, loop_of_folders, no_text, deep])
def test_what_lies_beside_it_changes_nothing(grade, tmp_path, lay):
    (tmp_path / "alice" / "decoder.py").write_text(RIGHT)
    lay(tmp_path / "alice")
    assert grade().rubric["passed"]


def test_a_file_that_is_a_link_to_itself_is_unreadable(grade, tmp_path):
    (tmp_path / "alice" / "decoder.py").write_text(RIGHT)
    itself(tmp_path / "alice")
    assert grade().rubric["status"] == "unreadable"


def test_a_folder_whose_name_is_no_text_is_graded(tmp_path):
    folder = os.path.join(os.fsencode(tmp_path), b"\xe9l\xe8ve")
    os.mkdir(folder)
    with open(os.path.join(folder, b"helper.py"), "w"):
        pass
    (outcome,) = batch.run(tasks([next(tmp_path.iterdir())]), batch.Order(SPEC, tmp_path / "out"))
    assert outcome.rubric["status"] == "unreadable"
    assert outcome.rubric["submission"]["name"]


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("number", [errno.EIO, errno.EMFILE, errno.EACCES, errno.ESTALE])
def test_what_this_machine_cannot_read_is_not_graded_and_no_zero(grade, tmp_path, monkeypatch, number, jobs):
    (tmp_path / "alice" / "decoder.py").write_text(RIGHT)
    whole = os.open

    def failing(path, *arguments, **options):
        if "alice" in str(path):
            raise OSError(number, os.strerror(number), str(path))
        return whole(path, *arguments, **options)

    monkeypatch.setattr(submission.os, "open", failing)
    outcome = grade(jobs)
    assert outcome.rubric is None
    assert os.strerror(number) in outcome.reason


@pytest.mark.parametrize("names", [("alice",), ("alice", "bob.py")])
def test_what_goes_wrong_between_two_looks_is_said_by_jobs(tmp_path, monkeypatch, names):
    """The class is read to plan it, and again when its turn comes: a job is not left waiting for what is not sent."""
    (tmp_path / "alice").mkdir()
    for path in (tmp_path / "alice" / "decoder.py", tmp_path / "bob.py"):
        path.write_text(RIGHT)
    whole, looks = batch.read, []

    def read(path, filename):
        looks.append(path.name)
        if path.name in names and looks.count(path.name) == 2:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return whole(path, filename)

    monkeypatch.setattr(batch, "read", read)
    order = batch.Order(SPEC, tmp_path / "out")
    done = {o.task.path.name: o for o in batch.run(tasks([tmp_path / "alice", tmp_path / "bob.py"]), order, 2)}
    assert all("Permission denied" in done[name].reason for name in names)
    assert len(names) == 2 or done["bob.py"].rubric["passed"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
@pytest.mark.parametrize("mode", [0o444, 0o111, 0])
def test_a_closed_folder_ends_nothing(grade, tmp_path, mode):
    (tmp_path / "alice" / "decoder.py").write_text(RIGHT)
    (tmp_path / "alice").chmod(mode)
    try:
        assert "Permission denied" in grade().reason
    finally:
        (tmp_path / "alice").chmod(0o755)
