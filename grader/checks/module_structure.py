"""A block's wiring, found by what it does with some parameters at 0: residuals, norms before the branches, order."""

from __future__ import annotations

import numpy as np

from grader.cases import Case
from grader.checks import check
from grader.checks.module_conduct import changed_by_training
from grader.checks.module_shapes import inputs, module_cases
from grader.compare import number
from grader.part import Part
from grader.probes.anatomy import Anatomy, bent, examine, growth, misplaced, mixes, slope
from grader.probes.module import WIDTH, Piece, build
from grader.verdict import Violation

NEEDS = ("same-shape", "same-again", "earlier-counts", "registered", "batch-rows-apart", "fine-steps")
FORMULA = "U = H + attention(norm_1(H)), H' = U + feed_forward(norm_2(U))"


@check(
    parts=["@module"],
    says="With every parameter at 0 the block returns its input.",
    cases=module_cases,
    needs=NEEDS,
    numbers=False,
)
def identity_at_zero(part: Part, case: Case) -> Violation | None:
    block, x = build(part, plain=True).redraw(case.key[0]), inputs(case, 2, 5, WIDTH)
    block.zero(range(len(block.parameters)))
    y = block(x)
    if np.isnan(y).all() or np.abs(y - x).max() <= 1e-5:
        return None
    k = float(np.sum(y * x) / np.sum(x * x))
    told = f"{k:.3g} times its input" if np.abs(y - k * x).max() <= 1e-5 else "something else"
    found = examine(part, case.key[0])
    return Violation(
        f"with every parameter at 0 the block returns {'zeros' if not y.any() else told}",
        hint=f"Each branch is added to what came into it: {FORMULA}.",
        names=misplaced(found) or _residual(found)[1],
    )


@check(
    parts=["@module"],
    says="With the ends of both branches at 0 the block returns its input, up to a constant.",
    cases=module_cases,
    needs=NEEDS,
    numbers=False,
)
def residuals(part: Part, case: Case) -> Violation | None:
    found = examine(part, case.key[0])
    if found.blind or found.endless:
        return Violation(
            f"no branch ends in a linear map: {found.block.names(found.last) or 'the block is linear in no matrix'}",
            hint=f"The last step of a branch is a linear map, and its result is added to the stream: {FORMULA}.",
            names=misplaced(found),
        )
    said, names = _residual(found)
    zeroed = found.block.names((*found.last, *found.first))
    return Violation(f"with {zeroed} at 0, {said}", hint=f"{FORMULA}.", names=names) if said else None


def _residual(found: Anatomy) -> tuple[str, tuple[str, ...]]:
    """What is left of the block without its branches, and the mistake that leaves it."""
    if found.blind or found.endless:
        return "", ()
    k, rest = slope(found, (*found.last, *found.first))
    if rest <= 1e-3 and abs(k - 1) <= 1e-3:
        return "", ()
    if rest > 1e-3:
        return "what is left is no multiple of the input", ("module-residual-from-norm",)
    if abs(k) > 1e-3:
        name = ("module-residual-doubled",) if abs(k - round(k)) < 1e-3 and k > 1.5 else ()
        return f"{k:.3g} times the input is left", name
    return "nothing of the input is left", _missing(found)


def _missing(found: Anatomy) -> tuple[str, ...]:
    """Which of the two residuals is missing: without the last branch's end, something of x is left or not."""
    k, rest = slope(found, found.last)
    if max(abs(k), rest) > 1e-3:
        return ("module-no-residual-attention",)
    x = np.random.default_rng(7).standard_normal((1, 4, WIDTH))
    other = x.copy()
    other[:, -1] = x[:, -1][:, ::-1]
    for piece in found.pieces:
        if piece not in found.last and not mixes(found.block, (piece,)):
            moved = np.abs(found.at(other, (piece,)) - found.at(x, (piece,)))[:, -1].max()
            return ("module-no-residual-feed-forward",) if moved > 1e-3 else ("module-no-residuals",)
    return ()


