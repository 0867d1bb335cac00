"""What is saved: a tokenizer that is loaded in a new process does what it did before."""

from __future__ import annotations

from grader.cases import Case
from grader.checks import check
from grader.checks.tokenizer import END, SPECIAL, shown, special, token_cases, told
from grader.part import Part
from grader.probes.token_words import clear_word
from grader.probes.tokens import Raised, Tokens, elsewhere, load, train
from grader.verdict import Violation

FOLDER, NAME = "tokenizer", "tokenizer.json"
TEXTS = ("the old dog barks", "\u65e5\u672c\u8a9e caf\xe9 na\xefve", "a\r\nb  c\x00", *SPECIAL, f"the{END}{END}dog", "")
HINT = "Write merges, in their order, and special tokens; load makes a tokenizer of them and nothing else."


@check(
    parts=["Tokenizer"],
    says="A tokenizer that is saved and loaded in a new process gives the same ids and texts, special tokens included.",
    cases=token_cases,
    needs=("trains", "special-tokens-are-ids"),
    numbers=False,
)
def loads_as_saved(part: Part, case: Case) -> Violation | None:
    there = elsewhere(part)
    word, _, probes = clear_word(case.key[0])
    for tokens, texts in ((special(part), TEXTS), (train(part, word, 300), probes)):
        loaded = load(there, FOLDER, tokens.save(FOLDER, NAME), NAME)
        if loaded.vocab_size != tokens.vocab_size:
            return Violation(
                f"vocab_size is {loaded.vocab_size} after loading, and was {tokens.vocab_size}",
                hint=HINT,
                names=_name(tokens, loaded),
            )
        for text in texts:
            before = tokens.encode(text)
            try:
                after, back = loaded.encode(text), loaded.decode(before)
            except Raised as fault:
                return Violation(
                    f"after loading, {shown(text)} raises {told(fault)}", hint=HINT, names=_name(tokens, loaded)
                )
            if after != before or back != tokens.decode(before):
                what = f"encode({shown(text)}) is {after}" if after != before else f"decode({before}) is {shown(back)}"
                was = f"{before}" if after != before else shown(tokens.decode(before))
                return Violation(f"after loading, {what}, and was {was}", hint=HINT, names=_name(tokens, loaded))
    return None


def _name(tokens: Tokens, loaded: Tokens) -> tuple[str, ...]:
    """What is lost, as far as it can be told."""
    try:
        word = "the old dog barks at noon"
        if loaded.encode(word) != tokens.encode(word):
            if len(loaded.encode(word)) == len(word) > len(tokens.encode(word)):
                return ("tokenizer-merges-lost",)
            return ("tokenizer-merges-reordered",) if sorted(loaded.strings) == sorted(tokens.strings) else ()
        lost = [token for token in SPECIAL if len(tokens.encode(token)) == 1 < len(loaded.encode(token))]
        return ("tokenizer-special-lost",) if lost else ()
    except Raised:
        return ()
