"""A picture that says what is wanted is drawn against that, and not against the past."""

import pytest

from grader.reports import all_reports
from grader.reports._blocks import influence
from grader.verdict import Verdict


def verdict(**picture):
    evidence = {"picture": {"kind": "influence", "matrix": [[1.0, 0.0, 2.0], [0.5, 1.0, 0.0]], **picture}}
    return Verdict("attention.masked-positions", "Masks hide.", "attention", "failed", "row 0 moves", "", evidence)


def test_what_is_wanted_decides_what_is_wrong():
    drawn = influence(verdict(wanted=[[1, 0, 0], [0, 1, 1]]))
    assert drawn is not None
    assert drawn.kinds == (("moves", "still", "leak"), ("leak", "moves", "stuck"))
    assert drawn.masked


def test_without_it_the_past_is_wanted():
    drawn = influence(verdict())
    assert drawn is not None
    assert drawn.kinds == (("moves", "still", "leak"), ("moves", "moves", "still"))
    assert not drawn.masked


@pytest.mark.parametrize("name", ["text", "html"])
def test_reports_speak_of_the_mask(name, tmp_path):
    import grader

    source = "import numpy as np\n\n\ndef attention(Q, K, V, mask=None):\n    A = np.exp(Q @ K.T / Q.shape[1] ** 0.5)\n"
    (tmp_path / "encoder.py").write_text(source + "    A /= A.sum(1, keepdims=True)\n    return A @ V, A\n", "utf-8")
    result = grader.grade(tmp_path, assignment="encoder-block", only="attention.*")
    text = " ".join(all_reports().get(name).write(result).split())
    assert "may not be consulted" in text
    assert "in the future" not in text
