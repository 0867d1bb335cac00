"""What lies in the first folder is looked at before anything is graded: it can neither hold nor end the command."""

import os
import sys

import pytest

from tests.cli.conftest import process
from tests.hostile import HERE, HONEST

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links and pipes of POSIX")
SPEC = HERE / "spec.toml"


def pipe(path):
    os.mkfifo(path)


def zero(path):
    path.symlink_to("/dev/zero")


def itself(path):
    path.symlink_to(path.name)


@pytest.mark.parametrize("make", [pipe, zero, itself])
@pytest.mark.parametrize("main", ["decoder.py", "other.py"])
@pytest.mark.parametrize("command", ["check", "grade"])
def test_a_file_that_is_none_is_not_waited_for(tmp_path, make, main, command):
    folder = tmp_path / "alice"
    folder.mkdir()
    make(folder / main)
    if main == "other.py":
        (folder / "decoder.py").write_text(HONEST["numpy"])
    more = ["--out", tmp_path / "out"] if command == "grade" else []
    done = process(command, folder, "--assignment", SPEC, *more, cwd=tmp_path)
    assert done.status == (0 if main == "other.py" else 1), done.err


def test_a_file_alone_that_is_none_is_not_waited_for(tmp_path):
    pipe(tmp_path / "bob.py")
    done = process("grade", tmp_path / "bob.py", "--assignment", SPEC, "--out", tmp_path / "out", cwd=tmp_path)
    assert done.status == 1, done.err
    assert "unreadable" in done.out
