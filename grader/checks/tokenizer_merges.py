"""Merges: the most frequent pair, again and again; applied by rank; a text becomes as short as they make it.

Ids may be numbered in any order: what is compared are the strings of the tokens.
"""

from __future__ import annotations

import re
from functools import cache

from grader.cases import Case
from grader.checks import check
from grader.checks.tokenizer import token_cases
from grader.part import Part
from grader.probes.texts import prose
from grader.probes.token_changes import LEARNED, SEGMENTED, rarest
from grader.probes.token_words import LETTERS, MERGES, clear_word
from grader.probes.tokens import BYTES, Tokens, train
from grader.verdict import Violation
from reference.bpe import Pair, learn, segment

SHORT, SHORT_MERGES, ROOM = 6000, 80, 1.05
SPLITTERS = (r"(?s).+", r" ?\w+| ?[^\w\s]+|\s+", r"\w+|\W", r"\S+|\s+", r"[^\n]+|\n")
FEWER = 4  # merges that may be left out, in favour of ids for something else
HINT = "Count all pairs of neighbours, merge the most frequent one everywhere, count anew."


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
    fewer = len(missing) <= FEWER and missing == expected[len(expected) - len(missing) :]
    if not others and (fewer or not found):
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
