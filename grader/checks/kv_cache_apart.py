"""Whose cache it is: prompts, branches, models and plain calls do not meet in it; an old cache stays valid."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from grader.cases import Case
from grader.checks import check
from grader.checks.kv_cache import PART, cache_cases
from grader.compare import Array
from grader.part import Part
from grader.probes.decoding import decoder
from grader.probes.lm import Model, ids
from grader.verdict import Violation

NEEDS = ("decode-shape", "past-counts")


def _moved(part: Part, before: Array, after: Array, what: str, hint: str, *known: str) -> Violation | None:
    """A violation when the same call gives other logits."""
    gap = part.gap(after, before)
    if not gap:
        return None
    return Violation(f"{what}: {gap}", hint=hint, where=gap.index, size=gap.size, allowed=gap.allowed, names=known)


def _run(one: Model, tokens: Array, prompt: int) -> Array:
    """The logits of a prompt and of the tokens after it, one by one."""
    return one.decoded(tokens, (prompt, *([1] * (tokens.shape[1] - prompt))))


@check(
    parts=[PART],
    says="decode(tokens, None) begins anew: a second prompt gets the logits that it gets as the first one.",
    cases=cache_cases,
    needs=NEEDS,
    numbers=False,
)
def prompts_apart(part: Part, case: Case) -> Violation | None:
    tokens, other = ids(case.key, 2, 5), ids((*case.key, 1), 2, 4)
    one = decoder(part, case.key[0])
    for prompt in (3, 1):
        first = _run(one, tokens, prompt)
        _run(one, other, 2)
        if found := _moved(
            part,
            first,
            _run(one, tokens, prompt),
            "the same prompt gets other logits after another prompt",
            "cache=None starts an empty cache; keep nothing from the call before.",
            "cache-stale",
        ):
            return found
    return None


@check(
    parts=[PART],
    says="The caller's old cache stays valid: two continuations of one prefix do not meet.",
    cases=cache_cases,
    needs=(*NEEDS, "prompts-apart"),
    numbers=False,
)
def branches_apart(part: Part, case: Case) -> Violation | None:
    prefix, a, b, other = (ids((*case.key, i), 2, t) for i, t in enumerate((3, 1, 2, 4)))
    one, hint = decoder(part, case.key[0]), "Join into new tensors and a new list; write into nothing that was given."
    # each sequence alone, on a model that sees nothing else
    alone = [decoder(part, case.key[0]) for _ in range(2)]
    first = alone[0].decode(prefix)[1]
    right, after = alone[0].decode(a, first)
    then, _ = alone[0].decode(a, after)
    right_b = _run(alone[1], np.concatenate([prefix, b], axis=1), 3)[:, 3:]

    # another sequence begins before this one goes on
    cache = one.decode(prefix)[1]
    one.decode(other)
    met = "a sequence gets other logits after another one has begun"
    if found := _moved(part, right, one.decode(a, cache)[0], met, hint):
        return replace(found, names=("cache-shared-by-models" if _models_meet(part, case) else "cache-in-model",))
    # twice from one prefix, by another number of tokens, and on with the older branch
    root = one.decode(prefix)[1]
    older = one.decode(a, root)[1]
    newer, cache = one.decode(b[:, :1], root)
    newer = np.concatenate([newer, one.decode(b[:, 1:], cache)[0]], axis=1)
    again, renewed = "the second continuation of a prefix differs", "the older branch goes on differently"
    return (
        _moved(part, right_b, newer, again, hint, "cache-aliased")
        or _moved(part, then, one.decode(a, older)[0], renewed, hint, "cache-aliased")
        or _moved(part, right, one.decode(a, root)[0], again, hint, "cache-aliased")
    )


@check(
    parts=[PART],
    says="A call of the model itself between two calls of decode changes neither.",
    cases=cache_cases,
    needs=(*NEEDS, "prompts-apart"),
    numbers=False,
)
def forward_between(part: Part, case: Case) -> Violation | None:
    tokens, other = ids(case.key, 2, 4), ids((*case.key, 1), 2, 6)
    alone, one = decoder(part, case.key[0]), decoder(part, case.key[0])
    right = _run(alone, tokens, 3)[:, 3:]
    plain = one.logits(other)
    cache = one.decode(tokens[:, :3])[1]
    between = one.logits(other)
    hint = "forward neither reads nor writes a cache."
    return _moved(part, plain, between, "forward gives other logits after decode", hint) or _moved(
        part,
        right,
        one.decode(tokens[:, 3:], cache)[0],
        "decode goes on differently after a call of the model itself",
        hint,
        "cache-changed-by-forward",
    )


@check(
    parts=[PART],
    says="Two models that decode in turn do not meet in a cache.",
    cases=cache_cases,
    needs=(*NEEDS, "prompts-apart"),
    numbers=False,
)
def models_apart(part: Part, case: Case) -> Violation | None:
    return _models_meet(part, case)


def _models_meet(part: Part, case: Case) -> Violation | None:
    tokens, other = ids(case.key, 2, 4), ids((*case.key, 1), 2, 3)
    alone, one, two = (decoder(part, case.key[0] + i) for i in (0, 0, 1))
    right = _run(alone, tokens, 3)[:, 3:]
    cache = one.decode(tokens[:, :3])[1]
    two.decode(other)
    return _moved(
        part,
        right,
        one.decode(tokens[:, 3:], cache)[0],
        "a model goes on differently after another model has decoded",
        "Keep the cache in no global name and in no attribute of the class.",
        "cache-shared-by-models",
    )
