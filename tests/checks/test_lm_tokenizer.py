"""Tokenizers with one mistake each: it is found, said in a sentence, and called by its name where that is certain."""

# ruff: noqa: E501 - a patch is whole lines of a submission

import pytest

from grader import grade
from grader.checks import tokenizer_time
from grader.hosts import Hosts
from grader.spec import load
from grader.student import limits_of

SPEC = load("decoder-lm")
# without torch, so that its process starts at once; the other parts of the assignment are not there
SOURCE = """
import json
import re


def joined(ids, pair, new):
    out, at = [], 0
    while at < len(ids):
        found = tuple(ids[at : at + 2]) == pair
        out.append(new if found else ids[at])
        at += 1 + found
    return out


class Tokenizer:
    kept = []

    def __init__(self, merges, special=()):
        self.merges, self.special = [tuple(pair) for pair in merges], list(special)
        self.bytes = [bytes([i]) for i in range(256)]
        for a, b in self.merges:
            self.bytes.append(self.bytes[a] + self.bytes[b])
        self.first = len(self.bytes)
        self.bytes += [token.encode() for token in self.special]
        self.vocab_size = len(self.bytes)
        names = sorted(self.special, key=len, reverse=True)
        self.pattern = re.compile("(" + "|".join(map(re.escape, names)) + ")") if names else None

    def pieces(self, text):
        return [piece for piece in self.pattern.split(text) if piece] if self.pattern else [text]

    @classmethod
    def train(cls, text, vocab_size, special_tokens=()):
        rows = [list(p.encode()) for p in cls([], special_tokens).pieces(text) if p not in special_tokens]
        merges = []
        while len(merges) < vocab_size - 256 - len(special_tokens):
            counts = {}
            for row in rows:
                for pair in zip(row, row[1:]):
                    counts[pair] = counts.get(pair, 0) + 1
            if not counts:
                break
            best = max(counts, key=lambda pair: (counts[pair], pair))
            merges.append(best)
            rows = [joined(row, best, 255 + len(merges)) for row in rows]
        return cls(merges, special_tokens)

    def encode(self, text):
        out = []
        for piece in self.pieces(text):
            if piece in self.special:
                out.append(self.first + self.special.index(piece))
            else:
                out += self.merged(list(piece.encode()))
        return out

    def merged(self, ids):
        for rank, pair in enumerate(self.merges):
            if len(ids) > 1:
                ids = joined(ids, pair, 256 + rank)
        return ids

    def decode(self, ids):
        return b"".join(self.bytes[i] for i in ids).decode("utf-8", "replace")

    def save(self, path):
        with open(path, "w") as file:
            json.dump([self.merges, self.special], file)

    @classmethod
    def load(cls, path):
        with open(path) as file:
            return cls(*json.load(file))
"""


@pytest.fixture(scope="module")
def hosts():
    with Hosts(limits=limits_of(SPEC)) as hosts:
        yield hosts


def graded(patches, hosts, folder, only):
    text = SOURCE
    for old, new in patches:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    (folder / "decoder_lm.py").write_text(text, "utf-8")
    return [v for v in grade(folder, assignment=SPEC, hosts=hosts, only=only).verdicts if v.part == "Tokenizer"]


def test_a_plain_tokenizer_passes(hosts, tmp_path):
    verdicts = graded([], hosts, tmp_path, "tokenizer.*")
    assert [(v.id, v.message) for v in verdicts if not v.passed] == []
    assert len(verdicts) == 17


