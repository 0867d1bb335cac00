"""Where positions come from: turned queries and keys where rotary is True, a learned table where it is not."""

from __future__ import annotations

import numpy as np

from grader.cases import Case, only_once
from grader.checks import check
from grader.checks.lm_dependence import known
from grader.checks.lm_shapes import drawn, least, tokens
from grader.compare import Array, number
from grader.part import Part
from grader.probes.lm import SIZES, Model, model
from grader.probes.lm_rotary import angles, basis, below, name_scores, rest, tables
from grader.probes.lm_value import names
from grader.probes.lm_watch import Watched, watch
from grader.verdict import Violation

CONTEXT = SIZES["context"]
NEEDS = ("lm-shape", "lm-same-again", "lm-evaluation-repeats", "lm-finite", "lm-tokens-meet")
TURN = "Turn queries and keys, in pairs (i, i + d_k/2), by position · 10000^(-2i/d_k), and nothing else."
LONG, HEADS, WIDTH = 200, 3, 24  # d_k = 8: four pairs
ROWS = (0, 1, 2, 5, 11, 23, 40, 63, 90, 127, 150, 180, LONG - 1)
MOST = 400  # vectors among which q and k are looked for
FAR, FAR_ROWS = 2304, (63, 600, 2303)


def turning(part: Part, case: Case, heads: int = HEADS) -> tuple[Model, Watched]:
    """One layer, over three tokens that are repeated: what enters its softmax."""
    m = drawn(part, case, layers=1, context=256, width=WIDTH, heads=heads)
    x = np.repeat(np.array([[1], [4], [8]]), LONG, axis=1)
    return m, watch(m, x, matrices=3 * heads, rows=ROWS)


def room(m: Model) -> float:
    """What single precision leaves of scores, as a share of the largest: positions to 200 are exact to 2e-5."""
    return 1e-4 if m.instance.precision == "float64" else 1e-3


@check(
    parts=["DecoderLM"],
    says="Where rotary is True, one token repeated gives the same logits at all positions: values are not turned.",
    cases=only_once,
    needs=NEEDS,
    numbers=False,
)
def lm_repeated_token(part: Part, case: Case) -> Violation | None:
    m = drawn(part, case)
    Z = m.logits(np.repeat(np.array([[3], [6]]), CONTEXT, axis=1))
    gap = float(np.abs(Z - Z[:, :1]).max())
    if gap <= 1e4 * least(m, Z):
        return None
    return Violation(
        f"the logits differ by {number(gap)} though every position holds the same token",
        hint="Only queries and keys are turned; nothing is added to the embeddings; each row of weights sums to 1.",
        names=known(part, case, _absolute(part, case)),
    )


