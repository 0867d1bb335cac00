"""Wrong language models fail the check that is meant for them and are called by their names; right ones pass all."""

import pytest

from grader import grade
from grader.checks import all_checks
from grader.hosts import Hosts
from grader.misconceptions import all_misconceptions
from grader.misconceptions.lm_models import WAYS
from grader.spec import load
from grader.student import limits_of
from tests.right.decoder_lm import HERE

SPEC = load("decoder-lm")
PLAIN = (HERE / "plain.py").read_text("utf-8")
LOADING = PLAIN[PLAIN.index("    @torch.no_grad()\n    def load_reference") : PLAIN.index("def train(model")]
ROTATED = "q, k = turn(q, start), turn(k, start)"
TURNED = "return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)"
SCALED = "scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])"
MASKED = 'scores = scores.masked_fill(~allowed, float("-inf"))'
WEIGHTS = "scores.softmax(dim=-1)"
ADDED = "x = x + attended"
BLOCK = PLAIN[PLAIN.index("        attended, kept = self.attention(self.norm_1") : PLAIN.index("class DecoderLM")]
TABLE = "self.positions = None if rotary else nn.Embedding(context, width)"
MADE = "nn.ModuleList(Block(width, heads, hidden, rotary) for _ in range(layers))"
LAST = "self.readout = nn.Linear(width, vocab_size)"
RETURNED = "return self.readout(self.norm_f(x)), kept"
FED = "self.outer(torch.relu(self.inner({})))"


def branch(*lines):
    return "\n".join(f"        {line}" for line in lines) + "\n\n\n"


@pytest.fixture(scope="module")
def hosts():
    pytest.importorskip("torch")
    with Hosts(limits=limits_of(SPEC)) as hosts:
        yield hosts


def changed(*changes, load=False):
    source = PLAIN if load else PLAIN.replace(LOADING, "")
    for old, new in changes:
        assert old in source
        source = source.replace(old, new)
    return source


def graded(source, hosts, folder, only="model.*", **more):
    (folder / "decoder_lm.py").write_text(source, "utf-8")
    for name, text in more.items():
        (folder / f"{name}.py").write_text(text, "utf-8")
    return grade(folder, assignment=SPEC, only=only, hosts=hosts)


def failures(result):
    assert not result.problem
    return {v.id.removeprefix("model."): {n.id for n in v.misconceptions} for v in result.verdicts if not v.passed}


def test_every_name_is_known_and_every_way_has_one():
    assert {key for key, _ in WAYS} <= {known.id for known in all_misconceptions()}
    assert all(check.says for check in all_checks())


def test_a_right_model_passes_everything(hosts, tmp_path):
    assert failures(graded(PLAIN, hosts, tmp_path)) == {}


