"""Holds the wrong ways of sampling."""

from tests.wrong.decoder_lm.model import A, D, F, L, P, R, S, T, chapter

WRONG = chapter(
    "sampling.*",
    ("temperature-times", "logits are multiplied by the temperature", None, P, (("logits.double() / temperature", "logits.double() * temperature"),)),
    ("temperature-after-softmax", "probabilities are divided by the temperature, which changes nothing", None, R, (
        ("    p = torch.softmax(logits.double() / temperature, 0)\n", "    p = torch.softmax(logits.double(), 0) / temperature\n    p = p / p.sum()\n"),
    )),
    ("temperature-squared", "the temperature counts twice", None, T, (
        ("def pick(z, temperature, top_k, top_p, rng):\n", "def pick(z, temperature, top_k, top_p, rng):\n    z = z / (temperature or 1)\n"),
    )),
    ("temperature-ignored", "the temperature is not used", None, L, (("(z[i] - z[ranked[0]]) / temperature for i", "z[i] - z[ranked[0]] for i"),)),
    ("temperature-0", "temperature 0 divides by 0", None, P, (("    if temperature == 0:\n        return int(logits.argmax())\n", ""),)),
    ("temperature-0-as-1", "temperature 0 is taken for none", None, F, (
        ("    if not temperature:\n        return z.max(0).indices.item()\n", "    temperature = temperature or 1.0\n"),
    )),
    ("greedy-always", "the largest logit is taken whatever the temperature", None, S, (("    if temperature <= 0:\n", "    if temperature >= 0:\n"),)),
    ("smallest", "temperature 0 takes the smallest logit", None, D, (("new = z.argmax(-1, keepdim=True)\n        else", "new = z.argmin(-1, keepdim=True)\n        else"),)),
    ("softmax-twice", "probabilities are used as logits", None, P, (("    probabilities = logits.softmax(-1)\n", "    probabilities = logits.softmax(-1).softmax(-1)\n"),)),
    ("top-k-one-less", "one fewer than k is kept", None, F, (("    p = z[:top_k].softmax(0)\n", "    p = z[: top_k and max(1, top_k - 1)].softmax(0)\n"),)),
    ("top-k-one-more", "one more than k is kept", None, R, (("        values[top_k:] = 0\n", "        values[top_k + 1 :] = 0\n"),)),
    ("top-k-smallest", "the k smallest are kept", None, P, (
        ("least = logits.topk(min(top_k, len(logits))).values[-1]\n        logits = logits.masked_fill(logits < least",
         "least = logits.topk(min(top_k, len(logits)), largest=False).values[-1]\n        logits = logits.masked_fill(logits > least"),
    )),
    ("top-k-ignored", "top_k is not used", None, S, (("    if top_k is not None:\n        ranked = ranked[:top_k]\n", ""),)),
    ("top-k-always", "without top_k only five are kept", None, T, (("def pick(z, temperature, top_k, top_p, rng):\n", "def pick(z, temperature, top_k, top_p, rng):\n    top_k = top_k or 5\n"),)),
    ("top-k-too-large", "a top_k above the vocabulary raises", None, P, (("logits.topk(min(top_k, len(logits)))", "logits.topk(top_k)"),)),
    ("top-p-drops-the-last", "the token that crosses top_p is left out", None, P, (
        ("        before = ordered.cumsum(-1) - ordered\n        probabilities[order[before >= top_p]] = 0\n",
         "        upto = ordered.cumsum(-1)\n        upto[0] = 0\n        probabilities[order[upto > top_p]] = 0\n"),
    )),
    ("top-p-one-more", "one more than needed is kept", None, L, (("                while kept < len(ranked) and mass < top_p:\n", "                while kept < len(ranked) and mass - (kept and weights[kept - 1]) < top_p:\n"),)),
    ("top-p-unsorted", "the mask of the sorted probabilities is laid on the unsorted ones", None, P, (("probabilities[order[before >= top_p]] = 0", "probabilities[before >= top_p] = 0"),)),
    ("top-p-in-order-of-ids", "probabilities are added up in the order of ids", None, D, (("p, order = z.softmax(-1).sort(descending=True)", "p, order = z.softmax(-1), torch.arange(z.size(1))[None]"),)),
    ("top-p-ascending", "probabilities are added up from the smallest", None, R, (
        ("    values, order = torch.sort(p, descending=True)\n", "    values, order = torch.sort(p, descending=top_p is None)\n"),
    )),
    ("top-p-of-logits", "top_p is applied before the temperature", None, A, (
        ("            p = (z[order] / temperature).softmax(-1)\n            n = len(p) if top_p is None else 1 + sum((p.cumsum(-1) < top_p).tolist())\n",
         "            p = z[order].softmax(-1)\n            n = len(p) if top_p is None else 1 + sum((p.cumsum(-1) < top_p).tolist())\n            p = (z[order] / temperature).softmax(-1)\n"),
    )),
    ("top-p-before-top-k", "top_p comes before top_k", None, S, (("        whole, mass = sum(p for p, _ in ranked), 0.0\n", "        whole, mass = 1.0, 0.0\n"),)),
    ("top-p-as-threshold", "tokens with a probability below top_p are left out", None, F, (("        p = p[: int((mass < top_p).sum()) + 1]\n", "        p = p[: max(1, int((p >= top_p).sum()))]\n"),)),
    ("top-p-ignored", "top_p is not used", None, T, (("    if top_p is not None:\n        count = int", "    if top_p is None and top_k == -1:\n        count = int"),)),
    ("uniform", "the kept tokens are drawn with equal chances", None, R, (("    return torch.zeros_like(p).scatter(0, order, values)\n", "    return torch.zeros_like(p).scatter(0, order, (values > 0).double())\n"),)),
    ("prompt-repeated", "the prompt comes first", None, T, (("    return ids[len(prompt) :]\n\n\ndef pick", "    return ids\n\n\ndef pick"),)),
    ("one-less", "one token less than asked", None, L, (("    while len(new) != max_new_tokens:\n", "    while len(new) < max_new_tokens - 1:\n"),)),
    ("one-more", "one token more than asked", None, R, (("    for _ in range(count):\n", "    for _ in range(count + 1):\n"),)),
    ("length-with-prompt", "the prompt counts as new tokens", None, A, (("    for _ in range(max_new_tokens):\n", "    for _ in range(max_new_tokens - len(prompt)):\n"),)),
    ("seed-ignored", "the seed is not used", None, P, (("generator.seed() if seed is None else generator.manual_seed(seed)", "generator.seed()"),)),
    ("seed-fixed", "without a seed every call gives the same", None, F, (("    numbers.manual_seed(seed) if seed is not None else numbers.seed()\n", "    numbers.manual_seed(seed or 0)\n"),)),
    ("seed-0-none", "the seed 0 is taken for none", None, D, (("    if seed is not None:\n        generator.manual_seed(seed)\n    else:\n        generator.seed()\n", "    if seed:\n        generator.manual_seed(seed)\n    else:\n        generator.seed()\n"),)),
    ("seeded-at-each-step", "every step draws with the same number", None, F, (
        ("        u = torch.rand(1, generator=numbers", "        if seed is not None:\n            numbers.manual_seed(seed)\n        u = torch.rand(1, generator=numbers"),
    )),
    ("first-position", "the logits of the first position are used", None, P, (("choose(logits[0, -1], temperature", "choose(logits[0, 0], temperature"),)),
    ("second-last-position", "the logits of the last position but one are used", None, R, (("        p = distribution(logits[0, -1], ", "        p = distribution(logits[0, max(-2, -logits.shape[1])], "),)),
    ("whole-text-into-the-cache", "with a cache all ids are given at every step", None, D, (("ids if cache is None else ids[:, -1:], cache", "ids, cache"),)),
    ("cache-not-kept", "every step begins with an empty cache", None, L, (("                Z, cache = model.decode(torch.tensor([given]), cache)\n", "                Z, _ = model.decode(torch.tensor([given]), cache)\n"),)),
    ("cache-never", "use_cache=True computes everything anew", None, T, (("            if not use_cache:\n", "            if True:\n"),)),
    ("cache-always", "use_cache=False uses the cache", None, P, (("        if use_cache:\n            logits, cache = model.decode(torch.tensor([step]), cache)", "        if True:\n            logits, cache = model.decode(torch.tensor([step]), cache)"),)),
    ("prompt-one-by-one", "the prompt's last token only goes into the cache", None, A, (("    ids, cache, fresh = list(prompt), None, list(prompt)\n", "    ids, cache, fresh = list(prompt), None, list(prompt)[-1:]\n"),)),
    ("prompt-only", "without a cache the new ids are not added to what the model sees", None, S, (("model.decode(sequence[:, -1:], cache) if use_cache else (model(sequence), None)", "model.decode(sequence[:, -1:], cache) if use_cache else (model(sequence[:, : len(prompt)]), None)"),)),
    ("short-memory", "without a cache the model sees the last three ids", None, R, (("            logits = model(torch.tensor([ids]))\n", "            logits = model(torch.tensor([ids[-3:]]))\n"),)),
    ("prompt-changed", "the caller's prompt grows", None, R, (
        ("stream(model, list(prompt), max_new_tokens", "stream(model, prompt, max_new_tokens"),
        ("        ids = ids + given\n", "        ids += given\n"),
    )),
    ("dropout-on", "dropout is on", None, D, (("    mode = model.training\n    model.eval()\n    ids = torch", "    mode = model.training\n    model.train()\n    ids = torch"),)),
    ("stays-in-evaluation", "the model stays in evaluation mode", None, P, (("        step = new[-1:]\n    model.train(was_training)\n", "        step = new[-1:]\n"),)),
    ("no-repeats", "an id that was drawn is not drawn again", None, P, (
        ("        new.append(choose(logits[0, -1], ", "        logits[0, -1, new] = float(\"-inf\")\n        new.append(choose(logits[0, -1], "),
    )),
)
