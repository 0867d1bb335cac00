"""A tokenizer: texts come back, ids are ids, the vocabulary has its size, training is no matter of chance."""

from __future__ import annotations

from collections.abc import Iterator

from grader.cases import SMALLEST, Case
from grader.checks import check
from grader.part import Part
from grader.search import smallest
from grader.texts import prose
from grader.token_changes import PROBES, changed, decoded_apart, thinned
from grader.tokens import BYTES, LONGEST, MOST, Raised, Tokens, elsewhere, train
from grader.verdict import Violation

MERGES = 40
TEXT = prose(2000, 3) + " caf\xe9, na\xefve, \u65e5\u672c \u65e5\u672c\u8a9e" * 9
MARKERS = ("\u0120", "\u2581", "</w>", "##a", "@@ a")
# what pieces a text may be made of, alone as the smallest texts and then in any order
PIECES = (
    *("", "a", " ", "A", "\n", "\t", "\r\n", "\r", "  ", " a", "a ", "a  b", "_", "0", ".", "'s", "\x00", "\x7f"),
    *("\x85", "\xa0", "\xe9", "e\u0301", "\ufb01", "\u0130", "\u200b", "\ufeff", "\u2028", "\ufffd", "\uffff"),
    *("\u65e5\u672c", "\U0001f600", "\U0001f469\u200d\U0001f467", "\U0010ffff", "<|end|>", "<unk>", "</s>"),
    *MARKERS,
    *("the", "the old dog barks. "),
)
SPECIAL = (END, PAD, USER) = ("<|end|>", "<|pad|>", "<|user|>")
RANDOM_ROWS = 60
TIED = " ".join(a + b for a in "abcdefghij" for b in "klmnopqrst") + " "


def token_cases(part: str, seed: int) -> Iterator[Case]:
    """One case: what a check of tokenizers draws, it draws from the seed."""
    yield Case("", (), (seed, 61), SMALLEST)


def ordinary(part: Part) -> Tokens:
    """A tokenizer of 40 merges, without special tokens."""
    return train(part, TEXT, BYTES + MERGES)


def special(part: Part) -> Tokens:
    """A tokenizer of 40 merges, with three special tokens that look like each other."""
    return train(part, TEXT, BYTES + MERGES + len(SPECIAL), SPECIAL)


def shown(text: str) -> str:
    """A text in a message, escaped; the beginning of a long one."""
    return ascii(text) if len(text) <= LONGEST else f"{text[:LONGEST]!a}..."


@check(
    parts=["Tokenizer"],
    says="Training gives a tokenizer with a vocab_size; encode gives a list of integers, decode a string.",
    cases=token_cases,
    needs=(),
    numbers=False,
)
def trains(part: Part, case: Case) -> Violation | None:
    tokens = ordinary(part)
    ids = tokens.encode("the old dog")
    tokens.decode(ids)
    if not ids:
        return Violation("encode('the old dog') is an empty list", hint="encode returns the ids of the text.")
    return None


@check(
    parts=["Tokenizer"],
    says="decode(encode(s)) == s, whatever text s is.",
    cases=token_cases,
    needs=("trains",),
    numbers=False,
)
def round_trip(part: Part, case: Case) -> Violation | None:
    tokens = ordinary(part)

    def fails(text: str) -> bool:
        return _back(tokens, text) != text

    found = next(filter(fails, (*PIECES, TEXT)), None)
    if found is None:
        found = smallest(fails, seed=case.key[0], pieces=PIECES[1:])
    return None if found is None else lost(tokens, found)


def _back(tokens: Tokens, text: str) -> str | Raised:
    """decode(encode(text)), or what is raised."""
    try:
        return tokens.back(text)
    except Raised as fault:
        return fault


def lost(tokens: Tokens, text: str) -> Violation:
    """What becomes of a text that does not come back."""
    result = _back(tokens, text)
    if isinstance(result, Raised):
        return Violation(
            f"decode(encode({shown(text)})) raises {result.message}",
            hint="Every text is a row of bytes, and each of the 256 bytes has an id.",
            names=_of_the_fault(tokens, text, result),
        )
    return Violation(
        f"decode(encode({shown(text)})) is {shown(result)}",
        hint="Encode the bytes of the text as it is, all of them; join the bytes of all ids before you decode them.",
        names=_of_the_result(tokens, text, result),
    )


def _of_the_fault(tokens: Tokens, text: str, fault: Raised) -> tuple[str, ...]:
    if fault.type == "UnicodeDecodeError" and not text.isascii():
        return ("tokenizer-decode-per-token",)
    if fault.type == "UnicodeEncodeError":
        return ("tokenizer-not-utf-8",)
    return ("tokenizer-unknown-raises",) if _learned(tokens, text) else ()


def _of_the_result(tokens: Tokens, text: str, result: str) -> tuple[str, ...]:
    results = [_back(tokens, probe) for probe in PROBES]
    if key := changed(PROBES, [None if isinstance(one, Raised) else one for one in results]):
        return (key,)
    if decoded_apart(text, result):
        return ("tokenizer-decode-per-token",)
    if any(marker in text for marker in MARKERS):
        return ("tokenizer-marker",)
    if _learned(tokens, text):
        return ("tokenizer-unknown-dropped",)
    gone = thinned(text, result)
    return ("tokenizer-characters-dropped",) if gone and all(_back(tokens, c) == "" for c in gone) else ()


