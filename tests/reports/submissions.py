"""Three submissions and their results: a right one, one with several mistakes, one that cannot be read."""

from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import grader
from tests.right.hand_decoder import HERE

RIGHT = (HERE / "numpy_vectorised.py").read_text("utf-8")
MISTAKES = (
    ("math.sqrt(d_k)", "math.sqrt(d_k * d_k)"),
    ("np.tril(np.ones((T, T), dtype=bool))", "np.tril(np.ones((T, T), dtype=bool), 1)"),
    ("    hidden = H @ W_1 + b_1", "    hidden = W_1 @ H + b_1"),
    (
        "    top = Z.max(axis=-1, keepdims=True)",
        "    print('[red]</pre><b>Z</b>', Z.shape)\n    top = Z.max(axis=-1, keepdims=True) - 1",
    ),
    ('        "residual_of_1_3": np.array([0.0, 4.0]),', '        "residual_of_1_3": np.array([4.0, 0.0]),'),
)


def changed(*changes: tuple[str, str]) -> str:
    """The right submission with changes, each of which fits exactly once."""
    text = RIGHT
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


SOURCES = {
    "right": RIGHT,
    "wrong": changed(*MISTAKES),
    "unreadable": RIGHT.replace("def softmax(x):", "def softmax(x)  # <script>alert(1)</script>"),
}
ORIGIN = {"grader": "0.0", "python": "3", "numpy": "2", "torch": None, "isolation": "process", "seed": 0}


def graded(source: str, name: str) -> grader.Result:
    """The result of a source, with versions that do not change."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.py"
        path.write_text(source, "utf-8")
        result = grader.grade(path, assignment="hand-decoder")
    return replace(result, rubric={**result.rubric, "provenance": ORIGIN})


@cache
def result_of(name: str) -> grader.Result:
    """The result of one of the three, made once."""
    return graded(SOURCES[name], name)
