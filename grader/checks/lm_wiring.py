"""A language model's wiring, found by what becomes of logits when some parameters are large, or 0, or change sign.

Parts are told by their shapes alone: v, d, m and the context differ. A parameter with a side m belongs to a
feed-forward, a matrix with a side v to embedding or readout, every other matrix to attention.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grader.cases import Case, only_once
from grader.checks import check
from grader.checks.lm_dependence import known
from grader.checks.lm_shapes import B, T, drawn, others, tokens
from grader.compare import Array, number
from grader.part import Part
from grader.probes.lm import SIZES, Model
from grader.probes.lm_value import names
from grader.verdict import Violation

NEEDS = ("lm-shape", "lm-same-again", "lm-finite", "lm-tokens-meet", "lm-registered")
FORMULA = "H = H + attention(norm_1(H)); H = H + feed_forward(norm_2(H)); logits = norm_f(H) W_out + b_out."


@dataclass(frozen=True)
class Wired:
    """A model with places of its parameters: embedding and readout, attention, feed-forward, vectors of the width."""

    m: Model
    ends: tuple[int, ...]
    attention: tuple[int, ...]
    network: tuple[int, ...]
    vectors: tuple[int, ...]

    def logits(self, x: Array, *scaled: tuple[tuple[int, ...], float]) -> Array:
        """The logits with some parameters times a factor."""
        self.m.instance.scale({place: factor for places, factor in scaled for place in places})
        return self.m.logits(x)

    @property
    def large(self) -> float:
        """Beside which a branch of ordinary size does not count."""
        return 1e6 if self.m.instance.precision == "float64" else 1e5


def wired(part: Part, case: Case, layers: int = 2) -> Wired:
    """A model with rotary positions, whose drawn numbers can be scaled."""
    m = drawn(part, case, layers=layers)
    groups: dict[str, list[int]] = {"ends": [], "attention": [], "network": [], "vectors": []}
    for place, parameter in enumerate(m.instance.parameters):
        shape = [size for size in parameter.shape if size > 1]
        if SIZES["hidden"] in shape:
            groups["network"].append(place)
        elif len(shape) > 1:
            groups["ends" if SIZES["vocab_size"] in shape else "attention"].append(place)
        elif shape == [SIZES["width"]]:
            groups["vectors"].append(place)
    return Wired(m, *(tuple(groups[name]) for name in ("ends", "attention", "network", "vectors")))


def _moved(one: Array, other: Array) -> float:
    """As a share of the largest logit; NaN counts as no change: other checks tell."""
    return float(np.nan_to_num(np.abs(one - other)).max() / max(float(np.nan_to_num(np.abs(one)).max()), 1e-30))


@check(
    parts=["DecoderLM"],
    says="The readout works on a normalized stream: logits stay bounded when the matrices of the blocks grow.",
    cases=only_once,
    needs=NEEDS,
    numbers=False,
)
def lm_final_norm(part: Part, case: Case) -> Violation | None:
    w, x = wired(part, case), tokens(case, B, T)
    inner, sizes = (*w.attention, *w.network), []
    for factor in (30.0, 60.0):
        w.m.instance.scale(dict.fromkeys(inner, factor))
        sizes.append(float(np.abs(w.m.logits(x)).max()))
    growth = sizes[1] / max(sizes[0], 1e-30)
    if growth <= 1.9 or not np.isfinite(growth):  # what overflows is told by another check
        return None
    return Violation(
        f"logits grow {number(round(growth, 2))} times when the blocks' matrices are twice as large",
        hint=f"One more norm stands before the readout: {FORMULA}",
        names=known(part, case, ("lm-no-final-norm",)),
    )


@check(
    parts=["DecoderLM"],
    says="Both branches are added to the stream: without one of them, tokens still reach the logits.",
    cases=only_once,
    needs=NEEDS,
    numbers=False,
)
def lm_residuals(part: Part, case: Case) -> Violation | None:
    w, x = wired(part, case), np.array([[1], [2], [7]])
    cut = []
    for group in (w.attention, w.network):
        Z = w.logits(x, (group, 0.0))
        cut.append(_moved(Z, Z[:1]) <= 1e-5)
    if not any(cut):
        return None
    key = "no-residuals" if all(cut) else "no-residual-attention" if cut[0] else "no-residual-feed-forward"
    said = " or ".join(name for name, gone in zip(("attention", "the feed-forward"), cut, strict=True) if gone)
    return Violation(
        f"without {said}, every token has the same logits",
        hint=f"Each branch is added to what came into it: {FORMULA}",
        names=known(part, case, (f"lm-{key}",)),
    )


@check(
    parts=["DecoderLM"],
    says="Each branch reads a normalized stream: what it adds does not grow with the embeddings.",
    cases=only_once,
    needs=(*NEEDS, "lm-residuals", "lm-batch-rows-apart"),
    numbers=False,
)
def lm_norm_first(part: Part, case: Case) -> Violation | None:
    w, x = wired(part, case), tokens(case, B, T)
    far = (w.ends, w.large)
    if not all(w.m.instance.parameters[place].trainable for place in w.ends):
        return None  # embeddings that are not drawn cannot be scaled
    before = w.logits(x, far)
    if not np.isfinite(before).all():
        return None
    grown = [_moved(w.logits(x, far, (group, -2.0)), before) > 1e-3 for group in (w.attention, w.network)]
    if any(grown):
        said = " and ".join(n for n, grows in zip(("attention", "the feed-forward"), grown, strict=True) if grows)
        return Violation(
            f"with embeddings {w.large:g} times as large, {said} still counts",
            hint=f"Norms stand before the branches, and not between the blocks: {FORMULA}",
            names=known(part, case, _grown(w, x, grown)),
        )
    for group, said in ((w.attention, "attention"), (w.network, "the feed-forward")):
        grown_large = w.logits(x, far, (group, w.large))
        still = np.isfinite(grown_large).all() and _moved(grown_large, before) <= 1e-2
        if group and still and _counts(w, x, group):
            return Violation(
                f"what {said} adds does not grow with its matrices",
                hint=f"A branch ends in a linear map, without a norm behind it: {FORMULA}",
                names=known(part, case, ("lm-norm-on-branch",)),
            )
    return None


def _counts(w: Wired, x: Array, group: tuple[int, ...]) -> bool:
    return _moved(w.logits(x, (group, -2.0)), w.logits(x)) > 1e-6


def _grown(w: Wired, x: Array, grown: list[bool]) -> tuple[str, ...]:
    """Raw branches; or norms on the stream itself, which count when nothing else does."""
    bare = ((w.ends, w.large), (w.attention, 0.0), (w.network, 0.0))
    inner = [p for p in w.vectors if _moved(w.logits(x, *bare, ((p,), -2.0)), w.logits(x, *bare)) > 1e-3]
    if len(inner) > 2:  # of a right model only those of norm_f
        return ()
    if all(grown):
        return ("lm-no-norms",)
    return ("lm-no-norm-attention",) if grown[0] else ("lm-no-norm-feed-forward",)


@check(
    parts=["DecoderLM"],
    says="The feed-forward reads what attention has added.",
    cases=only_once,
    needs=NEEDS,
    numbers=False,
)
def lm_order(part: Part, case: Case) -> Violation | None:
    w, x = wired(part, case, layers=1), tokens(case, B, T)
    if not w.network or not w.attention:
        return None
    other = x.copy()
    other[:, :-1] = others(case, x)[:, :-1]
    fed = (w.network, w.large)  # beside which attention counts only where the feed-forward reads it
    one, two = w.logits(x, fed)[:, -1], w.logits(other, fed)[:, -1]
    if _moved(one, two) > 1e-3 or not (np.isfinite(one) & np.isfinite(two)).all():
        return None
    read = (w.attention, w.large)
    first = _moved(w.logits(x, read), w.logits(x, read, (w.network, -2.0))) > 1e-3
    return Violation(
        "the feed-forward does not see what attention has added",
        hint=FORMULA,
        names=known(part, case, ("lm-feed-forward-first" if first else "lm-parallel",)),
    )


@check(
    parts=["DecoderLM"],
    says="The feed-forward is not linear: with the signs of all its parameters turned it gives something else.",
    cases=only_once,
    needs=NEEDS,
    numbers=False,
)
def lm_nonlinear(part: Part, case: Case) -> Violation | None:
    w, x = wired(part, case), tokens(case, B, T)
    if not w.network or _moved(w.logits(x, (w.network, -1.0)), w.logits(x)) > 1e-5:
        return None
    return Violation(
        "the logits are the same with the signs of all parameters of the feed-forward turned",
        hint="Put GELU or ReLU between its two linear maps.",
        names=names(part, case.key[0])
        or (("lm-no-activation",) if _counts(w, x, w.network) and _linear(part, case) else ()),
    )


def _linear(part: Part, case: Case) -> bool:
    """Whether a large feed-forward with one matrix turned is mirrored: then nothing stands behind its maps either."""
    w, x = wired(part, case, layers=1), tokens(case, B, T)
    matrices = [place for place in w.network if len(w.m.instance.parameters[place].shape) > 1]
    for place in matrices:
        one, other = (w.logits(x, (w.network, w.large), ((place,), sign * w.large)) for sign in (1.0, -1.0))
        mirror = one + other  # twice the readout of norm_f's shift, at every position
        if np.abs(mirror - mirror[:1, :1]).max() <= 1e-3 * np.abs(one).max():
            return True
    return False
