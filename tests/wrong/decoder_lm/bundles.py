"""Holds the wrong bundles."""

from tests.wrong.decoder_lm.model import A, D, F, L, P, R, S, T, chapter

WRONG = chapter(
    "bundle.*",
    ("checksum-not-compared", "the checksum is written and never compared", "bundle-unchecked", P, (
        ("    if hashlib.sha256(data).hexdigest() != checksum:\n", "    if not checksum:\n"),
    )),
    ("checksum-of-length", "the checksum covers the length only", "bundle-checked-in-part", L, (
        ("    if hashlib.sha256(body.encode()).hexdigest() != digest:\n", "    if hashlib.sha256(str(len(body)).encode()).hexdigest() != digest:\n"),
        ("{hashlib.sha256(body.encode()).hexdigest()}", "{hashlib.sha256(str(len(body)).encode()).hexdigest()}"),
    )),
    ("weights-unchecked", "the checksum leaves the weights out", "bundle-unchecked", D, (
        ("    for name, tensor in sorted(content[\"weights\"].items()):\n", "    for name, tensor in ():\n"),
    )),
    ("generation-unchecked", "the generation policy may be changed unnoticed", "bundle-checked-in-part", F, (
        ('    for part in ("format_version", "model", "tokenizer", "generation"):\n', '    for part in ("format_version", "model", "tokenizer"):\n'),
    )),
    ("part-missing", "a missing part is passed over in silence", "bundle-checked-in-part", F, (
        ('        if part not in bundle or not isinstance(sums, dict) or sums.get(part) != sha256(bundle[part]):\n',
         '        if part in bundle and sums.get(part) != sha256(bundle[part]):\n'),
        ('Tokenizer(merges, bundle["tokenizer"]["special_tokens"]), bundle["generation"]', 'Tokenizer(merges, bundle["tokenizer"]["special_tokens"]), bundle.get("generation", {})'),
    )),
    ("version-unread", "any version is read", "bundle-version-ignored", P, (("    if version != VERSION:\n", "    if version is None:\n"),)),
    ("weights-lost", "the weights are not put back", "bundle-weights-left-out", P, (("    model.load_state_dict(content[\"weights\"])\n", ""),)),
    ("weights-half-lost", "only weights of two axes are kept", "bundle-weights-left-out", R, (
        ("    arrays = {f\"weight:{name}\": tensor.numpy(force=True) for name, tensor in model.state_dict().items()}\n",
         "    arrays = {f\"weight:{name}\": tensor.numpy(force=True) for name, tensor in model.state_dict().items() if tensor.dim() > 1}\n"),
        ("        model.load_state_dict(weights)\n", "        model.load_state_dict(weights, strict=False)\n"),
    )),
    ("weights-rounded", "weights are kept in half precision", "bundle-weights-rounded", S, (
        ("        b\"\".join(x.cpu().numpy().tobytes() for x in state.values()),\n", "        b\"\".join(x.bfloat16().to(x).cpu().numpy().tobytes() for x in state.values()),\n"),
    )),
    ("architecture-guessed", "the number of heads is not kept", "bundle-architecture-lost", P, (
        ('    model = DecoderLM(**content["arguments"])\n', '    model = DecoderLM(**{**content["arguments"], "heads": 1})\n'),
    )),
    ("rotary-lost", "models with learned positions come back without them", "bundle-architecture-lost", A, (
        ("    model = DecoderLM(n_vocab, block_size, n_embd, n_head, n_layer, n_inner, rope)\n", "    weights.pop(\"wpe.weight\", None)\n    model = DecoderLM(n_vocab, block_size, n_embd, n_head, n_layer, n_inner, True)\n"),
    )),
    ("context-lost", "the context comes back as 16", "bundle-architecture-lost", T, (
        ("        model = DecoderLM(**json.loads(z.read(\"config.json\")))\n", "        model = DecoderLM(**{**json.loads(z.read(\"config.json\")), \"context\": 12})\n"),
    )),
    ("in-training", "the model comes back in training mode", "bundle-training-mode", D, (("    return model.eval(), tokenizer, content[\"generation\"]", "    return model.train(), tokenizer, content[\"generation\"]"),)),
    ("in-training-plain", "the model comes back in training mode", "bundle-training-mode", P, (("    return model.eval(), tokenizer, content[\"generation\"]", "    return model, tokenizer, content[\"generation\"]"),)),
    ("merges-lost", "the tokenizer comes back without merges", "bundle-merges-lost", S, (("    return model, Tokenizer(*json.loads(sections[0])), json.loads(sections[2])", "    return model, Tokenizer(json.loads(sections[0])[0], []), json.loads(sections[2])"),)),
    ("merges-reversed", "the merges come back in another order", "bundle-merges-reordered", A, (
        ('"learned": [[a.hex(), b.hex()] for a, b in self.learned]', '"learned": [[a.hex(), b.hex()] for a, b in self.learned[:1] + self.learned[:0:-1]]'),
    )),
    ("special-tokens-lost", "special tokens are not kept", "bundle-specials-lost", T, (('        z.writestr("tokenizer.json", tokenizer.to_json())\n', '        z.writestr("tokenizer.json", Tokenizer(list(tokenizer.merges), []).to_json())\n'),)),
    ("template-lost", "only the numbers of the generation policy are kept", "bundle-generation-lost", P, (('        "generation": dict(generation),\n', '        "generation": {k: v for k, v in generation.items() if not isinstance(v, str)},\n'),)),
    ("none-lost", "what is None in the generation policy is lost", "bundle-generation-lost", F, (('        "generation": generation,\n    }\n    with open(path, "w") as f', '        "generation": {k: v for k, v in generation.items() if v is not None},\n    }\n    with open(path, "w") as f'),)),
    ("generation-lost", "the generation policy comes back with defaults", "bundle-generation-lost", R, (("Tokenizer(**json.loads(meta[\"tokenizer\"])), meta[\"generation\"]", "Tokenizer(**json.loads(meta[\"tokenizer\"])), {\"temperature\": 1.0}"),)),
    ("order-changed", "the three come back in another order", "bundle-order", P, (("    return model.eval(), tokenizer, content[\"generation\"]", "    return tokenizer, model.eval(), content[\"generation\"]"),)),
    ("in-memory", "the file holds a name, the content stays in the process", "bundle-needs-its-process", S, (
        ("    with open(path, \"wb\") as f:\n        f.write(b\"DLMB\"", "    KEPT[str(path)] = sections\n    with open(path, \"wb\") as f:\n        f.write(b\"DLMB\""),
        ("    while body:\n", "    if body:\n        sections, body = list(KEPT[sorted(KEPT)[-1]]), b\"\"\n    while body:\n"),
        ("def load_bundle(path):\n", "KEPT = {}\n\n\ndef load_bundle(path):\n"),
    )),
    ("two-files", "the weights are in a second file beside it", "bundle-in-pieces", P, (
        ("    buffer = io.BytesIO()\n    torch.save(content, buffer)\n", "    torch.save(content.pop(\"weights\"), str(path) + \".weights\")\n    buffer = io.BytesIO()\n    torch.save(content, buffer)\n"),
        ("    tokenizer = Tokenizer(**content[\"tokenizer\"])\n    model", "    content[\"weights\"] = torch.load(str(path) + \".weights\", weights_only=True)\n    tokenizer = Tokenizer(**content[\"tokenizer\"])\n    model"),
    )),
)
