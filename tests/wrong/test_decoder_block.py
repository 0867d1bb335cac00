"""Holds the grader to every block: right ones get full marks, wrong ones lose some and are called by their names."""

import pytest

from grader import grade
from grader.hosts import Hosts
from grader.spec import load
from grader.student import limits_of
from tests.right.decoder_block import all_right
from tests.wrong.decoder_block import all_wrong, source

SPEC = load("decoder-block")
WRONG = all_wrong()
GROUPS = {}
for _wrong in WRONG:
    GROUPS.setdefault(_wrong.id.rsplit("--", 1)[0], []).append(_wrong)
ONE_OF_EACH = [group[i % len(group)] for i, group in enumerate(GROUPS.values())]
REST = [wrong for wrong in WRONG if wrong not in ONE_OF_EACH]


@pytest.fixture(scope="module")
def hosts():
    pytest.importorskip("torch")
    with Hosts(limits=limits_of(SPEC)) as hosts:
        yield hosts


def test_there_are_enough_blocks():
    assert len(all_right()) >= 12
    assert len({wrong.id for wrong in WRONG}) == len(WRONG) >= 35
    assert len({wrong.base for wrong in WRONG}) >= 3
    assert sum(wrong.misconception is not None for wrong in WRONG) >= 0.9 * len(WRONG)


@pytest.mark.parametrize("path", all_right(), ids=lambda path: path.stem)
def test_right_block_gets_full_marks(path, hosts):
    result = grade(path, assignment="decoder-block", hosts=hosts)
    assert [(verdict.id, verdict.message) for verdict in result.verdicts if not verdict.passed] == []
    assert result.score == 100


def caught_and_named(wrong, hosts, folder):
    (folder / "decoder_block.py").write_text(source(wrong), "utf-8")
    result = grade(folder, assignment="decoder-block", hosts=hosts)
    assert result.score < 100
    assert {named.id for verdict in result.verdicts for named in verdict.misconceptions} == {
        name for name in [wrong.misconception] if name
    }


@pytest.mark.parametrize("wrong", ONE_OF_EACH, ids=lambda wrong: wrong.id)
def test_wrong_block_is_caught_and_named(wrong, hosts, tmp_path):
    caught_and_named(wrong, hosts, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("wrong", REST, ids=lambda wrong: wrong.id)
def test_wrong_block_is_caught_and_named_on_other_bases(wrong, hosts, tmp_path):
    caught_and_named(wrong, hosts, tmp_path)
