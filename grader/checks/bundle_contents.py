"""What a bundle holds: the model, the tokenizer and the policy come back as they were."""

from __future__ import annotations

from typing import Any

import numpy as np

from grader.cases import Case
from grader.checks import check
from grader.checks.bundle import both, bundle_cases
from grader.part import Part
from grader.probes.bundles import TEXTS, State, reordered
from grader.verdict import Violation


@check(
    parts=["save_bundle"],
    says="The model comes back in evaluation, with the same weights and the same logits, rotary or not.",
    cases=bundle_cases,
    needs=("loads-elsewhere",),
    numbers=False,
)
def holds_the_model(part: Part, case: Case) -> Violation | None:
    for said, saved, held in both(part, case):
        state, before = held.state(), saved.state
        if not before.weights_as(state):
            return _weights(before, state, said)
        if not before.logits_as(state):
            return Violation(
                f"the logits are others after loading, with the same weights{said}",
                hint="Write all arguments of DecoderLM: heads and rotary cannot be read off the weights.",
                names=("bundle-architecture-lost",),
            )
        if saved.greedy is not None and held.greedy() != saved.greedy:
            return Violation(
                f"greedy generation goes on otherwise after loading, with the same weights and logits{said}",
                hint="Write all arguments of DecoderLM, and whatever decode uses besides.",
            )
        if state.training:
            return Violation(
                f"the model is in training after loading{said}",
                hint="Call model.eval() before it is returned.",
                names=("bundle-training-mode",),
            )
    return None


def _weights(before: State, after: State, said: str) -> Violation:
    """What has become of the weights."""
    hint = "Write model.state_dict() and every argument of the class; make the model, then load the numbers into it."
    missing = [name for name in before.parameters if name not in after.parameters]
    more = [name for name in after.parameters if name not in before.parameters]
    shared = [name for name in before.parameters if name in after.parameters]
    if missing or more:
        name = (missing or more)[0]
        tie = bool(more) and not missing and any(_alike(after.parameters[name], p) for p in before.parameters.values())
        return Violation(
            f"the parameter {name[:80]} is {'not there' if missing else 'new'} after loading{said}",
            hint=hint,
            names=("bundle-tie-lost",) if tie else ("bundle-architecture-lost",) if missing else (),
        )
    other = [name for name in shared if not _alike(before.parameters[name], after.parameters[name])]
    name = (other or shared)[0]
    one, two = before.parameters[name], after.parameters[name]
    if one.shape != two.shape:
        return Violation(
            f"the parameter {name[:80]} is {list(two.shape)} after loading, and was {list(one.shape)}{said}",
            hint=hint,
            names=("bundle-architecture-lost",),
        )
    near = all(
        a.shape == b.shape and np.abs(a - b).max(initial=0) <= 2e-2 * np.abs(a).max(initial=0)
        for a, b in ((before.parameters[key], after.parameters[key]) for key in shared)
    )
    return Violation(
        f"the parameter {name[:80]} holds other numbers after loading{said}",
        hint=hint,
        names=("bundle-weights-rounded" if near else "bundle-weights-left-out",),
    )


def _alike(one: Any, two: Any) -> bool:
    return bool(one.dtype == two.dtype and np.array_equal(one, two))


@check(
    parts=["save_bundle"],
    says="The tokenizer comes back with its merges and special tokens: ids and vocab_size are the same.",
    cases=bundle_cases,
    needs=("loads-elsewhere",),
    numbers=False,
)
def holds_the_tokenizer(part: Part, case: Case) -> Violation | None:
    for said, saved, held in both(part, case):
        (size, ids), (was, expected) = held.ids(), saved.ids
        special = len(TEXTS) - 2
        names: tuple[str, ...] = ()
        if len(ids[0]) == len(TEXTS[0]) > len(expected[0]):
            names = ("bundle-merges-lost",)
        elif ids[0] != expected[0]:
            names = ("bundle-merges-reordered",) * reordered(part, held)
        elif any(
            len(after) > len(before) == 1 for after, before in zip(ids[special:], expected[special:], strict=True)
        ):
            names = ("bundle-specials-lost",)
        for text, after, before in zip(TEXTS, ids, expected, strict=True):
            if after != before:
                return Violation(
                    f"encode({text[:60]!a}) has other ids after loading{said}: {after[:12]} in place of {before[:12]}",
                    hint="Write the merges, in their order, and the special tokens.",
                    names=names,
                )
        if size != was:
            return Violation(
                f"the tokenizer's vocab_size is {size} after loading, and was {was}",
                hint="Write the merges, in their order, and the special tokens.",
            )
    return None


@check(
    parts=["save_bundle"],
    says="The prompt template and the policy of generation come back as they were.",
    cases=bundle_cases,
    needs=("loads-elsewhere",),
    numbers=False,
)
def holds_the_policy(part: Part, case: Case) -> Violation | None:
    for _, saved, held in both(part, case):
        expected, found = saved.generation, held.generation
        if not isinstance(found, dict):
            return Violation(
                f"generation is {str(found)[:80]!a} after loading; a dict is wanted",
                hint="Write the dict as it is, and return it.",
                names=("bundle-generation-lost",),
            )
        for key, value in expected.items():
            if key not in found or not equal(found[key], value):
                now = f"{str(found[key])[:80]!a}" if key in found else "not there"
                return Violation(
                    f"generation[{key!r}] is {now} after loading, and was {str(value)!a}",
                    hint="Write the dict as it is: text as UTF-8, numbers with all digits, None as None.",
                    names=("bundle-generation-lost",),
                )
        if more := sorted(map(str, found.keys() - expected.keys())):
            return Violation(f"generation has the key {more[0][:80]!a} after loading, which was not there")
    return None


def equal(found: Any, value: Any) -> bool:
    """Whether a value of a policy is the same, as a number of Python or of an array library."""
    if isinstance(found, np.ndarray):
        found = found.item() if found.size == 1 else None
    return type(found) in (int, float) and found == value if type(value) in (int, float) else found == value
