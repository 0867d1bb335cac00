"""Holds the checks of training and evaluation to their words: each wrong trainer fails where it is wrong, by name."""

import re
from functools import cache

import pytest

from grader import grade
from grader.hosts import Hosts
from grader.spec import load
from grader.student import limits_of
from tests.right.decoder_lm import HERE

SPEC = load("decoder-lm")
LOSS = "loss = F.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())"
STEP = "optimizer.zero_grad()\n        loss.backward()\n        optimizer.step()"
DRAW = "starts = torch.randint(0, len(tokens) - length + 1, (batch_size,), generator=generator)"
SET = "generator = torch.Generator().manual_seed(seed)"
OPTIMIZER = "optimizer = torch.optim.AdamW(model.parameters(), lr=lr)"
APPEND = "losses.append(loss.item())"
LOGITS = "logits = model(batch[:, :-1])"
WINDOWS = "batch = torch.stack([tokens[start : start + length] for start in starts.tolist()])"


ALONE = ("overfits", "held-out-prose", "nothing-from-noise")
ONLY_EVALUATION = "evaluation.[!h]*"  # all but what is trained for
QUICK = ("training.[!hno]*", "training.one*")  # all but those which train for seconds


@pytest.fixture(scope="module")
def hosts():
    pytest.importorskip("torch")
    with Hosts(limits=limits_of(SPEC)) as hosts:
        yield hosts


@cache
def plain():
    return (HERE / "plain.py").read_text("utf-8")


def changed(*pairs, text=None):
    text = text or plain()
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def with_function(name, body):
    """The plain submission with another function of this name."""
    found = re.compile(rf"^(?:@torch\.no_grad\(\)\n)?def {name}\(.*?(?=\n\n\n)", re.M | re.S)
    return found.sub(lambda _: body.strip(), plain())


def with_dropout(*pairs):
    """Dropout after the embedding."""
    embed = "x = self.embedding(tokens)"
    return changed((embed, "x = F.dropout(self.embedding(tokens), 0.3, self.training)"), *pairs)


def judged(source, only, hosts, folder):
    (folder / "decoder_lm.py").write_text(source, "utf-8")
    result = grade(folder, assignment=SPEC, only=only, hosts=hosts)
    assert result.rubric["status"] == "graded"
    failed = {verdict.id.split(".")[1]: verdict for verdict in result.verdicts if not verdict.passed}
    return failed, {name.id for verdict in result.verdicts for name in verdict.misconceptions}


def own_loop(*, shift=1, sign="-", zero="p.grad = None", again=""):
    """A trainer without an optimizer; the gradient is subtracted by hand."""
    return with_function(
        "train",
        f"""
def train(model, tokens, steps, batch_size, lr, seed):
    generator = torch.Generator().manual_seed(seed)
    length = min(model.context, len(tokens) - 1)
    model.train()
    losses = []
    for step in range(steps):
        for p in model.parameters():
            {zero}
        starts = torch.randint(len(tokens) - length, (batch_size, 1), generator=generator)
        at = starts + torch.arange(length)
        logp = torch.log_softmax(model(tokens[at]), dim=-1)
        loss = -logp.gather(-1, tokens[at + {shift}].unsqueeze(-1)).mean()
        loss.backward(){again}
        with torch.no_grad():
            for p in model.parameters():
                p.data = p.data {sign} lr * p.grad
        losses.append(loss.detach())
    return losses
""",
    )


