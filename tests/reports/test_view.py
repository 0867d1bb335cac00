"""What is shown first, what is not shown, and what comes next."""

from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest

import grader
from grader.reports import _view as view
from grader.reports import all_reports
from grader.reports._blocks import comparison, influence
from grader.reports.terminal import render
from grader.spec import load, parse
from grader.verdict import Verdict
from tests.reports.submissions import MISTAKES, changed, graded, result_of

SPEC = (files("specs") / "hand-decoder.toml").read_text("utf-8")
SCALE = MISTAKES[0]


def with_spec(tmp_path: Path, source: str, *changes: tuple[str, str]) -> grader.Result:
    text = SPEC
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    (tmp_path / "decoder.py").write_text(source, "utf-8")
    return grader.grade(tmp_path, assignment=parse(text.encode(), "test.toml"))


def test_a_part_comes_after_those_that_it_uses():
    spec = load("hand-decoder")
    turned = spec.model_copy(update={"parts": spec.parts[::-1]})
    order = [part.name for part in view.ordered(turned)]
    assert sorted(order) == sorted(part.name for part in spec.parts)
    for part in spec.parts:
        assert all(order.index(used) < order.index(part.name) for used in part.uses)


def test_what_uses_a_wrong_part_points_to_it():
    groups = {group.part.name: group for group in view.groups(result_of("wrong"))}
    assert groups["attention_head"].because == ("attention_scores", "causal_attention_weights")
    assert not groups["attention_head"].own
    assert groups["decoder"].raised_in == "feed_forward"
    assert groups["attention_scores"].own


@pytest.mark.parametrize("format_", ["text", "html", "markdown"])
def test_hidden_checks_count_and_are_not_shown(tmp_path, format_):
    hidden = 'checks = ["attention-scores.*"]\nhidden = ["attention-scores.value"]'
    result = with_spec(tmp_path, changed(SCALE), ('checks = ["attention-scores.*"]', hidden))
    text = all_reports().get(format_).write(result)
    assert "attention-scores.value" not in text
    assert "attention-scores.unit-variance" in text
    assert result.score < 100


def test_when_only_hidden_checks_fail_nothing_is_given_away(tmp_path):
    source = changed(("    biggest = np.max(x, axis=-1, keepdims=True)", "    biggest = 1.0"))
    line = next(line for line in SPEC.splitlines() if line.startswith('checks = ["*.extreme-values"'))
    result = with_spec(tmp_path, source, (line, f'{line}\nhidden = ["softmax.extreme-values"]'))
    group = next(group for group in view.groups(result) if group.part.name == "softmax")
    assert (group.failures, group.hidden) == ((), 1)
    assert "1 hidden check did not pass." in render(result)


def test_name_that_is_not_defined_is_told_in_a_line():
    result = graded(changed(("def loss(Z, targets):", "def cross_entropy(Z, targets):")), "renamed")
    text = render(result)
    assert "Not written yet: loss (not defined)" in text
    assert view.next_step(result)[0].startswith("Write def loss(Z, targets) first")


def test_manual_criterion_is_to_be_marked(tmp_path):
    first = '[[criteria]]\nid = "causality"'
    manual = f'[[criteria]]\nid = "essay"\ntitle = "Explanations"\npoints = 10\nkind = "manual"\n\n{first}'
    result = with_spec(tmp_path, changed(), (first, manual))
    assert "to be marked, of 10" in render(result)
    assert "to be marked / 10" in all_reports().get("html").write(result)
    assert "to be marked / 10" in all_reports().get("markdown").write(result)


def test_notes_are_told_once_for_each_part():
    result = result_of("wrong")
    notes = view.notes(result)
    assert len({(part, sentence) for part, sentence, _ in notes}) == len(notes)
    assert any(count > 1 for *_, count in notes)


def verdict(**evidence: object) -> Verdict:
    return Verdict("attention-head.past-matters", "Says.", "attention_head", "failed", "seen", evidence=dict(evidence))


@pytest.mark.parametrize(
    ("expected", "observed", "marks"),
    [
        ([[1.0, 2.0]], [[1.0, 2.5]], {(0, 1)}),
        ([1.0, 2.0], ["NaN", 2.0], {(0, 0)}),
        (1.5, "NaN", {(0, 0)}),
        ([[1.0, 2.0]], [[1.0], [2.0]], set()),
        ([[1.0, 2.0]], [[1.0, 2.0000001]], set()),
    ],
)
def test_what_differs_is_marked(expected, observed, marks):
    blocks = comparison(verdict(expected=expected, observed=observed))
    assert blocks[-1].marks == marks


def test_difference_that_four_digits_would_hide_is_shown_with_six():
    blocks = comparison(verdict(expected=[1.23456, 2.0], observed=[1.23467, 2.0], where=[0], allowed=1e-9))
    assert blocks[-1].cells == (("1.23467", "2"),)


def test_shapes_are_shown_as_shapes():
    assert [block.cells for block in comparison(verdict(expected=[4, 3], observed=[3, 4]))] == [
        (("4 × 3",),),
        (("3 × 4",),),
    ]


def test_odd_evidence_does_not_break_a_report():
    odd = [None, {}, [], [[]], [[1.0], [1.0, 2.0]], {"a": [1.0]}, [[[1.0]]], "text", True, [[None]]]
    for value in odd:
        for other in odd:
            comparison(verdict(expected=value, observed=other, where=[5, 5], arguments={"H": value}))
        influence(verdict(picture={"kind": "influence", "matrix": value}))
        result = result_of("wrong")
        changed_verdicts = [replace(v, evidence={"expected": value, "observed": value}) for v in result.verdicts]
        for report in all_reports():
            report.write(replace(result, verdicts=tuple(changed_verdicts)))


def test_picture_marks_what_moves_and_what_stays():
    matrix = [[1.0, "inf"], [0.0, None]]
    drawn = influence(verdict(picture={"kind": "influence", "matrix": matrix}))
    assert drawn is not None
    assert drawn.kinds == (("moves", "leak"), ("stuck", "nan"))