def _absolute(part: Part, case: Case) -> tuple[str, ...]:
    """What makes positions differ: the first one consults nothing, a table, turned values, weights that sum to less."""
    single = drawn(part, case, layers=1).logits(np.full((1, CONTEXT), 3))[0]
    if np.abs(single[1:] - single[1]).max() <= 1e-4 * np.abs(single[0] - single[1]).max():
        return ("lm-mask-strict",)
    if table(part, rotary=True) is not None:
        return ("lm-positions-twice",)
    m, seen = turning(part, case)
    if not len(seen.scores) or not len(seen.values):
        return ()
    if np.abs(seen.values - seen.values[:, :1]).max() > room(m) * np.abs(seen.values).max():
        right, _ = rest(below(seen.scores, ROWS), basis(*tables(LONG, angles(WIDTH // HEADS)), ROWS))
        return ("lm-rotary-on-values",) if right <= room(m) else ()
    return ("lm-weights-not-normalized",)


@check(
    parts=["DecoderLM"],
    says="Turned scores depend on the distance alone, by the angles 10000^(-2i/d_k).",
    cases=only_once,
    needs=(*NEEDS, "lm-order-counts"),
    numbers=False,
)
def lm_rotary_scores(part: Part, case: Case) -> Violation | None:
    m, seen = turning(part, case)
    if not len(seen.scores):
        part.note("the scores could not be seen")
        return None
    d_k = WIDTH // HEADS
    entries = below(seen.scores, ROWS)
    if not np.isfinite(entries).all():
        return None  # they are masked where they are wanted, which other checks tell
    left, shares = rest(entries, basis(*tables(LONG, angles(d_k)), ROWS))
    if not left <= room(m):
        key = name_scores(seen.scores, ROWS, LONG, d_k, WIDTH, room(m))
        return Violation(
            f"for one token repeated, {number(left)} of the first layer's scores is not what turning gives",
            size=left,
            allowed=room(m),
            hint=TURN,
            names=names(part, case.key[0]) or ((key,) if key else ()),
        )
    size = np.abs(shares).reshape(2, d_k // 2, -1).max(axis=(0, 2))
    if idle := np.flatnonzero(size <= room(m) * size.max()).tolist():
        return Violation(
            f"no pair of coordinates is turned by 10000^(-{2 * idle[0]}/{d_k})",
            hint=TURN,
            names=names(part, case.key[0]),
        )
    return None


@check(
    parts=["DecoderLM"],
    says="Scores are divided by the square root of d_k = width / heads.",
    cases=only_once,
    needs=NEEDS,
    numbers=False,
)
def lm_scale(part: Part, case: Case) -> Violation | None:
    m, seen = turning(part, case)
    d_k = WIDTH // HEADS
    found = _factors(seen, d_k, 10 * room(m))
    right = d_k**-0.5
    if not found or any(abs(c / right - 1) <= 10 * room(m) for c in found) or _follows_heads(part, case, seen):
        return None
    key = {1.0: "missing", 1 / d_k: "by-width", d_k**0.5: "multiplied", d_k: "multiplied"}
    key[WIDTH**-0.5] = "by-model-width"
    told = [name for c, name in key.items() if abs(found[0] / c - 1) <= 10 * room(m)]
    return Violation(
        f"scores are {number(round(found[0], 4))} times q·k, where 1/√d_k is {number(round(right, 4))} for d_k = {d_k}",
        hint="Divide Q Kᵀ by the square root of d_k, once.",
        names=names(part, case.key[0]) or (f"lm-scale-{told[0] if told else 'other'}",) if len(found) == 1 else (),
    )


def _follows_heads(part: Part, case: Case, seen: Watched) -> bool:
    """Whether projections are other ones with another number of heads: then the scale may be in them."""
    other = turning(part, case, heads=2)[1].projections
    if [p.shape for p in seen.projections] != [p.shape for p in other]:
        return False
    return any(np.abs(p - q).max() > 1e-5 * np.abs(p).max() for p, q in zip(seen.projections, other, strict=True))


def _factors(seen: Watched, d_k: int, near: float) -> list[float]:
    """c such that every head's scores at position 0 are c times some q·k among the projections; usually one."""
    blocks = [p[:, at : at + d_k] for p in seen.projections for at in range(0, p.shape[1] - d_k + 1, d_k)]
    blocks += [p[:, at : at + WIDTH][:, i::HEADS] for p in seen.projections for at in _wide(p) for i in range(HEADS)]
    if not blocks or len(seen.scores) != 3 * HEADS:
        return []
    stacked = np.array(blocks[:MOST])
    dots = np.einsum("ibk,jbk->ijb", stacked, stacked)
    at_first = seen.scores[:, 0, 0]
    for order in (at_first.reshape(3, HEADS).T, at_first.reshape(HEADS, 3)):
        found: list[float] | None = None
        for head in order:
            with np.errstate(all="ignore"):
                ratio = head / dots
            mean = ratio.mean(axis=-1)
            steady = np.isfinite(mean) & (mean != 0) & (np.ptp(ratio, axis=-1) <= near * np.abs(mean))
            here = sorted({float(f"{c:.4g}") for c in mean[steady]})
            found = here if found is None else [c for c in found if any(abs(c / other - 1) < near for other in here)]
        if found:
            return found
    return []


def _wide(p: Array) -> range:
    return range(0, p.shape[1] - WIDTH + 1, WIDTH)


@check(
    parts=["DecoderLM"],
    says="Turned scores are exact beyond position 2048.",
    cases=only_once,
    needs=NEEDS,
    numbers=False,
)
def lm_far_positions(part: Part, case: Case) -> Violation | None:
    m = drawn(part, case, layers=1, context=FAR, width=8, heads=1, hidden=4)
    seen = watch(m, np.full((1, FAR), 5), matrices=1, rows=FAR_ROWS)
    if not len(seen.scores):
        part.note("the scores could not be seen")
        return None
    gap, allowed, size = 0.0, 2e-3, max(float(np.abs(below(seen.scores, FAR_ROWS)).max()), 1e-30)
    for row, t in enumerate(FAR_ROWS[:-1]):
        near, far = seen.scores[:, row, : t + 1], seen.scores[:, -1, FAR - 1 - t :]
        gap = max(gap, float(np.abs(near - far).max()) / size)
    if gap <= allowed or not np.isfinite(size):
        return None
    key = name_scores(seen.scores, FAR_ROWS, FAR, 8, 8, 2 * allowed)
    return Violation(
        f"scores at the same distance differ by {number(gap)} of the largest, near position {FAR_ROWS[0]} and near"
        f" position {FAR - 1}",
        size=gap,
        allowed=allowed,
        hint="Compute positions, angles, sine and cosine in float32 at least, for every position of the context.",
        names=names(part, case.key[0]) or ((key,) if key else ()),
    )


def table(part: Part, *, rotary: bool) -> int | None:
    """The place of the parameter that grows with the context; None where none does."""
    one, other = (
        model(part, rotary=rotary, layers=1, context=length).instance.parameters for length in (CONTEXT, CONTEXT + 2)
    )
    grown = [i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a.shape != b.shape and a.trainable]
    return grown[0] if grown and len(one) == len(other) else None


@check(
    parts=["DecoderLM"],
    says="Where rotary is False, row t of a learned table belongs to position t, and nothing is turned.",
    cases=only_once,
    needs=(*NEEDS, "lm-every-parameter"),
    numbers=False,
)
def lm_learned_positions(part: Part, case: Case) -> Violation | None:
    m, place = drawn(part, case, layers=1, rotary=False), table(part, rotary=False)
    hint = "With rotary=False: H = E[tokens] + P[:T], P a parameter (context, d); nothing is turned."
    if place is None:
        return Violation(
            "with rotary=False, no parameter grows with the context",
            hint=hint,
            names=known(part, case, ("lm-positions-not-learned",) if _ordered(m) else ()),
        )
    shape = m.instance.parameters[place].shape
    axis = next((i for i, size in enumerate(shape) if CONTEXT <= size <= CONTEXT + 4), 0)
    x, rows = tokens(case, 1, CONTEXT, stream=5), []
    for t in (0, 3, CONTEXT - 1):
        c = np.zeros((1, CONTEXT, m.vocab_size))
        c[:, t] = np.random.default_rng((*case.key, t)).standard_normal(m.vocab_size)
        g = m.instance.gradients(x, c).parameters[place]
        size = np.abs(np.zeros(shape) if g is None else g).max(axis=tuple(i for i in range(len(shape)) if i != axis))
        rows.append(np.flatnonzero(size > 1e-12 * max(size.max(), 1e-30)).tolist())
        if rows[-1] != list(range(t + 1)):
            return Violation(
                f"the logits at position {t} depend on the rows {rows[-1]} of the positions,"
                f" {list(range(t + 1))} is wanted",
                hint=hint,
                names=known(part, case, _misplaced(rows[0])),
            )
    m.instance.zero([place])
    seen = watch(m, np.full((1, CONTEXT), 3), matrices=SIZES["heads"], rows=range(CONTEXT))
    entries = below(seen.scores, range(CONTEXT)) if len(seen.scores) else np.zeros((1, 1))
    if np.isfinite(entries).all() and np.ptp(entries, axis=0).max() > room(m) * np.abs(entries).max():
        return Violation(
            "with the learned positions at 0, scores still depend on where a token stands",
            hint=hint,
            names=known(part, case, ("lm-positions-twice",)),
        )
    return None


def _ordered(m: Model) -> bool:
    """Whether the last logits of a single layer follow the order of the tokens before, as without positions none do."""
    x = np.array([[1, 5, 9, 3, 7, 2, 4]])
    moved = m.logits(x)[:, -1] - m.logits(x[:, [4, 0, 3, 1, 5, 2, 6]])[:, -1]
    return bool(np.abs(moved).max() > 1e-5)


def _misplaced(rows: list[int]) -> tuple[str, ...]:
    """By the rows that position 0 gets."""
    if rows == [1]:
        return ("lm-positions-off-by-one",)
    return ("lm-positions-reversed",) if rows == [CONTEXT - 1] else ()
