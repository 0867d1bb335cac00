"""Who depends on whom in a language model: no later position, every earlier one, no other row, the order of tokens."""

from __future__ import annotations

import numpy as np

from grader.cases import Case, only_once
from grader.checks import check
from grader.checks.causality import picture
from grader.checks.lm_shapes import B, T, drawn, least, nan_rows, others, tokens
from grader.compare import Array, number
from grader.part import Part
from grader.patterns import name_dependence
from grader.probes.lm import SIZES, Model
from grader.probes.lm_value import names
from grader.probes.lm_watch import watch
from grader.verdict import Violation

CONTEXT = SIZES["context"]
HINT = "Mask S[t, s] for s > t before the softmax, with -inf rather than 0."
MILD = 0.5  # of the matrices: so that no weight of a softmax is lost, however peaked it is
MODELS = ((1, T, True), (2, CONTEXT, True), (1, CONTEXT, False))  # layers, positions, rotary


def influence(m: Model, case: Case, length: int) -> Array:
    """D[t, s]: the greatest change of logits at t, in any row of the batch, when token s is replaced. shapes: (T, T)"""
    x, D = tokens(case, B, length), np.zeros((length, length))
    m.instance.redraw(case.key[0], MILD)
    before, other = m.logits(x), others(case, x)
    for s in range(length):
        changed = x.copy()
        changed[:, s] = other[:, s]
        D[:, s] = np.abs(m.logits(changed) - before).max(axis=(0, 2))
    return np.asarray(np.where(least(m, before) >= D, 0.0, D))


def pattern(part: Part, case: Case) -> tuple[str, ...]:
    """The mistake that the numbers show, or else the mask or layout that a single layer's pattern tells."""
    if found := names(part, case.key[0]):
        return found
    D = influence(drawn(part, case, layers=1), case, T)
    key = name_dependence(D, (SIZES["heads"],)) if np.isfinite(D).all() else None
    if key is None:
        moves, past, own = D != 0, np.tri(T, dtype=bool), np.eye(T, dtype=bool)
        first = np.arange(T)[:, None] == 0
        last = np.arange(T)[:, None] == T - 1
        if np.array_equal(moves, past | first):
            key = "mask-strict"  # what may consult nothing consults everything
        elif np.array_equal(moves, past.T | own | last):
            key = "mask-inverted"
        elif any(np.array_equal(moves, past & ~np.tri(T, k=-w, dtype=bool)) for w in range(2, T)):
            key = "mask-window"
    if key and key.startswith("mask") and _masked(part, case):
        return ()  # the mask is right, and something else brings tokens together
    key = {"heads-split-and-merged-without-transpose": "heads-both-without-transpose"}.get(key or "", key)
    return (f"lm-{key}",) if key else ()


def _masked(part: Part, case: Case) -> bool:
    """Whether the scores that enter the softmax could be seen and have the right mask."""
    x = tokens(case, B, T)
    scores = watch(drawn(part, case, layers=1), x, matrices=B * SIZES["heads"], rows=range(T)).scores
    later = np.triu(np.ones((T, T), dtype=bool), 1)
    return bool(len(scores) and (scores[:, later] < -1e3).all() and (scores[:, ~later] > -1e3).all())


@check(
    parts=["DecoderLM"],
    says="A new token moves the logits at some other position.",
    cases=only_once,
    needs=("lm-shape", "lm-same-again", "lm-finite"),
    numbers=False,
)
def lm_tokens_meet(part: Part, case: Case) -> Violation | None:
    D = influence(drawn(part, case), case, T)
    if (D != 0)[~np.eye(T, dtype=bool)].any():
        return None
    return Violation(
        "no position moves when the token at another one is replaced",
        hint="Attention mixes positions; make it, and add what it finds to the stream.",
        picture=picture(D),
        names=pattern(part, case),
    )


@check(
    parts=["DecoderLM"],
    says="Replacing a token leaves the logits at all positions before it as they were, in every row of the batch.",
    cases=only_once,
    needs=("lm-shape", "lm-same-again"),
    carried=False,
    numbers=False,
)
def lm_later_is_hidden(part: Part, case: Case) -> Violation | None:
    for layers, length, rotary in MODELS:
        m = drawn(part, case, layers=layers, rotary=rotary)
        D = influence(m, case, length)
        if np.isnan(D).any():
            row = int(np.argwhere(np.isnan(D))[0, 0])
            return Violation(
                f"the logits at position {row} are NaN, so nothing can be said of what they depend on",
                hint="A row that may consult nothing becomes 0/0: every position consults itself.",
                names=nan_rows(part, case),
            )
        moved = np.argwhere(np.triu(D, 1) != 0)
        if len(moved):
            t, s = (int(i) for i in min(moved.tolist(), key=lambda place: (place[1] - place[0], place)))
            return Violation(
                f"the logits at position {t} move by {number(float(D[t, s]))} when token {s} is replaced",
                hint=HINT,
                where=(t, s),
                picture=picture(D),
                names=pattern(part, case),
            )
        if found := _whole_future(m, case, length):
            return found
    return None


def known(part: Part, case: Case, otherwise: tuple[str, ...]) -> tuple[str, ...]:
    """What the numbers show, or else another name, where it is not the mask's mistake that is seen."""
    return names(part, case.key[0]) or (otherwise if lm_later_is_hidden(part, case) is None else ())


def _whole_future(m: Model, case: Case, length: int) -> Violation | None:
    """All tokens after a cut replaced at once."""
    x = tokens(case, B, length)
    before, other = m.logits(x), others(case, x, stream=1)
    for cut in range(1, length):
        changed = np.concatenate([x[:, :cut], other[:, cut:]], axis=1)
        moved = np.abs(m.logits(changed) - before)[:, :cut].max()
        if not moved <= least(m, before):
            return Violation(
                f"logits before position {cut} move by {number(float(moved))} when all tokens from there on change",
                hint=HINT,
            )
    return None


