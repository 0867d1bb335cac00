"""Gradients: every argument moves the results as its derivative says.

A torch submission's automatic differentiation is compared with central differences of the submission's own function: a
detached statistic has a gradient that is finite, not zero, and wrong by more than half. A NumPy submission has no
automatic differentiation; there the differences themselves have to exist, for every argument that matters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from grader.cases import HANDOUT, Case, make, one
from grader.checks import check
from grader.checks.causality import nan_hint
from grader.checks.detached import name_cut
from grader.compare import Array, each, number
from grader.part import Part, Path
from grader.verdict import Violation

# (step, relative error): float64 rounds at 1e-16, so the differences are good to 1e-9; float32 rounds at 1e-7.
FINE = (6e-6, 1e-6)
COARSE = (4e-3, 3e-2)
NUDGE = 1e-4  # for whether an argument matters at all: far above rounding in either precision


def leaves(tree: Any, kinds: str = "f", path: Path = ()) -> Iterator[tuple[Path, Array]]:
    """Every array of a tree of arguments, of the number kinds asked for, with the way to it."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from leaves(value, kinds, (*path, key))
    elif isinstance(tree, list | tuple):
        for index, value in enumerate(tree):
            yield from leaves(value, kinds, (*path, index))
    elif isinstance(tree, np.ndarray) and tree.dtype.kind in kinds:
        yield path, tree


