"""Attention: values and keys are separate, scores keep their spread, heads are joined in order."""

from __future__ import annotations

import numpy as np

from grader.cases import HANDOUT, MIDDLE, ONE, SMALLEST, Case, make, only_once, some
from grader.checks import check
from grader.compare import number
from grader.part import Part, violation
from grader.verdict import Violation


@check(
    parts=["attention_head"],
    says="Other values with the same keys leave the attention weights as they were; the output follows the values.",
    cases=some(SMALLEST, MIDDLE),
)
def weights_ignore_values(part: Part, case: Case) -> Violation | None:
    return values_reach_the_output_only(part, case, "W_V", "O = A V with V = H W_V, nothing else.")


@check(
    parts=["attention_scores"],
    says="Independent coordinates of variance 1 give scores of variance 1, whatever the width d_k.",
    cases=only_once,
)
def unit_variance(part: Part, case: Case) -> Violation | None:
    rng = case.rng
    for d_k in (4, 16, 64):
        Q, K = rng.standard_normal((96, d_k)), rng.standard_normal((80, d_k))
        observed, expected = float(np.var(part(Q, K))), float(np.var(part.expected(Q, K)))
        if not abs(observed - expected) <= 0.02 * expected:
            times = observed / expected
            cause = {
                d_k: "The division by √d_k is missing: q·k has variance d_k.",
                1 / d_k: "The scores are divided by d_k instead of √d_k, or by √d_k twice.",
                d_k**2: "The scores are multiplied by √d_k instead of divided by it.",
            }
            hint = next((text for factor, text in cause.items() if abs(times / factor - 1) < 0.02), "")
            return Violation(
                f"the variance of the scores at d_k = {d_k} is {number(observed)}",
                expected=round(expected, 4),
                observed=round(observed, 4) if np.isfinite(observed) else number(observed),
                hint=hint,
            )
    return None


@check(
    parts=["multi_head_attention"],
    says="Reordering the heads together with their rows of W_O changes nothing; reordering the heads alone does.",
    cases=some(SMALLEST, HANDOUT),
)
def head_permutation(part: Part, case: Case) -> Violation | None:
    return heads_go_with_their_rows(part, case)


def values_reach_the_output_only(part: Part, case: Case, values: str, formula: str) -> Violation | None:
    """-2 times the argument `values` gives -2 times the output O and the weights A as they were."""
    where = list(part.part.arguments).index(values)
    O, A = part(*case.args)
    O_2, A_2 = part(*case.with_arg(where, -2 * case.args[where]))
    if gap := part.gap(A_2, A):
        return violation(
            f"a weight moves by {number(gap.size)} when only {values} changes",
            gap,
            A_2,
            A,
            "A comes from Q and K alone.",
        )
    if gap := part.gap(O_2, -2 * O):
        return violation(f"the output is not -2 times as large when {values} is", gap, O_2, -2 * O, formula)
    return None


def heads_go_with_their_rows(part: Part, case: Case) -> Violation | None:
    """Turning the arguments `heads` and the rows of `W_O` together changes nothing; turning `heads` alone does."""
    given = dict(zip(part.part.arguments, case.args, strict=True))
    heads, W_O = given["heads"], given["W_O"]
    order = [*range(1, len(heads)), 0]
    rows = np.split(W_O, len(heads))
    before = part(*case.args)
    turned = {**given, "heads": [heads[i] for i in order]}
    after = part(*{**turned, "W_O": np.concatenate([rows[i] for i in order])}.values())
    if gap := part.gap(after, before):
        return violation(
            f"the output moves by {number(gap.size)} when heads and rows of W_O are reordered alike",
            gap,
            after,
            before,
            "Head i's d_v columns meet rows i·d_v … (i+1)·d_v of W_O: join the heads side by side, in their order.",
        )
    if part.gap(part(*turned.values()), before) is None:
        return Violation(
            "the output stays as it is when the heads are reordered and W_O is not",
            hint="Every head has weights of its own and a place of its own in the joined row.",
        )
    return None


@check(
    parts=["multi_head_attention"],
    says="With one head the output is that head's output times W_O.",
    cases=lambda part, seed: (make(part, sizes, seed, stream=2) for sizes in (ONE, SMALLEST, MIDDLE)),
)
def one_head(part: Part, case: Case) -> Violation | None:
    H, heads, W_O = case.args
    head, W = heads[0], W_O[: case.sizes.d_v]
    observed = part(H, [head], W)
    expected = part.expected(H, [head], W)
    if not (gap := part.gap(observed, expected)):
        return None
    own = np.asarray(part.sibling("attention_head")(H, *head)[0])
    if own.shape == (case.sizes.T, case.sizes.d_v) and part.gap(observed, own @ W) is None:
        return None  # right, given the student's own head
    return violation(
        f"the output differs from O W_O by {number(gap.size)}", gap, observed, expected, "M = [O_1 … O_h] W_O."
    )
