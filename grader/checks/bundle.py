"""A bundle: one file, which can be read in a process that knows nothing of the one that wrote it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from grader.cases import SMALLEST, Case
from grader.checks import check
from grader.checks.tokenizer import told
from grader.part import Part
from grader.probes.bundles import NAME, BadResult, Held, Raised, Saved, load, save
from grader.probes.tokens import elsewhere
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
    there = part.fresh()
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
        f"in a new process load_bundle raises {told(fault)}{said}",
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
