"""Large, tiny and constant inputs, and single precision: results stay finite and right."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from grader.cases import EXTREMES, HANDOUT, MIDDLE, SMALLEST, Arguments, Case, as_float32, extremes_of, make, some
from grader.checks import check
from grader.checks.causality import nan_hint
from grader.compare import Tolerance, each, number
from grader.part import Part
from grader.verdict import Violation

INF = np.inf


def _row_cases(seed: int) -> Iterator[tuple[str, tuple[Any, ...]]]:
    yield "entries of ±1e4", (np.array([[1e4, 0.0, -1e4], [-1e4, -1e4, -1e4], [9999.0, 1e4, 9998.0]]),)
    yield "entries around 300", (np.array([[300.0, 301.0, 299.0], [-300.0, -301.0, -302.0]]),)


def _softmax(seed: int) -> Iterator[tuple[str, tuple[Any, ...]]]:
    yield from _row_cases(seed)
    yield "entries of -inf", (np.array([[-INF, 0.0, 1.0], [2.0, -INF, -INF], [0.5, -0.5, -INF]]),)


def _causal_weights(seed: int) -> Iterator[tuple[str, tuple[Any, ...]]]:
    yield "scores of ±1e4", (np.array([[1e4, 0.0, 0.0], [-1e4, 1e4, 0.0], [1e4, -1e4, 9999.0]]),)
    yield (
        "a masked score far above the allowed ones",
        (np.array([[0.0, 200.0, 2e4], [0.0, 1.0, 2e4], [1.0, 0.0, 2.0]]),),
    )
    yield (
        "allowed scores far below the masked ones",
        (np.array([[-2e4, 0.0, 0.0], [-2e4, -2e4 + 1, 0.0], [-2e4, -2e4, -2e4]]),),
    )
    for low in (-300.0, -3000.0):
        rows = np.tril(low + np.arange(9.0).reshape(3, 3))
        yield f"allowed scores around {low:g}, masked ones of 0", (rows,)
    yield "one row far below the others", (np.array([[-1e4, 0.0, 0.0], [1e4, 9999.0, 0.0], [0.0, 1.0, 2.0]]),)
    yield "constant rows", (np.full((4, 4), 3.0),)


def _loss(seed: int) -> Iterator[tuple[str, tuple[Any, ...]]]:
    yield "logits of 1000 and 0", (np.array([[1000.0, 0.0]]), np.array([1]))
    yield "logits of ±1e4", (np.array([[1e4, -1e4, 0.0], [-1e4, -1e4, -1e4]]), np.array([1, 2]))


def _layer_norm(seed: int) -> Iterator[tuple[str, tuple[Any, ...]]]:
    H, gain, shift, _ = make("layer_norm", MIDDLE, seed, stream=3).args
    yield "rows of size 0.02 at eps 1e-5", (0.02 * H, gain, shift, 1e-5)
    yield "rows of size 1e-3 at eps 1e-5", (1e-3 * H, gain, shift, 1e-5)
    yield "rows of size 1e4", (1e4 * H, gain, shift, 1e-5)
    yield "constant rows", (np.full_like(H, 2.0), gain, shift, 1e-5)


LOUD = "scores of 1e4 and more"  # one-hot weights, whose place rounding may decide: finite is all that is asked


def loud(tree: Any) -> Any:
    """The arguments with every head's queries 3000 times as large."""
    if isinstance(tree, dict):
        return {
            key: [(3000 * W_Q, W_K, W_V) for W_Q, W_K, W_V in value] if key == "heads" else loud(value)
            for key, value in tree.items()
        }
    return [loud(item) for item in tree] if isinstance(tree, list) else tree


