"""Ids: whole numbers below vocab_size, which is at most what was asked for, and each of them decodes."""

from __future__ import annotations

from grader.cases import Case
from grader.checks import check
from grader.checks.tokenizer import MERGES, SPECIAL, TEXT, ordinary, shown, special, token_cases, told
from grader.part import Part
from grader.probes.tokens import BYTES, MOST, Raised, Tokens, train
from grader.verdict import Violation

RANDOM_ROWS = 60


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
                f"decode({row}) raises {told(fault)}",
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
    for text, asked, added in (
        (TEXT, BYTES + MERGES, ()),
        (TEXT, BYTES + MERGES, SPECIAL),
        (TEXT, BYTES, ()),
        ("ab", BYTES + MERGES, ()),
    ):
        try:
            found = train(part, text, asked, added).vocab_size
        except Raised as fault:
            return Violation(
                f"training on {shown(text)} with vocab_size={asked} raises {told(fault)}",
                hint="Fewer ids than asked for are no mistake: stop where no pair is left.",
                names=("tokenizer-no-pair-left",) if text == "ab" else (),
            )
        if found > asked:
            names = {BYTES: "tokenizer-vocabulary-larger", len(added): "tokenizer-specials-on-top"}
            return Violation(
                f"vocab_size is {found}; {asked} ids were asked for, {len(added)} special tokens among them",
                hint="Learn vocab_size - 256 - len(special_tokens) merges at most.",
                names=tuple(key for more, key in names.items() if more == found - asked),
            )
    return None
