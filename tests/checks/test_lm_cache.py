"""Decoding with a cache: right ones pass, each wrong one fails where it should and is called by its name."""

import pytest

from grader import grade
from grader.hosts import Hosts
from grader.spec import load
from grader.student import limits_of
from tests.right.decoder_lm import HERE

SPEC = load("decoder-lm")
PLAIN = (HERE / "plain.py").read_text("utf-8")
LOAD = ("def load_reference(self, weights):", "def load_other(self, weights):")  # without it other ways must tell
START = "start = 0 if past is None else past[0].shape[2]"
HEAD = "start = 0 if cache is None else cache[0][0].shape[2]"
TURN = "q, k = turn(q, start), turn(k, start)"
MASK = "dtype=torch.bool, device=x.device).tril(start)"
JOIN = "k = torch.cat([past[0], k], dim=2)\n            v = torch.cat([past[1], v], dim=2)"
RETURN = "return self.W_O(out.transpose(1, 2).flatten(2)), (k, v)"
LAYER = "block(x, None if cache is None else cache[i])"
KEPT = "return self.readout(self.norm_f(x)), kept"
ENTRY = "    def decode(self, tokens, cache=None):\n"


def both(formula):
    """The same start for learned positions and for rotary."""
    return [
        (HEAD, f"{HEAD}\n        start = {formula.format(past='start')}"),
        (TURN, f"at = {formula.format(past='start')}\n            q, k = turn(q, at), turn(k, at)"),
        ("if start + T > self.context:", "if start > self.context:"),
    ]


def decode(body):
    """Another method in place of `decode`, which stays as `_decode`."""
    lines = "".join(f"        {line}\n" for line in body)
    return [
        (ENTRY, f"{ENTRY}{lines}\n    def _decode(self, tokens, cache=None):\n"),
        ("return self.decode(tokens)[0]", "return self._decode(tokens)[0]"),
    ]


