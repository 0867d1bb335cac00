"""No hostile submission changes a verdict but its own, earns what its numbers do not, or survives its grading."""

import json
import sys
from importlib.util import find_spec

import pytest

from tests.hostile import KINDS, TARGET, submissions
from tests.hostile.conftest import PARTS

ALL = submissions()
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="counts processes by /proc, and attacks Linux")


def test_there_are_many_of_every_kind():
    assert len(ALL) >= 60
    assert all(len([one for one in ALL if one.kind == kind]) >= 6 for kind in KINDS)
    assert len({(one.kind, one.name) for one in ALL}) == len(ALL)
    assert all(one.may and one.code for one in ALL)


def earned(result, part):
    """The share of a part's points."""
    (criterion,) = [c for c in result.rubric["criteria"] if c["id"] == part.replace("_", "-")]
    return criterion["earned"] / criterion["points"]


def statuses(result, part):
    return {verdict.status for verdict in result.verdicts if verdict.part == part}


@pytest.mark.parametrize("hostile", ALL, ids=lambda one: f"{one.kind}-{one.name}")
def test_nothing_but_its_own_numbers_counts(bench, hostile):
    if bench.level not in hostile.levels:
        pytest.skip("not promised at this level")
    if hostile.base == "torch" and not find_spec("torch"):
        pytest.skip("torch is not installed")
    before = bench.left()
    result = bench.grade(hostile.source)

    assert result.rubric["status"] in hostile.status, (result.problem, hostile.may)
    assert json.loads(result.to_json())["provenance"]["isolation"].startswith(bench.level)
    if result.rubric["status"] == "graded":
        for part in PARTS:
            if part == TARGET and not hostile.earns:
                assert earned(result, part) == 0, hostile.may
                assert statuses(result, part) <= {"passed", "blocked", *(hostile.verdict or statuses(result, part))}
            elif part not in hostile.loses:
                assert earned(result, part) == 1, (part, [v for v in result.verdicts if v.part == part], hostile.may)
    else:
        assert result.score == 0
        assert result.problem
        if result.rubric["status"] == "tampered":
            assert all(check["evidence"]["tampering"] for c in result.rubric["criteria"] for check in c["checks"])

    assert bench.settled(before), (bench.left(), before, hostile.may)
    again = bench.honestly(hostile.base, only="loss")
    honest = [verdict for verdict in bench.honest[hostile.base].verdicts if verdict.part == "loss"]
    assert again.verdicts == tuple(honest)
    assert (bench.folder / "decoder.py").read_text("utf-8").find("hostile-mark") == -1


def test_afterwards_the_honest_are_graded_as_before(bench):
    for base, before in bench.honest.items():
        result = bench.honestly(base)
        assert result.score == result.rubric["max_score"]
        assert result.rubric["criteria"] == before.rubric["criteria"]
