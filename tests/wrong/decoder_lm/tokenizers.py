"""Holds the wrong tokenizers."""

from tests.wrong.decoder_lm.model import A, D, F, L, P, R, S, T, chapter

WRONG = chapter(
    "tokenizer.*",
    ("stripped", "spaces at the ends of a text are lost", "tokenizer-text-stripped", P, (
        ("        for piece in self.pieces(text):\n", "        for piece in self.pieces(text.strip()):\n"),
    )),
    ("lower-case", "capitals are lost", "tokenizer-lower-case", F, (
        ("        for kind, part in self.parts(text):\n", "        for kind, part in self.parts(text.lower()):\n"),
    )),
    ("line-ends", "CR LF becomes LF", "tokenizer-newlines", T, (
        ('        ids, cache = [], {}\n', '        ids, cache = [], {}\n        text = text.replace("\\r\\n", "\\n")\n'),
    )),
    ("spaces-joined", "several spaces become one", "tokenizer-spaces-joined", A, (
        ("        for chunk in chunks(text, self.reserved):\n",
         '        for chunk in chunks(re.sub(" +", " ", text), self.reserved):\n'),
    )),
    ("spaces-dropped", "words are split off at spaces, which nothing puts back", "tokenizer-characters-dropped", P, (
        (r"""re.compile(r" ?[^\W\d_]+| ?\d+| ?[^\w\s]+| ?_+|\s+")""", r"""re.compile(r" ?[^\W\d_]+| ?\d+| ?[^\w\s]+| ?_+")"""),
    )),
    ("underscore-dropped", "the pattern for words leaves the underscore out", "tokenizer-characters-dropped", R, (
        (r"(?:[^\s\w]|_)+", r"[^\s\w]+"),
    )),
    ("normalised", "Unicode is normalised first: combining marks join their letters", "tokenizer-unicode-normalized", F, (
        ("        for kind, part in self.parts(text):\n",
         '        for kind, part in self.parts(__import__("unicodedata").normalize("NFC", text)):\n'),
    )),
    ("latin-1", "what is not in Latin-1 is dropped", "tokenizer-not-utf-8", P, (
        ('        ids = list(word.encode("utf-8"))\n', '        ids = list(word.encode("latin-1", "ignore"))\n'),
    )),
    ("question-marks", "what is not ASCII becomes a question mark", "tokenizer-not-utf-8", D, (
        ("            else:\n                ids.extend(self._merged(list(piece.encode())))",
         '            else:\n                ids.extend(self._merged(list(piece.encode("ascii", "replace"))))'),
    )),
    ("bytes-one-by-one", "each id is decoded alone, so that letters of several bytes break", "tokenizer-decode-per-token", D, (
        ('return b"".join(map(self.spelled.__getitem__, ids)).decode("utf-8", "replace")',
         'return "".join(self.spelled[i].decode("utf-8", "replace") for i in ids)'),
    )),
    ("decoded-strictly", "ids that are no UTF-8 raise", "tokenizer-decode-strict", S, (
        ('"utf-8", "replace")', '"utf-8")'),
    )),
    ("errors-ignored", "bytes that are no UTF-8 vanish instead of being replaced", "tokenizer-decode-ignores", L, (
        ('.decode("utf-8", "replace")', '.decode("utf-8", "ignore")'),
    )),
    ("first-merge-first", "the leftmost pair that can be merged is, whatever its rank", "bpe-by-position", P, (
        ("pair = min(zip(ids, ids[1:]), key=lambda pair: self.ranks.get(pair, math.inf))",
         "pair = next((pair for pair in zip(ids, ids[1:]) if pair in self.ranks), None)"),
    )),
    ("last-learned-first", "of several merges the one learned last is applied", "bpe-last-rank-first", T, (
        ("            new = min(found)\n", "            new = max(found)\n"),
    )),
    ("one-pass", "only one merge is applied to a word", "bpe-one-merge", F, (
        ("            ids = replaced(ids, best, 256 + self.rank_of[best])\n        return ids",
         "            return replaced(ids, best, 256 + self.rank_of[best])\n        return ids"),
    )),
    ("longest-match", "the longest known token is taken from the left instead of merging by rank", "bpe-longest-match", A, (
        ('        symbols = [bytes([b]) for b in word.encode("utf8")]\n        while True:\n',
         '        data, out = word.encode("utf8"), []\n'
         "        while data:\n"
         "            n = max(n for n in range(1, len(data) + 1) if data[:n] in self.number)\n"
         "            out.append(data[:n])\n"
         "            data = data[n:]\n"
         "        return out\n"
         '        symbols = [bytes([b]) for b in word.encode("utf8")]\n        while True:\n'),
    )),
    ("merged-twice", "after a merge the second of the two is looked at again", "tokenizer-merge-loses", P, (
        ("            out.append(new)\n            i += 2\n", "            out.append(new)\n            i += 1\n"),
    )),
    ("last-lost", "the last id of a word is lost in a merge", "tokenizer-merge-loses", T, (
        ("        while i < len(word):\n", "        while i < len(word) - (len(word) > 2):\n"),
    )),
    ("special-unescaped", "special tokens are read as regular expressions", "tokenizer-special-regex", P, (
        ('"|".join(map(re.escape, longest_first))', '"|".join(longest_first)'),
    )),
    ("special-shortest-first", "of two special tokens with one beginning the shorter is taken", "tokenizer-special-overlap", R, (
        ('        names = sorted(self.special, key=len, reverse=True)\n', '        names = sorted(self.special, key=len)\n'),
    )),
    ("special-split", "a special token in a text is encoded as its letters", "tokenizer-special-split", F, (
        ("            if kind == \"special\":\n                out.append(self.specials[part])\n            else:\n"
         "                out.extend(itertools", "            if True:\n                out.extend(itertools"),
    )),
    ("special-dropped", "a special token is used to split a text and then lost", "tokenizer-special-dropped", P, (
        ('self.splitter = re.compile("(" + "|"', 'self.splitter = re.compile("(?:" + "|"'),
    )),
    ("special-skipped", "decode leaves special tokens out", "tokenizer-special-not-decoded", L, (
        ('return b"".join(self.pieces[int(i)] for i in ids).decode',
         'return b"".join(self.pieces[int(i)] for i in ids if i < 256 + len(self.merges)).decode'),
    )),
    ("special-learned", "special tokens take part in the merges that are learned", "tokenizer-special-trained", P, (
        ("        for piece in splitter.pieces(text):\n            if piece not in splitter.special_ids:\n"
         "                words.update(cls.WORD.findall(piece))", "        words.update(cls.WORD.findall(text))"),
    )),
    ("special-not-saved", "special tokens do not survive save and load", "tokenizer-special-lost", P, (
        ("            json.dump(self.state(), file)", '            json.dump({"merges": self.merges}, file)'),
    )),
    ("special-ids-clash", "the ids of special tokens are those of merges", "tokenizer-special-same-id", D, (
        ("        self.first_special = len(self.spelled)\n", "        self.first_special = 256\n"),
    )),
    ("special-added", "encode begins with a special token", "tokenizer-special-added", S, (
        ("        out = []\n        for special, segment in self.segments(text):",
         "        out = [0] if self.special_tokens else []\n        for special, segment in self.segments(text):"),
    )),
    ("special-not-counted", "vocab_size leaves the special tokens out", "tokenizer-specials-not-counted", R, (
        ("        return len(self.vocab) + len(self.special)\n", "        return len(self.vocab)\n"),
    )),
    ("too-many", "special tokens come on top of the size that was asked for", "tokenizer-specials-on-top", P, (
        ("        count = vocab_size - 256 - len(special_tokens)\n", "        count = vocab_size - 256\n"),
    )),
    ("bytes-on-top", "as many merges as the size asked for, the bytes on top", "tokenizer-vocabulary-larger", T, (
        ("range(256, vocab_size - len(specials))", "range(256, 256 + vocab_size - len(specials))"),
    )),
    ("hash-order", "ties are broken by the order of a set of strings", "bpe-hash-order", R, (
        ("max(pairs, key=lambda pair: (pairs[pair], pair), default=(None, None))",
         "max(set(pairs), key=lambda pair: pairs[pair], default=(None, None))"),
    )),
    ("random-ties", "ties are broken at random", "bpe-random", T, (
        ("best = min(counts, key=lambda pair: (-counts[pair], pair))",
         "best = min(counts, key=lambda pair: (-counts[pair], np.random.random()))"),
    )),
    ("words-once", "a word counts once, however often it occurs", "bpe-word-types", P, (
        ("        times = list(words.values())\n", "        times = [1] * len(words)\n"),
    )),
    ("rarest-pair", "the rarest pair is merged", "bpe-least-frequent", T, (
        ("best = min(counts, key=lambda pair: (-counts[pair], pair))", "best = min(counts, key=lambda pair: (counts[pair], pair))"),
    )),
    ("not-counted-anew", "all merges are the most frequent pairs of bytes, never counted anew", "bpe-counted-once", F, (
        ("            top = counts.most_common(1)[0][0]\n",
         "            if new - 256 >= len(counts):\n                break\n"
         "            top = counts.most_common()[new - 256][0]\n"),
        ("            corpus = [(replaced(ids, top, new), times) for ids, times in corpus]\n", ""),
    )),
    ("nothing-merged", "the merges are learned and not used", "bpe-merges-not-applied", S, (
        ("                    while known := {self.ranks[p]: p for p in zip(ids, ids[1:]) if p in self.ranks}:\n",
         "                    while known := {}:\n"),
    )),
    ("merges-not-saved", "the merges do not survive save and load", "tokenizer-merges-lost", L, (
        ('            return cls(found["merges"], json.loads(str(found["special"])))',
         '            return cls((), json.loads(str(found["special"])))'),
    )),
    ("order-not-saved", "the order of the merges is lost when they are saved", "tokenizer-merges-reordered", A, (
        ('{"learned": [[a.hex(), b.hex()] for a, b in self.learned]', '{"learned": sorted([a.hex(), b.hex()] for a, b in self.learned)'),
    )),
    ("one-at-a-time", "each merge searches the whole text and joins one place", "bpe-rescans", P, (
        (r"""re.compile(r" ?[^\W\d_]+| ?\d+| ?[^\w\s]+| ?_+|\s+")""", r"""re.compile(r"[\s\S]+")"""),
        ("            ids = merge(ids, pair, 256 + self.ranks[pair])\n",
         "            at = next(i for i in range(len(ids)) if (ids[i], ids[i + 1]) == pair)\n"
         "            ids = [*ids[:at], 256 + self.ranks[pair], *ids[at + 2 :]]\n"),
    )),
)
