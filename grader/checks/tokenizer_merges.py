"""Merges: the most frequent pair, again and again; applied by rank; a text becomes as short as they make it.

Equal counts may be decided either way, a text may be split into words or not, and ids may be numbered in any order:
so the texts that decide are one word without ties, and what is compared are the strings of the tokens.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import accumulate, combinations, count, product
from random import Random

from grader.cases import Case
from grader.checks import check
from grader.checks.tokenizer import token_cases
from grader.part import Part
from grader.texts import prose
from grader.token_changes import LEARNED, SEGMENTED, rarest
from grader.tokens import BYTES, Tokens, train
from grader.verdict import Violation
from reference.bpe import Pair, learn, merge, pairs, segment, split

LETTERS, WORD, MERGES = "abcdefg", 4000, 12
TELLING, LONGER = 3, 24  # words that tell two ways to cut apart; letters of further words
CLEAR = 2  # occurrences between the most frequent pair and the next one
SHORT, SHORT_MERGES, ROOM = 6000, 80, 1.05
SPLITTERS = (r"(?s).+", r" ?\w+| ?[^\w\s]+|\s+", r"\w+|\W", r"\S+|\s+", r"[^\n]+|\n")
HINT = "Count all pairs of neighbours, merge the most frequent one everywhere, count anew."


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


def _tokens(part: Part, case: Case) -> tuple[Tokens, set[bytes]]:
    """The tokenizer of the word, and the tokens that it has learned, of two letters and more."""
    tokens = train(part, clear_word(case.key[0])[0], BYTES + MERGES)
    return tokens, {s.encode() for s in tokens.strings if len(s) > 1 and set(s) <= set(LETTERS)}


@check(
    parts=["Tokenizer"],
    says="The tokens learned are the most frequent pairs of neighbours, counted anew after each merge.",
    cases=token_cases,
    needs=("trains", "any-ids", "vocabulary-size"),
    numbers=False,
)
def merges_are_most_frequent(part: Part, case: Case) -> Violation | None:
    text, merges, _ = clear_word(case.key[0])
    _, found = _tokens(part, case)
    expected = [(a + b).decode() for a, b in merges]
    missing = [token for token in expected if token.encode() not in found]
    others = sorted(token.decode() for token in found - {token.encode() for token in expected})
    if not others and (not missing or expected[-len(missing) :] == missing):
        return _word_types(part)
    names = [key for key, learned in LEARNED.items() if learned(text.encode(), MERGES) == found]
    if not names and rarest(text.encode(), found):
        names = ["bpe-least-frequent"]
    return Violation(
        f"{missing[0]!r} is no token, though it is merge {expected.index(missing[0]) + 1} of {MERGES}"
        if missing
        else f"{others[0]!r} is a token, though it is not among the first {MERGES} merges",
        expected=expected,
        observed=sorted(token.decode() for token in found),
        hint=HINT,
        names=tuple(names),
    )


def _word_types(part: Part) -> Violation | None:
    """Few words with one pair, each very often, beside many words with another pair, each once."""
    often = " ".join(f"{a}qx{b}" for a, b in ("ab", "cd", "ef", "gh") for _ in range(25))
    once = " ".join(f"{a}vz{b}" for a, b in ("ai", "bj", "ck", "dl", "em", "fn", "go", "hp", "ir", "js", "kt", "lu"))
    found = {s for s in train(part, f"{often} {once}", BYTES + 1).strings if len(s) > 1}
    if not found or found == {"qx"}:
        return None
    return Violation(
        f"the first merge is {sorted(found)[0]!r} of a text that holds 'qx' 100 times and no other pair as often",
        hint="A word's pairs count as often as the word stands in the text.",
        names=("bpe-word-types",) if found == {"vz"} else (),
    )


@check(
    parts=["Tokenizer"],
    says="Merges are applied in the order in which they were learned.",
    cases=token_cases,
    needs=("round-trip", "merges-are-most-frequent"),
    numbers=False,
)
def merges_by_rank(part: Part, case: Case) -> Violation | None:
    _, merges, texts = clear_word(case.key[0])
    tokens, learned = _tokens(part, case)
    merges = merges[: len(learned)]
    if not merges:
        return None  # bytes: there is nothing to apply
    found = [[piece.encode() for piece in tokens.pieces(text)] for text in texts]
    right = [segment(text.encode(), merges) for text in texts]
    if found == right:
        return None
    names = {key for key, cut in SEGMENTED if [cut(text.encode(), merges) for text in texts] == found}
    _, text, mine, book = min(
        (len(text), text, mine, book) for text, mine, book in zip(texts, found, right, strict=True) if mine != book
    )
    return Violation(
        f"{text!r} becomes {_joined(mine)}; by rank it is {_joined(book)}",
        expected=[token.decode() for token in book],
        observed=[token.decode("utf-8", "replace") for token in mine],
        hint="Of all pairs that can be merged take the one that was learned first; the merges were, in their order, "
        + ", ".join(_joined(pair) for pair in merges)
        + ".",
        names=tuple(names) if len(names) == 1 else (),
    )


def _joined(tokens: list[bytes] | Pair) -> str:
    return "+".join(token.decode("utf-8", "replace") for token in tokens)


@cache
def most_ids(seed: int) -> int:
    """The most ids that right tokenizers make of the short text, whatever the splitter and the order of ties."""
    text, found = prose(SHORT, seed), []
    for splitter in SPLITTERS:
        chunks = [chunk.encode() for chunk in re.findall(splitter, text)]
        for last in (False, True):
            merges = learn(chunks, SHORT_MERGES, last)
            once = {chunk: len(segment(chunk, merges)) for chunk in set(chunks)}
            found.append(sum(once[chunk] for chunk in chunks))
    return int(ROOM * max(found))


@check(
    parts=["Tokenizer"],
    says="A text becomes as short as the merges that were asked for make it.",
    cases=token_cases,
    needs=("round-trip", "ids-in-range"),
    numbers=False,
)
def merges_compress(part: Part, case: Case) -> Violation | None:
    text, most = prose(SHORT, case.key[0]), most_ids(case.key[0])
    tokens = train(part, text, BYTES + SHORT_MERGES)
    ids = tokens.encode(text)
    if len(ids) <= most:
        return None
    bytes_only = len(ids) == len(text.encode())
    key = "bpe-bytes-only" if tokens.vocab_size <= BYTES else "bpe-merges-not-applied"
    return Violation(
        f"{len(text)} letters become {len(ids)} ids; {SHORT_MERGES} merges make at most {most} of them",
        hint="A tokenizer of single bytes loses nothing, and makes rows that are twice as long."
        if bytes_only
        else f"With vocab_size={BYTES + SHORT_MERGES} there are {SHORT_MERGES} merges; learn all, and apply all.",
        size=float(len(ids)),
        allowed=float(most),
        names=(key,) if bytes_only else (),
    )
