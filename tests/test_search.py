"""The search for a small text: the same in every run and beside any modules, and what is raised in it."""

import subprocess
import sys

import pytest

from grader.search import ASCII, shrunk, smallest
from tests.folders import clean_environment

PIECES = ("\r\n", "  ", "<|end|>")


@pytest.mark.parametrize(
    ("fails", "found"),
    [
        (lambda s: "\r\n" in s, "\r\n"),
        (lambda s: s != s.strip(), " "),
        (lambda s: "<|end|><|end|>" in s, "<|end|><|end|>"),
        (lambda s: len(s) > 3, "aaaa"),
        (lambda s: False, None),
    ],
)
def test_a_small_text_is_found(fails, found):
    assert smallest(fails, seed=0, pieces=PIECES) == found


def test_every_kind_of_character_is_tried_and_none_that_utf_8_does_not_encode():
    seen = []
    assert smallest(lambda s: bool(seen.append(s)), seed=1) is None
    characters = set("".join(seen))
    assert sorted(set(ASCII)) == sorted(map(chr, range(128)))
    assert sum(c < "\x80" for c in characters) > 50
    assert sum("\x80" <= c < "\U00010000" for c in characters) > 40
    assert sum(c >= "\U00010000" for c in characters) > 40
    "".join(characters).encode("utf-8")


def test_no_text_is_judged_twice():
    seen = []
    assert smallest(lambda s: bool(seen.append(s)) or len(s) > 5, seed=2)
    assert len(seen) == len(set(seen))


def test_what_is_raised_is_raised_once():
    seen = []

    def fails(text):
        seen.append(text)
        if len(text) > 2:
            raise KeyError(text)
        return False

    with pytest.raises(KeyError):
        smallest(fails, seed=3)
    assert sum(len(text) > 2 for text in seen) == 1


def test_a_long_text_is_shrunk():
    text = "x" * 500 + "ab" + "y" * 700
    seen = []
    assert shrunk(text, lambda s: bool(seen.append(s)) or "a" in s) == "a"
    assert len(seen) < 100


HASH = """
import hashlib, sys
{imports}
from grader.search import smallest
seen = []
smallest(lambda s: bool(seen.append(s)), seed=0, pieces=("  ", "\\r\\n"))
print(hashlib.sha256(repr(seen).encode()).hexdigest())
"""


def test_two_runs_judge_the_same_texts_whatever_is_imported_beside_them(tmp_path):
    (tmp_path / "constants.py").write_text("A = ['ab', 12, 3, 0, 1, 2, b'x', 1114000]\n", "utf-8")
    digests = set()
    for seed, imports in (("0", ""), ("7", f"sys.path.insert(0, {str(tmp_path)!r})\nimport constants, grader.cases")):
        environment = {**clean_environment(), "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", HASH.format(imports=imports)]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=True
        )
        digests.add(done.stdout)
    assert len(digests) == 1
    assert [path.name for path in tmp_path.iterdir() if path.name not in ("constants.py", "__pycache__")] == []


def test_no_constant_of_a_module_is_asked_for(monkeypatch):
    from hypothesis.internal.conjecture import providers

    def refused():
        raise AssertionError("it is")

    monkeypatch.setattr(providers, "_get_local_constants", refused)
    assert smallest(lambda s: len(s) > 2, seed=4) == "aaa"
