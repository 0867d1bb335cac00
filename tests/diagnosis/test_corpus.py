"""Every wrong submission is caught, nearly every one is named, none is named wrongly.

Each mistake is graded once in each part, and a third of its other spellings; with GRADER_WHOLE_CORPUS=1 all of them.
"""

import os

import pytest

from tests.diagnosis.measure import above, expected, grade, users
from tests.wrong.hand_decoder import Wrong, all_wrong, one_of_each, source

WHOLE = bool(os.environ.get("GRADER_WHOLE_CORPUS"))
TOLD = ("value", "stability", "gradient", "mutation", "state", "dtype", "structure")  # not by a traceback of their own


def chosen():
    once = one_of_each()
    rest = [wrong for wrong in all_wrong() if wrong not in once]
    for i, wrong in enumerate(once):
        parts = (wrong.part, *wrong.also)
        yield wrong, above(*parts) if WHOLE or i % 8 == 0 or wrong.how == "stability" else users(*parts)
    for wrong in rest if WHOLE else rest[::3]:
        yield wrong, above(wrong.part, *wrong.also) if WHOLE else {wrong.part, *wrong.also}


@pytest.fixture(scope="module")
def outcomes(warm):
    return [(wrong, grade(source(wrong), warm, parts)) for wrong, parts in chosen()]


def unlike(wrong: Wrong, outcome) -> set[tuple[str, str]]:
    """Names that are not the mistake's, or that are given to a part in which it is not made."""
    right = expected(wrong.misconception)
    return {(key, where) for key, where in outcome.named if key not in right or where not in (wrong.part, *wrong.also)}


def test_all_are_caught_where_the_mistake_is(outcomes):
    missed = [wrong.id for wrong, outcome in outcomes if not outcome.lost & {wrong.part, *wrong.also}]
    assert not missed


def test_nearly_all_are_named(outcomes, capsys):
    told = [(wrong, outcome) for wrong, outcome in outcomes if wrong.how in TOLD]
    unnamed = [
        wrong.id
        for wrong, outcome in told
        if not wrong.misconception or outcome.ids(wrong.part, *wrong.also) != expected(wrong.misconception)
    ]
    wrongly = [wrong.id for wrong, outcome in outcomes if unlike(wrong, outcome)]
    caught = sum(bool(outcome.lost & {wrong.part, *wrong.also}) for wrong, outcome in outcomes)
    with capsys.disabled():
        print(
            f"\n{len(outcomes)} wrong submissions: {caught} caught; of {len(told)} that have no traceback of their own"
            f" {len(told) - len(unnamed)} named; {len(wrongly)} named wrongly\nunnamed: {', '.join(unnamed) or 'none'}"
        )
    assert len(unnamed) <= 0.05 * len(told)


def test_none_is_named_wrongly(outcomes):
    assert {wrong.id: unlike(wrong, outcome) for wrong, outcome in outcomes if unlike(wrong, outcome)} == {}


def test_every_name_is_told_of_a_mistake_that_can_be_looked_up(outcomes):
    for _, outcome in outcomes:
        for verdict in outcome.verdicts:
            for name in verdict.misconceptions:
                assert name.title
                assert name.formula
                assert name.cure