DECODE = 'return b"".join(self.bytes[i] for i in ids).decode("utf-8", "replace")'
ENCODED = "            else:\n                out += self.merged(list(piece.encode()))"
WRONG = {
    "method": ("trains", [("self.vocab_size = len(self.bytes)", "self.size = len(self.bytes)"),
                          ("    def pieces", "    def vocab_size(self):\n        return self.size\n\n    def pieces")],
               "vocab_size is a method", ()),
    "none": ("trains", [("        return cls(merges, special_tokens)\n", "")], "returned None, which has no vocab_size", ("result-none",)),
    "floats": ("trains", [("        return out\n\n    def merged", "        return [float(i) for i in out]\n\n    def merged")],
               "encode returned float64 numbers; a list of integers", ()),
    "nested": ("trains", [("        return out\n\n    def merged", "        return [out]\n\n    def merged")],
               "encode returned the shape [1, ", ()),
    "bytes-out": ("trains", [('.decode("utf-8", "replace")', "")], "a string is wanted", ()),
    "size-text": ("trains", [("self.vocab_size = len(self.bytes)", "self.vocab_size = 'many'")], "vocab_size is 'many'", ()),
    "empty": ("trains", [("        return out\n\n    def merged", "        return []\n\n    def merged")], "empty list", ()),
    "unknown-raises": ("round-trip", [
        ("        merges = []\n", "        cls.known, merges = set(text), []\n"),
        (ENCODED, ENCODED.replace("else:\n", "else:\n                for c in piece:\n"
                                  "                    if c not in self.known:\n                        raise KeyError(c)\n"))],
        "raises KeyError", ("tokenizer-unknown-raises",)),
    "unknown-dropped": ("round-trip", [
        ("        merges = []\n", "        cls.known, merges = set(text), []\n"),
        (ENCODED, ENCODED.replace("piece.encode()", "''.join(c for c in piece if c in self.known).encode()"))],
        "is ''", ("tokenizer-unknown-dropped",)),
    "marker": ("round-trip", [("for piece in self.pieces(text):\n            if piece in self.special:",
                               "for piece in self.pieces(text.replace(' ', '\\u2581')):\n            if piece in self.special:"),
                              (DECODE, DECODE + ".replace('\\u2581', ' ')")],
               r"decode(encode('\u2581')) is ' '", ("tokenizer-marker",)),
    "prefix": ("round-trip", [("for piece in self.pieces(text):\n            if piece in self.special:",
                               "for piece in self.pieces(' ' + text):\n            if piece in self.special:")],
               "decode(encode('')) is ' '", ("tokenizer-prefix-space",)),
    "strict-per-token": ("round-trip", [(DECODE, 'return "".join(self.bytes[i].decode() for i in ids)')],
                         "raises UnicodeDecodeError", ("tokenizer-decode-per-token",)),
    "ascii-strict": ("round-trip", [("out += self.merged(list(piece.encode()))", "out += self.merged(list(piece.encode('latin-1')))")],
                     r"decode(encode('\x85')) is '\ufffd'", ("tokenizer-not-utf-8",)),
    "missing-ids": ("any-ids", [("self.vocab_size = len(self.bytes)", "self.vocab_size = len(self.bytes) + (len(self.merges) > 9)"),
                                ("while len(merges) < vocab_size - 256", "while len(merges) < vocab_size - 257")],
                    "decode([295]) raises IndexError", ()),
    "from-1": ("ids-in-range", [("        return out\n\n    def merged", "        return [i + 1 for i in out]\n\n    def merged"),
                                ("self.bytes[i] for i in ids", "self.bytes[i - 1] for i in ids")],
               "vocab_size is 296", ("tokenizer-ids-out-of-range",)),
    "no-pair": ("vocabulary-size", [("            if not counts:\n                break\n", "")], "training on 'ab'", ("tokenizer-no-pair-left",)),
    "remembers": ("trained-again", [("        merges = []\n", "        merges = cls.kept\n")], "are others when", ("bpe-remembers",)),
    "urandom": ("trained-again", [("lambda pair: (counts[pair], pair)", "lambda pair: (counts[pair], __import__('os').urandom(4))")],
                "are others when", ("bpe-random",)),
    "score": ("merges-are-most-frequent", [
        ("            if not counts:", "            one = {}\n            for row in rows:\n                for i in row:\n"
         "                    one[i] = one.get(i, 0) + 1\n            if not counts:"),
        ("lambda pair: (counts[pair], pair)", "lambda pair: (counts[pair] / (one[pair[0]] * one[pair[1]]), pair)")],
        "is no token, though it is merge", ("bpe-normalized-score",)),
    "first-only": ("merges-by-rank", [("                ids = joined(ids, pair, 256 + rank)",
                                       "                at = [n for n in range(len(ids) - 1) if tuple(ids[n : n + 2]) == pair][:1]\n"
                                       "                for n in at:\n                    ids[n : n + 2] = [256 + rank]")],
                   "by rank it is", ("bpe-first-occurrence",)),
    "bytes-only": ("merges-compress", [("while len(merges) < vocab_size - 256 - len(special_tokens):", "while False:")],
                   "6000 letters become 6000 ids", ("bpe-bytes-only",)),
    "too-few": ("merges-are-most-frequent", [("while len(merges) < vocab_size - 256 - len(special_tokens):",
                                     "while len(merges) < (vocab_size - 256 - len(special_tokens)) // 2:")],
                "is no token, though it is merge 7 of 12", ()),
    "alone": ("special-tokens-in-text", [("            if piece in self.special:\n",
                                          "            if piece in self.special and (piece == text or not text.startswith('t')):\n")],
              "piece by piece it is", ("tokenizer-special-alone",)),
    "shared": ("special-tokens-are-ids", [("self.first + self.special.index(piece)", "self.first")],
               "which is not its own", ("tokenizer-special-same-id",)),
    "signs": ("special-tokens-of-signs", [('"|".join(map(re.escape, names))', "'|'.join(n.replace('|', '[|]') for n in names)")],
              "training raises", ("tokenizer-special-regex",)),
    "shortest": ("special-tokens-nested", [("key=len, reverse=True", "key=len")], "a special token is one", ("tokenizer-special-overlap",)),
    "across": ("special-tokens-untrained", [("rows = [list(p.encode()) for p in cls([], special_tokens).pieces(text) if p not in special_tokens]",
                                             "rows = [list(''.join(p for p in cls([], special_tokens).pieces(text) if p not in special_tokens).encode())]")],
               "'qk' has become a token", ("tokenizer-special-trained",)),
    "half-saved": ("loads-as-saved", [("return cls(*json.load(file))", "return cls(json.load(file)[0], ['<|end|>'])")],
                   "vocab_size is 297 after loading", ("tokenizer-special-lost",)),
    "load-raises": ("loads-as-saved", [("json.dump([self.merges, self.special], file)", "pass")], "JSONDecodeError", ()),
}  # fmt: skip


