"""Holds the grader to every language model: right ones get full marks, wrong ones lose some and are called by name.

One right submission is graded whole, each other one by the chapter in which it is unlike the others; wrong ones by the
chapter that they concern. With GRADER_WHOLE_CORPUS=1, or without `-m "not slow"`, all are graded whole.
"""

import fnmatch
import os

import pytest

from grader import grade
from grader.hosts import Hosts
from grader.spec import load
from grader.student import limits_of
from tests.right.decoder_lm import all_right
from tests.wrong.decoder_lm import all_wrong, sources

SPEC = load("decoder-lm")
WHOLE = bool(os.environ.get("GRADER_WHOLE_CORPUS"))
WRONG = all_wrong()
RIGHT = {path.stem: path for path in all_right()}
APART = {
    "dropout_fused": "bundle.*",
    "float32_tables": "cache.*",
    "functional": "model.*",
    "heads_by_loops": "evaluation.*",
    "rms_bias_free": "model.*",
    "tied_preallocated": "cache.*",
    "with_adapters": "sampling.*",
}
"""The chapter by which a right submission is graded in a short run: one in which it is unlike the others."""


def short(wrongs):
    """The first of each chapter on a base of its own."""
    chosen = {}
    for wrong in wrongs:
        if wrong.only not in chosen and wrong.names and wrong.base not in {one.base for one in chosen.values()}:
            chosen[wrong.only] = wrong
    return list(chosen.values())


SHORT = WRONG if WHOLE else short(WRONG)
REST = [wrong for wrong in WRONG if wrong not in SHORT]


@pytest.fixture(scope="module")
def hosts():
    pytest.importorskip("torch")
    with Hosts(limits=limits_of(SPEC)) as hosts:
        yield hosts


def lost(result, only="*"):
    return [(v.id, v.message) for v in result.verdicts if not v.passed and fnmatch.fnmatch(v.id, only)]


def test_there_are_enough_of_both():
    assert set(APART) | {"plain"} == set(RIGHT)
    assert len({wrong.id for wrong in WRONG}) == len(WRONG) >= 280
    assert len({wrong.base for wrong in WRONG}) == len(RIGHT)
    assert sum(wrong.misconception is not None for wrong in WRONG) >= 0.85 * len(WRONG)


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.id)
def test_every_patch_fits_once(wrong):
    for name, text in sources(wrong).items():
        compile(text, name, "exec")


def test_a_right_model_gets_full_marks(hosts):
    result = grade(RIGHT["plain"], assignment="decoder-lm", hosts=hosts)
    assert lost(result) == []
    assert result.score == 100


@pytest.mark.parametrize("name", sorted(APART))
def test_a_right_model_of_another_kind_keeps_its_chapter(name, hosts):
    result = grade(RIGHT[name], assignment="decoder-lm", hosts=hosts, only=APART[name])
    assert lost(result, APART[name]) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(APART))
def test_a_right_model_of_another_kind_gets_full_marks(name, hosts):
    result = grade(RIGHT[name], assignment="decoder-lm", hosts=hosts)
    assert lost(result) == []
    assert result.score == 100


def caught_and_named(wrong, hosts, folder):
    for name, text in sources(wrong).items():
        (folder / name).write_text(text, "utf-8")
    only = None if WHOLE else wrong.only
    result = grade(folder, assignment="decoder-lm", hosts=hosts, only=only)
    assert lost(result, wrong.only)
    named = {known.id for verdict in result.verdicts for known in verdict.misconceptions}
    assert named <= set(wrong.names)
    assert bool(named) == bool(wrong.names)


@pytest.mark.parametrize("wrong", SHORT, ids=lambda wrong: wrong.id)
def test_a_wrong_model_is_caught_and_named(wrong, hosts, tmp_path):
    caught_and_named(wrong, hosts, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("wrong", REST, ids=lambda wrong: wrong.id)
def test_every_wrong_model_is_caught_and_named(wrong, hosts, tmp_path):
    caught_and_named(wrong, hosts, tmp_path)
