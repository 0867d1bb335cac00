"""What a step does: the gradient of this batch alone, for every parameter, by the learning rate, with dropout on."""

from __future__ import annotations

import numpy as np

from grader.cases import Case
from grader.checks import check
from grader.checks.module_shapes import module_cases
from grader.checks.training import FIRST
from grader.part import Part
from grader.probes.trained import CONTEXT, RATE, drops_out, new, run, text
from grader.probes.watched import BACKWARD, FORWARD, STEP, Watched
from grader.verdict import Violation

ORDER = "In every step: optimizer.zero_grad(), loss.backward(), optimizer.step()."
TINY = 1e-8  # a learning rate by which nothing moves to speak of


@check(
    parts=["train"],
    says="Each step takes the gradient of its own batch, and the parameters of the given model move.",
    cases=module_cases,
    needs=FIRST,
    numbers=False,
    carried=False,
)
def gradient_steps(part: Part, case: Case) -> Violation | None:
    found = run(part, case.key[0])
    if wrong := _order(found):
        return wrong
    if not any(found.moved):
        return Violation("no parameter moves", hint=ORDER, names=_still(found))
    return None


def _order(found: Watched) -> Violation | None:
    if any(event.kind == STEP and event.second for event in found.events):
        return None  # a step that computes its gradients itself
    called = pulled = False  # since the step before
    for event in found.events:
        if event.kind == FORWARD:
            called = called or found.calls[event.call].graph
        elif event.kind == BACKWARD:
            pulled = True
            if event.first:
                return Violation(
                    "the gradient of an earlier step is still there at backward, after the parameters have moved",
                    hint=ORDER,
                    names=("training-no-zero-grad",),
                )
        else:
            if pulled and not event.first:
                return Violation(
                    "at the step every gradient is 0, though backward came before it",
                    hint=ORDER,
                    names=("training-zero-grad-late",),
                )
            if called and not pulled and any(e.kind == BACKWARD for e in found.events):
                return Violation(
                    "the step comes before the backward pass of its batch",
                    hint=ORDER,
                    names=("training-step-before-backward",),
                )
            called = pulled = False
    return None


def _still(found: Watched) -> tuple[str, ...]:
    """Why nothing moves."""
    if not found.calls:
        return ()
    if not any(call.own for call in found.calls):
        return ("training-trains-a-copy",)
    if not any(call.pulled is not None for call in found.calls):
        return ("training-no-backward",)
    return ("training-no-step",) if not any(event.kind == STEP for event in found.events) else ()


@check(
    parts=["train"],
    says="Training goes on from the parameters that the model has.",
    cases=module_cases,
    needs=FIRST,
    numbers=False,
    carried=False,
)
def starts_from_the_model(part: Part, case: Case) -> Violation | None:
    if max(run(part, case.key[0]).replaced, default=0.0) <= 1e-3:
        return None
    return Violation(
        "the parameters are others when the model is called for the first time",
        hint="Leave the parameters as they are until the first step.",
        names=("training-starts-anew",),
    )


@check(
    parts=["train"],
    says="Every parameter that gets a gradient is trained.",
    cases=module_cases,
    needs=FIRST,
    numbers=False,
    carried=False,
)
def all_are_trained(part: Part, case: Case) -> Violation | None:
    found, parameters = run(part, case.key[0]), new(part, case.key[0]).instance.parameters
    if len(parameters) != len(found.before) or not any(event.kind == STEP for event in found.events):
        return None
    if not any(found.moved):
        return None  # that is told of the steps
    least = 1e-4 * float(found.reached.max(initial=0.0))  # less may be rounding, as for what a softmax does not feel
    left = [
        place
        for place, parameter in enumerate(parameters)
        if parameter.trainable
        and not found.moved[place]
        and (found.reached[place] > least or not found.learning[place])
    ]
    if not left:
        return None
    names = ", ".join(parameters[place].name for place in left[:3]) + ", ..." * (len(left) > 3)
    return Violation(
        f"{len(left)} of {len(parameters)} parameters stay as they are: {names}",
        hint="Give model.parameters() to the optimizer.",
        names=("training-parameters-left-out",),
    )


@check(
    parts=["train"],
    says="With a learning rate of 0.00000001 the parameters stay nearly as they are.",
    cases=module_cases,
    needs=FIRST,
    numbers=False,
    carried=False,
)
def lr_counts(part: Part, case: Case) -> Violation | None:
    usual, tiny = (run(part, case.key[0], lr=lr) for lr in (RATE, TINY))
    far, near = max(usual.moved, default=0.0), max(tiny.moved, default=0.0)
    if not far or near <= 0.01 * far:
        return None
    return Violation(
        f"the learning rates {RATE:g} and {TINY:.8f} move the parameters "
        + ("alike" if near > 0.5 * far else "by nearly as much"),
        hint="Give lr to the optimizer.",
        names=("training-lr-ignored",),
    )


@check(
    parts=["train"],
    says="Dropout, where the model has any, is on in training.",
    cases=module_cases,
    needs=FIRST,
    numbers=False,
    carried=False,
)
def dropout_in_training(part: Part, case: Case) -> Violation | None:
    seed = case.key[0]
    found = run(part, seed)
    first = next(iter(found.trained), None)
    if not drops_out(part, seed) or first is None or first.logits is None or first.tokens.shape[1] > CONTEXT:
        return None
    quiet = new(part, seed).logits(first.tokens)
    if quiet.shape != first.logits.shape or not np.allclose(quiet, first.logits, rtol=1e-5, atol=1e-6):
        return None
    return Violation(
        "in training the model gives what it gives in evaluation, though it has dropout",
        hint="Call model.train() before the first step.",
        names=("training-without-dropout",),
    )


@check(
    parts=["train"],
    says="The tokens are the same afterwards.",
    cases=module_cases,
    needs=FIRST,
    numbers=False,
    carried=False,
)
def tokens_kept(part: Part, case: Case) -> Violation | None:
    found = run(part, case.key[0])
    if found.tokens is not None and np.array_equal(found.tokens, text(case.key[0]).ids):
        return None
    return Violation(
        "the tokens are changed by the call",
        hint="Make new tensors from pieces of the text.",
        names=("argument-changed",),
    )