def _learned(tokens: Tokens, text: str) -> bool:
    """Whether the text comes back once it was trained on, and holds what was not."""
    if set(text) <= set(TEXT):
        return False
    return _back(train(tokens.part, TEXT + text * 9, BYTES + MERGES), text) == text


@check(
    parts=["Tokenizer"],
    says="Every row of ids below vocab_size decodes to some text, also where characters are cut.",
    cases=token_cases,
    needs=("trains", "vocabulary-size"),
    numbers=False,
)
def any_ids(part: Part, case: Case) -> Violation | None:
    tokens = ordinary(part)
    count = min(tokens.vocab_size, MOST)
    rows = [[i] for i in range(count)]
    rows += [case.rng.integers(0, count, 2 + n % 9).tolist() for n in range(RANDOM_ROWS)]
    for row in rows:
        try:
            tokens.decode(row)
        except Raised as fault:
            strict = fault.type == "UnicodeDecodeError"
            return Violation(
                f"decode({row}) raises {fault.message}",
                hint='Join the bytes of all ids, then decode them with errors="replace".'
                if strict
                else f"vocab_size is {tokens.vocab_size}: ids are 0 .. vocab_size - 1, and each has its bytes.",
                names=("tokenizer-decode-strict",) if strict else (),
            )
    return _replaced(tokens)


def _replaced(tokens: Tokens) -> Violation | None:
    """A violation where a part of a character that was not trained on is decoded as nothing."""
    for i in tokens.encode("\xf7\u0416"):
        if not tokens.decode([i]):
            return Violation(
                f"decode([{i}]) is '', though the id is a part of a character",
                hint='Decode with errors="replace": what cannot be decoded is seen then.',
                names=("tokenizer-decode-ignores",),
            )
    return None


@check(
    parts=["Tokenizer"],
    says="Every id that encode gives is at least 0 and below vocab_size.",
    cases=token_cases,
    needs=("trains",),
    numbers=False,
)
def ids_in_range(part: Part, case: Case) -> Violation | None:
    texts = ("a", "the old dog", "".join(map(chr, range(0x800))), "\U0010ffff \ud7ff \uffff", TEXT)
    for tokens, given in ((ordinary(part), texts), (special(part), SPECIAL)):
        for text in given:
            try:
                ids = tokens.encode(text)
            except Raised:
                continue  # this is for others to say
            outside = [i for i in ids if not 0 <= i < tokens.vocab_size]
            if outside:
                counted = given is SPECIAL and tokens.vocab_size <= BYTES + MERGES
                return Violation(
                    f"encode({shown(text)}) holds the id {outside[0]}; vocab_size is {tokens.vocab_size}",
                    hint="Ids are 0 .. vocab_size - 1; bytes, merges and special tokens all count.",
                    names=("tokenizer-specials-not-counted" if counted else "tokenizer-ids-out-of-range",),
                )
    return None


@check(
    parts=["Tokenizer"],
    says="vocab_size is at most what was asked for, special tokens included; also where no pair is left to merge.",
    cases=token_cases,
    needs=("trains",),
    numbers=False,
)
def vocabulary_size(part: Part, case: Case) -> Violation | None:
    for text, asked, special in (
        (TEXT, BYTES + MERGES, ()),
        (TEXT, BYTES + MERGES, SPECIAL),
        (TEXT, BYTES, ()),
        ("ab", BYTES + MERGES, ()),
    ):
        try:
            found = train(part, text, asked, special).vocab_size
        except Raised as fault:
            return Violation(
                f"training on {shown(text)} with vocab_size={asked} raises {fault.message}",
                hint="Fewer ids than asked for are no mistake: stop where no pair is left.",
                names=("tokenizer-no-pair-left",) if text == "ab" else (),
            )
        if found > asked:
            names = {BYTES: "tokenizer-vocabulary-larger", len(special): "tokenizer-specials-on-top"}
            return Violation(
                f"vocab_size is {found}; {asked} ids were asked for, {len(special)} special tokens among them",
                hint="Learn vocab_size - 256 - len(special_tokens) merges at most.",
                names=tuple(key for more, key in names.items() if more == found - asked),
            )
    return None


@check(
    parts=["Tokenizer"],
    says="Training again on the same text gives the same tokenizer, also in a process with another order of sets.",
    cases=token_cases,
    needs=("trains",),
    numbers=False,
)
def trained_again(part: Part, case: Case) -> Violation | None:
    first = _ids(part)
    said = "ids of the text that it was trained on are others when the training is repeated"
    if _ids(part) != first:
        key = "bpe-random" if _by_chance(part) else "bpe-remembers"
        return Violation(f"the {said}", hint="The result depends on the arguments alone.", names=(key,))
    if _ids(elsewhere(part, hash_seed=1)) != first:
        alike = _ids(elsewhere(part)) == first
        return Violation(
            f"the {said} in a new process",
            hint="A set of strings has another order in each process: decide equal counts by the pair itself.",
            names=("bpe-hash-order",) if alike else (),
        )
    return None


def _ids(part: Part) -> list[list[int]]:
    return [train(part, text, BYTES + MERGES, fresh=True).encode(text) for text in (TIED, TEXT)]


def _by_chance(part: Part) -> bool:
    """Whether training follows the random generators, or differs in processes that have seen nothing."""
    results = []
    for _ in range(2):
        part.caller.reseed(1)
        results.append(_ids(part))
    return results[0] == results[1] or _ids(elsewhere(part)) != _ids(elsewhere(part))
