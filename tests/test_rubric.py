"""What verdicts are worth: shares, gates, what is skipped, and the border between passed and not passed."""

from importlib.resources import files
from typing import Any

import pytest

import grader
from grader.engine import plan
from grader.rubric import rubric, score
from grader.spec import Spec, parse
from grader.verdict import Verdict
from tests.folders import RIGHT

TEXT = (files("specs") / "hand-decoder.toml").read_text("utf-8")


def spec_with(more: str = "", *changes: tuple[str, str]) -> Spec:
    """The first assignment with changes and more at its end."""
    text = TEXT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return parse((text + more).encode(), "mine.toml")


def verdicts(spec: Spec, **status: str) -> list[Verdict]:
    """All passed but what is named, `softmax__value="failed"`."""
    other = {key.replace("__", ".").replace("_", "-"): value for key, value in status.items()}
    skipped = dict.fromkeys(spec.skip, "skipped")
    return [
        Verdict(i.id, "", i.part.name, {**skipped, **other}.get(i.id, "passed"))  # type: ignore[arg-type]
        for i in plan(spec)
    ]


def made(spec: Spec, given: list[Verdict]) -> dict[str, Any]:
    return rubric(spec, given, submission={}, status="graded", origin={}, timing={})


def test_a_skipped_check_of_a_gate_counts_neither_way():
    spec = spec_with('\n[skip]\n"decoder.past-matters" = "not asked this year"\n')
    right, wrong = made(spec, verdicts(spec)), made(spec, verdicts(spec, softmax__value="failed"))
    assert right["gates"] == wrong["gates"] == [{"criterion": "causality", "passed": True}]
    assert right["passed"]
    assert right["score"] == right["max_score"]
    failed = made(spec, verdicts(spec, decoder__future_does_not_matter="failed"))
    assert failed["gates"] == [{"criterion": "causality", "passed": False}]
    assert not failed["passed"]


@pytest.mark.parametrize("key", ["softmax.shape", "softmax.value", "decoder.past-matters"])
def test_what_waits_for_a_skipped_check_is_asked_all_the_same(key, tmp_path):
    spec = spec_with(f'\n[skip]\n"{key}" = "not asked this year"\n')
    (tmp_path / "decoder.py").write_text(RIGHT, "utf-8")
    result = grader.grade(tmp_path / "decoder.py", assignment=spec, only="softmax")
    statuses = {verdict.id: verdict.status for verdict in result.verdicts}
    assert set(statuses.values()) == ({"passed", "skipped"} if key in statuses else {"passed"})


def test_skipped_checks_leave_the_points_to_the_others():
    spec = spec_with('\n[skip]\n"hand-calculation.w" = "printed on the sheet"\n')
    assert {line.criterion.id: line.earned for line in score(spec, verdicts(spec))}["hand-calculation"] == 7
    half = verdicts(spec, hand_calculation__a="failed", hand_calculation__loss="failed", hand_calculation__p_b="failed")
    assert {line.criterion.id: line.earned for line in score(spec, half)}["hand-calculation"] == round(7 * 6 / 9, 6)


BORDER = ("passing_percent = 80", "passing_percent = {}")


@pytest.mark.parametrize(
    ("needed", "shown", "passed"),
    [
        ("95.0", 95.0, True),  # exactly
        ("95.001", 95.0, False),
        ("95.004", 95.0, False),
        ("94.999", 95.0, True),
    ],
)
def test_the_border_is_that_of_the_exact_percentage(needed, shown, passed):
    spec = spec_with("", (BORDER[0], BORDER[1].format(needed)))
    found = made(spec, verdicts(spec, softmax__value="failed"))
    assert (found["percent"], found["passed"]) == (shown, passed)


@pytest.mark.parametrize(("points", "shown", "passed"), [("24.994", 80.0, True), ("25.006", 79.99, False)])
def test_what_is_not_enough_is_not_written_as_if_it_were(points, shown, passed):
    """100 of 125.006 points are 79.996 %."""
    more = f'\n[[criteria]]\nid = "report"\ntitle = "A report"\npoints = {points}\nkind = "manual"\n'
    found = made(spec := spec_with(more), verdicts(spec))
    assert (found["percent"], found["passed"]) == (shown, passed)