NUMBERS = {
    "position-zero": both("0"),
    "position-doubled": both("2 * {past}"),
    "position-ahead": both("{past} + ({past} > 0)"),
    "position-behind": both("{past} - ({past} > 0)"),
    "no-mask": [(MASK, "dtype=torch.bool, device=x.device).tril(start if past is None else k.shape[2])")],
    "mask-corner": [(MASK, "dtype=torch.bool, device=x.device).tril()")],
    "mask-ahead": [(MASK, "dtype=torch.bool, device=x.device).tril(start + (start > 0))")],
    "mask-square": [
        ("torch.ones(q.shape[2], k.shape[2], dtype", "torch.ones(q.shape[2], q.shape[2], dtype"),
        ("device=x.device).tril(start)", "device=x.device).tril()"),
    ],
    "ignored": [(JOIN, "pass"), ("kept.append(pair)", "kept.append(tuple(torch.cat(p, 2) for p in "
                 "zip(cache[i], pair)) if cache else pair)"), (MASK, "dtype=torch.bool).tril()")],
    "not-appended": [(RETURN, RETURN.replace("(k, v)", "((k, v) if past is None else past)"))],
    "newest-only": [
        (JOIN, f"new = k, v\n            {JOIN}"),
        (RETURN, RETURN.replace("(k, v)", "((k, v) if past is None else new)")),
    ],
    "overwritten": [(JOIN, JOIN.replace("past[0]", "past[0][:, :, :-1]").replace("past[1]", "past[1][:, :, :-1]")),
                    (MASK, "dtype=torch.bool, device=x.device).tril(k.shape[2] - q.shape[2])")],
    "swapped": [(JOIN, JOIN.replace("past[0]", "past[2]").replace("past[1]", "past[0]").replace("past[2]", "past[1]"))],
    "first-row": [(JOIN, JOIN.replace("past[0]", "past[0][:1].expand_as(past[0])").replace(
        "past[1]", "past[1][:1].expand_as(past[1])"))],
}  # fmt: skip
ROTARY = {
    "position-zero": [(TURN, "q, k = turn(q, 0), turn(k, 0)")],
    "keys-turned-again": [
        (TURN, "q = turn(q, start)"),
        (JOIN, f"{JOIN}\n        if self.rotary:\n            k = turn(k, 0)"),
    ],
    "keys-unturned": [
        (TURN, "q, k = turn(q, start), turn(k, start)"),
        (START, START + "\n        raw = k"),
        (RETURN, RETURN.replace("(k, v)", "(torch.cat([*([] if past is None else [past[0]]), raw], 2), v)")),
    ],
}
LAYERS = {
    "shared-by-layers": [(LAYER, LAYER.replace("cache[i]", "cache[0]"))],
    "counter-early": [(START, START + "\n        start = start + (x.shape[1] if self is not self.first else 0)"),
                      ("self.blocks = nn.ModuleList(", "Attention.first = None\n        self.blocks = nn.ModuleList("),
                      (HEAD, "Attention.first = self.blocks[0].attention\n        " + HEAD),
                      (MASK, "dtype=torch.bool, device=x.device).tril(k.shape[2] - q.shape[2])")],
}  # fmt: skip
CONDUCT = {
    "stale": (
        "prompts-apart",
        decode(
            [
                "logits, self.kept = self._decode(tokens, getattr(self, 'kept', None) if cache is None else cache)",
                "return logits, self.kept",
            ]
        ),
    ),
    "in-model": (
        "branches-apart",
        decode(
            [
                "logits, self.kept = self._decode(tokens, self.kept if cache is not None else None)",
                "return logits, ()",
            ]
        ),
    ),
    "shared-by-models": (
        "models-apart",
        decode(
            [
                "logits, DecoderLM.kept = self._decode(tokens, DecoderLM.kept if cache is not None else None)",
                "return logits, ()",
            ]
        ),
    ),
    "aliased": (
        "branches-apart",
        decode(
            [
                "logits, after = self._decode(tokens, cache)",
                "if cache is not None:",
                "    cache[:] = after",
                "return logits, after if cache is None else cache",
            ]
        ),
    ),
    "changed-by-forward": (
        "forward-between",
        [
            *decode(
                [
                    "cache = getattr(self, 'kept', cache) if cache is not None else None",
                    "logits, self.kept = self._decode(tokens, cache)",
                    "kept = self.kept",
                    "del self.kept",
                    "return logits, kept",
                ]
            ),
            ("return self._decode(tokens)[0]", "logits, self.kept = self._decode(tokens)\n        return logits"),
        ],
    ),
    "recomputes": (
        "uses-the-cache",
        decode(
            [
                "every = tokens if cache is None else torch.cat([cache, tokens], 1)",
                "return self._decode(every)[0][:, -tokens.shape[1] :], every",
            ]
        ),
    ),
    "reprojects": (
        "uses-the-cache",
        [
            ("def forward(self, x, past=None):\n        q, k, v =", "def forward(self, x, past=None):\n"
             "        every = x if past is None else torch.cat([past[0], x], 1)\n        q, k, v ="),
            ("self.split(self.W_K(x)), self.split(self.W_V(x))", "self.split(self.W_K(every)), "
             "self.split(self.W_V(every))"),
            (START, "start = 0 if past is None else past[0].shape[1]"),
            (TURN, "q, k = turn(q, start), turn(k, 0)"),
            (JOIN, "pass"),
            (RETURN, RETURN.replace("(k, v)", "(every,)")),
            (HEAD, "start = 0 if cache is None else cache[0][0].shape[1]"),
        ],
    ),
    "last-logits-only": ("decode-shape", decode(["l, c = self._decode(tokens, cache)", "return l[:, -1:], c"])),
}  # fmt: skip


@pytest.fixture(scope="module")
def hosts():
    pytest.importorskip("torch")
    with Hosts(limits=limits_of(SPEC)) as hosts:
        yield hosts


