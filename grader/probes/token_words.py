"""Holds words whose merges no convention decides, and short words by which orders of merging are told apart.

Equal counts may be decided either way, a text may be split into words or not, and pairs may overlap: in these words
there are no ties among the merges, no space, and no pair of one token with itself.
"""

from __future__ import annotations

from functools import cache
from itertools import accumulate, combinations, count, product
from random import Random

from grader.probes.token_changes import SEGMENTED
from reference.bpe import Pair, merge, pairs, segment, split

LETTERS, WORD, MERGES = "abcdefg", 4000, 12
TELLING, LONGER = 3, 24  # words that tell two ways to cut apart; letters of further words
CLEAR = 2  # occurrences between the most frequent pair and the next one


def _letters(rng: Random, length: int) -> str:
    """Letters of which some like to follow others, and none itself."""
    after = [[0.0 if a == b else rng.random() ** 3 + 0.02 for b in range(len(LETTERS))] for a in range(len(LETTERS))]
    found = [0]
    while len(found) < length:
        row = after[found[-1]]
        at = rng.random() * sum(row)
        found.append(next((b for b, upto in enumerate(accumulate(row)) if at < upto), 0))
    return "".join(LETTERS[b] for b in found)


def _clear(text: str) -> list[Pair] | None:
    """The merges of a word, or None where a convention decides one of them: a tie, or a pair that overlaps itself."""
    tokens, merges, made = split(text.encode()), list[Pair](), set[bytes]()
    for _ in range(MERGES):
        (best, most), (_, next_most) = pairs(tokens).most_common(2)
        token = best[0] + best[1]
        if most - next_most < CLEAR or best[0] == best[1] or token in made:
            return None
        merges.append(best)
        made.add(token)
        tokens = merge(tokens, best)
    return merges


@cache
def clear_word(seed: int) -> tuple[str, tuple[Pair, ...], tuple[str, ...]]:
    """A long word, its merges, which no convention decides, and short words that tell wrong orders of them apart."""
    for attempt in count():
        text = _letters(Random(seed * 1_000_003 + attempt), WORD)
        merges = _clear(text)
        if merges and (told := _telling(merges)):
            longer = (text[at : at + LONGER] for at in range(0, WORD, WORD // 20))
            return text, tuple(merges), (*told, *(word for word in longer if _either_way(word, merges)))
    raise AssertionError("unreachable")


def _telling(merges: list[Pair]) -> tuple[str, ...]:
    """Short words such that any two ways to cut them, the right one among them, differ on some; none where too few do.

    Their tokens are the same whether each merge goes from the left or from the right.
    """
    short = ["".join(letters) for length in (3, 4) for letters in product(LETTERS, repeat=length)]
    words = [*short, *(word + word for word in short[:: len(LETTERS)])]
    ways = [("", segment), *SEGMENTED]
    cuts = [(key, [way(word.encode(), merges) for word in words]) for key, way in ways]
    chosen: set[int] = set()
    for (key, one), (also, other) in combinations(cuts, 2):
        if key == also:
            continue
        apart = [at for at in range(len(words)) if one[at] != other[at] and _either_way(words[at], merges)]
        if len(apart) < TELLING:
            return ()
        chosen.update(apart[:TELLING])
    return tuple(words[at] for at in sorted(chosen))


def _either_way(word: str, merges: list[Pair]) -> bool:
    """Whether the tokens are the same where each merge goes from right to left."""
    turned = [(b[::-1], a[::-1]) for a, b in merges]
    back = [token[::-1] for token in reversed(segment(word[::-1].encode(), turned))]
    return segment(word.encode(), merges) == back
