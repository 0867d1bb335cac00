"""A language model's shapes and conduct: logits for every position, the same again, nothing drawn, finite numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from grader.cases import Case, only_once
from grader.checks import check
from grader.compare import Array, number
from grader.part import Part
from grader.probes.lm import SIZES, Model, ids, model
from grader.probes.lm_value import names
from grader.probes.module import Precision
from grader.verdict import Violation

B, T = 2, 7
NEEDS = ("lm-shape",)


def drawn(part: Part, case: Case, **changed: Any) -> Model:
    """A model with numbers of ordinary size in its parameters."""
    return model(part, **changed).redraw(case.key[0])


def tokens(case: Case, *shape: int, stream: int = 0) -> Array:
    """Random ids, the same for the same case."""
    return ids((case.key[0], 71, stream), *shape)


def others(case: Case, before: Array, stream: int = 0) -> Array:
    """Ids, each another than the one that stands there."""
    v = SIZES["vocab_size"]
    step = np.random.default_rng((case.key[0], 73, stream)).integers(1, v, before.shape)
    changed: Array = (before + step) % v
    return changed


def least(m: Model, Z: Array) -> float:
    """What counts as a change of logits Z: right models give rounding where nothing is to change."""
    finite = np.abs(Z[np.isfinite(Z)])
    return (1e-9 if m.instance.precision == "float64" else 2e-5) * max(1.0, float(finite.max(initial=0.0)))


@check(
    parts=["DecoderLM"],
    says="tokens (B, T) give logits (B, T, v), for one token and for a whole context, with either kind of positions.",
    cases=only_once,
    needs=(),
    numbers=False,
)
def lm_shape(part: Part, case: Case) -> Violation | None:
    v = SIZES["vocab_size"]
    for rotary in (True, False):
        m = model(part, rotary=rotary).redraw(case.key[0])
        for shape in ((B, T), (1, 1), (3, SIZES["context"])):
            reply = m.instance.reply(tokens(case, *shape))
            observed, wanted = np.asarray(reply.value), (*shape, v)
            where = f"with rotary={rotary}, tokens {list(shape)} give"
            if observed.shape != wanted:
                return Violation(
                    f"{where} the shape {list(observed.shape)}, {list(wanted)} is wanted",
                    expected=list(wanted),
                    observed=list(observed.shape),
                    names=_shape_name(observed.shape, shape),
                )
            if observed.dtype.kind != "f":
                return Violation(f"{where} {observed.dtype} numbers, floating-point ones are wanted")
    return None


def _shape_name(found: tuple[int, ...], shape: tuple[int, int]) -> tuple[str, ...]:
    b, t, v = *shape, SIZES["vocab_size"]
    if found in ((b, v), (b, 1, v)):
        return ("lm-last-only",)
    return ("lm-axes-swapped",) if sorted(found) == sorted((b, t, v)) else ()


@check(
    parts=["DecoderLM"],
    says="The same tokens give the same logits after other calls.",
    cases=only_once,
    needs=NEEDS,
    numbers=False,
)
def lm_same_again(part: Part, case: Case) -> Violation | None:
    m, x = drawn(part, case), tokens(case, B, T)
    first = m.logits(x)
    for between in (tokens(case, 3, 5, stream=1), tokens(case, B, T, stream=1), x):
        m.logits(between)
        again = m.logits(x)
        if not np.allclose(again, first, rtol=1e-6, atol=1e-6, equal_nan=True):
            return Violation(
                f"the same tokens give logits that differ by {number(float(np.abs(again - first).max()))}",
                hint="Logits depend on the tokens and the parameters alone: no counters, nothing that calls change.",
                names=("lm-remembers-calls",),
            )
    return None


@check(
    parts=["DecoderLM"],
    says="In evaluation nothing is drawn: logits do not follow the random generators.",
    cases=only_once,
    needs=("lm-shape", "lm-same-again", "lm-tokens-meet"),
    numbers=False,
)
def lm_evaluation_repeats(part: Part, case: Case) -> Violation | None:
    m, x = drawn(part, case), tokens(case, B, T)
    first, second = (np.asarray(m.instance.forward(x, seed=seed), np.float64) for seed in (1, 2))
    if np.allclose(second, first, rtol=1e-6, atol=1e-6, equal_nan=True):
        return None
    return Violation(
        f"logits follow the random generator, by {number(float(np.abs(second - first).max()))}",
        hint="Dropout ends with eval(): use nn.Dropout, or pass training=self.training.",
        names=("lm-random-in-evaluation",),
    )


@check(
    parts=["DecoderLM"],
    says="Training mode runs, may drop out, stays finite, and leaves evaluation as it was.",
    cases=only_once,
    needs=("lm-shape", "lm-same-again", "lm-evaluation-repeats", "lm-tokens-meet"),
    numbers=False,
)
def lm_training_runs(part: Part, case: Case) -> Violation | None:
    m, x = model(part, fresh=True).redraw(case.key[0]), tokens(case, B, T)
    before = m.logits(x)
    m.instance.train(True)
    y = m.logits(x)
    m.instance.train(False)
    if np.isfinite(before).all() and not np.isfinite(y).all():
        return Violation("a logit in training is not finite")
    if not np.allclose(m.logits(x), before, rtol=1e-6, atol=1e-6, equal_nan=True):
        return Violation(
            "a call in training changes what evaluation gives",
            hint="Running statistics do not belong here: each position is normalized by itself.",
            names=("lm-remembers-calls",),
        )
    return None


@check(
    parts=["DecoderLM"],
    says="The tokens are the same after the call as before it.",
    cases=only_once,
    needs=("lm-shape", "lm-tokens-meet"),
    numbers=False,
)
def lm_tokens_kept(part: Part, case: Case) -> Violation | None:
    m, x = drawn(part, case), tokens(case, B, T)
    after = m.instance.reply(x).args_after
    if after.shape == x.shape and np.array_equal(after, x):
        return None
    return Violation(
        "the tokens are changed by the call", hint="Make a new tensor in place of it.", names=("lm-tokens-changed",)
    )


@check(
    parts=["DecoderLM"],
    says="Logits are finite in float64 and in float32.",
    cases=only_once,
    needs=NEEDS,
    numbers=False,
)
def lm_finite(part: Part, case: Case) -> Violation | None:
    precisions: tuple[Precision | None, ...] = (None, "float32")
    for precision in precisions:
        m = model(part, precision=precision).redraw(case.key[0])
        Z = m.logits(tokens(case, B, T))
        if not np.isfinite(Z).all():
            return Violation(
                f"{int((~np.isfinite(Z)).sum())} of {Z.size} logits are not finite in {m.instance.precision}",
                hint="A row that may consult nothing becomes 0/0: every position consults itself.",
                names=nan_rows(part, case),
            )
    return None


@check(
    parts=["DecoderLM"],
    says="Logits are finite in float32 where scores are in the hundreds.",
    cases=only_once,
    needs=("lm-shape", "lm-finite", "lm-tokens-meet"),
    numbers=False,
)
def lm_large_scores(part: Part, case: Case) -> Violation | None:
    m = model(part, precision="float32").redraw(case.key[0], 12.0)
    Z = m.logits(tokens(case, B, T))
    if np.isfinite(Z).all():
        return None
    return Violation(
        f"{int((~np.isfinite(Z)).sum())} of {Z.size} logits are not finite for large parameters",
        hint="Use torch.softmax, or subtract each row's maximum before exp.",
        names=("lm-softmax-no-maximum",),
    )


@check(
    parts=["DecoderLM"],
    says="Logits are computed in single precision at least: they follow parameters without steps.",
    cases=only_once,
    needs=("lm-shape", "lm-finite", "lm-tokens-meet"),
    numbers=False,
)
def lm_precision(part: Part, case: Case) -> Violation | None:
    m, x = drawn(part, case), tokens(case, B, T)
    places = range(len(m.instance.parameters))
    Z = []
    for step in (0.0, 1e-5, 2e-5):
        m.instance.scale(dict.fromkeys(places, 1 + step))
        Z.append(m.logits(x))
    bend = float(np.abs(Z[2] - 2 * Z[1] + Z[0]).max() / max(float(np.abs(Z[0]).max()), 1e-30))
    if not bend > 1e-4:
        return None
    return Violation(
        f"parameters that grow by a hundred-thousandth twice move logits by steps of {number(bend)} of the largest",
        hint="Compute in the type of the parameters: without half(), bfloat16() and autocast.",
        names=("lm-half-precision",),
    )


def nan_rows(part: Part, case: Case) -> tuple[str, ...]:
    """A position that may consult nothing is the only one that is NaN in a single layer."""
    Z = drawn(part, case, layers=1).logits(tokens(case, B, T))
    rows: list[int] = np.flatnonzero(np.isnan(Z).any(axis=(0, 2))).tolist()
    only = {0: "lm-mask-strict", T - 1: "lm-mask-inverted"}.get(rows[0]) if len(rows) == 1 else None
    return (only,) if only else ()


@check(
    parts=["DecoderLM"],
    says="Logits are no probabilities: their exponentials do not sum to 1, nor do they themselves.",
    cases=only_once,
    needs=("lm-shape", "lm-finite", "lm-tokens-meet"),
    numbers=False,
)
def lm_logits(part: Part, case: Case) -> Violation | None:
    Z = drawn(part, case).logits(tokens(case, B, T))
    if np.abs(Z.sum(axis=-1) - 1).max() < 1e-4 and Z.min() >= 0:
        return Violation(
            "they are positive and sum to 1 at every position",
            hint="Return norm_f(H) W_out + b_out, without softmax.",
            names=("lm-returns-probabilities",),
        )
    if np.abs(np.exp(Z).sum(axis=-1) - 1).max() < 1e-4:
        return Violation(
            "their exponentials sum to 1 at every position",
            hint="Return norm_f(H) W_out + b_out, without log_softmax.",
            names=("lm-returns-log-probabilities",),
        )
    return None


@check(
    parts=["DecoderLM"],
    says="Another number of heads gives other logits from the same parameters.",
    cases=only_once,
    needs=("lm-shape", "lm-finite", "lm-tokens-meet"),
    numbers=False,
)
def lm_heads_count(part: Part, case: Case) -> Violation | None:
    three, two = (model(part, heads=heads, rotary=False) for heads in (3, 2))
    if [p.shape for p in three.instance.parameters] != [p.shape for p in two.instance.parameters]:
        return None
    x = tokens(case, B, T)
    one, other = (m.redraw(case.key[0]).logits(x) for m in (three, two))
    if not np.abs(one - other).max() <= least(three, one):
        return None
    return Violation(
        "3 heads and 2 heads give the same logits from the same parameters",
        hint="Split queries, keys and values into heads of width // heads, each with a softmax of its own.",
        names=names(part, case.key[0]) or ("lm-heads-ignored",),
    )
