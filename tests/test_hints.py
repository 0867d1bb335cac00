"""Holds what is said of exceptions that have nothing to do with the mathematics."""

import pytest

from grader import grade
from grader.hosts import Hosts
from tests.folders import RIGHT, patched


@pytest.fixture(scope="module")
def hosts():
    with Hosts() as hosts:
        yield hosts


def hints_of(source, hosts, tmp_path, only, assignment="hand-decoder", file="decoder.py"):
    (tmp_path / file).write_text(source, "utf-8")
    found = grade(tmp_path, assignment=assignment, only=only, hosts=hosts)
    return {verdict.hint for verdict in found.verdicts if verdict.status == "error"}


def changed(line):
    return patched(("    z = exp(x - x.max(-1)[..., None])", f"    {line}\n    z = exp(x - x.max(-1)[..., None])"))


def test_numpy_code_that_imports_torch_is_told_why_it_gets_tensors(hosts, tmp_path):
    pytest.importorskip("torch")
    told = hints_of("import torch\n" + RIGHT, hosts, tmp_path, "causal_attention_weights")
    assert any('BACKEND = "numpy"' in hint for hint in told)
    said = 'import torch\nBACKEND = "numpy"\n' + RIGHT
    assert not hints_of(said, hosts, tmp_path, "causal_attention_weights")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("input()", "nobody to answer input()"),
        ("open('table.txt')", "Only the Python files"),
        ("x / x.sum(-1)", "keepdims=True"),
        ("raise NotImplementedError", "Write softmax."),
        ("raise ValueError('of another kind')", ""),
    ],
)
def test_what_to_do_about_an_exception(hosts, tmp_path, line, told):
    found = hints_of(changed(line), hosts, tmp_path, "softmax")
    assert len(found) == 1
    assert told in found.pop()


def test_time_first_in_multihead_attention_is_called_by_its_name(hosts, tmp_path):
    pytest.importorskip("torch")
    source = (
        "import torch\n\n\nclass DecoderBlock(torch.nn.Module):\n    def __init__(self, width=64, heads=4):\n"
        "        super().__init__()\n        self.attention = torch.nn.MultiheadAttention(width, heads)\n\n"
        "    def forward(self, x):\n        mask = ~torch.ones(x.shape[1], x.shape[1]).tril().bool()\n"
        "        return x + self.attention(x, x, x, attn_mask=mask, need_weights=False)[0]\n"
    )
    told = hints_of(source, hosts, tmp_path, "decoderblock.same-shape", "decoder-block", "decoder_block.py")
    assert any("batch_first=True" in hint for hint in told)


def test_a_part_graded_alone_is_not_said_to_be_the_culprit(hosts, tmp_path):
    from grader.reports._view import next_step

    (tmp_path / "decoder.py").write_text(changed("raise ValueError"), "utf-8")
    alone = grade(tmp_path, assignment="hand-decoder", only="attention_head", hosts=hosts)
    said, command = next_step(alone)
    assert "or what it is made of: softmax" in said
    assert command == "grader check"


def test_what_torch_has_not_is_not_what_the_student_has_not_written(hosts, tmp_path):
    pytest.importorskip("torch")
    begin = "import torch\n\n\nclass DecoderBlock(torch.nn.Module):\n    def __init__(self, width=64, heads=4):\n"
    inner = "        super().__init__()\n        self.inner = Inner()\n\n    def forward(self, x):\n        return x + "
    told = {}
    for said, source in (
        ("library", f"{inner}torch.empty(12, device='meta').to('cpu')\n"),
        ("nothing", f"{inner}self.inner(x)\n"),
        ("stub", f"{inner}self.inner.step(x)\n"),
    ):
        kind = "\n\nclass Inner(torch.nn.Module):\n    def step(self, x):\n        raise NotImplementedError\n"
        text, file = begin + source + kind, "decoder_block.py"
        told[said] = hints_of(text, hosts, tmp_path, "decoderblock.same-shape", "decoder-block", file)
    assert told == {
        "library": {""},
        "nothing": {"Write Inner.forward: the method has that very name."},
        "stub": {"Write step first."},
    }
