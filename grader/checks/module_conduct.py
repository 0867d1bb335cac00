"""A module's conduct and stability: the same answer to the same question, no side effects, finite numbers."""

from __future__ import annotations

from functools import partial

import numpy as np

from grader.cases import Case
from grader.checks import check
from grader.checks.module_shapes import inputs, module_cases, wrong_shape
from grader.compare import Array, number
from grader.part import Part
from grader.probes.module import WIDTH, Instance, build
from grader.probes.module_settings import LONG, WIDE, Setting, asked, in_training
from grader.verdict import Violation

NEEDS = ("same-shape", "same-again", "positions-meet")
SCALES = (12.0, 100.0)  # of the parameters: scores in the hundreds, and in the tens of thousands


@check(
    parts=["@module"], says="The same input gives the same result after other calls.", cases=module_cases, numbers=False
)
def same_again(part: Part, case: Case) -> Violation | None:
    block = build(part).redraw(case.key[0])
    x, other = inputs(case, 2, 5, WIDTH), inputs(case, 3, 4, WIDTH, stream=1)
    first = block.forward(x)
    block.forward(other)
    again = block.forward(x)
    if not _alike(again, first):
        return Violation(
            f"the same input gives a result that differs by {number(float(np.abs(again - first).max()))}",
            hint="Results depend on the input and the parameters alone: no counters, no buffers that calls change.",
            names=("module-remembers-calls",),
        )
    if _kept(block, case, x, first):
        return Violation(
            "other vectors of the same shape get the result of those that came first",
            hint="Results depend on the input and the parameters alone: keep none for later calls.",
            names=("module-remembers-calls",),
        )
    return None


def _kept(block: Instance, case: Case, x: Array, first: Array) -> bool:
    """Whether a shape's first input decides for all that follow; a constant follows none."""
    if not np.array_equal(block.forward(inputs(case, *x.shape, stream=2)), first):
        return False
    one, other = (block.forward(inputs(case, 5, T, WIDTH, stream=T)) for T in (7, 8))
    return one.shape[1:2] == (7,) and one.ndim == other.ndim == 3 and not np.array_equal(one, other[:, :7])


def _alike(y: Array, first: Array) -> bool:
    return np.allclose(y, first, rtol=1e-6, atol=1e-6, equal_nan=True)


@check(
    parts=["@module"],
    says="In evaluation nothing is drawn: results do not follow the random generators.",
    cases=module_cases,
    needs=NEEDS,
    numbers=False,
)
def evaluation_repeats(part: Part, case: Case) -> Violation | None:
    block, x = build(part).redraw(case.key[0]), inputs(case, 2, 5, WIDTH)
    first, seeded = block.forward(x, seed=1), block.forward(x, seed=2)
    moved = 0.0 if _alike(seeded, first) else float(np.abs(seeded - first).max())
    for setting in (WIDE, LONG):
        moved = moved or asked(part, setting, case.key[0], partial(_drawn, case=case, setting=setting)) or 0.0
    if moved == 0:
        return None
    return Violation(
        f"the result follows the random generator, by {number(moved)}",
        hint="Dropout ends with eval(): use nn.Dropout, or pass training=self.training.",
        names=("module-random-in-evaluation",),
    )


def _drawn(block: Instance, case: Case, setting: Setting) -> float:
    """How far results move from one seed to another, in a larger setting."""
    first, seeded = (block.forward(setting.x(case.key), seed=seed) for seed in (1, 2))
    return 0.0 if _alike(seeded, first) else float(np.abs(seeded - first).max())


@check(
    parts=["@module"],
    says="Training runs, may drop out, and leaves evaluation as it was.",
    cases=module_cases,
    needs=NEEDS,
    numbers=False,
)
def training_runs(part: Part, case: Case) -> Violation | None:
    x = inputs(case, 2, 5, WIDTH)
    before, y, after = _trained(part, case, x)
    if found := wrong_shape(y, x, "in training"):
        return found
    if not np.isfinite(y).all():
        return Violation("a result in training is not finite")
    if not np.allclose(after, before, rtol=1e-6, atol=1e-6):
        return Violation(
            "a call in training changes what evaluation gives",
            hint="Running statistics do not belong here: a block normalizes each position by itself.",
            names=("module-remembers-calls",),
        )
    return None


def _trained(part: Part, case: Case, x: Array) -> tuple[Array, Array, Array]:
    """Results in evaluation, in training, and in evaluation again.

    What torch computes weights by (spectral norm) may follow the training: the weights themselves are what counts.
    """
    block = build(part, fresh=True, plain=True).redraw(case.key[0])
    before = block.forward(x)
    block.train(True)
    y = block.forward(x)
    block.train(False)
    return before, y, block.forward(x)


def changed_by_training(part: Part, case: Case) -> bool:
    """Whether a call in training changes what evaluation gives."""
    before, _, after = _trained(part, case, inputs(case, 2, 5, WIDTH))
    return not np.allclose(after, before, rtol=1e-6, atol=1e-6)