def _scaled(
    part: str, scales: tuple[float, ...], constant: bool = False, far: Callable[[Arguments], Arguments] | None = None
) -> Any:
    """Inputs of several sizes, constant rows, and `far`: what makes scores of 1e4 out of ordinary arguments."""

    def family(seed: int) -> Iterator[tuple[str, tuple[Any, ...]]]:
        case = make(part, HANDOUT, seed, stream=3)
        for scale in scales:
            yield f"inputs of size {scale:g}", case.with_x(scale * case.x)
        if constant:
            yield "constant rows", case.with_x(np.full_like(case.x, 2.0))
        if far is not None:
            yield LOUD, far(case.args)

    return family


def _decoder(seed: int) -> Iterator[tuple[str, tuple[Any, ...]]]:
    tokens, params = make("decoder", HANDOUT, seed, stream=3).args
    for scale in (1e4, 1e-4):
        yield f"embeddings of size {scale:g}", (tokens, {**params, "embedding": scale * params["embedding"]})
    yield "one token again and again", (np.zeros_like(tokens), params)
    yield LOUD, (tokens, loud(params))


for _part, _family in {
    "softmax": _softmax,
    "next_token_probabilities": _row_cases,
    "causal_attention_weights": _causal_weights,
    "loss": _loss,
    "layer_norm": _layer_norm,
    "attention_scores": _scaled("attention_scores", (1e4, 1e-4)),
    "feed_forward": _scaled("feed_forward", (1e4, 1e-4), constant=True),
    "multi_head_attention": _scaled("multi_head_attention", (1e-4,), True, far=lambda args: (300 * args[0], *args[1:])),
    "attention_head": _scaled("attention_head", (1e-4,), True, far=lambda args: (300 * args[0], *args[1:])),
    "decoder_block": _scaled("decoder_block", (1e4, 1e-4), True, far=lambda args: (args[0], loud(args[1]))),
    "decoder": _decoder,
}.items():
    extremes_of(_part)(_family)


def extremes(part: str, seed: int) -> Iterator[Case]:
    """The family of a part, once in float64 and once in float32."""
    for label, args in EXTREMES.get(part)(seed):
        for width, tree in (("float64", args), ("float32", as_float32(args))):
            yield Case(f"{label}, {width}", tree, (seed, *label.encode()), HANDOUT, {"width": width})


@check(
    parts=EXTREMES.names,
    says="Large, tiny and constant inputs give the finite numbers that the formula gives.",
    cases=extremes,
    extreme=True,
)
def extreme_values(part: Part, case: Case) -> Violation | None:
    observed, expected = part(*case.args), part.expected(*case.args)
    for name, left in zip(part.outputs, each(observed), strict=True):
        bad = ~np.isfinite(np.asarray(left, np.float64))
        if bad.any():
            index = tuple(int(i) for i in np.argwhere(bad)[0])
            hint = "Subtract the row's maximum before exp, and keep eps inside the root."
            ordinary = part(*make(part.name, HANDOUT, case.key[0]).args)
            return Violation(
                f"{name} is {number(float(np.asarray(left)[index]))} at {list(index)} for {case.label}",
                where=index,
                hint=nan_hint(part, ordinary) or hint,
            )
    if case.label.startswith(LOUD):
        return None
    tolerance = single_precision(part.loose, case) if case.extra["width"] == "float32" else None
    return part.differs(
        observed, expected, f"the output for {case.label}", f"The formula: {part.part.formula}.", tolerance
    )


def single_precision(loose: Tolerance, case: Case) -> Tolerance:
    """Room for x - log Σ exp x, which rounds at the size of x: two units in the last place of the largest entry."""
    largest = float(np.abs(case.x[np.isfinite(case.x)]).max(initial=0.0))
    return Tolerance(loose.relative, loose.absolute + 2 * float(np.finfo(np.float32).eps) * largest)


@check(
    parts=["@function"],
    says="float32 arguments give the same numbers, to float32 precision.",
    cases=some(SMALLEST, MIDDLE, stream=5),
)
def float32(part: Part, case: Case) -> Violation | None:
    args = as_float32(case.args)
    return part.differs(part(*args), part.expected(*args), "the output for float32 arguments", tolerance=part.loose)
