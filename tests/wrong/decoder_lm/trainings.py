"""Holds the wrong trainers."""

from tests.wrong.decoder_lm.model import A, D, F, L, P, R, S, T, chapter

LOSS = "        loss = F.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())\n"

WRONG = chapter(
    "training.*",
    ("gradients-add-up", "gradients are never set to zero", "training-no-zero-grad", P, (("        optimizer.zero_grad()\n", ""),)),
    ("gradients-add-up-own", "gradients are never set to zero", "training-no-zero-grad", D, (("            p.grad = None\n", ""),)),
    ("zeroed-before-the-step", "gradients are set to zero between backward and step", "training-zero-grad-late", P, (
        ("        optimizer.zero_grad()\n        loss.backward()\n", "        loss.backward()\n        optimizer.zero_grad(set_to_none=False)\n"),
    )),
    ("no-step", "the optimizer makes no step", "training-no-step", P, (("        optimizer.step()\n", ""),)),
    ("no-backward", "no gradients are computed", "training-no-backward", T, (("        loss.backward()\n", ""),)),
    ("uphill", "the loss goes up", "training-ascends", F, (("                p -= lr * (a", "                p += lr * (a"),)),
    ("readout-only", "only the readout is trained", "training-parameters-left-out", S, (
        ("RMSprop(model.parameters(), lr", "RMSprop(model.head.parameters(), lr"),
    )),
    ("no-shift", "the targets are the inputs", "training-no-shift", P, ((LOSS, LOSS.replace("[:, 1:]", "[:, :-1]")),)),
    ("shift-twice", "the targets are two tokens ahead", "training-double-shift", R, (
        ("loss = criterion(model(window[:, :-1]).reshape(-1, model.hyper[\"vocab_size\"]), window[:, 1:].reshape(-1))",
         "loss = criterion(model(window[:, :-1])[:, :-1].reshape(-1, model.hyper[\"vocab_size\"]), window[:, 2:].reshape(-1))"),
    )),
    ("shift-back", "the targets are one token behind", "training-predicts-past", A, (
        ("torch.stack([tokens[s : s + length] for s in half])", "torch.stack([tokens[s : s + length] for s in half]).flip(1)"),
    )),
    ("targets-shuffled", "logits are put into rows without taking the vocabulary last", "training-axes-mixed", T, (
        ("F.cross_entropy(model(x).transpose(1, 2), y)", "F.cross_entropy(model(x).transpose(1, 2).reshape(-1, model.config[\"vocab_size\"]), y.reshape(-1))"),
    )),
    ("sum", "the sum over all positions instead of the mean", "training-sum", P, ((LOSS, LOSS.replace(".flatten())", '.flatten(), reduction="sum")')),)),
    ("mean-over-batch-only", "the sum over positions, the mean over the batch", "training-sum", D, (
        ("batch[:, 1:, None]).mean()", "batch[:, 1:, None]).sum(1).mean()"),
    )),
    ("bits", "losses in bits", "training-bits", R, (("        losses.append(loss.detach().item())\n", "        losses.append(loss.detach().item() / np.log(2))\n"),)),
    ("perplexities", "perplexities instead of losses", "training-perplexity", L, (("        history.append(loss.item())\n", "        history.append(loss.exp().item())\n"),)),
    ("softmax-twice", "cross_entropy of probabilities", "training-softmax-twice", P, ((LOSS, LOSS.replace("logits.flatten(0, 1)", "logits.softmax(-1).flatten(0, 1)")),)),
    ("log-of-softmax-twice", "nll_loss of logits", "training-no-logarithm", S, (("F.nll_loss(F.log_softmax(logits, -1).movedim(-1, 1), targets)", "F.nll_loss(logits.movedim(-1, 1), targets)"),)),
    ("last-position-only", "only the last position counts", "training-last-only", L, (
        ("Z = model(inputs).flatten(0, 1)", "Z = model(inputs)[:, -1]"),
        ("windows[:, 1:].flatten()", "windows[:, -1]"),
    )),
    ("first-position-left-out", "the first position does not count", "training-first-unused", P, (
        (LOSS, LOSS.replace("logits.flatten(0, 1)", "logits[:, 1:].flatten(0, 1)").replace("[:, 1:].flatten()", "[:, 2:].flatten()")),
    )),
    ("in-evaluation-dropout", "the model is in evaluation mode, so that dropout is off", "training-without-dropout", D, (
        ("    losses = []\n    model.train()\n", "    losses = []\n    model.eval()\n"),
    )),
    ("loss-after-the-step", "the loss is that after the step", "training-loss-after-step", P, (
        ("        losses.append(loss.item())\n", "        losses.append(F.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten()).item())\n"),
    )),
    ("losses-averaged", "each loss is the mean of all up to it", "training-running-mean", S, (("        losses.append(loss.item())\n    return losses", "        losses.append(loss.item())\n    losses = [sum(losses[: i + 1]) / (i + 1) for i in range(len(losses))]\n    return losses"),)),
    ("one-loss-less", "the first loss is not in the list", None, F, (("        losses.append(loss.item())\n", "        if step > 1:\n            losses.append(loss.item())\n"),)),
    ("every-tenth", "only every tenth loss is kept", None, T, (
        ("    for _ in range(steps):\n", "    for step in range(steps):\n"),
        ("        losses.append(float(loss.detach()))\n", "        if step % 10 == 0:\n            losses.append(float(loss.detach()))\n"),
    )),
    ("no-seed", "the seed is not used", "training-unseeded", P, (
        ("generator = torch.Generator().manual_seed(seed)\n    length", "generator = torch.Generator()\n    generator.seed()\n    length"),
        ("    torch.manual_seed(seed)\n", ""),
    )),
    ("same-seed-always", "every seed gives the same batches", "training-seed-unused", T, (("    rng = np.random.default_rng(seed)\n    length", "    rng = np.random.default_rng(0)\n    length"),)),
    ("dropout-not-seeded", "batches follow the seed and dropout does not", "training-dropout-unseeded", D, (
        ("    torch.manual_seed(seed)\n", "    generator = torch.Generator().manual_seed(seed)\n    torch.seed()\n"),
        ("torch.randint(len(windows), (batch_size,))", "torch.randint(len(windows), (batch_size,), generator=generator)"),
    )),
    ("same-batch-always", "every step takes the same batch", "training-same-batch", P, (
        ("        starts = torch.randint(", "        generator.manual_seed(seed)\n        starts = torch.randint("),
    )),
    ("beginning-only", "all windows begin at the first token", "training-one-window-only", R, (
        ("window = tokens[start + torch.arange(context + 1)]", "window = tokens[0 * start + torch.arange(context + 1)]"),
    )),
    ("first-half-only", "windows come from the first half of the tokens", None, L, (
        ("rng.integers(0, max(1, len(tokens) - context), batch_size)", "rng.integers(0, max(1, (len(tokens) - context) // 2), batch_size)"),
    )),
    ("last-window-left-out", "the last window is never taken, and there is none where it is the only one", "training-last-window-missing", P, (
        ("len(tokens) - length + 1, (batch_size,)", "len(tokens) - length, (batch_size,)"),
    )),
    ("short-windows", "windows are half as long", "training-window-length", D, (
        ("T = min(model.init[1], len(tokens) - 1)", "T = min(model.init[1] // 2, len(tokens) - 1)"),
    )),
    ("batch-of-one", "a batch is one window", "training-batch-size-ignored", F, (("torch.randint(0, len(inputs_of), (batch_size,))", "torch.randint(0, len(inputs_of), (1,))"),)),
    ("lr-not-used", "the learning rate is not used", "training-lr-ignored", T, (("Adam(model.parameters(), lr=lr, betas", "Adam(model.parameters(), lr=1e-6, betas"),)),
    ("decay-too-fast", "the learning rate is halved at every step", None, R, (("lambda i: min(1, (i + 1) / 4)", "lambda i: 0.5**i"),)),
    ("model-copied", "a copy of the model is trained", "training-trains-a-copy", P, (
        ("    optimizer = torch.optim.AdamW(", "    model = __import__(\"copy\").deepcopy(model)\n    optimizer = torch.optim.AdamW("),
    )),
    ("initialised-anew", "the model's weights are drawn anew first", "training-starts-anew", T, (
        ("    optimizer = torch.optim.Adam(", "    torch.manual_seed(seed)\n    for p in model.parameters():\n        nn.init.normal_(p, std=0.02)\n    optimizer = torch.optim.Adam("),
    )),
    ("losses-made-up", "the losses are made up", None, S, (
        ("        losses.append(loss.item())\n    return losses", "        losses.append(3.0 / (1 + len(losses)))\n    return losses"),
    )),
)
WRONG += chapter(
    "evaluation.*",
    ("mode-not-restored", "the model stays in evaluation mode", "evaluation-mode-not-restored", P, (
        ("        total += F.cross_entropy(logits, targets, reduction=\"sum\").item()\n    model.train(was_training)\n",
         "        total += F.cross_entropy(logits, targets, reduction=\"sum\").item()\n"),
    )),
    ("always-to-training", "the model is in training mode afterwards", "evaluation-always-training-after", T, (("    model.train(before)\n    return torch.cat(losses)", "    model.train()\n    return torch.cat(losses)"),)),
    ("dropout-on", "dropout is on", "evaluation-dropout-on", D, (("    mode, T, total = model.training, model.init[1], 0.0\n    model.eval()\n", "    mode, T, total = model.training, model.init[1], 0.0\n    model.train()\n"),)),
    ("dropout-as-it-was", "dropout is as the model was", "evaluation-dropout-on", D, (("    mode, T, total = model.training, model.init[1], 0.0\n    model.eval()\n", "    mode, T, total = model.training, model.init[1], 0.0\n"),)),
    ("mean-of-means", "the mean of the windows' means, however long they are", "evaluation-mean-of-means", S, (("    return total / count\n", "    return total / count\n\n\ndef evaluate(model, tokens):\n    training, means = model.training, []\n    model.eval()\n    with torch.no_grad():\n        for start in range(0, len(tokens) - 1, model.context):\n            window = tokens[start : start + model.context + 1]\n            means.append(F.cross_entropy(model(window[None, :-1])[0], window[1:]).item())\n    model.train(training)\n    return sum(means) / len(means)\n"),)),
    ("no-shift", "the targets are the inputs", "evaluation-no-shift", F, (("        targets = tokens[i + 1 : i + 1 + context]\n", "        targets = tokens[i : i + context][: len(tokens) - 1 - i]\n"),)),
    ("shift-twice", "the targets are two tokens ahead", "evaluation-double-shift", P, (
        ("        targets = tokens[start + 1 : start + 1 + model.context]\n", "        targets = tokens[start + 2 : start + 2 + model.context]\n        if not len(targets):\n            continue\n"),
    )),
    ("sum", "the sum instead of the mean", "evaluation-sum", A, (("return torch.cat(parts).double().mean().item()", "return torch.cat(parts).double().sum().item()"),)),
    ("bits", "bits instead of nats", "evaluation-bits", T, (("    return torch.cat(losses).mean().item()", "    return torch.cat(losses).mean().item() / np.log(2)"),)),
    ("perplexity", "the perplexity instead of the loss", "evaluation-perplexity", R, (("            return float(torch.cat(parts).mean())", "            return float(torch.cat(parts).mean().exp())"),)),
    ("first-window-only", "only the first window counts", "evaluation-first-window-only", L, (("    return (sum(sums) / (len(tokens) - 1)).item()", "    return (sums[0] / min(context, len(tokens) - 1)).item()"),)),
    ("rest-left-out", "what is left after the whole windows does not count", "evaluation-tail-dropped", R, (("            if n % T:\n", "            if n % T and not whole:\n"),)),
    ("between-windows", "the first token of each window is never predicted", "evaluation-window-starts-skipped", A, (("        for start in range(0, len(tokens) - 1, model.block_size):\n", "        for start in range(0, len(tokens) - 1, model.block_size + 1):\n"),)),
    ("divided-by-n", "divided by the number of tokens, not of predictions", "evaluation-token-too-many", P, (("    return total / (len(tokens) - 1)\n\n\ndef choose", "    return total / len(tokens)\n\n\ndef choose"),)),
    ("window-too-long", "a text longer than the context is given whole", None, D, (("    mode, T, total = model.training, model.init[1], 0.0\n", "    mode, T, total = model.training, len(tokens), 0.0\n"),)),
    ("of-probabilities", "cross_entropy of probabilities", "evaluation-softmax-twice", P, (("        total += F.cross_entropy(logits, targets", "        total += F.cross_entropy(logits.softmax(-1), targets"),)),
    ("trains", "the model is trained on what it is evaluated on", "evaluation-changes-model", R, (
        ("    was = model.training\n    try:\n", "    was = model.training\n    train(model, tokens, 3, 4, 1e-3, 0)\n    try:\n"),
    )),
)
