"""What generate asks of the model: one new token a step with the cache, everything without; both give the same ids."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from grader.cases import Case
from grader.checks import check
from grader.checks.sampling import PART, caching_cases, sampling_cases, step_rows
from grader.part import Part
from grader.probes.decoding import agree
from grader.probes.lm import SIZES, Model, ids, model
from grader.probes.module import Raised
from grader.probes.sampling import generated
from grader.verdict import Violation

FORWARD, DECODE = 0, 1


@check(
    parts=[PART],
    says="With the cache decode gets the prompt, then one new token a step; without, the model gets all tokens.",
    cases=caching_cases,
    needs=("generates",),
    numbers=False,
)
def one_token_a_step(part: Part, case: Case) -> Violation | None:
    (rows, other), prompt, count = step_rows(case), [1, 2, 3], 5
    cached = case.extra["use_cache"]
    run = generated(part, prompt, count, rows=rows, other=other, seed=3, use_cache=cached)
    every = [*prompt, *run.ids]
    kinds = {call[0] for call in run.calls}
    if kinds != {DECODE if cached else FORWARD}:
        key = {(True, FORWARD): "sampling-cache-unused", (False, DECODE): "sampling-cache-always"}
        called = " and ".join(("the model itself", "model.decode")[kind] for kind in sorted(kinds) if kind in (0, 1))
        return Violation(
            f"use_cache={cached} calls {called}",
            hint="use_cache=True calls model.decode, use_cache=False the model itself.",
            names=(key.get((cached, next(iter(kinds))), ""),) if len(kinds) == 1 else (),
        )
    if cached:
        wanted = [prompt, *([token] for token in run.ids)]
        places = [-1, *range(len(run.calls))]
    else:
        wanted, places = [every[: len(prompt) + i] for i in range(count + 1)], [-1] * len(run.calls)
    fed, given = [list(tokens) for tokens in run.fed], [call[3] for call in run.calls]
    steps = len(fed)
    right_places = all(a in (b, -2) and (a == -1) == (b == -1) for a, b in zip(given, places, strict=False))
    if len(run.ids) != count:  # another check's matter: by sizes, as it is not known which ids are missing
        sizes = [len(tokens) for tokens in fed] == [len(tokens) for tokens in _sizes(prompt, steps, cached)]
        right_feed = sizes and fed[:1] == [prompt]
    else:
        right_feed = count <= steps <= count + 1 and fed == wanted[:steps]
    if right_feed and right_places:
        return None
    return Violation(
        "what the model is fed is not the prompt and then one new token a step"
        if cached
        else "what the model is fed is not the prompt and all new tokens",
        expected=wanted[:count],
        observed=fed[: count + 1],
        hint="Feed the newest id and the newest cache." if cached else "Feed the prompt and all new ids.",
        names=(_feeding(fed, given, every, prompt, cached),) if len(run.ids) == count else (),
    )


def _sizes(prompt: list[int], steps: int, cached: bool) -> list[list[int]]:
    """As many tokens as are fed in each step."""
    return [prompt + [0] * i if not cached else ([0] if i else prompt) for i in range(steps)]


def _feeding(fed: list[list[int]], given: list[int], every: list[int], prompt: list[int], cached: bool) -> str:
    """The mistake in what is fed, by the first calls; nothing where it is another one."""
    if len(fed) < 3 or fed[0] != prompt:
        return "sampling-prompt-cut" if fed and fed[0] == prompt[-1:] else ""
    grown = fed[1] == every[: len(prompt) + 1]
    newest = all(tokens == [new] for tokens, new in zip(fed[1:], every[len(prompt) :], strict=False))
    if not cached:
        if newest:
            return "sampling-context-lost"
        if all(tokens == prompt for tokens in fed):
            return "sampling-prompt-again"
        right = [every[: len(prompt) + i] for i in range(len(fed))]
        ends = all(len(a) > 1 and a == b[-len(a) :] for a, b in zip(fed, right, strict=True))
        return "sampling-context-cut" if ends else ""
    if set(given) == {-1}:
        return "sampling-cache-dropped" if grown or newest else ""
    if grown:
        return "sampling-everything-again"
    if newest and set(given[1:]) == {0}:
        return "sampling-cache-old"
    return "sampling-last-token-again" if fed[1] == prompt[-1:] and fed[2] == every[len(prompt) :][:1] else ""


@check(
    parts=[PART],
    says="Up to the whole context ids are those of the model's own logits, cached or not; the model stays as it is.",
    cases=sampling_cases,
    needs=("new-ids", "greedy", "one-token-a-step"),
    numbers=False,
)
def cached_like_uncached(part: Part, case: Case) -> Violation | None:
    one = model(part, precision="float32", fresh=True).redraw(case.key[0])
    prompt, count = [int(i) for i in ids(case.key, 3)], SIZES["context"] - 3
    greedy = {c: generated(part, prompt, count, on=one, temperature=0, use_cache=c) for c in (False, True)}
    for cached, run in greedy.items():
        if len(run.ids) != count:
            return Violation(f"{len(run.ids)} ids came back where {count} are the rest of the context")
        if found := _not_largest(part, one, [*prompt, *run.ids], len(prompt), cached):
            return replace(found, names=("sampling-in-training",) if any(call[4] for call in run.calls) else ())
        if not run.kept:
            return Violation("parameters or gradients are others afterwards", hint="Generate under torch.no_grad().")
    drawn = {c: generated(part, prompt, count, on=one, seed=7, use_cache=c).ids for c in (False, True)}
    again = generated(part, prompt, count, on=one, globally=2, seed=7, use_cache=False).ids
    seeded = again == drawn[False]  # another check's matter
    if drawn[False] == drawn[True] or not seeded or not _decodes_rightly(part, one, [*prompt, *drawn[False]]):
        return None
    return Violation(
        "seed=7 gives other ids with the cache than without",
        expected=list(drawn[False]),
        observed=list(drawn[True]),
        hint="Draw in the same way on both ways, once a token.",
    )


def _not_largest(part: Part, one: Model, every: list[int], prompt: int, cached: bool) -> Violation | None:
    """A violation where an id is not that of the largest logit, by more than rounding."""
    tokens = np.array([every])
    try:
        logits = one.decoded(tokens, (prompt, *[1] * (len(every) - prompt))) if cached else one.logits(tokens)
    except Raised:
        return None
    for t in range(prompt, len(every)):
        z = logits[0, t - 1]
        if z[every[t]] < z.max() - 1e-3 * max(1.0, float(np.abs(z).max())):
            return Violation(
                f"use_cache={cached}: id {t - prompt} of {len(every) - prompt} is not that of the largest logit",
                expected=int(z.argmax()),
                observed=every[t],
                hint="Take the last position's logits of everything so far.",
            )
    return None


def _decodes_rightly(part: Part, one: Model, every: list[int]) -> bool:
    """Whether decode gives the logits of forward: otherwise it is no fault of generate that ids differ."""
    tokens = np.array([every])
    try:
        return agree(part, one.decoded(tokens, (3, *[1] * (len(every) - 3))), one.logits(tokens))
    except Raised:
        return False
