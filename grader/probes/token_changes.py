"""Knows how texts and merges come out of tokenizers with known mistakes; each mistake by its misconception's id."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise

from reference.bpe import Pair, merge, pairs, split

REPLACED = "�"
PROBES = (
    " a",
    "a ",
    "a  b",
    "Ab",
    "a\r\nb",
    "a\rb",
    "a\nb",
    "a\tb",
    "e\u0301",
    "\ufb01",
    "\xe9",
    "\x00",
    "_a",
    "a.b",
    "1",
)

CHANGES: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("tokenizer-text-stripped", str.strip),
    ("tokenizer-text-stripped", str.lstrip),
    ("tokenizer-text-stripped", str.rstrip),
    ("tokenizer-spaces-joined", lambda s: " ".join(s.split())),
    ("tokenizer-spaces-joined", lambda s: re.sub(r"\s+", " ", s)),
    ("tokenizer-spaces-joined", lambda s: re.sub(r" +", " ", s)),
    ("tokenizer-lower-case", str.lower),
    ("tokenizer-lower-case", str.casefold),
    ("tokenizer-newlines", lambda s: s.replace("\r\n", "\n")),
    ("tokenizer-newlines", lambda s: s.replace("\r\n", "\n").replace("\r", "\n")),
    ("tokenizer-newlines", lambda s: s.replace("\r", "")),
    ("tokenizer-newlines", lambda s: "\n".join(s.splitlines())),
    *(
        ("tokenizer-unicode-normalized", lambda s, form=form: unicodedata.normalize(form, s))
        for form in ("NFC", "NFD", "NFKC", "NFKD")
    ),
    *(
        ("tokenizer-not-utf-8", lambda s, name=name, how=how: s.encode(name, how).decode("utf-8", "replace"))
        for name in ("ascii", "latin-1")
        for how in ("ignore", "replace", "strict")
    ),
    ("tokenizer-prefix-space", lambda s: " " + s),
    ("tokenizer-prefix-space", lambda s: s if s.startswith(" ") else " " + s),
)


def changed(texts: Sequence[str], results: Sequence[str | None]) -> str | None:
    """The one change that gives every result, None where it raises; None when no text is changed, or otherwise."""
    found = {key for key, change in CHANGES if [_made(change, text) for text in texts] == list(results)}
    return found.pop() if len(found) == 1 and list(results) != list(texts) else None


def _made(change: Callable[[str], str], text: str) -> str | None:
    try:
        return change(text)
    except UnicodeEncodeError:
        return None


def decoded_apart(text: str, result: str) -> bool:
    """Whether a result is the text with U+FFFD where characters have several bytes."""
    wanted = "".join(re.escape(c) if c.isascii() else f"(?:{re.escape(c)}|{REPLACED}{{2,}})" for c in text)
    return REPLACED not in text and REPLACED in result and re.fullmatch(wanted, result, re.S) is not None


def thinned(text: str, result: str) -> str | None:
    """The characters that are left out of a result, or None where it is no such thing."""
    rest, left = iter(result), []
    expected = next(rest, None)
    for character in text:
        if character == expected:
            expected = next(rest, None)
        else:
            left.append(character)
    return "".join(left) if expected is None and left else None


def longest_match(text: bytes, merges: Sequence[Pair]) -> list[bytes]:
    """The longest token at each place."""
    tokens = sorted({a + b for a, b in merges}, key=len, reverse=True)
    found, at = [], 0
    while at < len(text):
        found.append(next((t for t in tokens if text.startswith(t, at)), text[at : at + 1]))
        at += len(found[-1])
    return found


def by_position(text: bytes, merges: Sequence[Pair]) -> list[bytes]:
    """The leftmost pair that can be merged, again and again."""
    tokens, known, at = split(text), set(merges), 0
    while at + 1 < len(tokens):
        if (tokens[at], tokens[at + 1]) in known:
            tokens[at : at + 2] = [tokens[at] + tokens[at + 1]]
            at = -1
        at += 1
    return tokens


def last_first(text: bytes, merges: Sequence[Pair]) -> list[bytes]:
    """The pair that was learned last, again and again."""
    tokens, rank = split(text), {pair: place for place, pair in enumerate(merges)}
    while found := set(pairwise(tokens)) & set(rank):
        tokens = merge(tokens, max(found, key=rank.__getitem__))
    return tokens


def by_position_everywhere(text: bytes, merges: Sequence[Pair]) -> list[bytes]:
    """The leftmost pair that can be merged, each time wherever it stands."""
    tokens, known = split(text), set(merges)
    while found := next((pair for pair in pairwise(tokens) if pair in known), None):
        tokens = merge(tokens, found)
    return tokens


def one_merge(text: bytes, merges: Sequence[Pair]) -> list[bytes]:
    """The first learned of all pairs, and no further one."""
    tokens = split(text)
    present = set(pairwise(tokens))
    first = next((pair for pair in merges if pair in present), None)
    return merge(tokens, first) if first else tokens


def once_each(text: bytes, merges: Sequence[Pair]) -> list[bytes]:
    """Each merge in its order, at the first place only."""
    tokens = split(text)
    for pair in merges:
        for at in range(len(tokens) - 1):
            if (tokens[at], tokens[at + 1]) == pair:
                tokens[at : at + 2] = [pair[0] + pair[1]]
                break
    return tokens


SEGMENTED: tuple[tuple[str, Callable[[bytes, Sequence[Pair]], list[bytes]]], ...] = (
    ("bpe-longest-match", longest_match),
    ("bpe-by-position", by_position),
    ("bpe-by-position", by_position_everywhere),
    ("bpe-last-rank-first", last_first),
    ("bpe-first-occurrence", once_each),
    ("bpe-one-merge", one_merge),
    ("bpe-merges-not-applied", lambda text, merges: split(text)),
)


def counted_once(text: bytes, count: int) -> set[bytes]:
    """The tokens of the most frequent pairs of bytes."""
    return {a + b for (a, b), _ in pairs(split(text)).most_common(count)}


def _learned(text: bytes, count: int, score: Callable[[Pair, int, Counter[bytes]], float]) -> set[bytes]:
    tokens, made = split(text), set()
    for _ in range(count):
        single, found = Counter(tokens), pairs(tokens)
        best = max(found, key=lambda pair: (score(pair, found[pair], single), pair))
        made.add(best[0] + best[1])
        tokens = merge(tokens, best)
    return made


LEARNED: dict[str, Callable[[bytes, int], set[bytes]]] = {
    "bpe-counted-once": counted_once,
    "bpe-normalized-score": lambda text, count: _learned(text, count, lambda p, n, one: n / (one[p[0]] * one[p[1]])),
}


def rarest(text: bytes, found: set[bytes]) -> bool:
    """Whether the tokens learned hold none of the frequent pairs, and rare ones instead."""
    counts = pairs(split(text))
    usual = sorted(counts.values())[len(counts) // 2]
    two = [token for token in found if len(token) == 2]
    return bool(two) and all(counts[token[:1], token[1:]] < usual for token in two)
