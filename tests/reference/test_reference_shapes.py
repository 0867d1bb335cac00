"""The `shapes:` line of each docstring is read and run: the function takes and returns what it says."""

import inspect
import re

import numpy as np
import pytest

from reference import BOOK, book, gradients
from reference.encoder import ENCODER

try:
    from reference import encoder_torch_twin, torch_twin
except ImportError:
    encoder_torch_twin = torch_twin = None

DIMS = {"T": 4, "d": 6, "d_k": 2, "d_v": 3, "h": 5, "m": 7, "v": 8, "L": 2, "T_max": 9, "n": 11, "T_q": 12, "T_k": 13}


class Ids(tuple):
    """ids(T, v): T integers from 0 to v − 1."""


class Mask(tuple):
    """mask(T): T booleans."""


def read(docstring):
    """The argument and result structures of a `shapes:` line. Its names and `where` lines are Python expressions."""
    paragraph = re.split(r"\n\s*errors:", inspect.cleandoc(docstring).split("shapes:")[1])[0]
    line, *definitions = re.split(r"\bwhere\b", " ".join(paragraph.split()))
    known = {**DIMS, "ids": lambda n, v: Ids((n, v)), "mask": lambda *n: Mask(n), "dict": dict}
    for definition in reversed(definitions):
        name, expression = definition.split("=", 1)
        known[name.strip()] = eval(expression, {"__builtins__": {}}, known)
    arguments, result = line.split("->")
    return (eval(f"[{side}]", {"__builtins__": {}}, known) for side in (arguments, result))


def fill(structure, rng):
    if isinstance(structure, Ids):
        return rng.integers(structure[1], size=structure[0])
    if isinstance(structure, Mask):
        return rng.random(structure) < 0.5
    if isinstance(structure, dict):
        return {key: fill(value, rng) for key, value in structure.items()}
    if isinstance(structure, list) or any(not isinstance(n, int) for n in structure):
        return [fill(value, rng) for value in structure]
    return rng.random(structure) if structure else 0.5


def check(value, structure):
    if isinstance(structure, dict):
        assert list(value) == list(structure)
        for key in structure:
            check(value[key], structure[key])
    elif isinstance(structure, list):
        values = value if isinstance(value, tuple) else (value,)
        assert len(values) == len(structure)
        for one, shape in zip(values, structure, strict=True):
            check(one, shape)
    elif isinstance(structure, Ids):
        assert np.shape(value) == structure[:1]
        assert np.asarray(value).dtype == np.int64
    else:
        assert np.shape(value) == structure
        assert np.asarray(value).dtype == np.float64


def run(function):
    arguments, results = read(function.__doc__)
    check(function(*fill(arguments, np.random.default_rng(0))), results)


EVERY = [(BOOK, name) for name in BOOK.names] + [(ENCODER, name) for name in ENCODER.names]
every_function = pytest.mark.parametrize(("parts", "name"), EVERY, ids=[name for _, name in EVERY])


@every_function
def test_shapes_line_of_the_reference_holds(parts, name):
    run(parts.functions[name])


@pytest.mark.parametrize("function", [book.real, gradients.perturb])
def test_shapes_line_of_a_tool_holds(function):
    run(function)


@pytest.mark.skipif(torch_twin is None, reason="torch is not installed")
@every_function
def test_shapes_line_of_the_twin_holds_and_is_the_same(parts, name):
    twin = getattr(torch_twin if parts is BOOK else encoder_torch_twin, name)
    run(twin)
    assert list(read(twin.__doc__)) == list(read(parts.functions[name].__doc__))


@every_function
def test_each_docstring_names_its_errors(parts, name):
    assert "errors: " in parts.functions[name].__doc__


@pytest.mark.parametrize("line", ["(T, d), (d, d_k), (d, d_k), (d, d_v) -> (T, d_k), (T, T)", "(T, d) -> (T, d)"])
def test_a_wrong_line_is_found(line):
    function = BOOK.functions["attention_head"]

    def described_wrongly(*args):
        return function(*args)

    described_wrongly.__doc__ = f"shapes: {line}"
    with pytest.raises((AssertionError, TypeError)):
        run(described_wrongly)


@pytest.mark.parametrize(
    ("name", "change", "error"),
    [
        ("softmax", lambda x: (np.zeros((2, 0)),), ValueError),
        ("attention_scores", lambda Q, K: (Q, K[:, :1]), ValueError),
        ("causal_attention_weights", lambda S: (S[:, :2],), ValueError),
        ("attention_head", lambda H, *W: (H[:, :2], *W), ValueError),
        ("multi_head_attention", lambda H, heads, W_O: (H, [], W_O), ValueError),
        ("multi_head_attention", lambda H, heads, W_O: (H, heads[:1], W_O), ValueError),
        ("layer_norm", lambda H, gain, shift, eps: (H, gain[:2], shift, eps), ValueError),
        ("feed_forward", lambda H, W_1, *rest: (H, W_1[:2], *rest), ValueError),
        ("decoder_block", lambda H, block: (H, {"eps": 0.1}), KeyError),
        ("decoder", lambda tokens, params: ([99], params), IndexError),
        ("decoder", lambda tokens, params: ([0] * 50, params), IndexError),
        ("loss", lambda Z, targets: (Z, [99] * len(Z)), IndexError),
        ("loss", lambda Z, targets: (Z, targets[:2]), IndexError),
        ("loss", lambda Z, targets: (Z[:, :0], targets), ValueError),
    ],
)
def test_errors_are_those_the_docstring_names(name, change, error, draw):
    function = getattr(BOOK, name)
    assert error.__name__ in function.__doc__
    with pytest.raises(error):
        function(*change(*draw().arguments()[name]))
