"""What generate returns: new ids only, those of the largest logits at temperature 0, the same for the same seed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from grader.cases import SMALLEST, Case
from grader.checks import check
from grader.compare import Array
from grader.part import Part
from grader.probes.module import Raised
from grader.probes.sampling import SMALL, Run, generated
from grader.verdict import Violation

PART = "generate"
V = SMALL["vocab_size"]
FLAT = np.log([0.10, 0.34, 0.05, 0.26, 0.14, 0.11])
TRIES = 6
MANY = 40  # draws that agree by chance once in 10^20


def sampling_cases(part: str, seed: int) -> Iterator[Case]:
    """One case: what a check of sampling draws, it draws from the seed."""
    yield Case("", (), (seed, 59), SMALLEST)


def caching_cases(part: str, seed: int) -> Iterator[Case]:
    """With the cache and without."""
    for cached in (True, False):
        yield Case(f"use_cache={cached}", (), (seed, 59), SMALLEST, {"use_cache": cached})


def step_rows(case: Case) -> tuple[Array, Array]:
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
        after = run.prompt if isinstance(run.prompt, list) and all(type(i) is int for i in run.prompt) else None
        if after != prompt:
            return Violation(
                "the prompt is another list after the call",
                expected=prompt,
                observed=after if after and len(after) < 20 else None,
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
    (rows, other), prompt, count = step_rows(case), [1, 2, 3], 9
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