WITHOUT_WEIGHTS = {
    "lm-shape lm-last-only": [(RETURNED, "return self.readout(self.norm_f(x))[:, -1], kept")],
    "lm-shape lm-axes-swapped": [("return self.decode(tokens)[0]", "return self.decode(tokens)[0].transpose(0, 1)")],
    "lm-same-again lm-remembers-calls": [
        (RETURNED, "self.n = getattr(self, 'n', 0) + 1\n        return self.readout(self.norm_f(x)) * self.n, kept")
    ],
    "lm-evaluation-repeats lm-random-in-evaluation": [(ADDED, "x = x + F.dropout(attended, 0.2)")],
    "lm-training-runs lm-remembers-calls": [
        (
            RETURNED,
            "self.n = getattr(self, 'n', 1) + self.training\n"
            "        return self.readout(self.norm_f(x)) * self.n, kept",
        )
    ],
    "lm-tokens-kept lm-tokens-changed": [
        ("x = self.embedding(tokens)", "x = self.embedding(tokens)\n        tokens += 1")
    ],
    "lm-finite lm-mask-strict": [(".tril(start)", ".tril(start - 1)")],
    "lm-large-scores lm-softmax-no-maximum": [(WEIGHTS, "(scores.exp() / scores.exp().sum(-1, keepdim=True))")],
    "lm-precision lm-half-precision": [("self.norm_f(x)", "self.norm_f(x.half().to(x))")],
    "lm-logits lm-returns-probabilities": [(RETURNED, "return self.readout(self.norm_f(x)).softmax(-1), kept")],
    "lm-logits lm-returns-log-probabilities": [(RETURNED, "return self.readout(self.norm_f(x)).log_softmax(-1), kept")],
    "lm-heads-count lm-heads-ignored": [
        ("x.view(B, T, self.heads, d // self.heads)", "x.view(B, T, 1, d)"),
    ],
    "lm-tokens-meet lm-mask-only-self": [(".tril(start)", ".tril(start).triu(start)")],
    "lm-later-is-hidden lm-sees-every-position": [(MASKED, "pass")],
    "lm-later-is-hidden lm-mask-one-ahead": [(".tril(start)", ".tril(start + 1)")],
    "lm-later-is-hidden lm-mask-transposed": [(".tril(start)", ".triu(start)")],
    "lm-later-is-hidden lm-heads-split-without-transpose": [
        ("x.view(B, T, self.heads, d // self.heads).transpose(1, 2)", "x.view(B, self.heads, T, d // self.heads)")
    ],
    "lm-later-is-hidden lm-heads-merged-without-transpose": [
        ("out.transpose(1, 2).flatten(2)", "out.reshape(x.shape)"),
    ],
    "lm-earlier-counts lm-mask-window": [(".tril(start)", ".tril(start).triu(start - 3)")],
    "lm-batch-rows-apart lm-batch-mixed": [("self.norm_f(x)", "self.norm_f(x - 0.1 * x.mean(0, keepdim=True))")],
    "lm-prefix-agrees lm-length-matters": [(RETURNED, "return self.readout(self.norm_f(x)) / tokens.shape[1], kept")],
    "lm-order-counts lm-rotary-missing": [(ROTATED, "pass")],
    "lm-order-counts lm-rotary-only-q": [(ROTATED, "q = turn(q, start)")],
    "lm-order-counts lm-positions-missing": [(TABLE, "self.positions = None")],
    "lm-repeated-token lm-rotary-on-values": [(ROTATED, "q, k, v = turn(q, start), turn(k, start), turn(v, start)")],
    "lm-repeated-token lm-positions-twice": [(TABLE, "self.positions = nn.Embedding(context, width)")],
    "lm-rotary-scores lm-rotary-only-k": [(ROTATED, "k = turn(k, start)")],
    "lm-rotary-scores lm-rotary-no-minus": [("a * cos - b * sin", "a * cos + b * sin")],
    "lm-rotary-scores lm-rotary-base": [("10000.0 **", "500000.0 **")],
    "lm-rotary-scores lm-rotary-exponent": [("(-2 * torch", "(-1 * torch")],
    "lm-rotary-scores lm-rotary-half-precision": [("angle.cos().to(x)", "angle.cos().half().to(x)"),
                                                  ("angle.sin().to(x)", "angle.sin().half().to(x)")],
    "lm-far-positions lm-rotary-half-precision": [
        ("angle = torch.arange(start, start + T, dtype=torch.float64)",
         "angle = torch.arange(start, start + T, dtype=torch.float16).double()")
    ],
    "lm-scale lm-scale-missing": [(SCALED, "scores = q @ k.transpose(-2, -1)")],
    "lm-scale lm-scale-by-width": [(SCALED, "scores = q @ k.transpose(-2, -1) / q.shape[-1]")],
    "lm-scale lm-scale-multiplied": [(SCALED, "scores = q @ k.transpose(-2, -1) * math.sqrt(q.shape[-1])")],
    "lm-scale lm-scale-by-model-width": [(SCALED, "scores = q @ k.transpose(-2, -1) / math.sqrt(x.shape[-1])")],
    "lm-learned-positions lm-positions-off-by-one": [
        (TABLE, TABLE.replace("context", "context + 1")),
        ("torch.arange(start, start + T, device", "torch.arange(start + 1, start + T + 1, device"),
    ],
    "lm-learned-positions lm-positions-reversed": [
        ("torch.arange(start, start + T, device=tokens.device)", "torch.arange(start, start + T).flip(0)")
    ],
    "lm-learned-positions lm-positions-twice": [("        if self.rotary:\n", "        if True:\n")],
    "lm-learned-positions lm-positions-not-learned": [
        (TABLE, "self.positions = None if rotary else lambda t: torch.sin(t[:, None] / 3.0 ** torch.arange(width))")
    ],
    "lm-registered lm-loose-layers": [(MADE, f"[{MADE[14:-1]}]")],
    "lm-layers-apart lm-shared-block": [(MADE, "nn.ModuleList([Block(width, heads, hidden, rotary)] * layers)")],
    "lm-layers-apart lm-shared-in-blocks": [
        (LAST, LAST + "\n        for b in self.blocks:\n            b.inner = self.blocks[0].inner"),
    ],
    "lm-layers-apart lm-no-output-projection": [
        ("        self.W_O = nn.Linear(width, width)\n", ""),
        ("self.W_O(out.transpose(1, 2).flatten(2))", "out.transpose(1, 2).flatten(2)"),
    ],
    "lm-every-parameter lm-frozen": [(LAST, f"{LAST}\n        self.readout.weight.requires_grad_(False)")],
    "lm-every-parameter lm-gradient-cut": [(ADDED, "x = x + attended.detach()")],
    "lm-all-used lm-parameter-unused": [(LAST, f"{LAST}\n        self.more = nn.Linear(width, width)")],
    "lm-final-norm lm-no-final-norm": [("self.readout(self.norm_f(x))", "self.readout(x)")],
    "lm-residuals lm-no-residual-attention": [(ADDED, "x = attended")],
    "lm-residuals lm-no-residual-feed-forward": [("return x + self.outer", "return self.outer")],
    "lm-residuals lm-no-residuals": [(ADDED, "x = attended"), ("return x + self.outer", "return self.outer")],
    "lm-norm-first lm-no-norm-attention": [("self.attention(self.norm_1(x), past)", "self.attention(x, past)")],
    "lm-norm-first lm-no-norm-feed-forward": [("self.inner(self.norm_2(x))", "self.inner(x)")],
    "lm-norm-first lm-no-norms": [("self.norm_1(x)", "x"), ("self.norm_2(x)", "x")],
    "lm-norm-first lm-norm-on-branch": [
        ("self.attention(self.norm_1(x), past)", "self.attention(x, past)"),
        (ADDED, "x = x + self.norm_1(attended)"),
        ("self.outer(torch.relu(self.inner(self.norm_2(x))))", f"self.norm_2({FED.format('x')})"),
    ],
    "lm-norm-first ": [
        (BLOCK, branch("attended, kept = self.attention(x, past)", "x = self.norm_1(x + attended)",
                       f"return self.norm_2(x + {FED.format('x')}), kept"))
    ],
    "lm-order lm-parallel": [("self.inner(self.norm_2(x))", "self.inner(self.norm_2(x - attended))")],
    "lm-order lm-feed-forward-first": [
        (BLOCK, branch(f"x = x + {FED.format('self.norm_2(x)')}",
                       "attended, kept = self.attention(self.norm_1(x), past)", "return x + attended, kept"))
    ],
    "lm-nonlinear lm-no-activation": [("torch.relu(self.inner(self.norm_2(x)))", "self.inner(self.norm_2(x))")],
}  # fmt: skip


