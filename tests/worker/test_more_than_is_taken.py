"""An honest result that is too much for an answer is a wrong result with a sentence, and never tampering."""

import numpy as np
import pytest

from grader.worker import BadResult, wire
from grader.worker.inside import tree

RESULTS = """
import numpy as np
def dimensions(x): return np.reshape(x, x.shape + (1,) * 40)
def entries(x): return {"k%d" % i: 1.0 for i in range(30_000)}
def key(x): return {"k" * 2_000_000: 1.0}
def text(x): return "x" * 2_000_000
def accents(x): return "é" * 300_000
def listed(x): return [1.25] * 300_000
def arrays(x): return [np.zeros(1)] * 20_000
def large(x): return 10**300
def large_inside(x): return {"a": [2**64]}
def deep(x):
    for _ in range(100): x = [x]
    return x
def names(x): return {"n" * 200_000 + str(i): "" for i in range(10)}
"""


@pytest.mark.parametrize(
    ("name", "want", "says"),
    [
        ("dimensions", "array", "an array of 41 dimensions, at most 32 are taken"),
        ("entries", "dict", "a dict of 30,000 entries, at most 5,000 are taken"),
        ("key", "dict", "a dict with a key of 2,000,000 characters, at most 1,000 are taken"),
        ("text", "text", r"too long together \(1.9 MiB, at most 1.0 MiB are taken\)"),
        ("accents", "text", "too long together"),
        ("listed", "tree", "too long together"),
        ("names", "tree", "too long together"),
        ("arrays", "tree", "20,000 arrays, at most 9,000 are taken"),
        ("large", "tree", "does not fit 64 bits"),
        ("large_inside", "tree", "does not fit 64 bits"),
        ("deep", "tree", "nested deeper than 20"),
    ],
)
def test_it_is_refused_and_the_worker_lives(numpy_worker, name, want, says):
    worker = numpy_worker(RESULTS)
    with pytest.raises(BadResult, match=says):
        worker.call(name, [np.zeros(3)], want)
    assert worker.alive
    worker.settle()


ECHOED = """
import numpy as np
def grown(x):
    x["a"] = np.zeros(5_000_000)
    return np.zeros(5_000_000)
def deep(x):
    for _ in range(100): x["a"] = [x["a"]]
    return 1.0
def round(x):
    x["a"] = x
    return 1.0
def large(x):
    x[10**30] = 10**30
    return 1.0
def many(x):
    x["a"] = [0.0] * 400_000
    return 1.0
"""


def after_the_call(worker, name):
    """The argument as it is then, or why it is not told."""
    try:
        return worker.call(name, [{"a": 1.0}], echo=True).args_after[0]
    except BadResult as fault:
        return fault.message


@pytest.mark.parametrize("name", ["grown", "deep", "round", "large", "many"])
def test_arguments_that_have_grown_are_noted_or_refused(numpy_worker, name):
    worker = numpy_worker(ECHOED)
    after = after_the_call(worker, name)
    assert ("are taken" if isinstance(after, str) else "a") in after
    assert worker.alive
    worker.settle()


def test_long_names_do_not_end_the_conversation(numpy_worker):
    long = "f" * 1_200_000
    worker = numpy_worker(f"def {long}(x):\n    raise ValueError\ndef f(x):\n    return {long}(x)\n")
    with pytest.raises(Exception, match="ValueError"):
        worker.call("f", [1.0])
    assert worker.alive


def test_what_is_refused_there_stays_below_what_is_taken_here():
    assert tree.HEADER_BYTES < wire.HEADER_BYTES
    assert tree.ARRAYS < wire._ARRAYS
    assert tree.DEPTH < wire._DEPTH
    assert tree.DIMENSIONS <= 32