@check(
    parts=["DecoderLM"],
    says="Replacing a token moves the logits at its position and at every later one.",
    cases=only_once,
    needs=("lm-shape", "lm-same-again", "lm-finite"),
    carried=False,
    numbers=False,
)
def lm_earlier_counts(part: Part, case: Case) -> Violation | None:
    for layers, length, rotary in MODELS:
        D = influence(drawn(part, case, layers=layers, rotary=rotary), case, length)
        still = np.argwhere((D == 0) & np.tri(length, dtype=bool))
        if len(still):
            t, s = (int(i) for i in max(still.tolist(), key=lambda place: (place[0] - place[1], place)))
            every = "no position moves when another token is replaced; " if not (np.tril(D, -1) != 0).any() else ""
            return Violation(
                f"{every}the logits at position {t} stay as they were when token {s} is replaced",
                hint="Every position attends to itself and to all positions before it, and adds what it finds.",
                where=(t, s),
                picture=picture(D),
                names=pattern(part, case),
            )
    return None


@check(
    parts=["DecoderLM"],
    says="New tokens in one row of the batch leave the other rows as they were, and a row alone gives the same.",
    cases=only_once,
    needs=("lm-shape", "lm-same-again", "lm-evaluation-repeats", "lm-finite", "lm-tokens-meet"),
    numbers=False,
)
def lm_batch_rows_apart(part: Part, case: Case) -> Violation | None:
    for rotary in (True, False):
        m, x, M = drawn(part, case, rotary=rotary), tokens(case, 3, T, stream=2), np.zeros((3, 3))
        before, other = m.logits(x), others(case, x, stream=2)
        for b in range(3):
            changed = x.copy()
            changed[b] = other[b]
            M[:, b] = np.abs(m.logits(changed) - before).max(axis=(1, 2))
        alone = float(np.abs(m.logits(x[1:2])[0] - before[1]).max())
        moved = np.argwhere(~np.eye(3, dtype=bool) & ~(least(m, before) >= M))
        if not len(moved) and alone <= 1e4 * least(m, before):
            continue
        a, b = (int(i) for i in moved[0]) if len(moved) else (1, 1)
        said = f"row {a} of the batch moves by {number(float(M[a, b]))} when row {b} changes"
        return Violation(
            said if len(moved) else f"a row alone differs by {number(alone)} from the same row in a batch",
            hint="The batch is no axis to attend, normalize or sum over; look at view, transpose and dim=.",
            where=(a, b),
            names=names(part, case.key[0]) or (("lm-batch-mixed",) if len(moved) else ()),
        )
    return None


@check(
    parts=["DecoderLM"],
    says="The logits of the first t tokens alone are those that the whole sequence has there.",
    cases=only_once,
    needs=("lm-shape", "lm-same-again", "lm-evaluation-repeats", "lm-finite", "lm-tokens-meet"),
    numbers=False,
)
def lm_prefix_agrees(part: Part, case: Case) -> Violation | None:
    for rotary in (True, False):
        m, x = drawn(part, case, rotary=rotary), tokens(case, B, CONTEXT, stream=3)
        whole = m.logits(x)
        for t in (1, 2, 7, CONTEXT - 1):
            gap = float(np.abs(m.logits(x[:, :t]) - whole[:, :t]).max())
            if not gap <= 1e4 * least(m, whole):
                return Violation(
                    f"with rotary={rotary}, logits of the first {t} tokens differ by {number(gap)} from those that all"
                    f" {CONTEXT} tokens have there",
                    hint="Position t depends on tokens 0..t alone: nothing is counted from the end or divided by T.",
                    names=known(part, case, ("lm-length-matters",) if rotary else ()),
                )
    return None


@check(
    parts=["DecoderLM"],
    says="The order of the tokens before counts: in another order the last logits are others.",
    cases=only_once,
    needs=("lm-shape", "lm-same-again", "lm-finite", "lm-tokens-meet"),
    numbers=False,
)
def lm_order_counts(part: Part, case: Case) -> Violation | None:
    for rotary in (True, False):
        for layers in (1, 2):
            m = drawn(part, case, layers=layers, rotary=rotary)
            x = np.array([[1, 5, 9, 3, 7, 2, 4], [8, 0, 6, 10, 5, 1, 3]])
            moved = float(np.abs(m.logits(x)[:, -1] - m.logits(x[:, [4, 0, 3, 1, 5, 2, 6]])[:, -1]).max())
            if not moved <= least(m, m.logits(x)):
                continue
            return Violation(
                f"with rotary={rotary} and {layers} layer{'s' * (layers > 1)}, the last logits are the same in whatever"
                " order the tokens before stand",
                hint="Turn queries and keys by their positions." if rotary else "Add P[:T] to the embeddings.",
                names=known(part, case, _unordered(m, rotary)),
            )
    return None


def _unordered(m: Model, rotary: bool) -> tuple[str, ...]:
    """No positions at all, or only those of the query: then twice the same tokens give something else."""
    once, twice = np.array([[1, 5, 9]]), np.array([[1, 5, 9, 1, 5, 9]])
    moved = float(np.abs(m.logits(once)[:, -1] - m.logits(twice)[:, -1]).max())
    if not rotary:
        return ("lm-positions-missing",) if moved <= 1e-5 else ()
    return ("lm-rotary-missing" if moved <= 1e-5 else "lm-rotary-only-q",)