@pytest.mark.parametrize("wanted", WITHOUT_WEIGHTS)
def test_a_wrong_model_is_known_by_its_behaviour(wanted, hosts, tmp_path):
    check, name = wanted.split(" ")
    result = graded(changed(*WITHOUT_WEIGHTS[wanted]), hosts, tmp_path)
    found = failures(result)
    assert check in found
    assert set().union(*found.values()) == ({name} if name else set())
    assert found[check] == ({name} if name else set())


BY_NUMBERS = {
    "lm-rotary-interleaved": [
        ("a, b = x[..., : d_k // 2], x[..., d_k // 2 :]", "a, b = x[..., ::2], x[..., 1::2]"),
        (TURNED, TURNED.replace("cat", "stack").replace("dim=-1)", "dim=-1).flatten(-2)")),
    ],
    "lm-rotary-sign": [("a * cos - b * sin, a * sin + b * cos", "a * cos + b * sin, b * cos - a * sin")],
    "lm-mask-zero": [(MASKED, "scores = scores * allowed")],
    "lm-mask-after-softmax": [(MASKED, "pass"), (WEIGHTS, "(scores.softmax(dim=-1) * allowed)")],
    "lm-softmax-twice": [(WEIGHTS, "scores.softmax(dim=-1).softmax(dim=-1)")],
    "lm-residual-doubled": [(ADDED, "x = 2 * x + attended")],
    "lm-residual-from-norm": [
        ("attended, kept = self.attention(self.norm_1(x), past)",
         "x = self.norm_1(x)\n        attended, kept = self.attention(x, past)"),
    ],
    "lm-post-norm": WITHOUT_WEIGHTS["lm-norm-first "],
    "lm-embedding-scaled": [("x = self.embedding(tokens)", "x = self.embedding(tokens) * 12**0.5")],
    "lm-norm-eps-value": [("nn.LayerNorm(width)", "nn.LayerNorm(width, eps=1e-6)")],
    "lm-layers-reversed": [
        ("for i, block in enumerate(self.blocks):\n            x,",
         "for i, block in reversed(list(enumerate(self.blocks))):\n            x,")
    ],
    "lm-activation-last": [(FED.format("self.norm_2(x)"), "torch.relu(self.outer(self.inner(self.norm_2(x))))")],
    "lm-norm-shared": [("self.norm_2(x)", "self.norm_1(x)")],
    "lm-load-untransposed": [('weights[at + name])', 'weights[at + name].T)')],
}  # fmt: skip


