"""Special tokens: one id each, wherever they stand, whatever is written in them; no merge touches them."""

from __future__ import annotations

from collections.abc import Sequence

from grader.cases import Case
from grader.checks import check
from grader.checks.tokenizer import END, MERGES, PAD, SPECIAL, TEXT, USER, shown, special, token_cases, told
from grader.checks.tokenizer_text import lost
from grader.part import Part
from grader.probes.tokens import BYTES, Raised, Tokens, train
from grader.search import smallest
from grader.verdict import Violation

SIGNS = ("[SEP]", "a+b", "(x", "$", "w.h")  # each means something else in a pattern
LIKE_SIGNS = ("SEP", "aab", "aaab", "wxh", "x", "the end")
LETTERS = "ENDOFTEXT"
NESTED = ("<|en", "<|end", END, "<|end|>>")
SPLIT_HINT = "Split the text at the special tokens first, longest first, and encode what lies between."
# in training: "q" and "k" meet only across a special token, "<", "|" and ">" stand in special tokens only
AROUND = "".join(f"q{END}k the old dog barks{PAD}{END} " for _ in range(60))


@check(
    parts=["Tokenizer"],
    says="Each special token is one id of its own, which decodes to it.",
    cases=token_cases,
    needs=("trains",),
    numbers=False,
)
def special_tokens_are_ids(part: Part, case: Case) -> Violation | None:
    tokens = special(part)
    return _whole(tokens, SPECIAL, ()) or _own(tokens)


def _unlike(tokens: Tokens, ids: list[int]) -> tuple[str, ...]:
    """Why a special token alone is not one id."""
    if tokens.encode(""):
        return ("tokenizer-special-added",)
    if not ids:
        return ("tokenizer-special-dropped",)
    plain = train(tokens.part, TEXT, BYTES + MERGES + 1, (LETTERS,))
    return ("tokenizer-special-split" if len(plain.encode(LETTERS)) > 1 else "tokenizer-special-regex",)


def _whole(tokens: Tokens, special_tokens: Sequence[str], names: tuple[str, ...], hint: str = "") -> Violation | None:
    """A violation where a special token alone is not one id."""
    for token in special_tokens:
        ids = tokens.encode(token)
        if len(ids) != 1:
            return Violation(
                f"encode({shown(token)}) has {len(ids)} ids; a special token is one",
                observed=ids[:20],
                hint=hint or SPLIT_HINT,
                names=names or _unlike(tokens, ids),
            )
    return None


def _own(tokens: Tokens) -> Violation | None:
    ids = {token: tokens.encode(token)[0] for token in SPECIAL}
    other = set(tokens.encode(TEXT))
    for token, own in ids.items():
        shared = own in other or list(ids.values()).count(own) > 1
        text = tokens.decode([own])
        if shared or text != token:
            return Violation(
                f"{shown(token)} has the id {own}, "
                + ("which is not its own" if shared else f"decoded as {shown(text)}"),
                observed=ids,
                hint="Give each special token an id of its own after bytes and merges, and its text in decode.",
                names=("tokenizer-special-same-id",) if shared else ("tokenizer-special-not-decoded",) * (not text),
            )
    return None


@check(
    parts=["Tokenizer"],
    says="A special token within a text, or next to itself, is one id; what stands around it is encoded as if alone.",
    cases=token_cases,
    needs=("special-tokens-are-ids", "round-trip"),
    numbers=False,
)
def special_tokens_in_text(part: Part, case: Case) -> Violation | None:
    tokens = special(part)
    for texts in (
        ("the", END, "dog"),
        (END, "the"),
        ("the", END),
        (END, END),
        (PAD, END, END, USER),
        ("t", END, END, "h", PAD, "e"),
        ("\xe9", END, "\u65e5", PAD, "\U0001f600"),
    ):
        text = "".join(texts)
        expected = [i for piece in texts for i in tokens.encode(piece)]
        if (ids := tokens.encode(text)) != expected:
            found = not {tokens.encode(token)[0] for token in SPECIAL if token in texts} <= set(ids)
            return Violation(
                f"encode({shown(text)}) is {ids}; piece by piece it is {expected}",
                hint=SPLIT_HINT,
                names=("tokenizer-special-alone",) if found else (),
            )

    def fails(text: str) -> bool:
        try:
            return tokens.back(text) != text
        except Raised:
            return True

    broken = smallest(fails, seed=case.key[0] + 1, pieces=(*SPECIAL, "the", " ", "<|", "\n"), examples=60)
    return None if broken is None else lost(tokens, broken)


@check(
    parts=["Tokenizer"],
    says="Special tokens may hold signs that mean something in a pattern.",
    cases=token_cases,
    needs=("special-tokens-are-ids", "round-trip"),
    numbers=False,
)
def special_tokens_of_signs(part: Part, case: Case) -> Violation | None:
    hint, names = "Escape them: '|'.join(map(re.escape, special_tokens)).", ("tokenizer-special-regex",)
    at = "training"
    try:
        tokens = train(part, TEXT, BYTES + MERGES + len(SIGNS), SIGNS)
        at = f"encoding one of {list(SIGNS)}"
        if found := _whole(tokens, SIGNS, names, hint):
            return found
        own = {tokens.encode(token)[0] for token in SIGNS}
        for text in LIKE_SIGNS:
            at = f"encoding {shown(text)}"
            if own & set(tokens.encode(text)) or tokens.back(text) != text:
                return Violation(
                    f"{shown(text)} is taken for one of the special tokens {list(SIGNS)}", hint=hint, names=names
                )
    except Raised as fault:
        return Violation(f"{at} raises {told(fault)}, with the special tokens {list(SIGNS)}", hint=hint, names=names)
    return None


@check(
    parts=["Tokenizer"],
    says="Of special tokens that begin alike the longest one counts.",
    cases=token_cases,
    needs=("special-tokens-are-ids", "round-trip"),
    numbers=False,
)
def special_tokens_nested(part: Part, case: Case) -> Violation | None:
    names, hint = ("tokenizer-special-overlap",), "Look for the longest first: sort the special tokens by length."
    for given in (NESTED, NESTED[::-1]):
        tokens = train(part, TEXT, BYTES + MERGES + len(given), given)
        if found := _whole(tokens, given, names, hint):
            return found
    return None


@check(
    parts=["Tokenizer"],
    says="Special tokens in the training text take no part in merges, and nothing is merged across them.",
    cases=token_cases,
    needs=("special-tokens-are-ids", "any-ids", "vocabulary-size"),
    numbers=False,
)
def special_tokens_untrained(part: Part, case: Case) -> Violation | None:
    tokens = train(part, AROUND, BYTES + MERGES + len(SPECIAL), SPECIAL)
    for text in tokens.strings:
        inside = len(text) > 1 and text not in SPECIAL and set(text) & set("<|>") and text in AROUND
        if inside or "qk" in text:
            return Violation(
                f"{shown(text)} has become a token: "
                + ("it is cut out of a special token" if inside else "in the text a special token stands between"),
                hint="Split the training text at the special tokens, and count pairs within the pieces.",
                names=("tokenizer-special-trained",),
            )
    return None
