"""Post-norm layers by their facts: each sum is normalized, so the results' rows are what the last norm makes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from grader.cases import HANDOUT, MIDDLE, SMALLEST, Case, some
from grader.checks import check
from grader.compare import number
from grader.part import Part, violation
from grader.verdict import Violation

PARAMS = {"encoder_block": 1, "decoder_layer": 2}  # the place of `params`
NORMS = {"encoder_block": ("norm_1", "norm_2"), "decoder_layer": ("norm_1", "norm_cross", "norm_2")}
FORMULA = "Add, then normalize: U = LN_1(X + MHA(X)), and the same after every further sublayer."
TINY_EPS = 1e-12


@check(
    parts=list(PARAMS),
    says="With gain 1 and shift 0 in the last norm each row of the results sums to 0 and has squared norm d.",
    cases=some(SMALLEST, MIDDLE),
)
def ends_normalized(part: Part, case: Case) -> Violation | None:
    i, d = PARAMS[part.name], case.sizes.d
    plain = {"gain": np.ones(d), "shift": np.zeros(d)}
    Y = np.asarray(part(*case.with_arg(i, {**case.args[i], "norm_2": plain, "eps": TINY_EPS})), np.float64)
    for what, found, expected in (
        ("sums to", Y.sum(axis=1), np.zeros(len(Y))),
        ("has the squared norm", (Y**2).sum(axis=1), np.full(len(Y), float(d))),
    ):
        # eps = 1e-12 shortens rows by about as much
        if gap := part.gap(found, expected, part.loose):
            return violation(
                f"row {gap.row} {what} {number(float(found[gap.row]))}, expected {number(float(expected[gap.row]))}",
                gap,
                found,
                expected,
                "The last step is Y = LN_2(U + FFN(U)): nothing is added after the norm.",
            )
    return None


@check(
    parts=list(PARAMS),
    says="Sublayers that output zero leave the norms alone, one after the other, of the input.",
    cases=some(SMALLEST, HANDOUT),
)
def silent_sublayers(part: Part, case: Case) -> Violation | None:
    X, i = case.x, PARAMS[part.name]
    params = case.args[i]
    quiet = {key: np.zeros_like(params[key]) for key in ("self_W_O", "cross_W_O", "W_2", "b_2") if key in params}
    observed = np.asarray(part(*case.with_arg(i, {**params, **quiet})))
    expected = X
    for name in NORMS[part.name]:
        expected = _normed(part, expected, params, name)
    if not (gap := part.gap(observed, expected)):
        return None
    causes = (
        (X, "It returns its input: that is pre-norm, or a norm on the branch. " + FORMULA),
        (_normed(part, np.zeros_like(X), params, "norm_2"), "The residuals are missing. " + FORMULA),
        (_normed(part, X, params, "norm_2"), "Only the last norm is left. " + FORMULA),
        (_normed(part, X, params, "norm_1"), "Only the first norm is left. " + FORMULA),
    )
    hint = next((text for candidate, text in causes if part.gap(observed, candidate) is None), FORMULA)
    return violation(
        f"the output differs from the norms of the input by {number(gap.size)}", gap, observed, expected, hint
    )


def _normed(part: Part, z: Any, params: dict[str, Any], name: str) -> Any:
    return part.spec.book.layer_norm(z, params[name]["gain"], params[name]["shift"], params["eps"])


@check(
    parts=["@pair"],
    says="The norm of (1, 3) is (-1, 1) at gain 1, shift 0 and eps 0.",
    cases=some(SMALLEST),
)
def one_and_three(part: Part, case: Case) -> Violation | None:
    observed, expected = part(np.array([[1.0, 3.0]]), np.ones(2), np.zeros(2), 0.0), np.array([[-1.0, 1.0]])
    return part.differs(observed, expected, "the norm of (1, 3)", "The mean is 2, the population variance 1.")
