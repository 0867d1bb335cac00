"""Byte-level BPE: merge the most frequent pair of neighbours, count anew; encode by the rank of the merges.

A token is its bytes. A text comes as chunks, which no merge crosses: one chunk, words, or whatever a splitter gives.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

Pair = tuple[bytes, bytes]


def pairs(tokens: Sequence[bytes]) -> Counter[Pair]:
    """How often each pair of neighbours stands in a row of tokens."""
    return Counter(pairwise(tokens))


def merge(tokens: Sequence[bytes], pair: Pair) -> list[bytes]:
    """Every occurrence of a pair becomes one token, from left to right."""
    merged: list[bytes] = []
    at = 0
    while at < len(tokens):
        found = at + 1 < len(tokens) and tokens[at] == pair[0] and tokens[at + 1] == pair[1]
        merged.append(pair[0] + pair[1] if found else tokens[at])
        at += 1 + found
    return merged


def learn(chunks: Iterable[bytes], count: int, last: bool = False) -> list[Pair]:
    """The first `count` merges, fewer where no pair is left; of equal counts the least pair, or the `last`."""
    words = [(split(chunk), times) for chunk, times in Counter(chunks).items()]
    merges: list[Pair] = []
    while len(merges) < count:
        counts: Counter[Pair] = Counter()
        for tokens, times in words:
            for pair, found in pairs(tokens).items():
                counts[pair] += found * times
        if not counts:
            break
        most = max(counts.values())
        choose: Callable[..., Pair] = max if last else min
        best = choose(pair for pair, found in counts.items() if found == most)
        merges.append(best)
        words = [(merge(tokens, best), times) for tokens, times in words]
    return merges


def split(chunk: bytes) -> list[bytes]:
    """The single bytes."""
    return [chunk[i : i + 1] for i in range(len(chunk))]


def segment(chunk: bytes, merges: Sequence[Pair]) -> list[bytes]:
    """The tokens of a chunk: of all merges that apply, the first learned comes first."""
    tokens, present = split(chunk), set[Pair]()
    for pair in merges:
        present = present or set(pairwise(tokens))
        if pair in present:
            tokens, present = merge(tokens, pair), set()
    return tokens