RIGHT = {
    "sgd by hand": own_loop(),
    "micro-batches": changed(
        (
            f"{LOGITS}\n        {LOSS}\n        {STEP}",
            "optimizer.zero_grad()\n        loss = 0.0\n        for row in batch:\n"
            "            part = F.cross_entropy(model(row[None, :-1])[0], row[1:]) / batch_size\n"
            "            part.backward()\n            loss = loss + part.detach()\n        optimizer.step()",
        )
    ),
    "clipping and schedules": changed(
        (
            "    losses = []\n",
            "    warm = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda i: min(1.0, i / 5))\n    losses = []\n",
        ),
        ("optimizer.step()", "torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)\n        optimizer.step()"),
        (APPEND, f"warm.step()\n        {APPEND}"),
    ),
    "plain sgd": changed((OPTIMIZER, "optimizer = torch.optim.SGD(model.parameters(), lr=lr)")),
    "momentum": changed((OPTIMIZER, "optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)")),
    "global generator": changed((f"    {SET}\n", ""), (DRAW, DRAW.replace(", generator=generator", ""))),
    "a closure": changed(
        (STEP, "given = loss"),
        (
            APPEND,
            "def closure():\n            optimizer.zero_grad()\n"
            "            loss = F.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())\n"
            "            loss.backward()\n            return loss\n"
            "        losses.append(float(optimizer.step(closure)))",
        ),
    ),
    "torch.autograd.grad": changed(
        (
            "loss.backward()",
            "grads = torch.autograd.grad(loss, list(model.parameters()))\n"
            "        for p, g in zip(model.parameters(), grads):\n            p.grad = g",
        ),
    ),
    "dropout": with_dropout(),
    "whole windows shifted inside": changed(
        (LOGITS, "logits = model(batch)[:, :-1]"), ("if start + T > self.context:", "if start + T > self.context + 1:")
    ),
    "zero after the step": changed((STEP, "loss.backward()\n        optimizer.step()\n        optimizer.zero_grad()")),
    "a loader": with_function(
        "train",
        """
def train(model, tokens, steps, batch_size, lr, seed):
    generator = torch.Generator().manual_seed(seed)
    length = min(model.context + 1, len(tokens))
    windows = tokens.unfold(0, length, 1)
    model.train()
    optimizer = torch.optim.Adam(model.parameters(), lr, betas=(0.9, 0.95))
    losses, waiting = [], []
    while len(losses) < steps:
        while len(waiting) < batch_size:
            waiting += torch.randperm(len(windows), generator=generator).tolist()
        rows, waiting = waiting[:batch_size], waiting[batch_size:]
        x, y = windows[rows, :-1], windows[rows, 1:]
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x).transpose(1, 2), y)
        loss.backward()
        optimizer.step()
        losses.append(loss)
    return losses
""",
    ),
}


def passes(source, only, hosts, folder):
    failed, names = judged(source, only, hosts, folder)
    assert {key: verdict.message for key, verdict in failed.items()} == {}
    assert names == set()


