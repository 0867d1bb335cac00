"""A module's gradients: they reach every parameter and the input, agree with differences, and pass deep stacks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np

from grader.cases import Case
from grader.checks import check
from grader.checks.module_shapes import inputs, module_cases
from grader.checks.module_structure import wiring
from grader.compare import Array, number
from grader.part import Part
from grader.probes.heads import apart
from grader.probes.module import WIDTH, Gradients, Instance, Raised, build
from grader.probes.module_settings import WIDE, asked, in_training
from grader.verdict import Violation

FINE, COARSE = (6e-6, 1e-5), (1e-3, 5e-2)  # (step, relative error), in double precision, and in single
CUT = "Something on the way is cut off: look for detach, no_grad, .data, .item(), .numpy(), torch.tensor."
DISTINCT = 12  # blocks with parameters of their own; 48 are these four times over
NEEDS = ("same-shape", "same-again", "positions-meet", "registered", "fine-steps", "input-kept")


def gradients(block: Instance, x: Array, c: Array, *, whole: bool = True) -> Gradients | Violation:
    """The gradients, or what stands in the way of them."""
    try:
        return block.gradients(x, c, whole=whole)
    except Raised as fault:
        if "modified by an inplace operation" not in fault.text:
            raise
        return Violation(
            f"the gradient cannot be computed: {fault.text.split(':')[0]}",
            hint="A tensor is changed in place (+=, mul_, x[...] = y) after another step has kept it: make a new one.",
            names=("module-overwritten-in-place",),
        )


def agree(block: Instance, observed: float, move: Any) -> tuple[bool, float]:
    """Whether a slope is that of central differences; `move(h)` is the weighted result at step h. Also theirs."""

    move = cache(move)

    def slope(step: float) -> float:
        return float(move(step) - move(-step)) / (2 * step)

    found, (step, relative) = slope(FINE[0]), FINE
    if not settled(move):  # some compute inside in single precision
        step, relative = COARSE
        found = slope(step)
    return abs(observed - found) <= relative * (1 + abs(found)), found


def settled(move: Any) -> bool:
    """Whether differences at two small steps agree: neither rounding nor a bend is in the way."""
    near, far = ((move(step) - move(-step)) / (2 * step) for step in (FINE[0], 2 * FINE[0]))
    return bool(abs(near - far) <= 1e-5 * (1 + abs(near)))


@check(
    parts=["@module"],
    says="Every parameter on which the result depends gets a gradient, the slope that differences show.",
    cases=module_cases,
    needs=NEEDS,
    numbers=False,
)
def every_parameter(part: Part, case: Case) -> Violation | None:
    block = build(part).redraw(case.key[0])
    x, c = (inputs(case, 2, 5, WIDTH, stream=stream) for stream in (0, 1))
    if frozen := [i for i, p in enumerate(block.parameters) if not p.trainable]:
        return Violation(
            f"{block.names(frozen)} cannot learn: requires_grad is False",
            hint="Leave requires_grad as it is; a mask is a buffer, not a parameter.",
            names=("module-frozen",),
        )
    if not np.isfinite(block(x)).all():
        return Violation("results are not finite, so there is no slope to compare with")
    found = gradients(block, x, c)
    if isinstance(found, Violation):
        return found
    unreached = []
    for i, given in enumerate(found.parameters):
        if given is not None and not np.isfinite(given).all():
            return Violation(f"the gradient of {block.names([i])} is {number(float(given.flat[0]))}")
        if given is None or found.norms[i] <= 1e-11 * found.norms.max():
            unreached.append(i)
    cut = _moving(block, unreached, x)
    if not cut:
        cut = _wrong(block, found.parameters, x, c)
    if cut:
        return Violation(f"{block.names(cut)}: no gradient or a wrong one", hint=CUT, names=("module-gradient-cut",))
    return None


@check(
    parts=["@module"],
    says="The result depends on every parameter, but for a shift of the keys, which the softmax takes out again.",
    cases=module_cases,
    needs=("same-shape", "same-again", "positions-meet", "registered", "every-parameter"),
    numbers=False,
)
def all_used(part: Part, case: Case) -> Violation | None:
    block, x = build(part).redraw(case.key[0]), inputs(case, 2, 5, WIDTH)
    learned = [i for i, p in enumerate(block.parameters) if p.trainable]
    moving = set(_moving(block, learned, x))
    idle = [i for i in learned if i not in moving]
    found = gradients(block, x, inputs(case, 2, 5, WIDTH, stream=1))
    if isinstance(found, Violation):
        return found
    if all(np.prod(block.parameters[i].shape) <= WIDTH for i in idle):
        idle = [i for i in idle if found.norms[i] < 0]
    silent = [(i, k) for i, k in _silent(block, found.parameters) if i not in idle]
    if silent:  # a unit of ReLU may be silent for a few positions
        more = gradients(block, inputs(case, 16, 15, WIDTH, stream=2), inputs(case, 16, 15, WIDTH, stream=3))
        silent = [] if isinstance(more, Violation) else [at for at in silent if at in _silent(block, more.parameters)]
    layers = [f"{block.names([i])}[{k}]" for i, k in silent]
    if not idle and not layers:
        return None
    return Violation(
        f"{block.names(idle) or ', '.join(layers[:6])}: never used",
        hint="Use every layer that __init__ makes, each in its place, or leave it out.",
        names=() if wiring(part, case) or apart(part, case.key[0]) else ("module-parameter-unused",),
    )


def _silent(block: Instance, given: Sequence[Array | None]) -> list[tuple[int, int]]:
    """The maps in parameters of several that get no gradient, by parameter and place."""
    several = (len(sides) > 2 for sides in ([n for n in p.shape if n != 1] for p in block.parameters))
    stacked = [(i, g) for (i, g), many in zip(enumerate(given), several, strict=True) if many and g is not None]
    return [(i, int(k)) for i, g in stacked for k in np.flatnonzero(~g.reshape(len(g), -1).any(axis=1))]


def _moving(block: Instance, places: Sequence[int], x: Array) -> list[int]:
    """The parameters on which the result depends, be it by their direction alone: a multiple may change nothing."""
    block.scale({})
    before, found = block(x), []
    for place in places:
        if (value := block.values[place]) is not None:
            step = np.random.default_rng(53).standard_normal(value.shape)
            values = list(block.values)
            values[place] = value + step * float(np.abs(value).max(initial=0.0))
            block.fill(values)
            if np.abs(block(x) - before).max() > 1e-7 * np.abs(before).max():
                found.append(place)
    block.scale({})
    return found


def _wrong(block: Instance, found: Sequence[Array | None], x: Array, c: Array) -> list[int]:
    """Parameters whose gradient is not the slope: all at once, and one by one when that differs."""
    rng = np.random.default_rng(13)
    values = list(block.values)
    directions = [rng.standard_normal(p.shape) for p in block.parameters]

    def differ(places: Sequence[int]) -> bool:
        def move(step: float) -> float:
            block.fill([v + step * directions[i] if i in places and v is not None else v for i, v in enumerate(values)])
            return float(np.sum(c * block(x)))

        observed = sum(float(np.sum(g * directions[i])) for i in places if (g := found[i]) is not None)
        right, _ = agree(block, observed, move)
        block.fill(values)
        return not right

    everything = range(len(values))
    return [i for i in everything if differ([i])] if differ(everything) else []


@check(
    parts=["@module"],
    says="The gradient of the input is the slope that differences show, in all sizes, in float32 and in training.",
    cases=module_cases,
    needs=NEEDS,
    numbers=False,
)
def input_gradient(part: Part, case: Case) -> Violation | None:
    block = build(part).redraw(case.key[0])
    x, c = (inputs(case, 2, 5, WIDTH, stream=stream) for stream in (5, 6))
    found = gradients(block, x, c, whole=False)
    if isinstance(found, Violation):
        return found
    if cut := _slope(block, x, c, found):
        return cut
    wide = asked(part, WIDE, case.key[0], partial(_wide, case=case))
    return wide or _single(part, case, x, c, found) or _trained(part, case, x, c)


def _wide(block: Instance, case: Case) -> Violation | None:
    """The gradient in a larger setting."""
    x, c = (WIDE.x(case.key, stream) for stream in (5, 6))
    found = gradients(block, x, c, whole=False)
    return _marked(found if isinstance(found, Violation) else _slope(block, x, c, found, even=True), WIDE.label)


def _trained(part: Part, case: Case, x: Array, c: Array) -> Violation | None:
    """The gradient in training, where that draws the same numbers again."""
    if not (block := in_training(part, case.key[0], x)):
        return None
    found = gradients(block, x, c, whole=False)
    return _marked(found if isinstance(found, Violation) else _slope(block, x, c, found, even=True), "in training")


def _single(part: Part, case: Case, x: Array, c: Array, found: Gradients) -> Violation | None:
    """The gradient in float32 is the one in float64, but for rounding."""
    if found.x is None:
        return None
    block = build(part, precision="float32").redraw(case.key[0])
    y = build(part).redraw(case.key[0])(x)
    if not np.abs(block(x) - y).max() <= 1e-3 * np.abs(y).max():
        return None  # another result has another gradient
    single = gradients(block, x, c, whole=False)
    if isinstance(single, Violation):
        return _marked(single, "float32")
    gap = np.inf if single.x is None else float(np.abs(single.x - found.x).max() / np.abs(found.x).max())
    if gap <= 1e-2:
        return None
    told = "there is none" if single.x is None else f"they differ by {number(gap)} of the largest number"
    return Violation(
        f"the gradient of the input in float32 is not that in float64: {told}",
        hint=CUT,
        names=("module-gradient-cut",),
    )


def _marked(found: Violation | None, label: str) -> Violation | None:
    return found and replace(found, message=f"{found.message} ({label})")


def _slope(block: Instance, x: Array, c: Array, found: Gradients, *, even: bool = False) -> Violation | None:
    """A violation when the input's gradient is not what differences show; `even`: only where these settle it."""
    u = np.random.default_rng(19).standard_normal(x.shape)
    observed = 0.0 if found.x is None else float(np.sum(found.x * u))

    def move(step: float) -> float:
        return float(np.sum(c * block(x + step * u)))

    right, expected = agree(block, observed, move)
    if right or (even and not settled(move)):
        return None
    return Violation(
        f"the derivative along the input is {number(expected)} by finite differences,"
        f" automatic differentiation gives {'nothing' if found.x is None else number(observed)}",
        expected=float(f"{expected:.4g}"),
        observed=None if found.x is None else float(f"{observed:.4g}"),
        hint=CUT,
        names=("module-gradient-cut",) if np.isfinite(expected) else (),
    )


