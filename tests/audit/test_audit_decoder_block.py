"""The audit of decoder-block is clean, and its changes fit the text that they change."""

import pytest

from grader.audit.run import audit
from grader.audit.variants import variants
from grader.spec import load


def test_every_change_fits_and_every_misconception_of_the_laboratory_is_a_variant():
    ids = [variant.id for variant in variants(load("decoder-block"))]
    assert len(ids) == len(set(ids))
    assert {"base", "identity", "template", "decoderblock.post-norm", "temperature-lab.temperature-nats"} <= set(ids)


def test_the_audit_of_decoder_block_is_clean():
    pytest.importorskip("torch")
    found = audit("decoder-block")
    assert list(found.problems) == []
    assert sum(outcome.kind == "wrong" for outcome in found.outcomes) >= 60
