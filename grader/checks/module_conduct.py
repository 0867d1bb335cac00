"""A module's conduct and stability: the same answer to the same question, no side effects, finite numbers."""

from __future__ import annotations

import numpy as np

from grader.cases import Case
from grader.checks import check
from grader.checks.module_shapes import inputs, module_cases, wrong_shape
from grader.compare import Array, number
from grader.module import WIDTH, build
from grader.part import Part
from grader.verdict import Violation

NEEDS = ("same-shape", "same-again", "positions-meet")


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
    return None


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
    if not _alike(seeded, first):
        return Violation(
            f"the result follows the random generator, by {number(float(np.abs(seeded - first).max()))}",
            hint="Dropout ends with eval(): use nn.Dropout, or pass training=self.training.",
            names=("module-random-in-evaluation",),
        )
    return None


@check(
    parts=["@module"],
    says="Training runs, may drop out, and leaves evaluation as it was.",
    cases=module_cases,
    needs=NEEDS,
    numbers=False,
)
def training_runs(part: Part, case: Case) -> Violation | None:
    block, x = build(part, fresh=True).redraw(case.key[0]), inputs(case, 2, 5, WIDTH)
    before = block.forward(x)
    block.train(True)
    y = block.forward(x)
    block.train(False)
    if found := wrong_shape(y, x, "in training"):
        return found
    if not np.isfinite(y).all():
        return Violation("a result in training is not finite")
    if not np.allclose(block.forward(x), before, rtol=1e-6, atol=1e-6):
        return Violation(
            "a call in training changes what evaluation gives",
            hint="Running statistics do not belong here: a block normalizes each position by itself.",
            names=("module-remembers-calls",),
        )
    return None


@check(
    parts=["@module"],
    says="The input is the same after the call as before it.",
    cases=module_cases,
    needs=NEEDS,
    numbers=False,
)
def input_kept(part: Part, case: Case) -> Violation | None:
    block, x = build(part).redraw(case.key[0]), inputs(case, 2, 5, WIDTH)
    after = block.reply(x).args_after
    if after.shape == x.shape and np.array_equal(after, x.astype(block.precision)):
        return None
    return Violation(
        "the input is changed by the call",
        hint="Make a new tensor: write x = x + y rather than x += y.",
        names=("argument-changed",),
    )


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
    if np.abs(one(x) - before).max() > 1e-5:
        return Violation(
            "new parameters of one instance change what another instance gives",
            hint="Make layers and parameters in __init__, as attributes of self; not in the class or the module.",
            names=("module-shares-state",),
        )
    learned = all(parameter.trainable for parameter in one.parameters)
    if learned and np.abs(other.redraw(case.key[0])(x) - before).max() > 1e-5:
        return Violation(
            "two instances with the same parameters give different results",
            hint="Everything that differs between instances is a parameter or a buffer, drawn in __init__.",
            names=("module-hidden-state",),
        )
    return None


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
    says="Results are finite where scores are in the hundreds, in float32.",
    cases=module_cases,
    needs=(*NEEDS, "finite"),
    numbers=False,
)
def large_parameters(part: Part, case: Case) -> Violation | None:
    block = build(part, precision="float32").redraw(case.key[0], scale=12.0)
    y = block.forward(inputs(case, 2, 5, WIDTH))
    if np.isfinite(y).all():
        return None
    return Violation(
        f"{int((~np.isfinite(y)).sum())} of {y.size} results are not finite for large parameters",
        hint="Use torch.softmax, or subtract each row's maximum before exp.",
        names=("module-softmax-no-maximum",),
    )
