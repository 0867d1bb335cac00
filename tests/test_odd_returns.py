"""Whatever a function returns becomes a verdict, also odd number types and shapes, and changes between calls."""

import hashlib
from pathlib import Path

import pytest

import grader
from grader.hosts import Hosts
from grader.reports import all_reports
from grader.spec import load
from grader.submission import Submission
from tests.right.encoder_block import HERE as ENCODERS
from tests.right.hand_decoder import HERE as DECODERS

BASES = {
    "hand-decoder": DECODERS / "numpy_vectorised.py",
    "encoder-block": ENCODERS / "numpy_vectorised.py",
    "decoder-block": Path(__file__).parent / "right" / "decoder_block" / "plain.py",
}
ODD = {
    "bool": "y > 0",
    "uint8": "np.abs(y).astype(np.uint8)",
    "int8": "np.nan_to_num(y).astype(np.int8)",
    "float16": "y.astype(np.float16)",
    "longdouble": "y.astype(np.longdouble)",
    "empty": "np.zeros((0,))",
    "one number": "np.float64(1.5)",
    "a column": "y[..., None]",
    "NaN": "y * np.nan",
    "inf": "y * np.inf",
    "huge": "np.sign(y) * 1.7e308",
    "text": "np.full(y.shape, 'a')",
    "objects": "[[None]]",
    "another shape every second time": "y if tick() % 2 else y[..., None]",
    "NaN every third time": "y if tick() % 3 else y * np.nan",
    "another type every third time": "y if tick() % 3 else y > 0",
    "other numbers every time": "y + tick()",
    "an exception every fourth time": "y if tick() % 4 else boom()",
}
WRAPPED = """

import numpy as np
_count = [0]
def tick():
    _count[0] += 1
    return _count[0]
def boom():
    raise KeyError("x")
def _odd(r):
    if isinstance(r, (tuple, list)):
        return tuple(_odd(item) for item in r)
    if isinstance(r, dict):
        return {{key: _odd(item) for key, item in r.items()}}
    y = np.asarray(r.detach() if hasattr(r, "detach") else r)
    with np.errstate(all="ignore"):
        return {odd}
_right = {part}
def {part}(*args):
    return _odd(_right(*args))
"""
MODULE = """

import numpy as np
_count = [0]
def tick():
    _count[0] += 1
    return _count[0]
def boom():
    raise KeyError("x")
class _Odd({part}):
    def forward(self, x):
        y = super().forward(x).detach().numpy()
        with np.errstate(all="ignore"):
            odd = {odd}
        return torch.as_tensor(np.ascontiguousarray(odd))
{part} = _Odd
"""
EVERY = [(a, part.name, odd) for a in BASES for part in load(a).parts for odd in ODD]
# each part with its share of the oddities, other ones for the next part
SOME = [one for place, one in enumerate(EVERY) if place % 11 == 0 or one[2] == "bool"]


@pytest.fixture(scope="module")
def hosts():
    with Hosts() as hosts:
        yield hosts


def judged(assignment: str, part: str, odd: str, hosts: Hosts, only: str | None) -> grader.Result:
    """A right submission in which one function returns something odd; in every format, too."""
    spec = load(assignment)
    form = MODULE if spec.part(part).kind == "module" else WRAPPED
    source = BASES[assignment].read_text("utf-8") + form.format(part=part, odd=ODD[odd])
    if form is MODULE:
        source += "\nimport torch\n"
    data = source.encode()
    name = spec.file.removesuffix(".py")
    digest = hashlib.sha256(data).hexdigest()
    submission = Submission(name, Path(spec.file), {spec.file: data}, name, None, digest)
    result = grader.grade(submission, assignment=spec, only=only, hosts=hosts)
    for report in all_reports():
        report.write(result)
    return result


@pytest.mark.parametrize(("assignment", "part", "odd"), SOME, ids=str)
def test_the_checks_of_a_part_survive_it(assignment, part, odd, hosts):
    result = judged(assignment, part, odd, hosts, only=part)
    assert result.rubric["status"] == "graded"
    assert result.verdicts


@pytest.mark.slow
@pytest.mark.parametrize(("assignment", "part", "odd"), EVERY, ids=str)
def test_all_checks_survive_it(assignment, part, odd, hosts):
    assert judged(assignment, part, odd, hosts, only=None).rubric["status"] == "graded"
