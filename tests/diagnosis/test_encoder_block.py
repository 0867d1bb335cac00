"""The post-norm layers: right ones get full marks, wrong ones are caught and named, one mistake costs one part.

Each mistake is graded once; with GRADER_WHOLE_CORPUS=1 in every spelling, with all that is built on it.
"""

import os

import pytest

from student_template import __file__ as templates
from tests.diagnosis import measure
from tests.diagnosis.measure import expected, spec
from tests.right.encoder_block import all_right
from tests.wrong.encoder_block import all_wrong, source
from tests.wrong.hand_decoder import one_of_each

NAME = "encoder-block"
WHOLE = bool(os.environ.get("GRADER_WHOLE_CORPUS"))
WRONG = all_wrong() if WHOLE else one_of_each(all_wrong())
BY_ID = {wrong.id: wrong for wrong in all_wrong()}
OF_ALL = {"causality", "masks", "whole-sequence", "stability", "gradients", "no-side-effects"}
ONE_PLACE = (
    "no-scale--attention--numpy-vectorised",
    "scale-by-width--attention--torch-plain",
    "empty-row-nan-gradient--attention--torch-plain",
    "heads-summed--multi-head--numpy-vectorised",
    "sample-variance--layer-norm--torch-plain",
    "gelu--ffn--torch-plain",
    "pre-norm--encoder-block--numpy-vectorised",
)


def grade(text, warm, parts=None):
    return measure.grade(text, warm, parts, NAME)


def test_there_are_enough_of_both():
    assert len(all_right()) >= 6
    assert len(all_wrong()) >= 90
    assert len({wrong.base for wrong in all_wrong()}) >= 4
    assert len({wrong.id for wrong in all_wrong()}) == len(all_wrong())


@pytest.mark.parametrize("path", all_right(), ids=lambda path: path.stem)
def test_full_marks_and_no_name(path, warm):
    outcome = grade(path.read_text("utf-8"), warm)
    assert outcome.lost == set()
    assert outcome.named == set()
    assert sum(outcome.points().values()) == pytest.approx(spec(NAME).max_score)


def test_the_template_earns_nothing(warm):
    path = os.path.join(os.path.dirname(templates), NAME, spec(NAME).file)
    with open(path, encoding="utf-8") as file:
        assert sum(grade(file.read(), warm).points().values()) == 0


@pytest.fixture(scope="module")
def outcomes(warm):
    return [
        (wrong, grade(source(wrong), warm, measure.above(wrong.part, assignment=NAME) if WHOLE else {wrong.part}))
        for wrong in WRONG
    ]


def test_all_are_caught_where_the_mistake_is(outcomes):
    assert [wrong.id for wrong, outcome in outcomes if wrong.part not in outcome.lost] == []


def test_nearly_all_are_named_and_none_wrongly(outcomes, capsys):
    told = [(wrong, outcome) for wrong, outcome in outcomes if wrong.how != "exception"]
    unnamed = [
        wrong.id
        for wrong, outcome in told
        if not wrong.misconception or outcome.ids(wrong.part) != expected(wrong.misconception)
    ]
    wrongly = {
        wrong.id: outcome.named
        for wrong, outcome in outcomes
        if outcome.named - {(key, wrong.part) for key in expected(wrong.misconception)}
    }
    with capsys.disabled():
        print(f"\n{NAME}: {len(outcomes)} wrong submissions, {len(told) - len(unnamed)} of {len(told)} named")
    assert wrongly == {}
    assert len(unnamed) <= 0.1 * len(told), unnamed


@pytest.mark.parametrize("key", ONE_PLACE)
def test_one_wrong_part_costs_that_part(key, warm):
    wrong = BY_ID[key]
    outcome = grade(source(wrong), warm)
    points = outcome.points()
    short = {c.id for c in spec(NAME).criteria if points[c.id] < c.points - 1e-9}
    assert short <= {spec(NAME).part(wrong.part).slug, *OF_ALL}
    assert outcome.lost == {wrong.part}
    carried = {verdict.part for verdict in outcome.verdicts if verdict.carried}
    assert wrong.part not in carried
    assert carried or wrong.part == "encoder_block"