def graded(patches, hosts, folder):
    text = PLAIN
    for old, new in patches:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    (folder / "decoder_lm.py").write_text(text, "utf-8")
    result = grade(folder, assignment="decoder-lm", only="cache.*", hosts=hosts)
    verdicts = [v for v in result.verdicts if v.part == "DecoderLM.decode"]
    failed = {v.id.removeprefix("cache."): v.message for v in verdicts if v.status not in ("passed", "blocked")}
    return failed, {name.id.removeprefix("cache-") for v in verdicts for name in v.misconceptions}


def test_the_plain_one_is_right(hosts, tmp_path):
    assert graded([], hosts, tmp_path) == ({}, set())
    assert graded([LOAD], hosts, tmp_path) == ({}, set())


@pytest.mark.parametrize(
    ("name", "load"), [*((name, ()) for name in NUMBERS), *((name, (LOAD,)) for name in NUMBERS if name != "swapped")]
)
def test_wrong_numbers_are_named_with_the_reference_and_without(name, load, hosts, tmp_path):
    failed, names = graded([*NUMBERS[name], *load], hosts, tmp_path)
    assert names == {name}, failed
    assert "matches-forward" in failed
    assert set(failed) <= {"matches-forward", "past-counts"}


@pytest.mark.parametrize("name", [*ROTARY, *LAYERS])
def test_what_only_rotary_or_only_layers_show_is_named(name, hosts, tmp_path):
    failed, names = graded({**ROTARY, **LAYERS}[name], hosts, tmp_path)
    assert (list(failed), names) == (["matches-forward"], {name})


@pytest.mark.parametrize("name", ["position-zero", *LAYERS])
def test_what_only_rotary_or_only_layers_show_is_named_without_the_reference(name, hosts, tmp_path):
    failed, names = graded([*{**ROTARY, **LAYERS}[name], LOAD], hosts, tmp_path)
    assert (list(failed), names) == (["matches-forward"], {name})


@pytest.mark.parametrize("name", CONDUCT)
def test_conduct_is_named(name, hosts, tmp_path):
    check, patches = CONDUCT[name]
    failed, names = graded(patches, hosts, tmp_path)
    assert names == {name}, failed
    assert check in failed


@pytest.mark.parametrize(
    "body",
    [
        ["return None"],
        ["return self._decode(tokens, cache)[0]"],
        ["return torch.zeros(0), cache"],
        ["return self._decode(tokens)[0] * float('nan'), 0"],
        ["return self._decode(tokens)[0].to(torch.complex64), 0"],
        ["raise SystemExit(0)"],
        ["torch.Tensor.__torch_dispatch__ = None", "return self._decode(tokens)[0], 0"],
    ],
)
def test_whatever_decode_does_the_grading_comes_to_its_end(body, hosts, tmp_path):
    failed, names = graded(decode(body), hosts, tmp_path)
    assert failed
    assert names <= {"ignored", "result-none", "result-missing", "result-complex"}


def test_a_cache_of_single_precision_is_right(hosts, tmp_path):
    alone = "torch.cat([past[0], k], dim=2)"
    patches = [(alone, f"{alone}.float()"), (RETURN, RETURN.replace("(k, v)", "(k.float(), v.float())"))]
    assert graded(patches, hosts, tmp_path) == ({}, set())
    result = grade(tmp_path, assignment="decoder-lm", only="cache.matches-forward", hosts=hosts)
    assert [v.message for v in result.verdicts if v.id == "cache.matches-forward"] == [
        "the cache takes single precision only; accepted"
    ]


def test_operations_are_those_that_torch_counts():
    torch = pytest.importorskip("torch")
    from torch.utils.flop_counter import FlopCounterMode

    from grader.worker.inside.operations.cache_flops import _flops

    layer, x = torch.nn.Linear(5, 7), torch.ones(2, 3, 5)

    def work():
        y = layer(x)
        return torch.einsum("bij,bkj->bik", y, y) @ y

    for mode in (torch.no_grad, torch.inference_mode):
        with mode():
            with FlopCounterMode(display=False) as counter:
                work()
            assert _flops(work) == counter.get_total_flops() == 2 * 2 * (3 * 5 * 7 + 2 * 3 * 3 * 7)
