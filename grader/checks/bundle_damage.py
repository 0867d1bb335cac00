"""Damage: a bundle that is cut off, changed or of another version is refused, and says why."""

from __future__ import annotations

from grader.cases import Case
from grader.checks import check
from grader.checks.bundle import POLICY, bundle_cases
from grader.checks.bundle_contents import equal
from grader.checks.tokenizer import told
from grader.part import Part
from grader.probes.bundles import BadResult, Held, Raised, Saved, load, save
from grader.probes.damage import Change, cuts, flips, keys, versions
from grader.verdict import Violation

# exceptions that are no ValueError, so that who calls load_bundle has to know its format
OTHERS = (
    "AssertionError",
    "AttributeError",
    "BadZipFile",
    "EOFError",
    "IndexError",
    "KeyError",
    "OSError",
    "RuntimeError",
)
HINT = "Write a checksum of everything, compare it first, and raise ValueError that says what is wrong."


def _refused(part: Part, there: Part, saved: Saved, change: Change, key: str) -> Violation | None:
    """A violation where a changed bundle is loaded, and not as it was."""
    try:
        held = load(there, saved, change.files)
    except Raised as fault:
        return _unclear(part, fault, change)
    except BadResult as fault:
        return Violation(
            f"a bundle that is {change.said} is not refused: load_bundle {fault.message}",
            hint=HINT,
            names=("bundle-failure-hidden",),
        )
    if not (what := _differs(saved, held)):
        return None
    return Violation(f"a bundle that is {change.said} is loaded; {what} then", hint=HINT, names=(key,))


def _unclear(part: Part, fault: Raised, change: Change) -> Violation | None:
    """A violation where an exception ends the program, or says nothing."""
    if fault.type in ("SystemExit", "KeyboardInterrupt", "GeneratorExit"):
        return Violation(f"for a bundle that is {change.said} load_bundle raises {told(fault)}", hint=HINT)
    if fault.text.strip():
        if fault.type in OTHERS:
            part.note(f"a damaged bundle raises {fault.type} where ValueError is asked for; accepted")
        return None
    return Violation(
        f"for a bundle that is {change.said} load_bundle raises {fault.type}, which says nothing",
        hint="Say what is wrong, in words: the file is cut off, changed, or of another version.",
        names=("bundle-failure-unclear",),
    )


def _differs(saved: Saved, held: Held) -> str:
    """What is not as it was; empty where everything is."""
    try:
        state, ids = held.state(), held.ids()
    except (Raised, BadResult):
        return "what it gives cannot be used"
    if not saved.state.weights_as(state):
        return "weights are others"
    if not saved.state.logits_as(state):
        return "logits are others"
    if ids != saved.ids:
        return "the tokenizer is another one"
    found = held.generation
    alike = isinstance(found, dict) and found.keys() == saved.generation.keys()
    if not alike or not all(equal(found[key], value) for key, value in saved.generation.items()):
        return "the policy of generation is another one"
    return ""


@check(
    parts=["save_bundle"],
    says="A bundle that is empty or cut off raises an exception that says something.",
    cases=bundle_cases,
    needs=("is-one-file", "holds-the-model", "holds-the-tokenizer", "holds-the-policy"),
    numbers=False,
    noted=True,
)
def cut_is_refused(part: Part, case: Case) -> Violation | None:
    saved, there = save(part, POLICY, case.key[0]), part.fresh()
    for change in cuts(saved.files):
        if found := _refused(part, there, saved, change, "bundle-unchecked"):
            return found
    return None


@check(
    parts=["save_bundle"],
    says="A bundle in which one bit is changed is refused, wherever it lies, or comes back as it was.",
    cases=bundle_cases,
    needs=("cut-is-refused",),
    numbers=False,
    noted=True,
)
def change_is_refused(part: Part, case: Case) -> Violation | None:
    saved, there = save(part, POLICY, case.key[0]), part.fresh()
    anywhere: list[Change] = []
    marked: list[Change] = []
    for change in flips(saved.files, case.key[0]):
        (marked if change.marked else anywhere).append(change)
    for changes, key in ((anywhere, "bundle-unchecked"), (marked, "bundle-checked-in-part")):
        for change in (*changes, *keys(saved.files)) if changes is marked else changes:
            if found := _refused(part, there, saved, change, key):
                return found
    return None


@check(
    parts=["save_bundle"],
    says="Where a bundle's version can be read, a bundle of another version is refused.",
    cases=bundle_cases,
    needs=("cut-is-refused",),
    numbers=False,
    noted=True,
)
def version_counts(part: Part, case: Case) -> Violation | None:
    saved, there = save(part, POLICY, case.key[0]), part.fresh()
    for change in versions(saved.files):
        try:
            load(there, saved, change.files)
        except (Raised, BadResult) as fault:
            return _unclear(part, fault, change) if isinstance(fault, Raised) else None
        return Violation(
            "a bundle whose version is another number is loaded",
            hint="Raise ValueError for a version that load_bundle does not know.",
            names=("bundle-version-ignored",),
        )
    return None