def moved(tree: Any, step: float, directions: dict[Path, Array], path: Path = ()) -> Any:
    """The tree with `step · direction` added at the paths that have a direction."""
    if isinstance(tree, dict):
        return {key: moved(value, step, directions, (*path, key)) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return type(tree)(moved(value, step, directions, (*path, i)) for i, value in enumerate(tree))
    return tree + step * directions[path] if path in directions else tree


def name_of(part: Part, path: Path) -> str:
    """A path as a student writes it: `params["blocks"][0]["W_1"]`."""
    first, *rest = path
    return list(part.part.arguments)[int(first)] + "".join(f"[{step!r}]".replace("'", '"') for step in rest)


def weighted(results: Any, cotangents: Sequence[Array]) -> float:
    """Σ cotangent · result, one number."""
    pairs = zip(cotangents, each(results), strict=True)
    return float(sum(np.sum(c * np.asarray(y, np.float64)) for c, y in pairs))


class _Slopes:
    """Directional derivatives of one weighted sum of a part's results at one case."""

    def __init__(self, part: Part, case: Case) -> None:
        self.part, self.args, rng = part, case.args, case.rng
        self.cotangents = [rng.standard_normal(np.shape(y)) for y in each(part.expected(*case.args))]
        self.directions = {path: rng.standard_normal(leaf.shape) for path, leaf in leaves(case.args)}

    def slope(self, function: Any, directions: dict[Path, Array], step: float) -> float:
        ahead, behind = (
            weighted(function(*moved(self.args, sign * step, directions)), self.cotangents) for sign in (1, -1)
        )
        return (ahead - behind) / (2 * step)

    def joint(self, found: dict[Path, Array | None], step: float) -> tuple[float, float]:
        """What automatic differentiation and finite differences give along all directions at once."""
        along = sum(float(np.sum(given * self.directions[path])) for path, given in found.items() if given is not None)
        return along, self.slope(self.part, self.directions, step)

    def changes(self, function: Any, paths: Iterable[Path]) -> Iterator[tuple[Path, float]]:
        """How far the weighted sum moves when each argument in turn is nudged."""
        base = weighted(function(*self.args), self.cotangents)
        for path in paths:
            nudged = moved(self.args, NUDGE, {path: self.directions[path]})
            yield path, abs(weighted(function(*nudged), self.cotangents) - base)

    def mattering(self) -> list[Path]:
        """The arguments that move the reference's results."""
        return [path for path, change in self.changes(self.part.expected, self.directions) if change > 1e-3 * NUDGE]

    def smooth(self) -> bool:
        """Whether the reference has no kink of a ReLU within reach of the coarse step."""
        for path, u in self.directions.items():
            one_step, half = (self.slope(self.part.expected, {path: u}, h) for h in (COARSE[0], COARSE[0] / 2))
            if not abs(one_step - half) <= 1e-3 * (1 + abs(half)):
                return False
        return True


def smooth_cases(part: str, seed: int) -> Iterator[Case]:
    """Candidates of one size; the check takes the first one that is smooth."""
    return (make(part, HANDOUT, seed, stream) for stream in range(20, 28))


@check(
    parts=["@function"],
    says="Every argument moves the results, and automatic differentiation agrees with finite differences.",
    cases=one(HANDOUT),
    automatic=True,
)
def gradient(part: Part, case: Case) -> Violation | None:
    found = _slopes_differ(part, case)
    if found and (hint := nan_hint(part, part(*case.args))):
        return Violation("the results are NaN, so nothing can be said of what moves them", hint=hint)
    return found


def _slopes_differ(part: Part, case: Case) -> Violation | None:
    slopes, args = _Slopes(part, case), case.args
    if part.backend == "numpy":
        return _differences(part, slopes)
    step, relative = FINE
    if part.differs(part(*args), part.expected(*args), "the output", tolerance=part.tolerance):
        if part.differs(part(*args), part.expected(*args), "the output", tolerance=part.loose) is None:
            step, relative = COARSE  # it computes in single precision
        candidates = (_Slopes(part, candidate) for candidate in smooth_cases(part.name, case.key[0]))
        slopes = next((candidate for candidate in candidates if candidate.smooth()), slopes)
    return _automatic(part, slopes, step, relative)


def _differences(part: Part, slopes: _Slopes) -> Violation | None:
    for path, change in slopes.changes(part, slopes.mattering()):
        if not change > 1e-9 * NUDGE:
            return Violation(
                f"the results do not move when {name_of(part, path)} does",
                hint=f"Use {name_of(part, path)} in the computation; do not round.",
            )
    return None


def _automatic(part: Part, slopes: _Slopes, step: float, relative: float) -> Violation | None:
    paths = list(slopes.directions)
    found = dict(zip(paths, part.caller.gradient(part.part, slopes.args, slopes.cotangents, paths), strict=True))
    along, across = slopes.joint(found, step)
    reached = all(found[path] is not None and np.any(found[path]) for path in slopes.mattering())
    if reached and abs(along - across) <= relative * (1 + abs(across)):
        return None
    for path, given in found.items():
        u = slopes.directions[path]
        expected = slopes.slope(part, {path: u}, step)
        observed = 0.0 if given is None else float(np.sum(given * u))
        if not abs(observed - expected) <= relative * (1 + abs(expected)):
            what = "nothing" if given is None else number(observed)
            return Violation(
                f"the derivative along {name_of(part, path)} is {number(expected)} by finite differences,"
                f" automatic differentiation gives {what}",
                expected=float(f"{expected:.4g}"),
                observed=what,
                hint="Something on the way is cut off: look for detach, no_grad, .data, .item(), torch.tensor."
                if np.isfinite(observed)
                else "Keep NaN and infinities out of the graph: what torch.where throws away still sends 0 · inf back.",
                names=_cut(part, slopes, found) if relative == FINE[1] else (),
            )
        reference = slopes.slope(part.expected, {path: u}, step)
        if abs(reference) > 1e-3 and not abs(expected) > 1e-6 * abs(reference):
            return Violation(
                f"the results do not move when {name_of(part, path)} does",
                hint=f"Use {name_of(part, path)} in the computation.",
            )
    return None


def _cut(part: Part, slopes: _Slopes, found: dict[Path, Array | None]) -> tuple[str, ...]:
    """The place at which the graph is cut off, where it is known."""
    along = {p: 0.0 if g is None else float(np.sum(g * slopes.directions[p])) for p, g in found.items()}
    name = name_cut(
        part, slopes.args, found, along, lambda f, path: slopes.slope(f, {path: slopes.directions[path]}, FINE[0])
    )
    return (name,) if name else ()
