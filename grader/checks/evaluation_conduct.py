"""What `evaluate` leaves behind: the mode that was there, the same parameters, no gradients, the same number again."""

from __future__ import annotations

import numpy as np

from grader.cases import Case
from grader.checks import check
from grader.checks.evaluation import FIRST, evaluated, value
from grader.checks.module_shapes import module_cases
from grader.compare import number
from grader.part import Part
from grader.probes.module import Raised
from grader.probes.next_token import close
from grader.probes.trained import CONTEXT, LONG, drops_out, text
from grader.verdict import Violation


@check(
    parts=["evaluate"],
    says="Dropout is off, also where the model was in training.",
    cases=module_cases,
    needs=FIRST,
    numbers=False,
    carried=False,
)
def dropout_off(part: Part, case: Case) -> Violation | None:
    seed = case.key[0]
    if not drops_out(part, seed):
        return None
    quiet = value(evaluated(part, seed, CONTEXT))
    for around in (1, 2):
        loss = value(evaluated(part, seed, CONTEXT, training=True, around=around))
        if not close(loss, quiet):
            return Violation(
                f"the loss is {number(round(loss, 4))} where the model was in training, and {number(round(quiet, 4))}"
                " where it was in evaluation",
                hint="was = model.training; model.eval(); ...; model.train(was)",
                names=("evaluation-dropout-on",),
            )
    return None


@check(
    parts=["evaluate"],
    says="Afterwards the model is in the mode that it was in.",
    cases=module_cases,
    needs=FIRST,
    numbers=False,
    carried=False,
)
def mode_restored(part: Part, case: Case) -> Violation | None:
    hint = "was = model.training; model.eval(); ...; model.train(was)"
    for training, key in ((True, "mode-not-restored"), (False, "always-training-after")):
        before, after = evaluated(part, case.key[0], CONTEXT, training=training).modes
        if before != after:
            modes = ("in training", "in evaluation")
            was, now = modes if training else modes[::-1]
            whole = len(set(after)) == 1
            return Violation(
                f"the model was {was}, and {'is' if whole else 'is partly'} {now} afterwards",
                hint=hint,
                names=(f"evaluation-{key}",) if whole else (),
            )
    return None


@check(
    parts=["evaluate"],
    says="Parameters, gradients and tokens are left as they were.",
    cases=module_cases,
    needs=FIRST,
    numbers=False,
    carried=False,
)
def only_looks(part: Part, case: Case) -> Violation | None:
    found = evaluated(part, case.key[0], CONTEXT)
    hint = "Evaluate under torch.no_grad(), without backward and without an optimizer."
    if any(found.moved):
        return Violation("parameters are changed by the call", hint=hint, names=("evaluation-changes-model",))
    if found.grads:
        return Violation("parameters have gradients after the call", hint=hint)
    if found.tokens is None or not np.array_equal(found.tokens, text(case.key[0], CONTEXT).ids):
        return Violation("the tokens are changed by the call", hint="Make new tensors.", names=("argument-changed",))
    return None


@check(
    parts=["evaluate"],
    says="The same model and tokens give the same number again.",
    cases=module_cases,
    needs=FIRST,
    numbers=False,
    carried=False,
)
def same_loss_again(part: Part, case: Case) -> Violation | None:
    try:
        one, other = (evaluated(part, case.key[0], LONG, around=around) for around in (1, 2))
    except Raised:
        return None  # that is told of long texts
    if close(value(one), value(other)):
        return None
    rows = [sorted(tuple(row) for call in found.calls for row in call.tokens.tolist()) for found in (one, other)]
    return Violation(
        f"the loss is {number(round(value(one), 4))}, and {number(round(value(other), 4))} the next time",
        hint="Go through the text from its start to its end; draw nothing.",
        names=("evaluation-random-windows",) if rows[0] != rows[1] else (),
    )
