"""Generating: right ones pass, each wrong one fails where it should and is called by its name; draws fit or do not."""

import numpy as np
import pytest

from grader import grade
from grader.hosts import Hosts
from grader.misconceptions.sampling import WAYS, Asked, right
from grader.probes.sampling import DRAWS, fits
from grader.spec import load
from grader.student import limits_of
from tests.right.decoder_lm import HERE

SPEC = load("decoder-lm")
PLAIN = (HERE / "plain.py").read_text("utf-8")
GREEDY = "    if temperature == 0:\n        return int(logits.argmax())\n"
DIVIDED = "logits = logits.double() / temperature"
LEAST = "least = logits.topk(min(top_k, len(logits))).values[-1]"
FILLED = 'logits = logits.masked_fill(logits < least, float("-inf"))'
SOFTMAX = "probabilities = logits.softmax(-1)"
ZEROED = "probabilities[order[before >= top_p]] = 0"
DRAW = "return int(torch.multinomial(probabilities, 1, generator=generator))"
SEEDED = "generator.seed() if seed is None else generator.manual_seed(seed)"
FED = "logits, cache = model.decode(torch.tensor([step]), cache)"
WHOLE = "logits = model(torch.tensor([ids + new]))"
CHOSEN = "new.append(choose(logits[0, -1], temperature, top_k, top_p, generator))"
STEP = "step = new[-1:]"
IDS = "ids, cache, new = [int(i) for i in prompt], None, []"
RETURN = "    return new\n"
COUNT = "while len(new) < max_new_tokens:"
TOP_K = "    if top_k is not None:\n"
TOP_P = "    if top_p is not None:\n"

