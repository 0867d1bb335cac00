"""A module that does what it likes: nothing of it ends the grading, and what it says is made harmless."""

import numpy as np
import pytest

from grader import grade
from grader.engine import plan
from grader.hosts import Hosts
from grader.part import Part
from grader.probes.module import build
from grader.reports.html import page
from grader.spec import load
from grader.student import Student, limits_of
from grader.submission import read
from tests.right.decoder_block import HERE

SPEC = load("decoder-block")
PLAIN = (HERE / "plain.py").read_text("utf-8")
SPLIT = "u = x + attended"


@pytest.fixture(scope="module")
def hosts():
    pytest.importorskip("torch")
    with Hosts(limits=limits_of(SPEC)) as hosts:
        yield hosts


def graded(old, new, hosts, folder):
    assert PLAIN.count(old) == 1
    (folder / "decoder_block.py").write_text(PLAIN.replace(old, new), "utf-8")
    return grade(folder, assignment="decoder-block", hosts=hosts)


def named(result):
    return {name.id for verdict in result.verdicts for name in verdict.misconceptions}


def test_a_crash_in_one_check_is_followed_by_new_instances(hosts, tmp_path):
    result = graded(
        SPLIT,
        f"{SPLIT}\n        if x.shape[1] == 200:\n            import os\n            os._exit(3)",
        hosts,
        tmp_path,
    )
    failed = {verdict.id: verdict.status for verdict in result.verdicts if not verdict.passed}
    assert failed == {"decoderblock.any-length": "crashed"}


def test_an_endless_loop_costs_one_time_limit(tmp_path):
    pytest.importorskip("torch")
    limits = limits_of(SPEC.model_copy(update={"limits": SPEC.limits.model_copy(update={"call_seconds": 1.0})}))
    with Hosts(limits=limits) as hosts:
        result = graded(SPLIT, "while True: pass", hosts, tmp_path)
    blocks = [verdict for verdict in result.verdicts if verdict.part == "DecoderBlock"]
    assert {verdict.status for verdict in blocks} <= {"timeout", "blocked"}
    assert result.rubric["status"] == "graded"


def test_names_of_parameters_are_made_harmless(hosts, tmp_path):
    bad = 'self.register_parameter("\\x1b[31m<script>\\u202e" + "x" * 500, nn.Parameter(torch.ones(width)))'
    result = graded(
        "self.norm_1 = nn.LayerNorm(width)", f"self.norm_1 = nn.LayerNorm(width)\n        {bad}", hosts, tmp_path
    )
    assert named(result) == {"module-parameter-unused"}
    message = next(v.message for v in result.verdicts if v.id == "decoderblock.all-used")
    assert "\x1b" not in message
    assert "\u202e" not in message
    assert len(message) < 200
    assert "<script>" not in page(result)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("class DecoderBlock(nn.Module):", "DecoderBlock = 3\n\n\nclass Other(nn.Module):"),
        (
            "class DecoderBlock(nn.Module):",
            "def DecoderBlock(width=64, heads=4):\n    return None\n\n\nclass Other(nn.Module):",
        ),
        ("super().__init__()", "pass"),
        ("return u + fed", "return torch.zeros(5, 10**6)"),
        ("return u + fed", "return (u + fed).to(torch.complex64)"),
        ("return u + fed", "raise SystemExit(0)"),
        (
            "def feed_forward(self, x):",
            "def named_parameters(self, *a, **k):\n        raise RuntimeError('no')\n\n    def feed_forward(self, x):",
        ),
        (
            "def feed_forward(self, x):",
            "def double(self):\n        raise RuntimeError('no')\n\n    def feed_forward(self, x):",
        ),
    ],
)
def test_whatever_it_is_the_grading_comes_to_its_end(old, new, hosts, tmp_path):
    result = graded(old, new, hosts, tmp_path)
    assert result.rubric["status"] == "graded"
    assert len(result.verdicts) == len(plan(SPEC))


def test_the_width_of_a_branch_is_said_in_widths(hosts, tmp_path):
    result = graded(
        "self.down = nn.Linear(4 * width, width)", "self.down = nn.Linear(4 * width, 2 * width)", hosts, tmp_path
    )
    message = next(v.message for v in result.verdicts if v.id == "decoderblock.same-shape")
    assert message.startswith("cannot add [B, T, 2·width] to [B, T, width]: line")
    assert message.endswith("return u + fed")


def test_the_norms_of_a_deep_stack_are_plotted(hosts, tmp_path):
    result = graded(SPLIT, SPLIT, hosts, tmp_path)
    text = page(result)
    assert '<svg class="plot"' in text
    assert "48 blocks: norm of the stream from" in text


def test_a_block_of_a_redrawn_seed_is_the_same_in_every_instance(hosts):
    student = Student(read(HERE / "zero_initialised.py", SPEC.file), hosts)
    student.load()
    try:
        part = Part(SPEC, SPEC.part("DecoderBlock"), student, [])
        x = np.random.default_rng(0).standard_normal((2, 5, 12))
        assert np.array_equal(build(part, fresh=True)(x), x)  # its branches start at 0
        one, other = (build(part, fresh=True).redraw(4) for _ in range(2))
        assert np.array_equal(one(x), other(x))
        assert not np.allclose(one(x), x)
        one.zero(range(len(one.parameters)))
        assert np.array_equal(one(x), x)
        assert one.gradients(x, x, whole=False).backward[0] > 0
    finally:
        student.close()
