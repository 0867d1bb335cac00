"""The audit of encoder-block is clean."""

from grader.audit.run import audit
from tests.right.encoder_block import all_right


def test_the_audit_of_encoder_block_is_clean():
    found = audit("encoder-block", right=all_right())
    assert list(found.problems) == []
    assert sum(outcome.kind == "right" for outcome in found.outcomes) >= 12
    assert sum(outcome.kind == "wrong" for outcome in found.outcomes) >= 350
