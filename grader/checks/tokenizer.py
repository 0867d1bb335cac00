"""A tokenizer: training gives one that answers, and always the same one; what all checks of tokenizers share."""

from __future__ import annotations

from collections.abc import Iterator

from grader.cases import SMALLEST, Case
from grader.checks import check
from grader.part import Part
from grader.probes.texts import prose
from grader.probes.tokens import BYTES, LONGEST, Raised, Tokens, elsewhere, train
from grader.verdict import Violation

MERGES = 40
TEXT = prose(2000, 3) + " caf\xe9, na\xefve, \u65e5\u672c \u65e5\u672c\u8a9e" * 9
SPECIAL = (END, PAD, USER) = ("<|end|>", "<|pad|>", "<|user|>")
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


def told(fault: Raised) -> str:
    """An exception in a message, on one line."""
    return " ".join(fault.message.split())[:300]


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
    if (other := _ids(elsewhere(part, hash_seed=1))) != first:
        alone = _ids(elsewhere(part))
        key = "bpe-hash-order" if alone == first else "bpe-remembers" if alone == other else ""
        return Violation(
            f"the {said} in a new process",
            hint="A set of strings has another order in each process: decide equal counts by the pair itself.",
            names=(key,) if key else (),
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