@check(
    parts=["@module"],
    says="The input is the same after the call as before it, in evaluation and in training.",
    cases=module_cases,
    needs=NEEDS,
    numbers=False,
)
def input_kept(part: Part, case: Case) -> Violation | None:
    x = inputs(case, 2, 5, WIDTH)
    blocks = {"": build(part).redraw(case.key[0]), " in training": in_training(part, case.key[0], x)}
    for when, block in blocks.items():
        if block and not np.array_equal(block.reply(x).args_after, x.astype(block.precision)):
            return Violation(
                f"the input is changed by the call{when}",
                hint="Make a new tensor: write x = x + y rather than x += y.",
                names=("argument-changed",),
            )
    return None


@check(
    parts=["@module"],
    says="Instances are independent: they agree on the same parameters, and one keeps its own when the other changes.",
    cases=module_cases,
    needs=(*NEEDS, "registered", "evaluation-repeats", "training-runs"),
    numbers=False,
)
def instances_apart(part: Part, case: Case) -> Violation | None:
    x = inputs(case, 2, 5, WIDTH)
    one = build(part).redraw(case.key[0])
    before = one(x)
    other = build(part, fresh=True).redraw(case.key[0] + 1)
    other(x)
    if _apart(one(x), before):
        return Violation(
            "new parameters of one instance change what another instance gives",
            hint="Make layers and parameters in __init__, as attributes of self; not in the class or the module.",
            names=("module-shares-state",),
        )
    learned = all(parameter.trainable for parameter in one.parameters)
    if learned and _apart(other.redraw(case.key[0])(x), before) and _apart(other.copy(one)(x), before):
        return Violation(
            "two instances with the same parameters give different results",
            hint="Everything that differs between instances is a parameter or a buffer, drawn in __init__.",
            names=("module-hidden-state",),
        )
    return None


def _apart(y: Array, before: Array) -> bool:
    return bool(np.abs(y - before).max() > 1e-5)


def _constant(case: Case) -> Array:
    """Rows of which every entry is the same, zeros among them."""
    return np.repeat(np.round(inputs(case, 2, 5, 1), 1) * [[[1.0]] * 4 + [[0.0]]], WIDTH, axis=2)


@check(
    parts=["@module"],
    says="Results are finite for inputs of 1e4, of 1e-4, and for rows of equal numbers, in float64 and float32.",
    cases=module_cases,
    needs=NEEDS,
    numbers=False,
)
def finite(part: Part, case: Case) -> Violation | None:
    x = inputs(case, 2, 5, WIDTH)
    for block in (build(part).redraw(case.key[0]), build(part, precision="float32").redraw(case.key[0])):
        for label, given in (("1e4", 1e4 * x), ("1e-4", 1e-4 * x), ("equal entries", _constant(case))):
            y = block.forward(given)
            if not np.isfinite(y).all():
                constant = label == "equal entries"
                return Violation(
                    f"{int((~np.isfinite(y)).sum())} of {y.size} results are not finite for rows of {label}"
                    f" in {block.precision}",
                    hint="The norm divides by the root of variance + eps, which is never 0." if constant else "",
                    names=("module-norm-no-eps",) if constant else (),
                )
    return None


@check(
    parts=["@module"],
    says="Where scores are in the hundreds, results are finite in float32, and later positions stay hidden.",
    cases=module_cases,
    needs=(*NEEDS, "finite"),
    numbers=False,
)
def large_parameters(part: Part, case: Case) -> Violation | None:
    block, x = build(part, precision="float32").redraw(case.key[0], scale=SCALES[0]), inputs(case, 2, 6, WIDTH)
    y = block.forward(x)
    if not np.isfinite(y).all():
        even = block.forward(np.repeat(inputs(case, 8, 1, WIDTH, stream=9), 3, axis=1))  # no score is below another
        return Violation(
            f"{int((~np.isfinite(y)).sum())} of {y.size} results are not finite for large parameters",
            hint="Use torch.softmax, or subtract each row's maximum before exp.",
            names=("module-softmax-no-maximum",) if not np.isfinite(even).all() else (),
        )
    for scale in (1.0, *SCALES):
        if moved := _leaking(build(part).redraw(case.key[0], scale=scale), case, x):
            if scale == 1:
                return None  # a mask that never holds is another check's
            return Violation(
                f"an earlier position moves by {number(moved)} of the largest number when later ones change,"
                f" with parameters of {scale:g}",
                hint="Mask with -inf: allowed scores of large parameters are below a number like -100 or -1e4.",
                names=("module-mask-finite",),
            )
    return None


def _leaking(block: Instance, case: Case, x: Array) -> float:
    """By how much of the largest number a position moves at most when all after it change; 0 for rounding."""
    before, least = block(x), 1e-9 if block.precision == "float64" else 1e-4
    moved = 0.0
    for cut in (1, 2, 4):
        other = x.copy()
        other[:, cut:] = inputs(case, 2, 6, WIDTH, stream=500 + cut)[:, cut:]
        moved = max(moved, float(np.abs(block(other) - before)[:, :cut].max() / max(1.0, np.abs(before).max())))
    return moved if moved > least else 0.0
