"""Masks that come as an argument, True = may be consulted: what is forbidden does not matter, what is allowed does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.cases import HANDOUT, MIDDLE, SMALLEST, Case, as_float32, some
from grader.checks import check
from grader.checks.causality import picture
from grader.checks.distributions import last
from grader.checks.gradients import leaves
from grader.compare import Array, each, number
from grader.part import Part, small
from grader.verdict import Violation

# Which arguments hold the rows that are consulted.
CONSULTED = {
    "attention": (1, 2),
    "multi_head": (1,),
    "encoder_block": (0,),
    "cross_attention": (1,),
    "decoder_layer": (1,),
}
POLARITY = "True = may be consulted: where the mask is False put -inf before the softmax, for every query alike."


def place(part: Part) -> int:
    """Where the mask stands among the arguments."""
    return next(i for i, name in enumerate(part.part.arguments) if name.endswith("mask"))


def with_row(part: Part, args: tuple[Any, ...], s: int, rng: np.random.Generator) -> tuple[Any, ...]:
    """The arguments with other content at the consulted position s."""
    changed = list(args)
    for i in CONSULTED[part.name]:
        changed[i] = args[i].copy()
        changed[i][s] = 1.3 * rng.standard_normal(args[i].shape[1])
    return tuple(changed)


def moves(rows: Callable[..., Array], part: Part, args: tuple[Any, ...], rng: np.random.Generator) -> Array:
    """How far row t of the results moves when the consulted position s gets other content. shapes: (T, n)"""
    before = rows(*args)
    after = [rows(*with_row(part, args, s, rng)) for s in range(len(args[CONSULTED[part.name][0]]))]
    with np.errstate(invalid="ignore"):
        return np.stack([np.abs(rows_s - before).max(axis=1) for rows_s in after], axis=1)


@dataclass(frozen=True)
class Dependence:
    """Who moves whom, in a submission and in the reference. shapes: (T, n)"""

    part: Part
    D: Array
    E: Array

    def unlike(self, allowed: Array) -> tuple[int, int] | None:
        """The first (t, s) at which dependence is not what is allowed; its own row always reaches a residual."""
        allowed = np.broadcast_to(allowed, self.D.shape)
        leaks = ~allowed & ~(self.part.loose.allowed(self.D) >= self.D)
        visible = self.part.loose.allowed(self.E) < self.E
        wrong = leaks | (allowed & visible & ~(self.part.tolerance.allowed(self.E) < self.D))
        if self.part.name == "encoder_block":
            np.fill_diagonal(wrong, False)
        found = np.argwhere(wrong)
        return (int(found[0][0]), int(found[0][1])) if len(found) else None

    def picture(self, allowed: Array) -> dict[str, object]:
        """The influence of consulted positions, beside what is wanted of it."""
        wanted = np.array(np.broadcast_to(allowed, self.D.shape))
        if self.part.name == "encoder_block":
            np.fill_diagonal(wanted, True)
        return {**picture(self.D), "columns": "consulted position s", "wanted": wanted.astype(int).tolist()}


def dependence(part: Part, case: Case, args: tuple[Any, ...]) -> Dependence:
    """Measured with the same changes on both sides."""
    return Dependence(part, *(moves(rows, part, args, case.rng) for rows in (part.rows, part.expected_rows)))


@check(
    parts=list(CONSULTED),
    says="Other content where the mask is False moves no result; other content where it is True does.",
    cases=some(HANDOUT, MIDDLE),
)
def masked_positions(part: Part, case: Case) -> Violation | None:
    mask = case.args[place(part)]
    who = dependence(part, case, case.args)
    if (found := who.unlike(mask)) is None:
        return None
    (t, s), D = found, who.D
    may = np.broadcast_to(mask, D.shape)[t, s]
    verb, says = ("stays as it is", "allows") if may else (f"moves by {number(float(D[t, s]))}", "forbids")
    turned = Dependence(part, D, np.where(np.isfinite(D), D, 0.0)).unlike(~mask) is None
    return Violation(
        f"row {t} {verb} when position {s}, which the mask {says}, gets other content",
        hint="The mask is the wrong way round. " + POLARITY if turned else POLARITY,
        where=found,
        picture=who.picture(mask),
    )


@check(
    parts=list(CONSULTED),
    says="Without a mask every consulted position matters to every row.",
    cases=some(HANDOUT, MIDDLE),
)
def sees_everything(part: Part, case: Case) -> Violation | None:
    who = dependence(part, case, case.args[: place(part)])
    if (found := who.unlike(np.array(True))) is None:
        return None
    t, s = found
    return Violation(
        f"row {t} stays as it is when the consulted position {s} gets other content",
        hint="Only what a mask forbids is left out: no causal mask over an encoder's positions or over the memory.",
        where=found,
        picture=who.picture(np.array(True)),
    )


@check(
    parts=list(CONSULTED),
    says="No mask, None and a mask of True everywhere give the same results.",
    cases=some(SMALLEST, HANDOUT),
)
def mask_absent(part: Part, case: Case) -> Violation | None:
    i = place(part)
    bare = part(*case.args[:i])
    for what, mask in (("None", None), ("True everywhere", np.ones_like(case.args[i]))):
        found = part.differs(
            part(*case.args[:i], mask), bare, f"the output for a mask of {what}, beside that without one", POLARITY
        )
        if found:
            return found
    return None


@check(
    parts=["attention"],
    says="Attention weights are exactly 0 where the mask is False, and above 0 where it is True.",
    cases=some(SMALLEST, HANDOUT, MIDDLE),
)
def zeros_where_masked(part: Part, case: Case) -> Violation | None:
    A, mask = last(part(*case.args)), case.args[place(part)]
    for wrong, says in ((~mask & (A != 0), "forbidden"), (mask & ~(A > 0), "allowed")):
        if wrong.any():
            t, s = (int(i) for i in np.argwhere(wrong)[0])
            return Violation(
                f"the weight of row {t} on position {s}, which is {says}, is {number(float(A[t, s]))}",
                observed=small(A),
                expected=small(last(part.expected(*case.args))),
                hint=POLARITY,
                where=(t, s),
                picture={"kind": "attention", "matrix": np.where(np.isfinite(A), A.round(6), -1).tolist()},
            )
    return None


@check(
    parts=list(CONSULTED),
    says="A row whose mask allows nothing retrieves zeros, and neither it nor any gradient is NaN.",
    cases=some(HANDOUT, SMALLEST),
    extreme=True,
    automatic=True,
)
def nothing_allowed(part: Part, case: Case) -> Violation | None:
    i = place(part)
    mask = case.args[i].copy()
    mask[: 1 if mask.ndim == 2 else None] = False
    args = case.with_arg(i, mask)
    for given in (args, as_float32(args)):
        observed, expected = part.rows(*given), part.expected_rows(*given)
        if gap := part.gap(observed, expected, None if given is args else part.loose):
            what = "NaN" if np.isnan(observed[gap.row]).any() else number(float(observed[gap.index]))
            wanted = number(float(expected[gap.index]))
            return Violation(
                f"with a mask that allows nothing, row {gap.row} holds {what}, expected {wanted}",
                expected=small(expected),
                observed=small(observed),
                hint="A softmax over nothing but -inf is 0/0: give such a row weights of 0.",
                where=gap.index,
                size=gap.size,
                allowed=gap.allowed,
            )
    if part.backend == "torch" and part.name != "cross_attention":  # there zeros may well have no gradient
        return _gradients(part, args, case.rng)
    return None


def _gradients(part: Part, args: tuple[Any, ...], rng: np.random.Generator) -> Violation | None:
    expected = part.expected(*args)
    cotangents = [rng.standard_normal(y.shape) for y in each(expected)]
    paths = [path for path, _ in leaves(list(args))]
    for path, found in zip(paths, part.caller.gradient(part.part, args, cotangents, paths), strict=True):
        if found is not None and not np.isfinite(found).all():
            return Violation(
                f"with a mask that allows nothing, the gradient of {list(part.part.arguments)[int(path[0])]} is NaN",
                names=("nothing-allowed-nan-gradient",),
                hint="Keep NaN out of the graph: fill such a row's scores with 0 before the softmax, not its result.",
            )
    return None