@pytest.mark.parametrize("key", WRONG)
def test_a_mistake_is_found_said_and_named(key, hosts, tmp_path):
    check, patches, said, names = WRONG[key]
    (verdict,) = graded(patches, hosts, tmp_path, f"tokenizer.{check}")
    assert verdict.status in ("failed", "error")
    assert said in verdict.message
    assert {named.id for named in verdict.misconceptions} == set(names)


@pytest.mark.parametrize("check", ["training", "encoding"])
def test_what_takes_too_long_is_stopped(check, hosts, tmp_path, monkeypatch):
    monkeypatch.setattr(tokenizer_time, "SECONDS", 0.05)
    (verdict,) = graded([], hosts, tmp_path, f"tokenizer.{check}-in-time")
    assert "200 kB with 40 merges takes more than 0.05 seconds" in verdict.message
    assert [named.id for named in verdict.misconceptions] == ["bpe-rescans"]


def test_what_is_not_written_gives_one_error(hosts, tmp_path):
    old = "        rows = [list"
    verdicts = graded([(old, f"        raise NotImplementedError('step 1')\n{old}")], hosts, tmp_path, "tokenizer.*")
    assert [v.status for v in verdicts if v.status != "blocked"] == ["error"]


@pytest.mark.parametrize(
    "patch",
    [
        ("self.vocab_size = len(self.bytes)", "self.vocab_size = 1 << 60"),
        ("self.vocab_size = len(self.bytes)", "self.vocab_size = type('Odd', (int,), {'__index__': None})(3)"),
        ("return cls(merges, special_tokens)", "return 3"),
        ("        out = []\n        for piece", "        return [10**30]\n        out = []\n        for piece"),
        ("        out = []\n        for piece", "        raise SystemExit\n        out = []\n        for piece"),
        ('return b"".join', "import os\n        os._exit(1)\n        return b''.join"),
        ("            json.dump([self.merges, self.special], file)", "            file.write('x' * 10**7)"),
        ("            json.dump([self.merges, self.special], file)", "            __import__('os').symlink('/etc/passwd', path + 'x')"),
    ],
)  # fmt: skip
def test_whatever_it_is_the_grading_comes_to_its_end(patch, hosts, tmp_path):
    assert any(not v.passed for v in graded([patch], hosts, tmp_path, "tokenizer.*"))
