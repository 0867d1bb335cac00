"""Holds the wrong caches."""

from tests.wrong.decoder_lm.model import A, D, F, L, P, R, S, T, chapter

WRONG = chapter(
    "cache.*",
    ("positions-from-0", "new tokens are at position 0 again", "cache-position-zero", P, (
        ("            q, k = turn(q, start), turn(k, start)\n", "            q, k = turn(q, 0), turn(k, 0)\n"),
    )),
    ("learned-positions-from-0", "learned positions begin at 0 again", "cache-position-zero", S, (
        ("torch.arange(start, start + tokens.shape[1])).unsqueeze(0)", "torch.arange(tokens.shape[1])).unsqueeze(0)"),
    )),
    ("positions-one-off", "with a cache positions are one too large", "cache-position-ahead", D, (
        ("        at = past[0].size(2) if past is not None else 0\n        if self.rotary:\n            q, k = self.rope(q, at), self.rope(k, at)\n",
         "        at = past[0].size(2) if past is not None else 0\n        if self.rotary:\n            shift = at + (at > 0)\n            q, k = self.rope(q, shift - (shift >= len(self.mask))), self.rope(k, shift - (shift >= len(self.mask)))\n"),
    )),
    ("positions-twice", "the length of the cache is added twice", "cache-position-doubled", F, (
        ("        q, k = rope(q, positions), rope(k, positions)\n", "        q, k = rope(q, positions + start), rope(k, positions + start)\n"),
    )),
    ("turned-again", "keys of the cache are turned again at each step", "cache-keys-turned-again", A, (
        ("        k, v = self.key(x), self.value(x)\n        if memory is not None:\n            k, v = torch.cat([memory[0], k], 1), torch.cat([memory[1], v], 1)\n        memory = k, v\n        n = k.shape[1]\n",
         "        k, v = self.key(x), self.value(x)\n        if memory is not None:\n            k, v = torch.cat([memory[0], k], 1), torch.cat([memory[1], v], 1)\n        n = k.shape[1]\n        turned = self.rotate(k.reshape(B, n, self.n_head, -1).transpose(0, 1), 0).transpose(0, 1).reshape(B, n, C)\n        memory = (turned if self.rope else k), v\n"),
    )),
    ("queries-turned-from-0", "queries of a step are turned as if the cache were empty", "cache-position-zero", L, (
        ("Q, K = self.turn(Q, start), self.turn(K, start)", "Q, K = self.turn(Q, 0), self.turn(K, start)"),
    )),
    ("no-mask-with-cache", "with a cache nothing is masked", "cache-no-mask", P, (
        ('        scores = scores.masked_fill(~allowed, float("-inf"))\n',
         '        if past is None:\n            scores = scores.masked_fill(~allowed, float("-inf"))\n'),
    )),
    ("mask-top-left", "the mask is aligned with the first positions", "cache-mask-corner", D, (
        ("self.mask[at : at + T, : at + T]", "self.mask[:T, : at + T]"),
    )),
    ("mask-new-only", "new tokens see each other only", "cache-ignored", L, (
        ("        A = torch.softmax(S + later * -1e9, dim=-1)\n", "        later[:, :start] = True\n        A = torch.softmax(S + later * -1e9, dim=-1)\n"),
    )),
    ("one-for-all-layers", "all layers share the cache of the first", "cache-shared-by-layers", P, (
        ("block(x, None if cache is None else cache[i])", "block(x, None if cache is None else cache[0])"),
    )),
    ("last-layers-cache", "every layer gets the cache of the last", "cache-shared-by-layers", S, (
        ("            after.append(store)\n        return", "            after.append(store)\n        after = [store] * len(after)\n        return"),
    )),
    ("not-joined", "the new cache holds the new tokens only", "cache-newest-only", F, (
        ("    q, k, v = (torch.einsum(\"ntd,dhc->nthc\", x, p[name]) for name in (\"Q\", \"K\", \"V\"))\n",
         "    q, k, v = (torch.einsum(\"ntd,dhc->nthc\", x, p[name]) for name in (\"Q\", \"K\", \"V\"))\n    new = v\n"),
        ('    return torch.einsum("nhts,nshc,hcd->ntd", weights, v, p["O"]), (k, v)',
         '    return torch.einsum("nhts,nshc,hcd->ntd", weights, v, p["O"]), (k[:, -new.shape[1] :], new)'),
    )),
    ("old-cache-returned", "the cache that came in is given back", "cache-not-appended", D, (
        ("            kept.append(now)\n        return self.lm_head", "            kept.append(now if past is None else past)\n        return self.lm_head"),
    )),
    ("last-place-overwritten", "the last place of the cache is written over", "cache-overwritten", T, (
        ("            keys[:, :, length : length + t] = k\n",
         "            length = max(0, length - 1)\n            keys[:, :, length : length + t] = k\n"),
        ("        if self.rotary:\n            q, k = self.rotate(q, positions)", "        positions = (positions - int(length > 0)) if keys is not None else positions\n        if self.rotary:\n            q, k = self.rotate(q, positions)"),
        ("        cache.length += t\n", "        cache.length += t - (cache.length > 0)\n"),
    )),
    ("first-row-for-all", "all rows of a batch use the cache of the first", "cache-first-row", P, (
        ("            k = torch.cat([past[0], k], dim=2)\n", "            k = torch.cat([past[0][:1].expand_as(past[0]), k], dim=2)\n"),
    )),
    ("written-in-place", "the old cache is written to", "cache-aliased", T, (
        ("            cache = cache.copy()\n", "            cache = Cache(cache.keys, cache.values, cache.length)\n"),
    )),
    ("appended-in-place", "the old cache grows with the new one", "cache-aliased", L, (
        ("            kept.append(now)\n        H = H + torch.cat(outs", "            if past:\n                past[i][:] = now\n            kept.append(now)\n        H = H + torch.cat(outs"),
    )),
    ("kept-in-the-model", "the cache is an attribute that the next prompt finds", "cache-stale", F, (
        ('        past = cache["layers"] if cache else [None] * layers\n        start = cache["length"] if cache else 0\n',
         '        cache = getattr(self, "kept", None) if cache is None and tokens.shape[1] == 1 else cache\n        past = cache["layers"] if cache else [None] * layers\n        start = cache["length"] if cache else 0\n'),
        ('        return norm(x, f) @ out["W"] + out["b"], {"layers": kept, "length": start + tokens.shape[1]}',
         '        self.kept = {"layers": kept, "length": start + tokens.shape[1]} if start + tokens.shape[1] < self.arguments[1] else None\n        return norm(x, f) @ out["W"] + out["b"], {"layers": kept, "length": start + tokens.shape[1]}'),
    )),
    ("argument-ignored", "the cache that is given is ignored for the one of the last call", "cache-in-model", D, (
        ("        with torch.no_grad():\n            return self._run(tokens, cache or [None] * len(self.h))\n",
         "        with torch.no_grad():\n            logits, self.last = self._run(tokens, self.last if cache else [None] * len(self.h))\n            return logits, self.last\n"),
    )),
    ("computed-anew", "all positions are computed anew at every step", "cache-recomputes", P, (
        ("    def decode(self, tokens, cache=None):\n        start = 0",
         "    def decode(self, tokens, cache=None):\n        whole = tokens if cache is None else torch.cat([cache, tokens], dim=1)\n"
         "        return self.run(whole)[0][:, -tokens.shape[1] :], whole\n\n    def run(self, tokens, cache=None):\n        start = 0"),
        ("        return self.decode(tokens)[0]\n", "        return self.run(tokens)[0]\n"),
    )),
    ("keys-computed-anew", "the inputs of each layer are kept, keys and values computed anew from all of them", "cache-reprojects", A, (
        ("        k, v = self.key(x), self.value(x)\n        if memory is not None:\n            k, v = torch.cat([memory[0], k], 1), torch.cat([memory[1], v], 1)\n        memory = k, v\n",
         "        memory = (x if memory is None else torch.cat([memory[0], x], 1),)\n        k, v = self.key(memory[0]), self.value(memory[0])\n"),
    )),
    ("last-logits-only", "only the logits of the last new position come back", "cache-last-logits-only", R, (
        ("        return self.unembed(self.norm(x)), after\n", "        return self.unembed(self.norm(x if cache.length == 0 else x[:, -1:])), after\n"),
    )),
    ("window", "only the last eight positions are kept", "cache-window", R, (
        ("        return self.unembed(self.norm(x)), after\n",
         "        after = KV(after.k[:, :, :, -8:], after.v[:, :, :, -8:], after.length)\n        return self.unembed(self.norm(x)), after\n"),
        ("        n, start, T = self.norm_a(x), k_past.shape[2], x.shape[1]\n",
         "        n, start, T = self.norm_a(x), k_past.shape[2], x.shape[1]\n        first = self.at\n"),
        ("self.turned(q, start), self.turned(k, start)", "self.turned(q, first), self.turned(k, first)"),
        ("        for layer, k_past, v_past in zip(self.layers, cache.k, cache.v):\n",
         "        for layer, k_past, v_past in zip(self.layers, cache.k, cache.v):\n            layer.at = cache.length\n"),
    )),
    ("length-counted-early", "the first layer counts the new tokens and the others find them counted", "cache-counter-early", S, (
        ("        for layer, store in zip(self.transformer, stores):\n            x, (store, _) = layer(x, (store, length))\n            after.append(store)\n",
         "        first = length\n        for layer, store in zip(self.transformer, stores):\n            x, (store, _) = layer(x, (store, length))\n            after.append(store)\n            length = min(first + t, self.context - t)\n        length = first\n"),
    )),
    ("one-token-at-a-time", "of several new tokens only the last is put into the cache", "cache-last-token-only", R, (
        ("torch.cat((cache.k, torch.stack(keys)), 3), torch.cat((cache.v, torch.stack(values)), 3), cache.length + t",
         "torch.cat((cache.k, torch.stack(keys)[:, :, :, -1:]), 3), torch.cat((cache.v, torch.stack(values)[:, :, :, -1:]), 3), cache.length + 1"),
    )),
    ("half-precision", "keys and values are kept in half precision", "cache-half-precision", P, (
        ("        return self.W_O(out.transpose(1, 2).flatten(2)), (k, v)", "        return self.W_O(out.transpose(1, 2).flatten(2)), (k.bfloat16().to(k), v.bfloat16().to(v))"),
    )),
)
