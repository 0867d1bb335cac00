"""No transformer module that others wrote: not in the text of the submission, and not while its model runs."""

from __future__ import annotations

from grader.cases import Case, only_once
from grader.checks import check
from grader.checks.lm_shapes import B, T, drawn, tokens
from grader.part import Part
from grader.probes.lm import SIZES
from grader.probes.lm_watch import Place, decoding, in_sources, watch
from grader.verdict import Violation

HINT = "Write attention with matrix products and softmax, and blocks with your own modules."
SHOWN = 4


def _where(places: tuple[Place, ...]) -> str:
    said = {(file, line): f"{file}, line {line}: {name}" if file else name for name, file, line in reversed(places)}
    first = [said[place] for place in sorted(said)][:SHOWN]
    return "; ".join(first) + (f"; and {len(said) - SHOWN} more" if len(said) > SHOWN else "")


@check(
    parts=["DecoderLM"],
    says="The text of the submission names no transformer module of torch's, and no transformer package.",
    cases=only_once,
    needs=("lm-shape", "lm-tokens-meet"),  # what does nothing has no need of a transformer
    carried=False,
    numbers=False,
)
def written_by_hand(part: Part, case: Case) -> Violation | None:
    if not (found := in_sources(part)):
        return None
    return Violation(_where(found), hint=HINT, names=("lm-ready-made",))


@check(
    parts=["DecoderLM"],
    says="The model holds no transformer module, and calls no operator of one, whatever it is called.",
    cases=only_once,
    needs=("lm-shape", "lm-tokens-meet"),  # what does nothing has no need of a transformer
    carried=False,
    numbers=False,
)
def runs_no_transformer(part: Part, case: Case) -> Violation | None:
    for rotary in (True, False):
        for length in (T, SIZES["context"]):
            m, x = drawn(part, case, rotary=rotary), tokens(case, B, length)
            for training, gradients in ((False, False), (False, True), (True, True)):
                seen = watch(m, x, training=training, gradients=gradients)
                if seen.modules:
                    name, kind = seen.modules[0]
                    return Violation(f"{name or 'the model'} is a {kind}", hint=HINT, names=("lm-ready-made",))
                if seen.operators:
                    mode = "in training" if training else "in evaluation"
                    return Violation(f"{mode}, {_where(seen.operators)}", hint=HINT, names=("lm-ready-made",))
        if found := decoding(m, tokens(case, B, T)):
            return Violation(f"in decode, {_where(found)}", hint=HINT, names=("lm-ready-made",))
    return None
