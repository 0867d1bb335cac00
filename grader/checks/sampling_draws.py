"""From which distribution generate draws, on hand-made logits: temperature, top-k, top-p, both."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from grader.cases import Case
from grader.checks import check
from grader.checks.sampling import PART, sampling_cases
from grader.compare import Array, number
from grader.misconceptions.sampling import Asked, right
from grader.part import Part
from grader.probes.module import Raised
from grader.probes.sampling import DRAWS, fits, generated, named
from grader.verdict import Violation

# unsorted, without ties, and away from every boundary that is used below
A = np.log([0.10, 0.34, 0.05, 0.26, 0.14, 0.11])
B = np.log([0.07, 0.13, 0.20, 0.06, 0.17, 0.37])
STEEP = np.array([0.0, 1.5, -0.5, 2.5, 0.8, -1.0])
OTHER = np.array([2.0, -1.0, 1.0, -2.0, 0.0, 3.0])  # at every position but the last
FEW = 25
DIVIDE = "Draw from softmax(logits[0, -1] / temperature), once a token."
KEEP = "Keep the k largest logits, with -inf elsewhere; a k above the vocabulary keeps all."
FEWEST = "Sort downwards; keep each token before which less than top_p has been summed: cumsum - p < top_p."


def _drawn(part: Part, asked: Asked, count: int = DRAWS) -> tuple[int, ...]:
    """Ids drawn from the same logits again and again, in the quicker way where that can be gone."""
    given: dict[str, Any] = {"temperature": asked.temperature}
    given |= {name: getattr(asked, name) for name in ("top_k", "top_p") if getattr(asked, name) is not None}
    given |= {"rows": asked.z, "other": asked.other, "seed": 20}
    try:
        return generated(part, [1], count, hollow=True, use_cache=True, **given).ids
    except Raised:
        return generated(part, [1], count, use_cache=False, **given).ids


def _judged(part: Part, ways: list[Asked], hint: str) -> Violation | None:
    """A violation where draws cannot come from what is asked for, with the mistake from which all can come."""
    found: list[tuple[tuple[int, ...] | None, Asked]] = []
    faults: dict[int, Raised] = {}
    for asked in ways:
        try:
            found.append((_drawn(part, asked), asked))
        except Raised as fault:
            faults[len(found)] = fault
            found.append((None, asked))
    for place, (drawn, asked) in enumerate(found):
        p = right(asked)
        if drawn is None:
            if names := named(found, filters=_plain_is_right(part)):
                return Violation(f"{_said(asked)} raises {faults[place].message}", hint=hint, names=names)
            raise faults[place]
        if fits(drawn, p) or (_filtered(asked) and _only_support(part, drawn, p)):
            continue
        seen = np.bincount(drawn, minlength=len(p)) / len(drawn)
        return Violation(
            f"{_said(asked)}: {_difference(seen, p)}",
            expected=[float(number(x)) for x in p.round(4)],
            observed=[float(number(x)) for x in seen.round(4)],
            hint=hint,
            names=_every_step(part, found) or named(found, filters=_filtered(asked) and _plain_is_right(part)),
        )
    return None


def _every_step(part: Part, found: list[tuple[tuple[int, ...] | None, Asked]]) -> tuple[str, ...]:
    """Whether each call draws one id again and again, and another seed another one."""
    if any(drawn is None or len(set(drawn)) > 1 for drawn, _ in found) or len(set(_drawn(part, Asked(A, OTHER)))) > 1:
        return ()
    firsts = {generated(part, [1], 1, rows=A, other=OTHER, seed=seed, use_cache=False).ids for seed in range(20)}
    return ("sampling-seeded-every-step",) if len(firsts) > 1 else ()


def _filtered(asked: Asked) -> bool:
    return asked.top_k is not None or asked.top_p is not None


def _only_support(part: Part, drawn: tuple[int, ...], p: Array) -> bool:
    """Whether the right tokens are kept, where already what is drawn without a filter is wrong."""
    return set(drawn) == set(np.flatnonzero(p).tolist()) and not _plain_is_right(part)


def _plain_is_right(part: Part) -> bool:
    plain = Asked(A, OTHER)
    return fits(_drawn(part, plain), right(plain))


def _said(asked: Asked) -> str:
    given = [f"temperature {asked.temperature:g}"]
    given += [f"{name}={value:g}" for name in ("top_k", "top_p") if (value := getattr(asked, name)) is not None]
    return ", ".join(given)


def _difference(seen: Array, p: Array) -> str:
    """What is wrong with frequencies, in words."""
    beyond, missing = np.flatnonzero((p <= 0) & (seen > 0)), np.flatnonzero((p > 0) & (seen == 0))
    if len(beyond):
        return f"token {beyond[0]} is drawn, and has probability 0"
    if len(missing):
        return f"token {missing[0]} is never drawn, and has probability {p[missing[0]]:.3f}"
    worst = int(np.abs(seen - p).argmax())
    return f"token {worst} is {seen[worst]:.3f} of {DRAWS} draws, and has probability {p[worst]:.3f}"


def _always(part: Part, asked: Asked, hint: str, known: str = "") -> Violation | None:
    """A violation where not the largest logit alone is drawn, or where nothing can be."""
    if found := _raises(part, asked, hint, known):
        return found
    others = [i for i in _drawn(part, asked, FEW) if i != int(asked.z.argmax())]
    if not others:
        return None
    return Violation(f"{_said(asked)}: token {others[0]} is drawn, and has probability 0", hint=hint)


def _raises(part: Part, asked: Asked, hint: str, known: str) -> Violation | None:
    try:
        _drawn(part, asked, FEW)
    except Raised as fault:
        return Violation(f"{_said(asked)} raises {fault.message}", hint=hint, names=(known,))
    return None


@check(
    parts=[PART],
    says="Ids are drawn from softmax(logits / temperature) of the last position's logits.",
    cases=sampling_cases,
    needs=("generates",),
    numbers=False,
)
def drawn_at_temperature(part: Part, case: Case) -> Violation | None:
    ways = [Asked(A, OTHER), *(Asked(STEEP, OTHER, temperature) for temperature in (0.5, 2.0))]
    return _judged(part, ways, DIVIDE)


@check(
    parts=[PART],
    says="top_k keeps the k largest logits, all of them where there are fewer.",
    cases=sampling_cases,
    needs=("generates",),
    numbers=False,
)
def top_k(part: Part, case: Case) -> Violation | None:
    if found := _judged(part, [Asked(A, OTHER, top_k=3), Asked(B, OTHER, top_k=2)], KEEP):
        return found
    if found := _always(part, Asked(A, OTHER, top_k=1), KEEP):
        return found
    return _raises(part, Asked(A, OTHER, top_k=50), KEEP, "sampling-top-k-too-large")


@check(
    parts=[PART],
    says="top_p keeps the fewest tokens whose probabilities add up to top_p, those at the temperature asked for.",
    cases=sampling_cases,
    needs=("generates",),
    numbers=False,
)
def top_p(part: Part, case: Case) -> Violation | None:
    ways = [Asked(A, OTHER, top_p=0.65), Asked(B, OTHER, top_p=0.78)]
    if found := _judged(part, ways, FEWEST):
        return found
    if found := _always(part, Asked(A, OTHER, top_p=0.2), FEWEST, "sampling-top-p-empty"):
        return found
    warm = Asked(A, OTHER, 2.0, top_p=0.65)
    if fits(_drawn(part, replace(warm, top_p=None)), right(replace(warm, top_p=None))):
        ways.append(warm)
    return _judged(part, [*ways, Asked(B, OTHER, top_p=1.0)], FEWEST)


@check(
    parts=[PART],
    says="With both, top_k comes first: top_p sums the probabilities of the k tokens that are left.",
    cases=sampling_cases,
    needs=("top-k", "top-p"),
    numbers=False,
)
def top_k_first(part: Part, case: Case) -> Violation | None:
    hint = "Filter by top_k, take the softmax of what is left, then filter by top_p."
    ways = [(A, 3, 0.7), (B, 4, 0.5), (B, 2, 0.7)]
    return _judged(part, [Asked(z, OTHER, top_k=k, top_p=p) for z, k, p in ways], hint)