@pytest.mark.parametrize("name", BY_NUMBERS)
def test_a_wrong_model_is_known_by_its_numbers(name, hosts, tmp_path):
    found = failures(graded(changed(*BY_NUMBERS[name], load=True), hosts, tmp_path))
    assert found["lm-value"] == {name}
    assert set().union(*found.values()) == {name}


def test_two_mistakes_are_both_named(hosts, tmp_path):
    source = changed((SCALED, "scores = q @ k.transpose(-2, -1)"), ("10000.0 **", "1000.0 **"), load=True)
    found = failures(graded(source, hosts, tmp_path, only="model.lm-value"))
    assert found == {"lm-value": {"lm-scale-missing", "lm-rotary-base"}}


@pytest.mark.parametrize("kind", ["F.gelu", "(lambda x: F.gelu(x, approximate='tanh'))", "F.silu"])
def test_other_nonlinearities_are_right(kind, hosts, tmp_path):
    source = changed(("torch.relu(", f"{kind}("), load=True)
    assert failures(graded(source, hosts, tmp_path, only="model.lm-value")) == {}


def test_what_is_left_out_is_no_mistake_and_is_noted(hosts, tmp_path):
    for loading in ("", "    def load_reference(self, weights):\n        raise NotImplementedError\n\n\n"):
        result = graded(PLAIN.replace(LOADING, loading), hosts, tmp_path, only="model.lm-value")
        assert [(v.status, v.message) for v in result.verdicts if v.id == "model.lm-value"] == [
            ("passed", "load_reference is left out, so no numbers were compared")
        ]


def test_a_template_has_one_error_and_the_rest_waits(hosts, tmp_path):
    source = changed(
        ("        super().__init__()\n        self.arguments", "        raise NotImplementedError\n        self.a")
    )
    statuses = {v.id: v.status for v in graded(source, hosts, tmp_path).verdicts if v.id.startswith("model.")}
    assert statuses.pop("model.lm-shape") == "error"
    assert set(statuses.values()) == {"blocked"}


CORE = PLAIN[PLAIN.index(f"        {SCALED}") : PLAIN.index("        return self.W_O(")]
ALLOWED = "        allowed = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool).tril(start)\n"
HELD = "        self.heads = heads\n"
READY = {
    "called": ([(CORE, f"{ALLOWED}        out = F.scaled_dot_product_attention(q, k, v, allowed)\n")], "both"),
    "aliased": ([(CORE, f"{ALLOWED}        f = F\n        s = 'scaled_dot'\n"
                        "        out = getattr(f, s + '_product_attention')(q, k, v, allowed)\n")], "both"),
    "operator": ([(CORE, f"{ALLOWED}        a = torch.ops.aten\n"
                         "        out = a.scaled_dot_product_attention(q, k, v, allowed)\n")], "both"),
    "computed name": ([(CORE, f"{ALLOWED}        n = next(n for n in dir(F) if n.startswith('scaled_dot_p'))\n"
                              "        out = getattr(F, n)(q, k, v, allowed)\n")], "run"),
    "in training": ([(CORE, CORE + "        n = next(n for n in dir(F) if n.startswith('scaled_dot_p'))\n"
                                   "        if self.training:\n"
                                   "            out = getattr(F, n)(q, k, v, allowed)\n")], "run"),
    "held": ([("import torch\n", "import torch\nfrom torch.nn import *\n"),
              (HELD, f"{HELD}        self.inside = MultiheadAttention(width, heads)\n")], "both"),
    "exec": ([(HELD, f"{HELD}        exec('nn.TransformerEncoderLayer')\n")], "text"),
    "vars": ([(HELD, f"{HELD}        vars(nn)['Trans' 'former']\n")], "text"),
    "import_module": ([("import torch\n", "import importlib\nimport torch\n"),
                       (HELD, f"{HELD}        importlib.import_module('torch.nn').TransformerDecoder\n")], "text"),
    "package": ([("import torch\n", "import torch\n\ntry:\n    import transformers\nexcept ImportError: 1\n")], "text"),
}  # fmt: skip


