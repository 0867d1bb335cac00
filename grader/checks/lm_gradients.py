"""A language model's parameters: registered, of each layer its own, reached by the gradient, all used."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from grader.cases import Case, only_once
from grader.checks import check
from grader.checks.lm_shapes import B, drawn, tokens
from grader.checks.lm_wiring import lm_final_norm, lm_norm_first, lm_order, lm_residuals
from grader.checks.module_gradients import CUT, agree, gradients
from grader.compare import Array
from grader.part import Part
from grader.probes.lm import SIZES, Model, model
from grader.probes.lm_value import names
from grader.probes.module import student_of
from grader.verdict import Violation

NEEDS = ("lm-shape", "lm-same-again", "lm-finite")
d, m_, v = SIZES["width"], SIZES["hidden"], SIZES["vocab_size"]
LEAST = 4 * d * d + 2 * d * m_  # numbers in the matrices of a block


@check(
    parts=["DecoderLM"],
    says="Every layer and parameter is registered, so that torch finds it.",
    cases=only_once,
    needs=("lm-shape",),
    numbers=False,
)
def lm_registered(part: Part, case: Case) -> Violation | None:
    for rotary in (True, False):
        if loose := model(part, rotary=rotary).instance.loose:
            return Violation(
                f"{', '.join(loose[:6])}: layers or parameters in a list or dict, where torch does not find them",
                hint="Use nn.ModuleList, nn.ModuleDict or nn.ParameterList.",
                names=("lm-loose-layers",),
            )
    if not model(part).instance.parameters:
        return Violation("there are no parameters", hint="Make layers in __init__, as attributes of self.")
    return None


@check(
    parts=["DecoderLM"],
    says="Each layer has parameters of its own: every further one brings the same number of them.",
    cases=only_once,
    needs=("lm-shape", "lm-registered", "lm-tokens-meet"),
    numbers=False,
)
def lm_layers_apart(part: Part, case: Case) -> Violation | None:
    counts = [_count(model(part, layers=layers)) for layers in (1, 2, 3)]
    more = [b - a for a, b in pairwise(counts)]
    said = f"1, 2 and 3 layers have {', '.join(map(str, counts))} parameters"
    if more[0] != more[1] or more[0] <= 0:
        shared = more == [0, 0]
        return Violation(
            said,
            hint="Make a block for each layer: nn.ModuleList(Block(...) for _ in range(layers)).",
            names=names(part, case.key[0]) or (("lm-shared-block",) if shared else ()),
        )
    one, two = (model(part, layers=layers) for layers in (1, 2))
    grown = {kind: _sides(two, kind) - _sides(one, kind) for kind in (d, m_)}
    if grown[d] >= 4 * d * d and grown[m_] >= 2 * d * m_:
        return None
    shared = any(_sides(one, kind) > grown[kind] for kind in grown)
    key = "shared-in-blocks" if shared else "no-output-projection" if grown[d] == 3 * d * d else ""
    return Violation(
        f"{said}: a further layer brings {grown[d]} numbers for attention and {grown[m_]} for the feed-forward,"
        f" at least {4 * d * d} and {2 * d * m_} are wanted",
        hint="Attention has W_Q, W_K, W_V and W_O, the feed-forward W_1 and W_2, in each layer its own.",
        names=names(part, case.key[0]) or ((f"lm-{key}",) if key else ()),
    )


def _count(m: Model) -> int:
    return sum(int(np.prod(p.shape)) for p in m.instance.parameters)


def _sides(m: Model, kind: int) -> int:
    """How many numbers the matrices of attention (d) or of the feed-forward (m) hold."""
    shapes = [p.shape for p in m.instance.parameters if len(p.shape) > 1 and v not in p.shape and max(p.shape) > 1]
    return sum(int(np.prod(shape)) for shape in shapes if (m_ in shape) == (kind == m_))


@check(
    parts=["DecoderLM"],
    says="Every parameter learns: its gradient is the slope that differences show.",
    cases=only_once,
    needs=(*NEEDS, "lm-registered", "lm-tokens-meet", "lm-precision"),
    numbers=False,
)
def lm_every_parameter(part: Part, case: Case) -> Violation | None:
    for rotary in (True, False):
        m, x = drawn(part, case, rotary=rotary), tokens(case, B, SIZES["context"], stream=7)
        block = m.instance
        if frozen := _frozen(part, rotary):
            return Violation(
                f"{block.names(frozen)} cannot learn: requires_grad is False",
                hint="Leave requires_grad as it is; a constant is a buffer, not a parameter.",
                names=("lm-frozen",),
            )
        c = np.random.default_rng((*case.key, 3)).standard_normal((*x.shape, v))
        found = gradients(block, x, c)
        if isinstance(found, Violation):
            return Violation(found.message, hint=found.hint)
        for i, given in enumerate(found.parameters):
            if given is not None and not np.isfinite(given).all():
                return Violation(f"the gradient of {block.names([i])} is not finite")
        if wrong := _wrong(m, found.parameters, x, c):
            return Violation(f"{block.names(wrong)}: no gradient or a wrong one", hint=CUT, names=("lm-gradient-cut",))
    return None


def _frozen(part: Part, rotary: bool) -> list[int]:
    """Parameters that cannot learn, but for tables: those have the same numbers, not all equal, in every model."""
    one, other = (model(part, rotary=rotary, fresh=fresh) for fresh in (False, True))
    places = [i for i, p in enumerate(one.instance.parameters) if not p.trainable]
    if not places:
        return []
    left, right = (_constants(part, m) for m in (one, other))
    if not len(places) == len(left) == len(right):
        return places
    return [
        place
        for place, a, b in zip(places, left, right, strict=True)
        if not (
            isinstance(a, np.ndarray)
            and isinstance(b, np.ndarray)
            and np.array_equal(a, b)
            and a.size
            and np.ptp(a) > 0
        )
    ]


def _constants(part: Part, m: Model) -> list[Any]:
    told = student_of(part).ask(part.part, lambda w: w.told("lm_constants", {"values": list}, module=m.handle))
    return list(told["values"])


def _wrong(m: Model, found: Sequence[Array | None], x: Array, c: Array) -> list[int]:
    """Parameters whose gradient is not the slope: all at once, and one by one when that differs."""
    rng, values = np.random.default_rng(13), list(m.instance.values)
    directions = [rng.standard_normal(p.shape) for p in m.instance.parameters]

    def differ(places: Sequence[int]) -> bool:
        def move(step: float) -> float:
            moved = [step * directions[i] if i in places else 0.0 for i in range(len(values))]
            m.instance.fill([None if u is None else u + w for u, w in zip(values, moved, strict=True)])
            return float(np.sum(c * m.logits(x)))

        observed = sum(float(np.sum(g * directions[i])) for i in places if (g := found[i]) is not None)
        right, _ = agree(m.instance, observed, move)
        m.instance.fill(values)
        return not right

    everything = [i for i, value in enumerate(values) if value is not None]
    return [i for i in everything if differ([i])] if differ(everything) else []


@check(
    parts=["DecoderLM"],
    says="Logits depend on every parameter, but for a shift of the keys, which the softmax takes out again.",
    cases=only_once,
    needs=(*NEEDS, "lm-tokens-meet", "lm-registered", "lm-every-parameter"),
    numbers=False,
)
def lm_all_used(part: Part, case: Case) -> Violation | None:
    for rotary in (True, False):
        m, x = drawn(part, case, rotary=rotary), tokens(case, B, SIZES["context"], stream=7)
        x[0, :v] = np.arange(v)
        block, before = m.instance, m.logits(x)
        found = gradients(block, x, np.random.default_rng((*case.key, 3)).standard_normal(before.shape))
        if isinstance(found, Violation):
            return found
        idle = []
        for i, parameter in enumerate(block.parameters):
            if not parameter.trainable or found.norms[i] > 1e-9 * found.norms.max():
                continue
            block.scale({i: -2.0})
            moved = np.abs(m.logits(x) - before).max()
            if moved <= 1e-7 * np.abs(before).max() and (found.norms[i] <= 0 or np.prod(parameter.shape) > d):
                idle.append(i)
        if idle:
            return Violation(
                f"with rotary={rotary}, {block.names(idle)}: never used",
                hint="Use every layer that __init__ makes, each in its place, or leave it out.",
                names=names(part, case.key[0]) or (() if _miswired(part, case) else ("lm-parameter-unused",)),
            )
    return None


def _miswired(part: Part, case: Case) -> bool:
    """Whether a check of the wiring tells why something is left out."""
    return any(judge(part, case) for judge in (lm_final_norm, lm_residuals, lm_norm_first, lm_order))
