"""The loss: natural logarithms, the mean over positions, the target as it is given."""

from __future__ import annotations

import numpy as np

from grader.cases import Case, only_once
from grader.checks import check
from grader.compare import counted, number
from grader.part import Part, violation
from grader.verdict import Violation


@check(parts=["loss"], says="Equal logits over v tokens cost ln v nats.", cases=only_once)
def nats(part: Part, case: Case) -> Violation | None:
    for T, v in ((1, 2), (3, 7)):
        targets = np.arange(T) % v
        observed, expected = np.asarray(part(np.zeros((T, v)), targets)), np.log(v)
        if gap := part.gap(observed, expected):
            causes = {
                np.log2(v): "That is in bits: use the natural logarithm.",
                T * np.log(v): "That is the sum over positions: take the mean.",
                -np.log(v): "The sign is turned: the loss is -ln p.",
                np.log10(v): "That is the decimal logarithm: use the natural one.",
                (T - 1) / T * np.log(v): "One position is left out: targets[t] already is the token after position t.",
            }
            hint = next((text for cost, text in causes.items() if part.gap(observed, cost) is None), "")
            return violation(
                f"{counted(T, 'position')}, {v} equal logits cost {number(float(observed))},"
                f" expected ln {v} = {number(expected)}",
                gap,
                observed,
                expected,
                hint,
            )
    return None


@check(
    parts=["loss"],
    says="Logits that point at the targets cost nothing, logits that point elsewhere cost their distance.",
    cases=only_once,
    extreme=True,
)
def confident(part: Part, case: Case) -> Violation | None:
    for v in (2, 5):
        targets = (np.arange(4) * 3 + 1) % v
        Z = 100.0 * np.eye(v)[targets]
        for given, expected, says in ((targets, 0.0, "right"), ((targets + 1) % v, 100.0, "wrong")):
            observed = np.asarray(part(Z, given))
            if gap := part.gap(observed, expected):
                floor = np.log(1 + (v - 1) / np.e)
                hint = (
                    "Z holds logits: take the softmax once, inside the loss."
                    if abs(float(observed) - floor) < 1e-6
                    else ""
                )
                return violation(
                    f"logits of 100 at the {says} token cost {number(float(observed))}", gap, observed, expected, hint
                )
    return None