@check(
    parts=["@module"],
    says="The change does not grow with the input: block(2c·x) - 2c·x is block(c·x) - c·x for a large c.",
    cases=module_cases,
    needs=(*NEEDS, "residuals"),
    numbers=False,
)
def norm_first(part: Part, case: Case) -> Violation | None:
    found = examine(part, case.key[0])
    if found.carried < found.large:
        return Violation(
            f"an input of {found.large:g} does not come through, though both branches are at 0",
            hint="The stream is only added to: no clamp, no tanh, no rounding on the way.",
        )
    says, names = _grown(found)
    if says:
        return Violation(
            f"what {says} adds grows with the input",
            hint=f"Each branch reads the normalized stream: {FORMULA}.",
            names=() if changed_by_training(part, case) else names,
        )
    if says := _vanishing(found):
        return Violation(
            f"what {says} adds becomes the same at all positions where the input is large",
            hint="The norm divides by the root of variance + eps.",
            names=("module-norm-no-root",) if _vanishing(found, 50.0, 100.0, 0.45, 0.55) else (),
        )
    return None


def _vanishing(found: Anatomy, near: float = 1.0, far: float = 0.0, low: float = 0.0, high: float = 0.05) -> str:
    """The branches whose differences between positions shrink by a factor between two scales of the input."""
    x = np.random.default_rng(31).standard_normal((1, 4, found.block.width))

    def spread(c: float, other: tuple[Piece, ...]) -> float:
        return float(np.ptp(found.at(c * x, other) - c * x, axis=1).max())

    told = (("attention", found.feed_forward), ("the feed-forward", found.attention))
    ratios = {says: spread(far or found.large, other) / spread(near, other) for says, other in told}
    return " and ".join(says for says, ratio in ratios.items() if low <= ratio <= high)


def _grown(found: Anatomy) -> tuple[str, tuple[str, ...]]:
    """The branches that read the raw stream: what they add grows with it."""
    attention, fed = (not growth(found, other) <= 0.2 for other in (found.feed_forward, found.attention))
    if attention and fed:
        return "attention and the feed-forward", ("module-no-norms",)
    if attention:
        return "attention", ("module-no-norm-attention",)
    return ("the feed-forward", ("module-no-norm-feed-forward",)) if fed else ("", ())


@check(
    parts=["@module"],
    says="Attention comes first, and the feed-forward reads what it has added.",
    cases=module_cases,
    needs=(*NEEDS, "residuals"),
    numbers=False,
)
def order(part: Part, case: Case) -> Violation | None:
    says, names = _ordered(examine(part, case.key[0]))
    return Violation(says, hint=f"{FORMULA}.", names=names) if says else None


def _ordered(found: Anatomy) -> tuple[str, tuple[str, ...]]:
    """What is wrong with the order of the branches."""
    if not found.feed_forward and bent(found):
        return "what attention adds reaches the result through the feed-forward alone", ("module-residual-skips",)
    if not found.feed_forward:
        return "there is no feed-forward after attention", ("module-no-feed-forward",)
    if not found.first:
        return "the feed-forward does not read what attention has added", ("module-parallel",)
    if found.attention == found.last:
        return "attention reads what the feed-forward has added", ("module-feed-forward-first",)
    return "", ()


def wiring(part: Part, case: Case) -> tuple[str, ...]:
    """The mistake in how a block is put together, where one is known."""
    found = examine(part, case.key[0])
    if found.blind or found.endless:
        return misplaced(found)
    return _residual(found)[1] or _grown(found)[1] or _ordered(found)[1]


@check(
    parts=["@module"],
    says="The feed-forward is not linear: its changes for x and -x do not add up to a constant.",
    cases=module_cases,
    needs=(*NEEDS, "residuals", "order"),
    numbers=False,
)
def nonlinear(part: Part, case: Case) -> Violation | None:
    found = examine(part, case.key[0])
    x = found.carried * inputs(case, 1, 6, WIDTH, stream=4)
    up, down = (found.at(s * x, found.attention) - s * x for s in (1, -1))
    spread = float(np.ptp(up + down, axis=1).max() / np.ptp(up, axis=1).max())
    if spread > 0.02 or "feed" in _vanishing(found):
        return None  # the latter shows nothing of itself there, as another check says
    return Violation(
        f"the changes for x and -x add up to the same vector everywhere, up to {number(spread)}",
        size=spread,
        allowed=0.02,
        hint="Put GELU or ReLU between the two linear maps of the feed-forward.",
        names=("module-no-activation",),
    )
