"""Messages of rare occasions say what is the matter and what to do."""

from dataclasses import replace

import pytest

from grader import catalogue, cli
from grader.lane import _spec, address
from grader.spec import SpecError, load
from grader.submission import MAX_BYTES, Unreadable, read
from tests.folders import RIGHT


def told(capsys, *arguments: object) -> str:
    assert cli.run([str(argument) for argument in arguments]) == 2
    return capsys.readouterr().err


def test_a_file_of_several_assignments_lists_them(tmp_path, monkeypatch, capsys):
    (tmp_path / "decoder.py").write_text(RIGHT, "utf-8")
    ours = catalogue.entries()
    twin = replace(next(entry for entry in ours if entry.id == "hand-decoder"), id="twin-decoder")
    monkeypatch.setattr(catalogue, "entries", lambda: (*ours, twin))
    for path in (tmp_path, tmp_path / "decoder.py"):
        text = told(capsys, "check", path)
        assert f"{path} could be several assignments, and there is no grader.toml with it. Say which one it is:" in text
        assert "--assignment hand-decoder" in text
        assert "--assignment twin-decoder" in text
        assert "encoder-block" not in text


def test_an_assignment_without_a_template_says_which_file_to_begin(tmp_path, capsys):
    text = load("hand-decoder")
    (tmp_path / "mine.toml").write_text(f'id = "mine"\ntitle = "{text.title}"\nfile = "mine.py"\n', "utf-8")
    assert "the assignment mine comes without a template; start with an empty mine.py" in told(
        capsys, "init", tmp_path / "mine.toml", tmp_path / "here"
    )


def test_a_file_that_is_too_large_is_named_with_the_limit(tmp_path):
    (tmp_path / "decoder.py").write_bytes(b"#" * (MAX_BYTES + 1))
    with pytest.raises(Unreadable, match=rf"decoder\.py: is larger than {MAX_BYTES // 1_000_000} MB"):
        read(tmp_path / "decoder.py", "decoder.py")


def test_a_spec_that_has_changed_since_is_not_graded_by():
    spec = load("hand-decoder")
    assert _spec(address(spec), spec.sha256).sha256 == spec.sha256
    with pytest.raises(
        SpecError, match=r"is not the spec that this was to be graded by; has it been changed meanwhile"
    ):
        _spec(address(spec), "0" * 64)
