"""A bundle: one file, from which model, tokenizer and policy come back in a process that knows nothing of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from grader.bundles import NAME, TEXTS, BadResult, Held, Raised, Saved, State, load, reordered, save
from grader.cases import SMALLEST, Case
from grader.checks import check
from grader.part import Part
from grader.tokens import elsewhere
from grader.verdict import Violation

POLICY = {
    "prompt_template": "Fr\xe4ge: {prompt}\r\n\u2192 Antwort:\t",
    "temperature": 0.7,
    "top_k": 5,
    "top_p": None,
    "max_new_tokens": 20,
}
GREEDY = {"prompt_template": "{prompt}", "temperature": 0.0, "top_k": None, "top_p": 0.9, "max_new_tokens": 7}
OTHER: dict[str, Any] = {"rotary": False, "heads": 2, "context": 9, "hidden": 28, "layers": 1, "width": 16}


GIVEN: tuple[tuple[str, dict[str, Any], dict[str, Any]], ...] = (("", POLICY, {}), (", rotary=False", GREEDY, OTHER))
# what torch says of weights that belong to a model of other sizes
UNLIKE = ("size mismatch for", "Unexpected key(s) in state_dict", "Missing key(s) in state_dict")


def bundle_cases(part: str, seed: int) -> Iterator[Case]:
    """One case: what a check of bundles draws, it draws from the seed."""
    yield Case("", (), (seed, 67), SMALLEST)


def both(part: Part, case: Case) -> Iterator[tuple[str, Saved, Held]]:
    """Two bundles, saved here and loaded in another process; what is special about each."""
    there = elsewhere(part)
    for said, policy, arguments in GIVEN:
        saved = save(part, policy, case.key[0], **arguments)
        yield said, saved, load(there, saved)


@check(
    parts=["save_bundle"],
    says="load_bundle gives (model, tokenizer, generation) in a new process, from what save_bundle has written.",
    cases=bundle_cases,
    needs=(),
    numbers=False,
)
def loads_elsewhere(part: Part, case: Case) -> Violation | None:
    there = elsewhere(part)
    for said, policy, arguments in GIVEN:
        saved = save(part, policy, case.key[0], **arguments)
        if not saved.files:
            return Violation("save_bundle has written no file", hint="Write everything to the path that is given.")
        try:
            held = load(there, saved)
        except Raised as fault:
            return _fails(part, saved, fault, said)
        try:
            held.state()
        except BadResult as fault:
            turned = Held(part=held.part, module=held.tokenizer, tokenizer=held.module, generation=None, row=held.row)
            return Violation(
                f"the first of the three {fault.message}",
                hint="Return (model, tokenizer, generation), in this order.",
                names=("bundle-order",) if _is_model(turned) else (),
            )
    return None


def _fails(part: Part, saved: Saved, fault: Raised, said: str) -> Violation:
    """A bundle that cannot be loaded in a new process."""
    others = fault.type == "RuntimeError" and any(sign in fault.text for sign in UNLIKE)
    key = "bundle-architecture-lost" if others else "bundle-needs-its-process" if _loads_here(part, saved) else ""
    return Violation(
        f"in a new process load_bundle raises {fault.message}{said}",
        hint="Write all arguments of DecoderLM: the weights fit only a model like the one that was saved."
        if others
        else "Nothing of the process that saved the bundle is there: not its objects, not its other files.",
        names=(key,) if key else (),
    )


def _loads_here(part: Part, saved: Saved) -> bool:
    try:
        load(part, saved)
    except (Raised, BadResult):
        return False
    return True


def _is_model(held: Held) -> bool:
    try:
        held.state()
    except (Raised, BadResult):
        return False
    return True


@check(
    parts=["save_bundle"],
    says="The bundle is one file, or one folder, at the path that was given.",
    cases=bundle_cases,
    needs=("loads-elsewhere",),
    numbers=False,
)
def is_one_file(part: Part, case: Case) -> Violation | None:
    names = sorted({name.split("/")[0] for name in save(part, POLICY, case.key[0]).files})
    if len(names) == 1 and names[0].startswith(NAME):
        return None
    return Violation(
        f"for the path {NAME!r} save_bundle writes {', '.join(map(ascii, names))[:200]}",
        hint="Put tokenizer, arguments, weights and generation into one dict, and write that to the path.",
        names=("bundle-in-pieces",) if len(names) > 1 else (),
    )


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