@check(
    parts=["@module"],
    says="Gradients stay finite, and reach every parameter, through stacks of 12 and of 48 blocks.",
    cases=module_cases,
    needs=NEEDS,
    numbers=False,
)
def deep_stacks(part: Part, case: Case) -> Violation | None:
    stack = build(part, count=DISTINCT, fresh=True).redraw(case.key[0])
    x, c = (inputs(case, 2, 3, WIDTH, stream=stream) for stream in (8, 9))
    alone = gradients(build(part).redraw(case.key[0]), x, c, whole=False)
    if isinstance(alone, Violation):
        return alone
    reached = alone.norms > 1e-11 * alone.norms.max()
    for repeats in (1, 4):
        block, count = stack.times(repeats), repeats * DISTINCT
        found = gradients(block, x, c, whole=False)
        if isinstance(found, Violation):
            return found
        drawn = series(found, count)
        if not (np.isfinite(found.norms).all() and np.isfinite(found.forward).all()):
            return Violation(f"{count} blocks: a result or a gradient is not finite", picture=drawn)
        each = len(block.parameters) // DISTINCT
        silent = np.flatnonzero((found.norms <= 1e-11 * found.norms.max()) & np.tile(reached, DISTINCT)).tolist()
        if silent:
            return Violation(
                f"{count} blocks: no gradient reaches {block.names(silent[:1])} of block {silent[0] // each + 1}",
                hint=CUT,
                picture=drawn,
            )
        if count == DISTINCT and (cut := _slope(block, x, c, found, even=True)):
            return replace(cut, message=f"{count} blocks: {cut.message}", picture=drawn)
        part.show(drawn)
    return None


def series(found: Gradients, count: int) -> dict[str, Any]:
    """The norms layer by layer, for a plot: of the stream, and of the gradient at it."""
    return {
        "kind": "series",
        "title": f"{count} blocks",
        "x": "after block",
        "names": ["norm of the stream", "norm of the gradient"],
        "matrix": [[float(f"{v:.4g}") for v in norms] for norms in (found.forward, found.backward)],
    }
