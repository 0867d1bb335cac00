"""Layer norm and feed-forward by their facts."""

from __future__ import annotations

import numpy as np

from grader.cases import HANDOUT, MIDDLE, SMALLEST, Case, some
from grader.checks import check
from grader.compare import number
from grader.part import Part, violation
from grader.verdict import Violation


@check(
    parts=["layer_norm"],
    says="Without gain, shift and eps each row sums to 0 and has squared norm d; eps makes it shorter.",
    cases=some(SMALLEST, MIDDLE),
)
def zero_sum_and_norm(part: Part, case: Case) -> Violation | None:
    H, d = case.x, case.sizes.d
    plain, zero = np.ones(d), np.zeros(d)
    N = np.asarray(part(H, plain, zero, 0.0))
    sums, norms = N.sum(axis=-1), (N**2).sum(axis=-1)
    if gap := part.gap(sums, np.zeros_like(sums)):
        return violation(
            f"row {gap.row} sums to {number(float(sums[gap.row]))} before gain and shift",
            gap,
            sums,
            np.zeros_like(sums),
            "Subtract the mean of each row.",
        )
    if gap := part.gap(norms, np.full_like(norms, d)):
        unbiased = part.gap(norms, np.full_like(norms, d - 1)) is None
        return violation(
            f"the squared norm of row {gap.row} is {number(float(norms[gap.row]))}, expected d = {d}",
            gap,
            norms,
            np.full_like(norms, d),
            "The variance is divided by d - 1: take the population variance, divided by d."
            if unbiased
            else "Divide by the root of the row's population variance.",
        )
    shorter = (np.asarray(part(H, plain, zero, 0.5)) ** 2).sum(axis=-1)
    if not (shorter < norms).all():
        return Violation(
            "eps = 0.5 does not make the rows shorter", hint="eps is added to the variance, inside the root."
        )
    return None


@check(
    parts=["layer_norm"],
    says="Gain multiplies and shift is added, coordinate by coordinate, after the normalization.",
    cases=some(SMALLEST, MIDDLE),
)
def gain_then_shift(part: Part, case: Case) -> Violation | None:
    H, gain, shift, eps = case.args
    observed = part(H, gain, shift, eps)
    expected = gain * np.asarray(part(H, np.ones_like(gain), np.zeros_like(shift), eps)) + shift
    if gap := part.gap(observed, expected):
        return violation(
            f"the output differs from gain · N + shift by {number(gap.size)}",
            gap,
            observed,
            expected,
            "gain * N + shift, with both of width d.",
        )
    if part.gap(observed, part(H, 2 * gain, shift, eps)) is None:
        return Violation("the output stays as it is when the gain is doubled")
    return None


@check(
    parts=["feed_forward", "ffn"],
    says="The hidden layer is cut off below 0: between active and inactive units the network is not affine.",
    cases=some(SMALLEST, HANDOUT),
)
def relu_between_layers(part: Part, case: Case) -> Violation | None:
    H, W_1, b_1, W_2, b_2 = case.args
    off = part(H, W_1, b_1 - 1e3, W_2, b_2)
    flat = np.broadcast_to(b_2, H.shape)
    if gap := part.gap(off, flat):
        return violation(
            f"with every hidden unit far below 0 the output differs from b_2 by {number(gap.size)}",
            gap,
            off,
            flat,
            "Without a nonlinearity two layers collapse into one affine map: apply ReLU to H W_1 + b_1, before W_2."
            if part.gap(off, (H @ W_1 + b_1 - 1e3) @ W_2 + b_2) is None
            else "ReLU(x) is exactly 0 for every x below 0, so that only b_2 is left.",
        )
    on = np.asarray(part(H, W_1, b_1 + 64.0, W_2, b_2))
    affine = (H @ W_1 + b_1 + 64.0) @ W_2 + b_2
    if gap := part.gap(on, affine):
        return violation(
            f"with every hidden unit far above 0 the output differs from the affine map by {number(gap.size)}",
            gap,
            on,
            affine,
            "ReLU keeps what is above 0 as it is; biases are added once, each in its layer.",
        )
    return None