WRONG = {
    "temperature-multiplied": ("drawn-at-temperature", [(DIVIDED, DIVIDED.replace("/", "*"))]),
    "temperature-without-effect": ("drawn-at-temperature", [(DIVIDED, "logits = logits.double()")]),
    "temperature-twice": ("drawn-at-temperature", [(DIVIDED, f"{DIVIDED} / temperature")]),
    "probabilities-as-logits": (
        "drawn-at-temperature",
        [(DRAW, DRAW.replace("(probabilities,", "(torch.where(probabilities > 0, probabilities, -9e9).softmax(-1),"))],
    ),
    "uniform": ("drawn-at-temperature", [(SOFTMAX, "probabilities = (0 * logits).nan_to_num(-torch.inf).softmax(-1)")]),
    "always-greedy": ("drawn-at-temperature", [(DRAW, "return int(probabilities.argmax())")]),
    "first-position": ("greedy", [(CHOSEN, CHOSEN.replace("-1", "0"))]),
    "top-k-one-more": ("top-k", [(LEAST, LEAST.replace("min(top_k,", "min(top_k + 1,"))]),
    "top-k-one-less": (
        "top-k",
        [(FILLED, FILLED.replace("<", "<=")), (TOP_K, TOP_K.replace("not None", "not None and top_k > 1"))],
    ),
    "top-k-ignored": ("top-k", [(FILLED, "pass")]),
    "top-k-smallest": (
        "top-k",
        [(LEAST, LEAST.replace(")).", "), largest=False).")), (FILLED, FILLED.replace("<", ">"))],
    ),
    "zero-for-minus-infinity": ("top-k", [(FILLED, FILLED.replace('float("-inf")', "0.0"))]),
    "rank-for-id": (
        "top-k",
        [(DRAW, "ordered = probabilities.sort(descending=True).values if top_k or top_p else probabilities\n    "
          + DRAW.replace("probabilities", "ordered"))],
    ),
    "top-p-crossing-dropped": ("top-p", [(ZEROED, ZEROED.replace("before >=", "before + ordered >"))]),
    "top-p-one-more": ("top-p", [(ZEROED, "probabilities[order[before - ordered.roll(1) >= top_p]] = 0")]),
    "top-p-ignored": ("top-p", [(ZEROED, "pass")]),
    "top-p-unsorted": ("top-p", [(ZEROED, "probabilities[probabilities.cumsum(-1) - probabilities >= top_p] = 0")]),
    "top-p-not-put-back": ("top-p", [(ZEROED, ZEROED.replace("order[before >= top_p]", "before >= top_p"))]),
    "top-p-upwards": (
        "top-p",
        [("ordered, order = probabilities.sort(descending=True)", "ordered, order = probabilities.sort()")],
    ),
    "top-p-threshold": ("top-p", [(ZEROED, "probabilities[probabilities < 1 - top_p] = 0")]),
    "top-p-before-temperature": (
        "top-p",
        [
            (SOFTMAX, f"{SOFTMAX}\n    cold = (logits * temperature).softmax(-1)"),
            ("ordered, order = probabilities.sort", "ordered, order = cold.sort"),
        ],
    ),
    "top-p-before-top-k": (
        "top-k-first",
        [
            (DIVIDED, f"{DIVIDED}\n    every = logits.softmax(-1)"),
            ("ordered, order = probabilities.sort", "ordered, order = every.sort"),
        ],
    ),
    "zero-divides": ("greedy", [(GREEDY, "")]),
    "zero-draws": ("greedy", [(GREEDY, "    temperature = temperature or 1.0\n")]),
    "smallest": ("greedy", [("return int(logits.argmax())", "return int(logits.argmin())")]),
    "seed-ignored": ("same-seed", [(SEEDED, "generator.seed()")]),
    "seed-zero-ignored": ("same-seed", [(SEEDED, SEEDED.replace("seed is None", "not seed"))]),
    "seed-fixed": ("same-seed", [(SEEDED, "generator.manual_seed(0)")]),
    "seeded-every-step": ("same-seed", [(CHOSEN, f"{SEEDED}\n        {CHOSEN}")]),
    "prompt-returned": ("new-ids", [(RETURN, "    return ids + new\n")]),
    "one-short": ("new-ids", [(RETURN, "    return new[1:]\n")]),
    "one-more": ("new-ids", [(COUNT, "while len(new) <= max_new_tokens:")]),
    "batch-returned": ("new-ids", [(RETURN, "    return [new]\n")]),
    "prompt-changed": ("new-ids", [(STEP, f"{STEP}\n        prompt.append(new[-1])")]),
    "cache-unused": ("one-token-a-step", [("if use_cache:", "if False:")]),
    "cache-always": ("one-token-a-step", [("if use_cache:", "if True:")]),
    "everything-again": ("one-token-a-step", [(FED, FED.replace("[step]", "[ids + new]"))]),
    "cache-dropped": ("one-token-a-step", [(FED, "logits, _ = model.decode(torch.tensor([step]))")]),
    "cache-old": (
        "one-token-a-step",
        [(FED, f"{FED.replace('cache =', 'newest =')}\n            cache = cache or newest")],
    ),
    "last-token-again": (
        "one-token-a-step",
        [(STEP, "step = ids[-1:] if len(new) == 1 else new[-2:-1]")],
    ),
    "context-lost": ("one-token-a-step", [(WHOLE, WHOLE.replace("[ids + new]", "[step]"))]),
}  # fmt: skip
MORE = {
    "prompt-counted": [(COUNT, "while len(new) < max_new_tokens - len(ids):")],
    "prompt-cut": [("    step = ids\n", "    step = ids[-1:]\n")],
    "prompt-again": [(WHOLE, WHOLE.replace("ids + new", "ids"))],
    "context-cut": [(WHOLE, WHOLE.replace("ids + new", "(ids + new)[-3:]"))],
    "fixed-without-seed": [(SEEDED, "generator.manual_seed(seed or 0)")],
    "top-k-too-large": [(LEAST, LEAST.replace("min(top_k, len(logits))", "top_k"))],
    "top-p-threshold": [(ZEROED, "probabilities[(probabilities < top_p) & (probabilities < probabilities.max())] = 0")],
    "top-p-crossing-dropped": [(ZEROED, "keep = (before + ordered <= top_p)\n        probabilities[order[~keep]] = 0")],
    "cache-dropped": [(FED, "logits, _ = model.decode(torch.tensor([ids + new]), None)")],
    "zero-divides": [(GREEDY, ""), (DIVIDED, "assert temperature > 0, 'temperature must be positive'\n    " + DIVIDED)],
}
RIGHT = {
    "numbers of torch": [(RETURN, "    return [torch.tensor(i) for i in new]\n")],
    "a tensor": [(RETURN, "    return torch.tensor(new)\n")],
    "one call more": [(RETURN, f"    if cache:\n        model.decode(torch.tensor([step]), cache)\n{RETURN}")],
    "a seed of all": [
        (SEEDED, "torch.manual_seed(seed) if seed is not None else None"),
        (DRAW, DRAW.replace(", generator=generator", "")),
    ],
    "in place": [(DIVIDED, "logits /= temperature")],
    "the maximum of noise": [
        (DRAW, "u = torch.rand(len(probabilities), generator=generator, dtype=torch.float64)\n"
         "    return int((probabilities.log() - (-u.log()).log()).argmax())")
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def hosts():
    pytest.importorskip("torch")
    with Hosts(limits=limits_of(SPEC)) as hosts:
        yield hosts


def graded(patches, hosts, folder, only="*"):
    text = PLAIN
    for old, new in patches:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    (folder / "decoder_lm.py").write_text(text, "utf-8")
    result = grade(folder, assignment="decoder-lm", only=f"sampling.{only}", hosts=hosts)
    verdicts = [v for v in result.verdicts if v.part == "generate"]
    failed = {v.id.removeprefix("sampling."): v.message for v in verdicts if v.status not in ("passed", "blocked")}
    return failed, {name.id.removeprefix("sampling-") for v in verdicts for name in v.misconceptions}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_generating_is_named(name, hosts, tmp_path):
    check, patches = WRONG[name]
    failed, names = graded(patches, hosts, tmp_path, check)
    assert (list(failed), names) == ([check], {name}), failed


@pytest.mark.parametrize("name", MORE)
def test_other_ways_to_write_it_are_named_too(name, hosts, tmp_path):
    failed, names = graded(MORE[name], hosts, tmp_path)
    assert names == {name}, failed


@pytest.mark.parametrize("name", RIGHT)
def test_other_right_ways_pass(name, hosts, tmp_path):
    assert graded(RIGHT[name], hosts, tmp_path) == ({}, set())


def test_a_wrong_decode_is_no_fault_of_generate(hosts, tmp_path):
    wrong = [
        ("def decode(self, tokens, cache=None):\n", "def decode(self, tokens, cache=None):\n"
         "        raise NotImplementedError\n\n    def _decode(self, tokens, cache=None):\n"),
        ("return self.decode(tokens)[0]", "return self._decode(tokens)[0]"),
    ]  # fmt: skip
    failed, names = graded(wrong, hosts, tmp_path)
    assert (list(failed), names) == (["cached-like-uncached"], set())


@pytest.mark.parametrize("name", ["prompt-returned", "one-short", "batch-returned", "prompt-changed", "top-k-one-more"])
def test_one_mistake_costs_little(name, hosts, tmp_path):
    failed, _ = graded(WRONG[name][1], hosts, tmp_path)
    assert len(failed) <= 2, failed


def test_draws_fit_what_they_are_drawn_from_and_nothing_else():
    asked = Asked(np.log([0.1, 0.4, 0.3, 0.2]), np.zeros(4), 0.7)
    p, rng = right(asked), np.random.default_rng(0)
    for _ in range(300):
        assert fits(rng.choice(4, DRAWS, p=p), p)
    assert not fits(rng.choice(4, DRAWS), p)
    assert not fits([0, 1, 2, 3] * 100, np.array([0.25, 0.25, 0.5, 0.0]))


def test_every_wrong_distribution_is_one_or_is_refused():
    for asked in (Asked(np.arange(6.0), -np.arange(6.0), 2.0), Asked(np.arange(6.0), np.zeros(6), 1.0, 3, 0.7)):
        for name, way in WAYS:
            p = way(asked)
            assert p is None or (abs(p.sum() - 1) < 1e-9 and (p >= 0).all()), name


@pytest.mark.parametrize(
    "patches",
    [
        [(STEP, f"{STEP}\n        prompt[0] = torch.ones(3)")],
        [(STEP, f"{STEP}\n        prompt.append({{'a': float('nan')}})")],
        [(RETURN, "    return [float('nan')] * len(new)\n")],
        [(RETURN, "    return new * 100000\n")],
        [(RETURN, "    return [10**30] * len(new)\n")],
        [(IDS, f"{IDS}\n    type(model).training = property(lambda self: 1 / 0)")],
        [(COUNT, "model(torch.zeros(3, 1 << 12, dtype=torch.int64))\n    while len(new) < max_new_tokens:")],
    ],
)
def test_whatever_it_does_the_grading_comes_to_its_end(patches, hosts, tmp_path):
    failed, names = graded(patches, hosts, tmp_path)
    assert failed
    assert names <= {"prompt-changed"}


def test_a_wrong_one_is_judged_alike_each_time(hosts, tmp_path):
    patches = WRONG["top-p-before-temperature"][1]
    assert graded(patches, hosts, tmp_path) == graded(patches, hosts, tmp_path)