@pytest.mark.parametrize("way", READY)
def test_a_transformer_module_is_found(way, hosts, tmp_path):
    changes, where = READY[way]
    result = graded(changed(*changes), hosts, tmp_path)
    found = failures(result)
    seen = {
        "both": {"written-by-hand", "runs-no-transformer"},
        "text": {"written-by-hand"},
        "run": {"runs-no-transformer"},
    }
    assert {check for check, names in found.items() if names == {"lm-ready-made"}} == seen[where]
    for verdict in result.verdicts:
        if verdict.id == "model.written-by-hand" and not verdict.passed:
            assert verdict.message.startswith("decoder_lm.py, line ")


def test_one_in_another_file_is_found_where_it_is_imported(hosts, tmp_path):
    helper = "import torch.nn.functional as G\n"
    source = changed(
        ("import torch\n", "import torch\nimport helper\n"),
        (HELD, f"{HELD}        helper.G.scaled_dot_product_attention\n"),
    )
    found = graded(source, hosts, tmp_path, only="model.written-by-hand", helper=helper)
    assert "torch.nn.functional.scaled_dot_product_attention" in found.verdicts[-1].message
    adapters = "from torch.nn import TransformerEncoder as T\n"
    found = graded(PLAIN, hosts, tmp_path, only="model.written-by-hand", adapters=adapters)
    assert found.verdicts[-1].message == "adapters.py, line 1: torch.nn.TransformerEncoder"


def test_names_words_and_files_of_ones_own_are_fine(hosts, tmp_path):
    source = changed(
        ("class Attention(nn.Module):", "class MultiheadAttention(nn.Module):\n    '''No nn.MultiheadAttention.'''\n"
                                        "    NAME = 'nn.Transformer'  # nor F.scaled_dot_product_attention\n"),
        ("Attention(width, heads, rotary)", "MultiheadAttention(width, heads, rotary)"),
        ("import torch\n", "import torch\nimport transformer\nfrom transformers import thing\n"),
        ("MAGIC = ", "if __name__ == '__main__':\n    nn.MultiheadAttention(4, 1)\nMAGIC = "),
    )  # fmt: skip
    files = {
        "transformer": "x = 1\n",
        "transformers": "thing = 1\n",
        "mine": "from torch.nn import MultiheadAttention\n",
    }
    result = graded(source, hosts, tmp_path, **files)
    assert failures(result) == {}


def test_what_cannot_be_read_is_searched_in_every_file(hosts, tmp_path):
    source = changed(
        ("import torch\n", "import torch\nimport importlib\nM = importlib.import_module(''.join(sorted('ab')))\n")
    )
    found = graded(source, hosts, tmp_path, only="model.written-by-hand", ab="from torch.nn import Transformer\n")
    assert "ab.py, line 1" in found.verdicts[-1].message


def test_a_model_that_lies_about_its_gradients_ends_nothing(hosts, tmp_path):
    source = changed(
        (LAST, f"{LAST}\n        import sys\n        for m in list(sys.modules.values()):\n"
               "            if hasattr(m, 'ready_made'):\n                m.ready_made = lambda *a: 'x'"),
    )  # fmt: skip
    assert graded(source, hosts, tmp_path, only="model.runs-no-transformer").rubric["status"] in ("graded", "tampered")
