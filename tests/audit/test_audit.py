"""The audit finds what a grader does wrong, and finds nothing in ours."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from grader.audit.matrix import markdown, summary
from grader.audit.run import Audit, Outcome, as_dict, audit, problems
from grader.audit.variants import variants
from grader.spec import load

SPEC = load("hand-decoder")
RIGHT = Path(__file__).parent.parent / "right" / "hand_decoder"
WRONG = Outcome(
    id="softmax.softmax-twice",
    kind="wrong",
    part="softmax",
    expect="softmax-twice",
    percent=50.0,
    failed=("softmax.value",),
    lost=("softmax.value",),
    named=(("softmax-twice", "softmax", ()),),
    separation=1e6,
    seconds=0.1,
)


def said(outcome: Outcome) -> str:
    return "\n".join(problems(SPEC, [outcome], ("softmax.value",)))


def test_a_variant_that_is_caught_and_named_is_no_problem() -> None:
    assert said(WRONG) == ""


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lost": (), "failed": (), "named": ()}, "is wrong and passes every check of softmax"),
        ({"named": ()}, "is caught and not named"),
        ({"named": (("softmax-negated", "softmax", ()),)}, "is named softmax-negated, which is another mistake"),
        ({"named": (*WRONG.named, ("no-scale", "attention_scores", ()))}, "though only softmax is wrong"),
        ({"separation": 99.0}, "is only 99 tolerances from the right answer, less than 100"),
        ({"problem": "no such key"}, "could not be graded: no such key"),
        ({"kind": "right"}, "is right and loses softmax.value"),
        ({"kind": "right", "lost": ()}, "is right and is given the name softmax-twice"),
        ({"kind": "degenerate"}, "earns 50 %, more than the floor of 10 %"),
    ],
)
def test_each_failing_of_the_grader_is_said(change: dict[str, object], message: str) -> None:
    assert message in said(replace(WRONG, **change))  # type: ignore[arg-type]


def test_a_name_that_cannot_be_told_apart_counts() -> None:
    assert said(replace(WRONG, named=(("softmax-again", "softmax", ("softmax-twice",)),))) == ""


def test_a_part_that_raises_is_named_by_its_traceback() -> None:
    assert said(replace(WRONG, named=(), raised=True)) == ""


def test_a_check_that_nothing_fails_is_a_problem() -> None:
    found = list(problems(SPEC, [WRONG], ("softmax.value", "softmax.idle")))
    assert found == ["the check softmax.idle is failed by no variant: it says nothing, or a wrong variant is missing"]


def test_every_misconception_with_a_function_is_a_variant_and_no_id_stands_there_twice() -> None:
    ids = [variant.id for variant in variants(SPEC)]
    assert len(ids) == len(set(ids))
    assert {"softmax.softmax-twice", "next-token-probabilities.softmax-twice", "decoder-block.post-norm"} <= set(ids)
    assert {"zeros", "memoizing", "template", "reference", "torch-twin"} <= set(ids)


def test_the_matrix_has_a_row_for_each_variant_and_the_json_is_strict() -> None:
    found = Audit(SPEC, (WRONG,), ("something is wrong",), ("softmax.value", "softmax.shape"), 1.0)
    text = markdown(found)
    assert "| softmax-twice | softmax-twice | × |" in text
    assert "| softmax.value | 1 | 1 | 1 |" in text
    assert "1 problems:\n  something is wrong" in summary(found)
    assert json.loads(json.dumps(as_dict(found), allow_nan=False))["checks"]["softmax.value"] == [WRONG.id]


def test_the_audit_of_hand_decoder_is_clean() -> None:
    right = tuple(p for p in sorted(RIGHT.iterdir()) if p.suffix == ".py" and p.name != "__init__.py")
    found = audit("hand-decoder", right=(*right, RIGHT / "with_helpers", RIGHT / "with_adapters"))
    assert list(found.problems) == []
    assert sum(outcome.kind == "right" for outcome in found.outcomes) >= 30
    assert sum(outcome.kind == "wrong" for outcome in found.outcomes) >= 300
