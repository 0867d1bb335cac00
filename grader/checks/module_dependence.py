"""Who depends on whom in a module: on no later position, on every earlier one, on no other row of the batch."""

from __future__ import annotations

from functools import partial

import numpy as np

from grader.cases import Case
from grader.checks import check
from grader.checks.causality import picture
from grader.checks.module_shapes import inputs, module_cases
from grader.compare import Array, number
from grader.part import Part
from grader.patterns import name_dependence
from grader.probes.module import WIDTH, Instance, build
from grader.probes.module_settings import LONE, LONG, SINGLE, WIDE, Setting, asked, in_training
from grader.verdict import Violation

B, T = 2, 6
SMALL = Setting("", B, T)
SHOWN, TAIL = 12, 40  # positions: of which a picture is drawn; at the end of many
HINT = "Mask S[t, s] for s > t before the softmax, with -inf rather than 0."


def influence(block: Instance, case: Case, B: int = B, T: int = T) -> Array:
    """D[t, s]: the greatest change at position t, in any row of the batch, when s is replaced. shapes: (T, T)"""
    x, D = inputs(case, B, T, block.width), np.zeros((T, T))
    before = block(x)
    for s in range(T):
        other = x.copy()
        other[:, s] = inputs(case, B, block.width, stream=100 + s)
        D[:, s] = np.abs(block(other) - before).max(axis=(0, 2))
    return D


def least(block: Instance) -> float:
    """What counts as a change: right blocks give rounding where nothing is to change, and 1e-4 and more elsewhere."""
    return 1e-9 if block.precision == "float64" else 1e-5


def name(D: Array, block: Instance) -> tuple[str, ...]:
    """The mask or layout that a pattern tells; none where results are not finite."""
    if not np.isfinite(D).all():
        return ()
    T = len(D)
    key = name_dependence(~(least(block) >= D))
    if key is None:
        moves, past, own = ~(least(block) >= D), np.tri(T, dtype=bool), np.eye(T, dtype=bool)
        first, last = np.zeros((T, T), dtype=bool), np.zeros((T, T), dtype=bool)
        first[0], last[-1] = True, True
        if np.array_equal(moves, past | first):
            key = "mask-strict-finite"  # what may consult nothing consults everything
        elif np.array_equal(moves, past.T | own | last):
            key = "mask-inverted-finite"
    return (key,) if key else ()


def _nan(y: Array) -> Violation | None:
    """NaN in whole rows: a position that may consult nothing. Or infinite results, of which nothing can be said."""
    if np.isinf(y).any():
        return Violation(f"{int(np.isinf(y).sum())} of {y.size} results are infinite")
    rows: list[int] = np.flatnonzero(np.isnan(y).any(axis=(0, 2))).tolist()
    if not rows:
        return None
    only = {0: "mask-strict", y.shape[1] - 1: "mask-inverted"}.get(rows[0]) if len(rows) == 1 else None
    return Violation(
        f"the results at position {rows[0]} are NaN, so nothing can be said of what they depend on",
        hint="A row that may consult nothing becomes 0/0: every position consults itself. For"
        " nn.MultiheadAttention True means: may NOT be consulted.",
        names=(only,) if only else (),
    )


@check(
    parts=["@module"],
    says="A new vector at some position changes the result at another one.",
    cases=module_cases,
    needs=("same-shape", "same-again"),
    carried=False,
    numbers=False,
)
def positions_meet(part: Part, case: Case) -> Violation | None:
    block = build(part).redraw(case.key[0])
    D = influence(block, case)
    if (~(least(block) >= D) & ~np.eye(T, dtype=bool)).any():
        return None
    return Violation(
        "no position moves when another one changes",
        hint="Attention mixes positions; make it, and add what it gives to the stream.",
        picture=picture(D),
    )


@check(
    parts=["@module"],
    says="New vectors at all positions after t leave the results at 0..t as they were, in every row of the batch.",
    cases=module_cases,
    needs=("same-shape", "same-again"),
    carried=False,
    numbers=False,
)
def later_is_hidden(part: Part, case: Case) -> Violation | None:
    block = build(part).redraw(case.key[0])
    x = inputs(case, B, T, WIDTH)
    before = block(x)
    if found := _nan(before):
        return found
    for cut in range(T - 1):
        for end in (cut + 2, T):
            other = x.copy()
            other[:, cut + 1 : end] = inputs(case, B, end - cut - 1, WIDTH, stream=200 + cut)
            if found := _leak(block, case, np.abs(block(other) - before)[:, : cut + 1]):
                return found
    for setting in (WIDE, LONE, SINGLE, LONG):
        if found := asked(part, setting, case.key[0], partial(_leaks, case=case, setting=setting)):
            return found
    training = in_training(part, case.key[0], x)
    return _leaks(training, case, Setting("training", B, T)) if training else None


def _leaks(block: Instance, case: Case, setting: Setting) -> Violation | None:
    """What earlier positions know of the last one."""
    x = setting.x(case.key)
    other = x.copy()
    other[:, -1] = setting.x(case.key, stream=200)[:, -1]
    return _leak(block, case, np.abs(block(other) - block(x))[:, :-1], setting)


