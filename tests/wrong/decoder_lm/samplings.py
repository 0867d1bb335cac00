"""Holds the wrong ways of sampling."""

from tests.wrong.decoder_lm.model import A, D, F, L, P, R, S, T, chapter

WRONG = chapter(
    "sampling.*",
    ("temperature-times", "logits are multiplied by the temperature", "sampling-temperature-multiplied", P, (("logits.double() / temperature", "logits.double() * temperature"),)),
    ("temperature-after-softmax", "probabilities are divided by the temperature, which changes nothing", "sampling-temperature-without-effect", R, (
        ("    p = torch.softmax(logits.double() / temperature, 0)\n", "    p = torch.softmax(logits.double(), 0) / temperature\n    p = p / p.sum()\n"),
    )),
    ("temperature-squared", "the temperature counts twice", "sampling-temperature-twice", T, (
        ("def pick(z, temperature, top_k, top_p, rng):\n", "def pick(z, temperature, top_k, top_p, rng):\n    z = z / (temperature or 1)\n"),
    )),
    ("temperature-ignored", "the temperature is not used", "sampling-temperature-without-effect", L, (("(z[i] - z[ranked[0]]) / temperature for i", "z[i] - z[ranked[0]] for i"),)),
    ("temperature-0", "temperature 0 divides by 0", "sampling-zero-divides", P, (("    if temperature == 0:\n        return int(logits.argmax())\n", ""),)),
    ("temperature-0-as-1", "temperature 0 is taken for none", "sampling-zero-draws", F, (
        ("    if not temperature:\n        return z.max(0).indices.item()\n", "    temperature = temperature or 1.0\n"),
    )),
    ("greedy-always", "the largest logit is taken whatever the temperature", "sampling-always-greedy", S, (("    if temperature <= 0:\n", "    if temperature >= 0:\n"),)),
    ("smallest", "temperature 0 takes the smallest logit", "sampling-smallest", D, (("new = z.argmax(-1, keepdim=True)\n        else", "new = z.argmin(-1, keepdim=True)\n        else"),)),
    ("softmax-twice", "probabilities are used as logits", "sampling-probabilities-as-logits", P, (("    probabilities = logits.softmax(-1)\n", "    probabilities = logits.softmax(-1).softmax(-1)\n"),)),
    ("top-k-one-less", "one fewer than k is kept", "sampling-top-k-one-less", F, (("    p = z[:top_k].softmax(0)\n", "    p = z[: top_k and max(1, top_k - 1)].softmax(0)\n"),)),
    ("top-k-one-more", "one more than k is kept", "sampling-top-k-one-more", R, (("        values[top_k:] = 0\n", "        values[top_k + 1 :] = 0\n"),)),
    ("top-k-smallest", "the k smallest are kept", "sampling-top-k-smallest", P, (
        ("least = logits.topk(min(top_k, len(logits))).values[-1]\n        logits = logits.masked_fill(logits < least",
         "least = logits.topk(min(top_k, len(logits)), largest=False).values[-1]\n        logits = logits.masked_fill(logits > least"),
    )),
    ("top-k-ignored", "top_k is not used", "sampling-top-k-ignored", S, (("    if top_k is not None:\n        ranked = ranked[:top_k]\n", ""),)),
    ("top-k-always", "without top_k only five are kept", None, T, (("def pick(z, temperature, top_k, top_p, rng):\n", "def pick(z, temperature, top_k, top_p, rng):\n    top_k = top_k or 5\n"),)),
    ("top-k-too-large", "a top_k above the vocabulary raises", "sampling-top-k-too-large", P, (("logits.topk(min(top_k, len(logits)))", "logits.topk(top_k)"),)),
    ("top-p-drops-the-last", "the token that crosses top_p is left out", "sampling-top-p-crossing-dropped", P, (
        ("        before = ordered.cumsum(-1) - ordered\n        probabilities[order[before >= top_p]] = 0\n",
         "        upto = ordered.cumsum(-1)\n        upto[0] = 0\n        probabilities[order[upto > top_p]] = 0\n"),
    )),
    ("top-p-one-more", "one more than needed is kept", "sampling-top-p-one-more", L, (("                while kept < len(ranked) and mass < top_p:\n", "                while kept < len(ranked) and mass - (kept and weights[kept - 1]) < top_p:\n"),)),
    ("top-p-unsorted", "the mask of the sorted probabilities is laid on the unsorted ones", "sampling-top-p-not-put-back", P, (("probabilities[order[before >= top_p]] = 0", "probabilities[before >= top_p] = 0"),)),
    ("top-p-in-order-of-ids", "probabilities are added up in the order of ids", "sampling-top-p-unsorted", D, (("p, order = z.softmax(-1).sort(descending=True)", "p, order = z.softmax(-1), torch.arange(z.size(1))[None]"),)),
    ("top-p-ascending", "probabilities are added up from the smallest", "sampling-top-p-upwards", R, (
        ("    values, order = torch.sort(p, descending=True)\n", "    values, order = torch.sort(p, descending=top_p is None)\n"),
    )),
    ("top-p-of-logits", "top_p is applied before the temperature", "sampling-top-p-before-temperature", A, (
        ("            p = (z[order] / temperature).softmax(-1)\n            n = len(p) if top_p is None else 1 + sum((p.cumsum(-1) < top_p).tolist())\n",
         "            p = z[order].softmax(-1)\n            n = len(p) if top_p is None else 1 + sum((p.cumsum(-1) < top_p).tolist())\n            p = (z[order] / temperature).softmax(-1)\n"),
    )),
    ("top-p-before-top-k", "top_p comes before top_k", "sampling-top-p-before-top-k", S, (("        whole, mass = sum(p for p, _ in ranked), 0.0\n", "        whole, mass = 1.0, 0.0\n"),)),
    ("top-p-as-threshold", "tokens with a probability below top_p are left out", "sampling-top-p-threshold", F, (("        p = p[: int((mass < top_p).sum()) + 1]\n", "        p = p[: max(1, int((p >= top_p).sum()))]\n"),)),
    ("top-p-ignored", "top_p is not used", "sampling-top-p-ignored", T, (("    if top_p is not None:\n        count = int", "    if top_p is None and top_k == -1:\n        count = int"),)),
    ("uniform", "the kept tokens are drawn with equal chances", "sampling-uniform", R, (("    return torch.zeros_like(p).scatter(0, order, values)\n", "    return torch.zeros_like(p).scatter(0, order, (values > 0).double())\n"),)),
    ("prompt-repeated", "the prompt comes first", "sampling-prompt-returned", T, (("    return ids[len(prompt) :]\n\n\ndef pick", "    return ids\n\n\ndef pick"),)),
    ("one-less", "one token less than asked", "sampling-one-short", L, (("    while len(new) != max_new_tokens:\n", "    while len(new) < max_new_tokens - 1:\n"),)),
    ("one-more", "one token more than asked", "sampling-one-more", R, (("    for _ in range(count):\n", "    for _ in range(count + 1):\n"),)),
    ("length-with-prompt", "the prompt counts as new tokens", "sampling-prompt-counted", A, (("    for _ in range(max_new_tokens):\n", "    for _ in range(max_new_tokens - len(prompt)):\n"),)),
    ("seed-ignored", "the seed is not used", "sampling-seed-ignored", P, (("generator.seed() if seed is None else generator.manual_seed(seed)", "generator.seed()"),)),
    ("seed-fixed", "without a seed every call gives the same", "sampling-fixed-without-seed", F, (("    numbers.manual_seed(seed) if seed is not None else numbers.seed()\n", "    numbers.manual_seed(seed or 0)\n"),)),
    ("seed-0-none", "the seed 0 is taken for none", "sampling-seed-zero-ignored", D, (("    if seed is not None:\n        generator.manual_seed(seed)\n    else:\n        generator.seed()\n", "    if seed:\n        generator.manual_seed(seed)\n    else:\n        generator.seed()\n"),)),
    ("seeded-at-each-step", "every step draws with the same number", "sampling-seeded-every-step", F, (
        ("        u = torch.rand(1, generator=numbers", "        if seed is not None:\n            numbers.manual_seed(seed)\n        u = torch.rand(1, generator=numbers"),
    )),
    ("first-position", "the logits of the first position are used", "sampling-first-position", P, (("choose(logits[0, -1], temperature", "choose(logits[0, 0], temperature"),)),
    ("second-last-position", "the logits of the last position but one are used", "sampling-first-position", R, (("        p = distribution(logits[0, -1], ", "        p = distribution(logits[0, max(-2, -logits.shape[1])], "),)),
    ("whole-text-into-the-cache", "with a cache all ids are given at every step", "sampling-everything-again", D, (("ids if cache is None else ids[:, -1:], cache", "ids, cache"),)),
    ("cache-not-kept", "every step begins with an empty cache", "sampling-cache-dropped", L, (("                Z, cache = model.decode(torch.tensor([given]), cache)\n", "                Z, _ = model.decode(torch.tensor([given]), cache)\n"),)),
    ("cache-never", "use_cache=True computes everything anew", "sampling-cache-unused", T, (("            if not use_cache:\n", "            if True:\n"),)),
    ("cache-always", "use_cache=False uses the cache", "sampling-cache-always", P, (("        if use_cache:\n            logits, cache = model.decode(torch.tensor([step]), cache)", "        if True:\n            logits, cache = model.decode(torch.tensor([step]), cache)"),)),
    ("prompt-one-by-one", "the prompt's last token only goes into the cache", "sampling-prompt-cut", A, (("    ids, cache, fresh = list(prompt), None, list(prompt)\n", "    ids, cache, fresh = list(prompt), None, list(prompt)[-1:]\n"),)),
    ("prompt-only", "without a cache the new ids are not added to what the model sees", "sampling-prompt-again", S, (("model.decode(sequence[:, -1:], cache) if use_cache else (model(sequence), None)", "model.decode(sequence[:, -1:], cache) if use_cache else (model(sequence[:, : len(prompt)]), None)"),)),
    ("short-memory", "without a cache the model sees the last three ids", "sampling-context-cut", R, (("            logits = model(torch.tensor([ids]))\n", "            logits = model(torch.tensor([ids[-3:]]))\n"),)),
    ("prompt-changed", "the caller's prompt grows", "sampling-prompt-changed", R, (
        ("stream(model, list(prompt), max_new_tokens", "stream(model, prompt, max_new_tokens"),
        ("        ids = ids + given\n", "        ids += given\n"),
    )),
    ("dropout-on", "dropout is on", "sampling-in-training", D, (("    mode = model.training\n    model.eval()\n    ids = torch", "    mode = model.training\n    model.train()\n    ids = torch"),)),
    ("no-repeats", "an id that was drawn is not drawn again", None, P, (
        ("        new.append(choose(logits[0, -1], ", "        logits[0, -1, new] = float(\"-inf\")\n        new.append(choose(logits[0, -1], "),
    )),
)
