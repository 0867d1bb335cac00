"""What a check says fits the cause: other causes of the same symptom get other words."""

import re

import pytest

import grader
from grader.hosts import Hosts
from grader.verdict import Verdict
from tests.folders import RIGHT


@pytest.fixture(scope="module")
def hosts():
    with Hosts("process") as hosts:
        yield hosts


@pytest.fixture
def verdict(hosts, tmp_path):
    """The verdict of one check on a right submission with more code at its end."""

    def of(key: str, more: str, base: str = RIGHT) -> Verdict:
        (tmp_path / "decoder.py").write_text(base + more, "utf-8")
        result = grader.grade(tmp_path / "decoder.py", assignment="hand-decoder", only=key, hosts=hosts)
        return next(verdict for verdict in result.verdicts if verdict.id == key)

    return of


STRICT = """
import numpy as np
def causal_attention_weights(S):
    with np.errstate(all="ignore"):
        S = np.where(np.tri(len(S), k=-1, dtype=bool), S, -np.inf)
        e = np.exp(S - S.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)
"""
NOTHING = "A row that may consult nothing becomes 0/0: every position may consult itself."


@pytest.mark.parametrize("check", ["row-sums", "gradient", "extreme-values", "future-does-not-matter"])
def test_a_row_that_consults_nothing_is_told_by_every_check_that_meets_its_nan(verdict, check):
    found = verdict(f"causal-attention-weights.{check}", STRICT)
    assert found.status == "failed"
    assert found.hint == NOTHING
    assert "NaN" in found.message


def test_nan_of_another_kind_is_not_called_a_row_that_consults_nothing(verdict):
    found = verdict("softmax.row-sums", "\ndef softmax(x):\n    return x * float('nan')\n")
    assert found.hint.startswith("NaN comes from 0/0")


def test_numbers_that_overflow_at_extremes_only_keep_their_hint(verdict):
    naive = "\nimport numpy as np\ndef softmax(x):\n    e = np.exp(x)\n    return e / e.sum(-1, keepdims=True)\n"
    assert "maximum before exp" in verdict("softmax.extreme-values", naive).hint


def test_statistics_over_positions_are_a_leak_that_no_mask_stops(verdict):
    over_time = """
def layer_norm(H, gain, shift, eps):
    return gain * (H - H.mean(0)) / (H.var(0) + eps) ** 0.5 + shift
"""
    assert (
        "a mean, a variance or a maximum over positions"
        in verdict("decoder-block.future-does-not-matter", over_time).hint
    )


def test_one_result_of_two_is_told_where_its_first_row_is_taken(verdict):
    only_o = """
_head = attention_head
def attention_head(H, W_Q, W_K, W_V):
    return _head(H, W_Q, W_K, W_V)[0]
def multi_head_attention(H, heads, W_O):
    import numpy as np
    return np.concatenate([attention_head(H, *head)[0] for head in heads], axis=-1) @ W_O
"""
    found = verdict("multi-head-attention.shape", only_o)
    assert found.hint.startswith("Mend attention_head first: it gives one result where O and A are asked")


ROUNDED = """
_feed = feed_forward
def feed_forward(H, W_1, b_1, W_2, b_2):
    return _feed(H, W_1, b_1, W_2, b_2).round(4)
"""


def test_rounded_numbers_are_no_missing_nonlinearity(verdict):
    found = verdict("feed-forward.relu-between-layers", ROUNDED)
    assert [named.id for named in found.misconceptions] == ["results-rounded"]
    assert found.hint == ""


def test_a_missing_nonlinearity_is(verdict):
    flat = "\ndef feed_forward(H, W_1, b_1, W_2, b_2):\n    return (H @ W_1 + b_1) @ W_2 + b_2\n"
    assert verdict("feed-forward.relu-between-layers", flat).hint.startswith("Without a nonlinearity")


def test_the_bound_that_is_told_is_the_one_that_decides(verdict):
    off = "\n_norm = layer_norm\ndef layer_norm(H, gain, shift, eps):\n    return _norm(H, gain, shift, eps) * 1.01\n"
    found = verdict("layer-norm.value", off)
    allowed = float(re.search(r"\(allowed (\S+)\)", found.message)[1])
    largest = max(abs(entry) for row in found.evidence["expected"] for entry in row)
    assert allowed == pytest.approx(1e-6 + 5e-5 * largest, rel=0.01)


def test_one_number_is_told_as_one_number(verdict):
    found = verdict("loss.value", "\n_loss = loss\ndef loss(Z, targets):\n    return _loss(Z, targets) + 0.5\n")
    assert re.fullmatch(r"the output: \S+, expected \S+; they differ by 0\.5 \(allowed \S+\)", found.message)


def test_one_position_is_one(verdict):
    found = verdict("loss.nats", "\n_loss = loss\ndef loss(Z, targets):\n    return _loss(Z, targets) + 0.5\n")
    assert found.message.startswith("1 position, ")