def _leak(block: Instance, case: Case, moved: Array, setting: Setting = SMALL) -> Violation | None:
    """A violation where positions move that were to stay: those before what was replaced. shapes: moved (B, t, d)"""
    if moved.max() <= least(block):
        return None
    b, t, _ = (int(i) for i in np.unravel_index(int(np.nan_to_num(moved, nan=np.inf).argmax()), moved.shape))
    where = f" ({setting.label})" if setting.label else ""
    B, T = setting.B, setting.T
    D = influence(block, case, B, T) if T <= SHOWN else None
    apart = ~(_rows(block, case) > least(block)) | np.eye(3, dtype=bool)
    known = name(D, block) if D is not None else ()
    return Violation(
        f"position {t} moves by {number(float(moved.max()))} when positions after {moved.shape[1] - 1} change,"
        f" in row {b}{where}",
        hint=HINT,
        where=(b, t),
        size=float(moved.max()),
        allowed=least(block),
        picture=picture(D) if D is not None else None,
        names=known if apart.all() else ("module-batch-mixed",),
    )


@check(
    parts=["@module"],
    says="A new vector at any position s ≤ t changes the result at position t.",
    cases=module_cases,
    needs=("same-shape", "same-again"),
    carried=False,
    numbers=False,
)
def earlier_counts(part: Part, case: Case) -> Violation | None:
    block = build(part)
    D = np.maximum(*(influence(block.redraw(case.key[0] + again), case) for again in (0, 1)))
    unmoved = np.argwhere(np.tri(T, dtype=bool) & ~(least(block) < D))
    if not len(unmoved):
        return _forgets(part, case)
    if found := _nan(block(inputs(case, B, T, WIDTH))):
        return found
    t, s = (int(i) for i in unmoved[0])
    mixed = _rows(block, case) > least(block)
    across = not (D * ~np.eye(T, dtype=bool)).any() and (mixed & ~np.eye(3, dtype=bool)).any()
    return Violation(
        f"position {t} stays as it is when position {s} changes",
        hint="Position t consults every position s ≤ t, itself included."
        + " nn.MultiheadAttention takes [batch, time, width] with batch_first=True only." * bool(across),
        where=(t, s),
        picture=picture(D),
        names=("module-batch-as-time",) if across else name(D, block),
    )


def _forgets(part: Part, case: Case) -> Violation | None:
    """Whether the first of many positions moves none of the last ones, however the parameters are drawn."""

    def moved(block: Instance) -> bool:
        x = LONG.x(case.key)
        other = x.copy()
        other[:, 0] = LONG.x(case.key, stream=100)[:, 0]
        return not np.abs(block(other) - block(x))[:, -TAIL:].max() <= least(block)

    if any(asked(part, LONG, case.key[0] + again, moved) is not False for again in (0, 1)):
        return None
    return Violation(
        f"none of the last {TAIL} of {LONG.T} positions moves when position 0 changes",
        hint="Position t consults every position s ≤ t, however far back.",
    )


def _rows(block: Instance, case: Case) -> Array:
    """M[a, b]: the greatest change in row a of the batch when row b is replaced. shapes: (3, 3)"""
    x, M = inputs(case, 3, T, block.width, stream=3), np.zeros((3, 3))
    before = block(x)
    for b in range(3):
        other = x.copy()
        other[b] = inputs(case, T, block.width, stream=300 + b)
        M[:, b] = np.abs(block(other) - before).max(axis=(1, 2))
    return M


@check(
    parts=["@module"],
    says="A new sequence in one row of the batch leaves the other rows as they were, and the row alone gives the same.",
    cases=module_cases,
    needs=("same-shape", "same-again", "evaluation-repeats", "positions-meet"),
    numbers=False,
)
def batch_rows_apart(part: Part, case: Case) -> Violation | None:
    block = build(part).redraw(case.key[0])
    M = _rows(block, case)
    x = inputs(case, 3, T, WIDTH, stream=3)
    alone = float(np.abs(block(x[1:2]) - block(x)[1:2]).max())
    if np.isnan(M).any():
        return Violation("results are NaN, so nothing can be said of what they depend on", picture=picture(M))
    others = np.argwhere(~np.eye(3, dtype=bool) & ~(least(block) >= M))
    if not len(others) and alone <= 1e3 * least(block):
        return asked(part, WIDE, case.key[0], partial(_mixed, case=case))
    D = influence(block, case) > least(block)
    across = len(others) and not (D & ~np.eye(T, dtype=bool)).any()
    said = "row {} of the batch moves by {} when row {} changes"
    a, b = (int(i) for i in others[0]) if len(others) else (1, 1)
    return Violation(
        said.format(a, number(float(M[a, b])), b) if len(others) else f"a row alone differs by {number(alone)}",
        hint="The batch is no axis to attend, normalize or sum over; look at view, transpose and dim=.",
        where=(a, b),
        picture={
            **picture(M),
            "rows": "receiving row of the batch",
            "columns": "replaced row of the batch",
            "wanted": np.eye(3, dtype=int).tolist(),
        },
        names=("module-batch-as-time",) if across else ("module-batch-mixed",) if len(others) else (),
    )


def _mixed(block: Instance, case: Case) -> Violation | None:
    """Whether one sequence of a larger batch moves when all the others change."""
    x = WIDE.x(case.key)
    before = block(x)
    for b in (0, 2):
        other = WIDE.x(case.key, stream=300 + b)
        other[b] = x[b]
        moved = float(np.abs(block(other) - before)[b].max())
        if not moved <= least(block):
            return Violation(
                f"row {b} of the batch moves by {number(moved)} when the other rows change ({WIDE.B} rows)",
                hint="The batch is no axis to attend, normalize or sum over; look at view, transpose and dim=.",
                where=(b,),
                size=moved,
                allowed=least(block),
                names=("module-batch-mixed",),
            )
    return None
