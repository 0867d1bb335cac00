import json
import re
from collections import defaultdict

WORDS = re.compile(r"\w+|\W")


def learn(text, n_merges, reserved):
    """The merges, a list of pairs of bytes."""
    counts = defaultdict(int)
    for chunk in chunks(text, reserved):
        if chunk not in reserved:
            for word in WORDS.findall(chunk):
                counts[word] += 1
    words = [[[bytes([b]) for b in word.encode("utf8")], n] for word, n in counts.items()]
    learned = []
    while len(learned) < n_merges:
        stats = defaultdict(int)
        for symbols, n in words:
            for pair in zip(symbols, symbols[1:]):
                stats[pair] += n
        if not stats:
            break
        pair = max(stats, key=lambda k: (stats[k], k))
        learned.append(pair)
        for entry in words:
            if len(entry[0]) > 1:
                entry[0] = fused(entry[0], pair)
    return learned


def fused(symbols, pair):
    out, i = [], 0
    while i < len(symbols):
        if tuple(symbols[i : i + 2]) == pair:
            out.append(pair[0] + pair[1])
            i += 2
        else:
            out.append(symbols[i])
            i += 1
    return out


def chunks(text, reserved):
    if not reserved:
        return [text]
    return re.split("(" + "|".join(re.escape(r) for r in sorted(reserved, key=len, reverse=True)) + ")", text)


class BytePairs:
    """A token is known by its bytes."""

    def __init__(self, learned, reserved):
        self.learned, self.reserved = learned, list(reserved)
        self.tokens = [bytes([b]) for b in range(256)]
        for a, b in learned:
            if a + b not in self.tokens:
                self.tokens.append(a + b)
        self.number = {token: i for i, token in enumerate(self.tokens)}
        self.rank = {pair: i for i, pair in reversed(list(enumerate(learned)))}
        self.size = len(self.tokens) + len(self.reserved)
        self.seen = {}

    def to_ids(self, text):
        ids = []
        for chunk in chunks(text, self.reserved):
            if chunk in self.reserved:
                ids.append(len(self.tokens) + self.reserved.index(chunk))
            else:
                for word in WORDS.findall(chunk):
                    if word not in self.seen:
                        self.seen[word] = [self.number[token] for token in self.parts(word)]
                    ids += self.seen[word]
        return ids

    def parts(self, word):
        symbols = [bytes([b]) for b in word.encode("utf8")]
        while True:
            ranked = [(self.rank[pair], pair) for pair in zip(symbols, symbols[1:]) if pair in self.rank]
            if not ranked:
                return symbols
            symbols = fused(symbols, min(ranked)[1])

    def to_text(self, ids):
        whole = [*self.tokens, *(r.encode("utf8") for r in self.reserved)]
        return b"".join(whole[i] for i in ids).decode("utf8", errors="replace")

    def dumps(self):
        return json.dumps({"learned": [[a.hex(), b.hex()] for a, b in self.learned], "reserved": self.reserved})

    @classmethod
    def loads(cls, text):
        found = json.loads(text)
        return cls([(bytes.fromhex(a), bytes.fromhex(b)) for a, b in found["learned"]], found["reserved"])
