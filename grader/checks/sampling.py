"""What generate returns and asks of the model: new ids only, the largest at temperature 0, seeds, one token a step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from grader.cases import SMALLEST, Case
from grader.checks import check
from grader.compare import Array
from grader.decoding import agree
from grader.lm import SIZES, Model, ids, model
from grader.module import Raised
from grader.part import Part
from grader.sampling import SMALL, Run, generated
from grader.verdict import Violation

PART = "generate"
V = SMALL["vocab_size"]
FLAT = np.log([0.10, 0.34, 0.05, 0.26, 0.14, 0.11])
TRIES = 6
MANY = 40  # draws that agree by chance once in 10^20
FORWARD, DECODE = 0, 1


def sampling_cases(part: str, seed: int) -> Iterator[Case]:
    """One case: what a check of sampling draws, it draws from the seed."""
    yield Case("", (), (seed, 59), SMALLEST)


def caching_cases(part: str, seed: int) -> Iterator[Case]:
    """With the cache and without."""
    for cached in (True, False):
        yield Case(f"use_cache={cached}", (), (seed, 59), SMALLEST, {"use_cache": cached})


def _rows(case: Case) -> tuple[Array, Array]:
    """Logits of the last position call by call, and those of every other position. shapes: (11, v), (v)"""
    rng = np.random.default_rng(case.key)
    rows = 2.0 * rng.standard_normal((11, V))
    return rows, 3.0 * rng.standard_normal(V)


@check(
    parts=[PART],
    says="generate returns ids, and asks the model for their logits.",
    cases=caching_cases,
    needs=(),
    numbers=False,
)
def generates(part: Part, case: Case) -> Violation | None:
    run = generated(part, [1, 2, 3], 5, rows=FLAT, seed=3, use_cache=case.extra["use_cache"])
    if run.calls and run.told:
        return None
    return Violation(
        "neither the model nor its decode is called" if run.told else "no ids come back for max_new_tokens=5",
        hint="use_cache=True calls model.decode, use_cache=False the model itself, once for every new id.",
    )


@check(
    parts=[PART],
    says="max_new_tokens ids come back, without those of the prompt, and the prompt is left as it was.",
    cases=caching_cases,
    needs=("generates",),
    numbers=False,
)
def new_ids(part: Part, case: Case) -> Violation | None:
    for prompt, count in (([1, 2, 3], 5), ([4], 1), ([4], 3), ([0, 5], 0)):
        run = generated(part, prompt, count, rows=FLAT, seed=3, use_cache=case.extra["use_cache"])
        if found := _other_count(run, prompt, count):
            return found
        if run.prompt != prompt:
            return Violation(
                "the prompt is another list after the call",
                expected=prompt,
                observed=run.prompt if isinstance(run.prompt, list) and len(str(run.prompt)) < 200 else None,
                hint="Copy the prompt before anything is appended: list(prompt).",
                names=("sampling-prompt-changed",),
            )
    return None


def _other_count(run: Run, prompt: list[int], count: int) -> Violation | None:
    """A violation where not exactly the new ids came back."""
    if len(run.told) == count and not run.batch:
        return None
    off = {-1: "one-short", 1: "one-more", -len(prompt): "prompt-counted"}.get(len(run.told) - count, "")
    known = [off] if off and len(prompt) > 2 else []
    if run.told != run.ids:
        known = ["prompt-returned"]
    if run.batch:
        known += ["batch-returned"]
    return Violation(
        f"{len(run.told)} ids came back{' in a batch of one' * run.batch} for max_new_tokens={count}"
        f" and a prompt of {len(prompt)}",
        expected=count,
        observed=list(run.told),
        hint="Return a list of the new ids alone, max_new_tokens of them.",
        names=tuple(f"sampling-{name}" for name in known),
    )


@check(
    parts=[PART],
    says="At temperature 0 every new id is that of the largest logit at the last position.",
    cases=caching_cases,
    needs=("generates",),
    numbers=False,
)
def greedy(part: Part, case: Case) -> Violation | None:
    (rows, other), prompt, count = _rows(case), [1, 2, 3], 9
    wanted = [int(row.argmax()) for row in rows[:count]]

    def run(globally: int) -> Run:
        cached = case.extra["use_cache"]
        return generated(
            part, prompt, count, rows=rows, other=other, globally=globally, temperature=0, use_cache=cached
        )

    try:
        found = run(1)
    except Raised as fault:
        signs = ("inf", "nan", "zero", "positive", "Simplex")
        names = ("sampling-zero-divides",) if any(sign in fault.message for sign in signs) else ()
        return Violation(
            f"temperature 0 raises {fault.message}", hint="Take the argmax where the temperature is 0.", names=names
        )
    if _overlap(found.ids, wanted):
        return None
    key = ""
    if run(2).ids != found.ids:
        key = "sampling-zero-draws"
    elif found.ids[0] == other.argmax() and wanted[0] != other.argmax():
        key = "sampling-first-position"
    elif list(found.ids) == [int(row.argmin()) for row in rows[:count]]:
        key = "sampling-smallest"
    return Violation(
        "the ids at temperature 0 are not those of the largest logits",
        expected=wanted,
        observed=list(found.ids),
        hint="Take logits[0, -1].argmax() where the temperature is 0.",
        names=(key,),
    )


def _overlap(found: Sequence[int], wanted: Sequence[int]) -> bool:
    """Whether ids are those wanted; where their number is another one, as far as they go from either end."""
    n = min(len(found), len(wanted))
    one, other = list(found), list(wanted)
    return n > len(wanted) // 2 and (one[:n] == other[:n] or one[-n:] == other[-n:])


@check(
    parts=[PART],
    says="The same seed gives the same ids, whatever was drawn before; another seed gives others.",
    cases=sampling_cases,
    needs=("generates",),
    numbers=False,
)
def same_seed(part: Part, case: Case) -> Violation | None:
    def run(seed: int | None, globally: int) -> tuple[int, ...]:
        return generated(part, [1, 2, 3], MANY, rows=FLAT, globally=globally, seed=seed, use_cache=False).ids

    hint = "Make a generator from the seed where it is not None, once a call, and draw with it."
    first = run(5, 1)
    if len(set(first)) == 1 and len({run(seed, 1)[0] for seed in range(5, 15)}) > 1:
        return Violation(
            f"all {MANY} draws from the same logits give the same id, which depends on the seed",
            hint=hint,
            names=("sampling-seeded-every-step",),
        )
    for seed in (5, 0):
        if run(seed, 1) != run(seed, 2):
            key = "sampling-seed-ignored" if seed else "sampling-seed-zero-ignored"
            return Violation(f"seed={seed} gives other ids at the second call", hint=hint, names=(key,))
    if len(set(first)) == 1:
        return None
    if run(5, 1) == run(6, 1):
        return Violation("seed=5 and seed=6 give the same ids", hint=hint, names=("sampling-seed-fixed",))
    if len({run(None, globally) for globally in range(1, TRIES)}) > 1:
        return None
    return Violation(
        f"without a seed {TRIES - 1} calls give the same {MANY} ids",
        hint="Seed a generator only where seed is not None.",
        names=("sampling-fixed-without-seed",),
    )


@check(
    parts=[PART],
    says="With the cache decode gets the prompt, then one new token a step; without, the model gets all tokens.",
    cases=caching_cases,
    needs=("generates",),
    numbers=False,
)
def one_token_a_step(part: Part, case: Case) -> Violation | None:
    (rows, other), prompt, count = _rows(case), [1, 2, 3], 5
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
        right_feed = sizes and fed[0] == prompt
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
