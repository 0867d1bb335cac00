"""The audit of encoder-block is clean; its right submissions are graded one by one in tests/diagnosis."""

from grader.audit.run import audit


def test_the_audit_of_encoder_block_is_clean():
    found = audit("encoder-block")
    assert list(found.problems) == []
    assert sum(outcome.kind == "right" for outcome in found.outcomes) >= 6
    assert sum(outcome.kind == "wrong" for outcome in found.outcomes) >= 350
