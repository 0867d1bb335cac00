"""The audit of decoder-lm is clean. A short run takes a few variants of each part, a long one all."""

import pytest

from grader.audit.run import audit
from grader.audit.variants import variants
from grader.spec import load

SHORT = (
    "tokenizer.line-ends",
    "model.mask-one-ahead",
    "cache.positions-from-0",
    "training.no-step",
    "evaluation.bits",
    "sampling.top-k-one-more",
    "bundle.version-unread",
    "zeros",
)


def test_every_change_fits_and_every_part_has_variants():
    found = list(variants(load("decoder-lm")))
    ids = [variant.id for variant in found]
    assert len(ids) == len(set(ids))
    assert {"base", "template", *SHORT} <= set(ids)
    assert sum(variant.kind == "right" for variant in found) >= 5
    assert {variant.part for variant in found} == {"", *(part.name for part in load("decoder-lm").parts)}


def test_some_variants_of_each_part_are_caught_and_named():
    pytest.importorskip("torch")
    found = audit("decoder-lm", only=SHORT, jobs=1)
    assert list(found.problems) == []
    assert len(found.outcomes) == len(SHORT)


@pytest.mark.slow
def test_the_audit_of_decoder_lm_is_clean():
    pytest.importorskip("torch")
    found = audit("decoder-lm")
    assert list(found.problems) == []
    assert sum(outcome.kind == "wrong" for outcome in found.outcomes) >= 180