@pytest.mark.parametrize("name", RIGHT)
def test_right_trainers_pass(name, hosts, tmp_path):
    passes(RIGHT[name], QUICK, hosts, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", RIGHT)
def test_right_trainers_come_to_something(name, hosts, tmp_path):
    passes(RIGHT[name], [f"training.{check}" for check in ALONE], hosts, tmp_path)


BATCH = "for _ in range(steps):"
WRONG = {
    # the loss
    "no-shift": (changed((LOSS, LOSS.replace("[:, 1:]", "[:, :-1]"))), "reported-loss"),
    "double-shift": (
        changed((LOSS, "loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), batch[:, 2:].flatten())")),
        "reported-loss",
    ),
    "double-shift in full": (
        changed(
            ("length = min(model.context + 1, len(tokens))", "length = min(model.context + 2, len(tokens))"),
            (LOGITS, "logits = model(batch[:, :-2])"),
            (LOSS, LOSS.replace("[:, 1:]", "[:, 2:]")),
        ),
        "reported-loss",
    ),
    "predicts-past": (
        changed((LOSS, "loss = F.cross_entropy(logits[:, 1:].flatten(0, 1), batch[:, :-2].flatten())")),
        "reported-loss",
    ),
    "sum": (changed((LOSS, LOSS[:-1] + ", reduction='sum')")), "reported-loss"),
    "sum over positions": (changed((APPEND, "losses.append(loss.item() * logits.shape[1])")), "reported-loss"),
    "bits": (changed((APPEND, "losses.append(loss.item() / math.log(2))")), "reported-loss"),
    "perplexity": (changed((APPEND, "losses.append(math.exp(loss.item()))")), "reported-loss"),
    "softmax-twice": (
        changed((LOSS, LOSS.replace("logits.flatten(0, 1)", "logits.softmax(-1).flatten(0, 1)"))),
        "reported-loss",
    ),
    "no-logarithm": (
        changed((LOSS, LOSS.replace("cross_entropy(logits", "nll_loss(logits.softmax(-1)"))),
        "reported-loss",
    ),
    "no-logarithm at all": (changed((LOSS, LOSS.replace("cross_entropy", "nll_loss"))), "reported-loss"),
    "negated": (changed((LOSS, LOSS.replace("= ", "= -"))), "reported-loss"),
    "softmax-axis": (
        changed((LOSS, LOSS.replace("cross_entropy(logits", "nll_loss(logits.log_softmax(1)"))),
        "reported-loss",
    ),
    "axes-mixed": (
        changed((LOSS, "loss = F.cross_entropy(logits.reshape(len(batch), -1, logits.shape[1]), batch[:, 1:])")),
        "reported-loss",
    ),
    "axes-mixed in targets": (changed((LOSS, LOSS.replace("batch[:, 1:]", "batch[:, 1:].T"))), "reported-loss"),
    "last-only": (changed((LOSS, "loss = F.cross_entropy(logits[:, -1], batch[:, -1])")), "reported-loss"),
    "last-unused": (
        changed((LOSS, "loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), batch[:, 1:-1].flatten())")),
        "reported-loss",
    ),
    "first-row-only": (changed((LOSS, "loss = F.cross_entropy(logits[0], batch[0, 1:])")), "reported-loss"),
    "label-smoothing": (changed((LOSS, LOSS[:-1] + ", label_smoothing=0.1)")), "reported-loss"),
    "label-smoothing unseen": (
        changed(
            (
                "loss.backward()",
                LOSS.replace("loss =", "smooth =")[:-1] + ", label_smoothing=0.1)\n        smooth.backward()",
            )
        ),
        "gradient-of-the-loss",
    ),
    "no-shift unseen": (
        changed(("loss.backward()", "F.cross_entropy(logits.flatten(0, 1), batch[:, :-1].flatten()).backward()")),
        "gradient-of-the-loss",
    ),
    "loss-after-step": (
        changed((APPEND, f"{LOGITS}\n        {LOSS}\n        {APPEND}")),
        "reported-loss",
    ),
    "running-mean": (
        changed(("    return losses", "    return [sum(losses[: i + 1]) / (i + 1) for i in range(steps)]")),
        "reported-loss",
    ),
    "running-mean, decaying": (
        changed((APPEND, "losses.append(0.9 * losses[-1] + 0.1 * loss.item() if losses else loss.item())")),
        "reported-loss",
    ),
    # the windows
    "window-length": (changed(("min(model.context + 1, len", "min(model.context, len")), "windows-of-the-text"),
    "last-window-missing": (changed((DRAW, DRAW.replace(" + 1", ""))), "windows-of-the-text"),
    "first-window-missing": (
        changed((DRAW, DRAW.replace("randint(0", "randint(min(1, len(tokens) - length)"))),
        "windows-of-the-text",
    ),
    "window-past-end": (
        changed(
            (DRAW, DRAW.replace("+ 1, (", "+ 2, (")),
            (WINDOWS, "padded = torch.cat([tokens, tokens[:1]])\n        " + WINDOWS.replace("[tokens[", "[padded[")),
        ),
        "windows-of-the-text",
    ),
    "one-window-only": (
        changed(
            (
                DRAW,
                DRAW.replace(
                    "torch.randint(0, len(tokens) - length + 1, (batch_size,), generator=generator)",
                    "torch.zeros(batch_size, dtype=torch.long)",
                ),
            )
        ),
        "windows-of-the-text",
    ),
    "rows-alike": (
        changed(
            (DRAW, DRAW.replace("(batch_size,), generator=generator)", "(1,), generator=generator).repeat(batch_size)"))
        ),
        "windows-of-the-text",
    ),
    "same-batch": (changed((DRAW, f"generator.manual_seed(seed)\n        {DRAW}")), "windows-of-the-text"),
    "batch-size-ignored": (changed((DRAW, DRAW.replace("(batch_size,)", "(4,)"))), "windows-of-the-text"),
    "seed-unused": (changed((SET, SET.replace("(seed)", "(0)"))), "seed-decides"),
    "unseeded": (
        changed(("    torch.manual_seed(seed)\n", ""), (DRAW, DRAW.replace(", generator=generator", ""))),
        "seed-decides",
    ),
    # the steps
    "no-zero-grad": (changed(("        optimizer.zero_grad()\n", "")), "gradient-steps"),
    "no-zero-grad by hand": (own_loop(zero="pass"), "gradient-steps"),
    "zero-grad-late": (
        changed((STEP, "loss.backward()\n        optimizer.zero_grad()\n        optimizer.step()")),
        "gradient-steps",
    ),
    "step-before-backward": (
        changed((STEP, "optimizer.step()\n        optimizer.zero_grad()\n        loss.backward()")),
        "train-runs",
    ),
    "step-before-backward, and zero": (
        changed((STEP, "optimizer.zero_grad()\n        optimizer.step()\n        loss.backward()")),
        "gradient-steps",
    ),
    "no-step": (changed(("        optimizer.step()\n", "")), "gradient-steps"),
    "no-backward": (changed(("        loss.backward()\n", "")), "gradient-steps"),
    "no-backward of a cut loss": (
        changed((LOSS, LOSS.replace("logits.flat", "logits.detach().requires_grad_().flat"))),
        "gradient-steps",
    ),
    "trains-a-copy": (
        changed((OPTIMIZER, f"import copy\n    model = copy.deepcopy(model)\n    {OPTIMIZER}")),
        "gradient-steps",
    ),
    "parameters-left-out": (changed((OPTIMIZER, OPTIMIZER.replace("model.p", "model.blocks.p"))), "all-are-trained"),
    "parameters-left-out by freezing": (
        changed((OPTIMIZER, f"model.embedding.weight.requires_grad_(False)\n    {OPTIMIZER}")),
        "all-are-trained",
    ),
    "lr-ignored": (changed((OPTIMIZER, OPTIMIZER.replace("lr=lr", "lr=0.01"))), "lr-counts"),
    "dropout-unseeded": (with_dropout(("    torch.manual_seed(seed)\n", "")), "seed-decides"),
    "starts-anew": (
        changed((OPTIMIZER, f"nn.init.normal_(model.embedding.weight)\n    {OPTIMIZER}")),
        "starts-from-the-model",
    ),
    "without-dropout": (with_dropout(("model.train()\n    losses", "model.eval()\n    losses")), "dropout-in-training"),
    "ascends": (changed((OPTIMIZER, OPTIMIZER.replace("lr=lr", "lr=lr, maximize=True"))), "overfits"),
    "ascends by hand": (own_loop(sign="+"), "overfits"),
    "leak": (changed((".tril(start)", ".tril(start + 1)")), "nothing-from-noise"),
    "leak without a mask": (changed(('scores.masked_fill(~allowed, float("-inf"))', "scores")), "nothing-from-noise"),
}

LOOP = """
@torch.no_grad()
def evaluate(model, tokens):
    was = model.training
    model.eval()
    total, count, means = 0.0, 0, []
    for start in range(0, len(tokens) - 1, STRIDE):
        window = tokens[start : start + LENGTH]
        losses = F.cross_entropy(model(window[None, :-1])[0], window[1:], reduction="none")
        KEEP
    model.train(was)
    return RESULT
"""


def evaluation(stride="model.context", length="model.context + 1", keep="total += losses.sum().item()",
               result="total / (len(tokens) - 1)", more=()):  # fmt: skip
    body = LOOP.replace("STRIDE", stride).replace("LENGTH", length).replace("KEEP", keep).replace("RESULT", result)
    for old, new in more:
        assert body.count(old) == 1, old
        body = body.replace(old, new)
    return with_function("evaluate", body)


SLIDING = """
@torch.no_grad()
def evaluate(model, tokens):
    was = model.training
    model.eval()
    total = torch.zeros(())
    for i in range(1, len(tokens)):
        window = tokens[max(0, i - model.context) : i]
        total = total - model(window[None])[0, -1].log_softmax(-1)[tokens[i]]
    model.train(was)
    return total / (len(tokens) - 1)
"""
PADDED = """
@torch.no_grad()
def evaluate(model, tokens):
    was = model.training
    model.eval()
    n, c = len(tokens) - 1, min(model.context, len(tokens) - 1)
    rows = -(-n // c)
    x, y = torch.zeros(rows * c, dtype=torch.long), torch.full((rows * c,), -100)
    x[:n], y[:n] = tokens[:-1], tokens[1:]
    logits = model(x.view(rows, c))
    model.train(was)
    return F.cross_entropy(logits.flatten(0, 1), y).item()
"""
AT_THE_END = """
def evaluate(model, tokens):
    was = model.training
    model.eval()
    n, c = len(tokens) - 1, min(model.context, len(tokens) - 1)
    total, done = 0.0, 0
    with torch.no_grad():
        while done < n:
            start = min(done, n - c)
            losses = F.cross_entropy(model(tokens[None, start : start + c])[0], tokens[start + 1 : start + c + 1],
                                     reduction="none")
            total += float(losses[done - start :].sum())
            done = start + c
    model.train(was)
    return total / n
"""
DECODED = """
@torch.no_grad()
def evaluate(model, tokens):
    was = model.training
    model.eval()
    total, cache, length = 0.0, None, 0
    for i in range(len(tokens) - 1):
        if length == model.context:
            cache, length = None, 0
        logits, cache = model.decode(tokens[None, i : i + 1], cache)
        length += 1
        total -= logits[0, -1].log_softmax(-1)[tokens[i + 1]].item()
    model.train(was)
    return total / (len(tokens) - 1)
"""
OVERLAPPING = """
@torch.no_grad()
def evaluate(model, tokens):
    was = model.training
    model.eval()
    c = min(model.context, len(tokens))
    losses = []
    for start in range(0, len(tokens) - 1, max(c - 1, 1)):
        window = tokens[start : start + c]
        losses.append(F.cross_entropy(model(window[None])[0, : len(window) - 1], window[1:], reduction="none"))
    model.train(was)
    return torch.cat(losses).mean()
"""
RIGHT_EVALUATIONS = {
    "by the loop": evaluation(),
    "sliding": with_function("evaluate", SLIDING),
    "padded": with_function("evaluate", PADDED),
    "at the end": with_function("evaluate", AT_THE_END),
    "decoded": with_function("evaluate", DECODED),
    "overlapping by one": with_function("evaluate", OVERLAPPING),
    "with dropout": with_dropout(),
    "in float32": evaluation(more=[("model(window[None, :-1])[0]", "model(window[None, :-1])[0].float()")]),
}


@pytest.mark.parametrize("name", RIGHT_EVALUATIONS)
def test_right_evaluations_pass(name, hosts, tmp_path):
    passes(RIGHT_EVALUATIONS[name], ONLY_EVALUATION, hosts, tmp_path)


ONE = "len(tokens) - 1, model.context"
EVAL, BACK = "    model.eval()\n    total", "    model.train(was)\n"
SUM = "total += losses.sum().item()"
ONCE = "model(window[None, :-1])[0]"
WRONG_EVALUATIONS = {
    "no-shift": (evaluation(more=[("window[1:], reduction", "window[:-1], reduction")]), "mean-loss"),
    "no-shift of all": (
        evaluation(
            "model.context",
            "model.context",
            more=[(ONCE, "model(window[None])[0]"), ("window[1:], red", "window, red")],
            result="total / len(tokens)",
        ),
        "mean-loss",
    ),
    "double-shift": (
        evaluation(
            keep=SUM + "; count += len(losses)",
            result="total / count",
            more=[(ONCE, "model(window[None, :-2])[0]"), ("window[1:], red", "window[2:], red")],
        ),
        "mean-loss",
    ),
    "predicts-past": (
        evaluation(
            keep=SUM + "; count += len(losses)",
            result="total / count",
            more=[(ONCE, "model(window[None, :-1])[0, 1:]"), ("window[1:], red", "window[:-2], red")],
        ),
        "mean-loss",
    ),
    "sum": (evaluation(result="total"), "mean-loss"),
    "bits": (evaluation(result="total / (len(tokens) - 1) / math.log(2)"), "mean-loss"),
    "perplexity": (evaluation(result="math.exp(total / (len(tokens) - 1))"), "mean-loss"),
    "negated": (evaluation(keep="total -= losses.sum().item()"), "mean-loss"),
    "token-too-many": (evaluation(result="total / len(tokens)"), "mean-loss"),
    "softmax-twice": (evaluation(more=[(ONCE, f"{ONCE}.softmax(-1)")]), "mean-loss"),
    "no-logarithm": (evaluation(more=[("cross_entropy", "nll_loss"), (ONCE, f"{ONCE}.softmax(-1)")]), "mean-loss"),
    "last-only": (evaluation(keep="total += losses[-1].item(); count += 1", result="total / count"), "mean-loss"),
    "mean-of-means": (evaluation(keep="means.append(losses.mean())", result="sum(means) / len(means)"), "long-text"),
    "tail-dropped": (
        evaluation(
            keep="if len(losses) == model.context or start == 0:\n            " + SUM + "; count += len(losses)",
            result="total / count",
        ),
        "long-text",
    ),
    "tail-dropped, unseen": (
        evaluation(
            more=[
                (
                    "range(0, len(tokens) - 1, model.context)",
                    "range(0, max(1, len(tokens) - model.context), model.context)",
                )
            ],
            keep=SUM + "; count += len(losses)",
            result="total / count",
        ),
        "long-text",
    ),
    "window-starts-skipped": (
        evaluation("model.context + 1", keep=SUM + "; count += len(losses)", result="total / count"),
        "long-text",
    ),
    "window-starts-skipped of whole windows": (
        evaluation(
            "model.context",
            "model.context + (len(tokens) <= model.context + 1)",
            keep=SUM + "; count += len(losses)",
            result="total / count",
            more=[(ONCE, "model(window[None, : model.context])[0, : len(window) - 1]")],
        ),
        "long-text",
    ),
    "first-window-only": (
        evaluation(more=[(f"range(0, {ONE})", "[0]")], keep=SUM + "; count += len(losses)", result="total / count"),
        "long-text",
    ),
    "tokens-twice": (
        evaluation(
            "1",
            keep=SUM + "; count += len(losses)",
            result="total / count",
            more=[("len(tokens) - 1, 1)", "max(1, len(tokens) - model.context), 1)")],
        ),
        "long-text",
    ),
    "random-windows": (
        evaluation(
            more=[(f"range(0, {ONE})", "torch.randint(0, max(1, len(tokens) - model.context), (8,)).tolist()")],
            keep=SUM + "; count += len(losses)",
            result="total / count",
        ),
        "same-loss-again",
    ),
    "mode-not-restored": (evaluation(more=[(BACK, "")]), "mode-restored"),
    "always-training-after": (evaluation(more=[(BACK, "    model.train()\n")]), "mode-restored"),
    "dropout-on": (
        with_dropout(
            (
                "    was_training = model.training\n    model.eval()\n    total",
                "    was_training = model.training\n    total",
            )
        ),
        "dropout-off",
    ),
    "changes-model": (
        evaluation(more=[(BACK, BACK + "    model.embedding.weight.mul_(0.999)\n")]),
        "only-looks",
    ),
}


@pytest.mark.parametrize("name", WRONG_EVALUATIONS)
def test_wrong_evaluations_fail_by_name(name, hosts, tmp_path):
    source, check = WRONG_EVALUATIONS[name]
    failed, names = judged(source, ONLY_EVALUATION, hosts, tmp_path)
    assert check in failed
    assert names == {f"evaluation-{re.split('[ ,]', name)[0]}"}


def variants(table):
    """The names of a table; those of further forms of one mistake are slow."""
    return [pytest.param(name, marks=[pytest.mark.slow] * bool(re.search("[ ,]", name))) for name in table]


@pytest.mark.parametrize("name", variants(WRONG))
def test_wrong_trainers_fail_by_name(name, hosts, tmp_path):
    source, check = WRONG[name]
    failed, names = judged(source, f"training.{check}" if check in ALONE else QUICK, hosts, tmp_path)
    assert check in failed
    assert names == {f"training-{re.split('[ ,]', name)[0]}"}


HOSTILE = [
    ("train", "return []"),
    ("train", "return [float('nan')] * steps"),
    ("train", "return None"),
    ("train", "return torch.zeros(steps, 3, 2)"),
    ("train", "return [model(tokens[None, :5])[0, 0, 0]] * steps"),
    ("train", "model.forward = None\n    return [1.0] * steps"),
    ("train", "for p in model.parameters():\n        p.data = torch.zeros(3)\n    return [1.0] * steps"),
    ("train", "z = model(tokens[None, :5])\n    z.sum().backward()\n    return [2.0] * steps"),
    ("train", "z = model(tokens[None, :5])\n    (z * float('nan')).sum().backward()\n    return [2.0] * steps"),
    ("train", "torch.optim.SGD([torch.zeros(3, requires_grad=True)], 0.1).step()\n    return [2.0] * steps"),
    ("train", "del DecoderLM.forward\n    return [2.0] * steps"),
    ("train", "model.extra = nn.Linear(2, 2)\n    return [2.0] * steps"),
    ("evaluate", "return [1.0, 2.0]"),
    ("evaluate", "return float('inf')"),
    ("evaluate", "return []"),
    ("evaluate", "tokens.resize_(0)\n    return 1.0"),
    ("evaluate", "model.add_module('x', nn.Dropout())\n    return 1.0"),
    ("evaluate", "model(torch.full((2, 3), 60))\n    return 1.0"),
    ("evaluate", "model(tokens[None, :1])\n    return 1.0"),
]


@pytest.mark.parametrize(("name", "body"), HOSTILE)
def test_whatever_it_does_the_grading_comes_to_its_end(name, body, hosts, tmp_path):
    arguments = {"train": "model, tokens, steps, batch_size, lr, seed", "evaluate": "model, tokens"}[name]
    source = with_function(name, f"def {name}({arguments}):\n    {body}")
    only = {"train": "training.*", "evaluate": "evaluation.[!h]*"}[name]
    failed, _ = judged(source, only, hosts, tmp_path)
    assert failed
