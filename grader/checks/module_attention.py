"""A module's attention: weights that sum to 1, one softmax, in as many heads as are asked for, and joined."""

from __future__ import annotations

import numpy as np

from grader.cases import Case
from grader.checks import check
from grader.checks.module_dependence import B, T, influence, least
from grader.checks.module_shapes import inputs, module_cases
from grader.compare import number
from grader.part import Part
from grader.probes.heads import apart, swapped
from grader.probes.module import WIDTH, Instance, build
from grader.verdict import Violation

SHARP = 100.0  # of the parameters: scores in the tens of thousands


@check(
    parts=["@module"],
    says="Where all positions hold the same vector, all results are the same, and holding each one twice changes none.",
    cases=module_cases,
    needs=("same-shape", "later-is-hidden", "positions-meet", "batch-rows-apart"),
    numbers=False,
)
def weights_sum_to_one(part: Part, case: Case) -> Violation | None:
    block = build(part).redraw(case.key[0])
    y = block(np.repeat(inputs(case, B, 1, WIDTH), T, axis=1))
    size, allowed = max(1.0, float(np.abs(y).max())), 1e-6 if block.precision == "float64" else 1e-4
    gap = float(np.abs(y - y[:, :1]).max() / size)
    if gap <= allowed:
        return _twice(block, part, case, allowed)
    strict = np.abs(y[:, 1:] - y[:, 1:2]).max() <= allowed * size  # the first one alone consults nothing
    key = "mask-strict-zero" if strict else "module-weights-not-normalized"
    return Violation(
        f"the results differ by {number(gap)} of the largest number though every position holds the same vector",
        hint="Normalize the weights over the consulted positions: softmax(dim=-1), after the mask.",
        names=(key,) if np.isfinite(y).all() else (),
    )


def _doubled(block: Instance, case: Case) -> float | None:
    """How far results move when each position is there twice; None where they follow the order of positions."""
    x = inputs(case, B, T, WIDTH, stream=5)
    y, order = block(x), [*range(T - 2, -1, -1), T - 1]
    size = max(1.0, float(np.abs(y).max()))
    if np.abs(block(x[:, order]) - y)[:, -1].max() > (1e-6 if block.precision == "float64" else 1e-4) * size:
        return None
    return float(np.abs(block(np.repeat(x, 2, axis=1))[:, 1::2] - y).max() / size)


def _twice(block: Instance, part: Part, case: Case, allowed: float) -> Violation | None:
    """A softmax gives two equal positions half of the weight each, whatever else is there."""
    gap = _doubled(block, case)
    if gap is None or gap <= allowed or not influence(block, case, B, 2 * T)[-1].min() > least(block):
        return None  # the last: where not all positions count, another check says so
    sharp = _doubled(build(part).redraw(case.key[0], scale=SHARP), case)  # one position has all the weight
    return Violation(
        f"the results differ by {number(gap)} of the largest number when every position is there twice",
        hint="The weights are one softmax of the masked scores, and the scores do not depend on the length.",
        names=("module-softmax-twice",) if sharp is not None and sharp > allowed else (),
    )


@check(
    parts=["@module"],
    says="The number of heads is the one that is asked for, and a linear map joins them.",
    cases=module_cases,
    needs=("same-shape", "same-again", "positions-meet"),
    numbers=False,
)
def heads_count(part: Part, case: Case) -> Violation | None:
    if found := _ignored(part, case):
        return found
    if swapped(part, case.key[0]):
        return Violation(
            f"there are several heads where 1 is asked for, and 1 where {WIDTH} are",
            hint="heads is how many there are, width // heads how wide each is.",
            names=("module-heads-swapped",),
        )
    if apart(part, case.key[0]):
        return Violation(
            "each head moves coordinates of its own",
            hint="After the heads are put side by side comes a linear map from width to width.",
            names=("module-no-output-projection",),
        )
    return None


def _ignored(part: Part, case: Case) -> Violation | None:
    x = inputs(case, B, T, WIDTH)
    blocks = [build(part, heads=heads) for heads in (3, 4)]
    shapes = [[p.shape for p in block.parameters] for block in blocks]
    if shapes[0] != shapes[1]:
        return None
    one, other = (block.redraw(case.key[0])(x) for block in blocks)
    if not np.abs(one - other).max() <= least(blocks[0]):
        return None
    return Violation(
        "3 heads and 4 heads give the same result from the same parameters",
        hint="Split queries, keys and values into heads of width // heads, each with a softmax of its own.",
        names=("module-heads-ignored",),
    )
