"""Damage: a bundle that is cut off, changed or of another version is refused, and says why."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from grader.bundles import BadResult, Files, Held, Raised, Saved, load, save
from grader.cases import Case
from grader.checks import check
from grader.checks.bundle import POLICY, bundle_cases
from grader.checks.bundle_contents import equal
from grader.checks.tokenizer import told
from grader.part import Part
from grader.tokens import elsewhere
from grader.verdict import Violation

FLIPS = 16
# what stands in the file where it is written as text: a change there leaves the weights alone
MARKED = (b"rompt_template", b"{prompt}", b"temperature", b"max_new_tokens", b"<|user|>", b"rotary")
VERSION = re.compile(rb'("(?:format_|bundle_)?version"\s*:\s*)(\d+)(?=[,}\s])')
HINT = "Write a checksum of everything, compare it first, and raise ValueError that says what is wrong."


@dataclass(frozen=True)
class Change:
    """One way to damage a bundle's files; marked where it is text of the tokenizer or the policy that changes."""

    said: str
    files: Files
    marked: bool = False


def cuts(files: Files) -> Iterator[Change]:
    """The largest file cut off, emptied, or not there."""
    name = max(files, key=lambda name: (len(files[name]), name))
    data = files[name]
    for keep, said in ((0, "empty"), (len(data) // 3, "cut off after a third"), (len(data) // 2, "cut in half")):
        yield Change(said, {**files, name: data[:keep]})
    yield Change("cut off before its last byte", {**files, name: data[:-1]})
    for other in sorted(files) if len(files) > 1 else ():
        yield Change(f"without {other[:60]!a}", {key: value for key, value in files.items() if key != other})


def keys(files: Files) -> Iterator[Change]:
    """Where a file is a JSON object: without each of its keys."""
    for name, data in sorted(files.items()):
        try:
            content = json.loads(data)
        except (ValueError, RecursionError):
            continue
        for key in list(content)[:20] if isinstance(content, dict) else ():
            rest = {other: value for other, value in content.items() if other != key}
            yield Change(f"without its key {key[:60]!a}", {**files, name: json.dumps(rest).encode()}, marked=True)


def flips(files: Files, seed: int) -> Iterator[Change]:
    """One bit changed: in the texts that are found, then anywhere."""
    rng = np.random.default_rng((seed, 89))
    for word in MARKED:
        for name, data in sorted(files.items()):
            if (at := data.find(word)) >= 0:
                where = at + len(word) // 2
                yield Change(
                    f"changed within {word.decode()!r}", {**files, name: _flipped(data, where, 0)}, marked=True
                )
                break
    names = sorted(name for name, data in files.items() if data)
    sizes = np.array([len(files[name]) for name in names], float)
    for _ in range(FLIPS):
        name = names[int(rng.choice(len(names), p=sizes / sizes.sum()))]
        where, bit = int(rng.integers(len(files[name]))), int(rng.integers(3))
        yield Change(f"changed by one bit at byte {where}", {**files, name: _flipped(files[name], where, bit)})


def _flipped(data: bytes, where: int, bit: int) -> bytes:
    return data[:where] + bytes([data[where] ^ (1 << bit)]) + data[where + 1 :]


def _refused(there: Part, saved: Saved, change: Change, key: str) -> Violation | None:
    """A violation where a changed bundle is loaded, and not as it was."""
    try:
        held = load(there, saved, change.files)
    except Raised as fault:
        return _unclear(fault, change)
    except BadResult as fault:
        return Violation(
            f"a bundle that is {change.said} is not refused: load_bundle {fault.message}",
            hint=HINT,
            names=("bundle-failure-hidden",),
        )
    if not (what := _differs(saved, held)):
        return None
    return Violation(f"a bundle that is {change.said} is loaded; {what} then", hint=HINT, names=(key,))


def _unclear(fault: Raised, change: Change) -> Violation | None:
    """A violation where an exception ends the program, or says nothing."""
    if fault.type in ("SystemExit", "KeyboardInterrupt", "GeneratorExit"):
        return Violation(f"for a bundle that is {change.said} load_bundle raises {told(fault)}", hint=HINT)
    if fault.text.strip():
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
)
def cut_is_refused(part: Part, case: Case) -> Violation | None:
    saved, there = save(part, POLICY, case.key[0]), elsewhere(part)
    for change in cuts(saved.files):
        if found := _refused(there, saved, change, "bundle-unchecked"):
            return found
    return None


@check(
    parts=["save_bundle"],
    says="A bundle in which one bit is changed is refused, wherever it lies, or comes back as it was.",
    cases=bundle_cases,
    needs=("cut-is-refused",),
    numbers=False,
)
def change_is_refused(part: Part, case: Case) -> Violation | None:
    saved, there = save(part, POLICY, case.key[0]), elsewhere(part)
    anywhere: list[Change] = []
    marked: list[Change] = []
    for change in flips(saved.files, case.key[0]):
        (marked if change.marked else anywhere).append(change)
    for changes, key in ((anywhere, "bundle-unchecked"), (marked, "bundle-checked-in-part")):
        for change in (*changes, *keys(saved.files)) if changes is marked else changes:
            if found := _refused(there, saved, change, key):
                return found
    return None


@check(
    parts=["save_bundle"],
    says="Where a bundle's version can be read, a bundle of another version is refused.",
    cases=bundle_cases,
    needs=("cut-is-refused",),
    numbers=False,
)
def version_counts(part: Part, case: Case) -> Violation | None:
    saved, there = save(part, POLICY, case.key[0]), elsewhere(part)
    for name, data in sorted(saved.files.items()):
        if not VERSION.search(data):
            continue
        other = VERSION.sub(lambda match: match[1] + b"9" * len(match[2]), data, count=1)
        change = Change("of another version", {**saved.files, name: other})
        try:
            load(there, saved, change.files)
        except (Raised, BadResult) as fault:
            return _unclear(fault, change) if isinstance(fault, Raised) else None
        return Violation(
            "a bundle whose version is another number is loaded",
            hint="Raise ValueError for a version that load_bundle does not know.",
            names=("bundle-version-ignored",),
        )
    return None
