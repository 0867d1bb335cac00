"""Two mistakes in different parts of one submission: both are named, each at its part."""

import pytest

from tests.diagnosis.measure import expected, grade
from tests.wrong.hand_decoder import PAIRS, pair_source

SOME = PAIRS[:: len(PAIRS) // 28][:28]


@pytest.mark.parametrize(("first", "second"), SOME, ids=lambda wrong: wrong.id)
def test_both_are_named(first, second, warm):
    outcome = grade(pair_source(first, second), warm)
    for wrong in (first, second):
        assert outcome.ids(wrong.part) == expected(wrong.misconception)
    assert {where for _, where in outcome.named} == {first.part, second.part}


def test_there_are_enough():
    assert len(SOME) >= 25
