"""The windows that `train` draws: pieces of the text, all of them, another batch in each step, decided by the seed."""

from __future__ import annotations

import numpy as np

from grader.cases import Case
from grader.checks import check
from grader.checks.module_shapes import module_cases
from grader.checks.training import FIRST, reported_loss
from grader.compare import Array
from grader.part import Part
from grader.probes.next_token import along, entropy
from grader.probes.trained import CONTEXT, LONG, ROWS, STEPS, drops_out, groups, run, text
from grader.probes.watched import Call, Watched
from grader.verdict import Violation

FEW = CONTEXT + 4  # tokens: four windows
MANY = 60  # steps of ROWS windows: one of the four is missed by chance in one of 10^22 runs
SHORT = 6  # tokens, fewer than a window has
DRAW = "Draw batch_size starts in each step: torch.randint(0, n - context, (batch_size,), generator=generator)."


@check(
    parts=["train"],
    says="Windows are pieces of the text of context + 1 tokens, and each of them comes up.",
    cases=module_cases,
    needs=FIRST,
    numbers=False,
    carried=False,
)
def windows_of_the_text(part: Part, case: Case) -> Violation | None:
    seed = case.key[0]
    found = run(part, seed)
    for call in found.trained:
        if wrong := _backwards(seed, call) or _not_a_window(seed, call.tokens, LONG):
            return wrong
    if wrong := _rows(found):
        return wrong
    many = run(part, seed, n=FEW, steps=MANY)
    starts: set[int] = set()
    for call in many.trained:
        if wrong := _not_a_window(seed, call.tokens, FEW):
            return wrong
        starts.update(text(seed, FEW).places(call.tokens[:, 0]).tolist())
    return _missing(starts, shifted=_shifted_twice(part, case)) if starts else None


def _backwards(seed: int, call: Call) -> Violation | None:
    """Windows that are read from their end to their start."""
    words = text(seed)
    if not words.runs(call.tokens[:, ::-1]).all():
        return None
    targets = words.before[call.tokens]
    factor = None
    if call.logits is not None and call.pulled is not None and (targets >= 0).all():
        factor = along(call.pulled, entropy(call.logits, targets)[1])
    return Violation(
        "windows are read from their end to their start",
        hint=DRAW,
        names=("training-predicts-past",) if factor and factor > 0 else (),
    )


def _not_a_window(seed: int, tokens: Array, n: int) -> Violation | None:
    words = text(seed, n)
    runs = words.runs(tokens)
    if not runs.all():
        ids = tokens[int(np.argmin(runs))].tolist()
        return Violation(
            f"the model is given {ids}, which is no piece of the text", observed=ids, hint=DRAW, expected=None
        )
    length = tokens.shape[1]
    if length not in (CONTEXT, CONTEXT + 1):
        return Violation(
            f"the model is given {length} tokens of each window, with a context of {CONTEXT}",
            hint="A window is context + 1 tokens: context inputs, and the targets that follow them.",
            names=("training-window-length",),
        )
    places = words.places(tokens[:, 0])
    if (places + CONTEXT >= n).any():
        return Violation(
            f"a window begins at token {int(places.max())} of {n}: its last input has no next token",
            hint=DRAW,
            names=("training-window-past-end",),
        )
    return None


def _rows(found: Watched) -> Violation | None:
    """Each step has batch_size windows, which differ, and differ from those of other steps."""
    steps = groups(found, STEPS)
    if steps is None:
        return None
    batches = [np.concatenate([call.tokens for call in calls]) for calls in steps]
    if any(len(batch) != ROWS for batch in batches):
        count = next(len(batch) for batch in batches if len(batch) != ROWS)
        return Violation(
            f"a batch has {count} row{'s' * (count != 1)} where batch_size is {ROWS}",
            hint=DRAW,
            names=("training-batch-size-ignored",),
        )
    alike = all((batch == batch[0]).all() for batch in batches)
    same = all(_sorted(batch) == _sorted(batches[0]) for batch in batches)
    if alike and same:
        return Violation("every batch is one and the same window", hint=DRAW, names=("training-one-window-only",))
    if alike:
        return Violation("all rows of a batch are one window", hint=DRAW, names=("training-rows-alike",))
    if same:
        return Violation("every step has the same batch", hint=DRAW, names=("training-same-batch",))
    return None


def _sorted(batch: Array) -> list[list[int]]:
    return sorted(batch.tolist())


def _shifted_twice(part: Part, case: Case) -> bool:
    """Whether targets are one token too far away: the last window has none then."""
    found = reported_loss(part, case)
    return found is not None and "training-double-shift" in found.names


def _missing(starts: set[int], *, shifted: bool) -> Violation | None:
    """A window of the four that has never come."""
    absent = sorted(set(range(FEW - CONTEXT)) - starts)
    if not absent:
        return None
    known = {FEW - CONTEXT - 1: "training-last-window-missing", 0: "training-first-window-missing"}
    key = known.get(absent[0]) if len(absent) == 1 and not shifted else None
    return Violation(
        f"in {MANY * ROWS} windows of a text of {FEW} tokens none begins at token {absent[0]}; the context is"
        f" {CONTEXT}, so windows begin at 0 to {FEW - CONTEXT - 1}",
        hint="A text of n tokens has n - context windows, the last one included: torch.randint(0, n - context, ...).",
        names=(key,) if key else (),
    )


@check(
    parts=["train"],
    says="A text of one window will do, and a shorter one, also where the batch is larger.",
    cases=module_cases,
    needs=FIRST,
    numbers=False,
    carried=False,
)
def short_texts(part: Part, case: Case) -> Violation | None:
    seed = case.key[0]
    for n in (CONTEXT + 1, SHORT):
        found = run(part, seed, n=n, steps=2, rows=4)
        if not np.isfinite(found.value.astype(np.float64)).all():
            return Violation(f"a loss on {n} tokens, with a context of {CONTEXT}, is not finite")
        words = text(seed, n)
        for call in found.trained:
            places = words.places(call.tokens[:, 0])
            if not words.runs(call.tokens).all() or places.any() or call.tokens.shape[1] not in (n - 1, n):
                return Violation(
                    f"a text of {n} tokens is one window, and the model is given {call.tokens[0].tolist()} of"
                    f" {words.ids.tolist()}",
                    hint="length = min(context + 1, n); the inputs are all tokens of a window but the last.",
                )
    return None


@check(
    parts=["train"],
    says="The same seed gives the same batches and losses, another seed gives other batches.",
    cases=module_cases,
    needs=FIRST,
    numbers=False,
    carried=False,
)
def seed_decides(part: Part, case: Case) -> Violation | None:
    seed = case.key[0]
    first, again = run(part, seed), run(part, seed, around=2)
    hint = "Make generator = torch.Generator().manual_seed(seed) before the loop and draw the windows from it."
    elsewhere = "where the global random generator stands elsewhere"
    if not _same(first, again):
        what, key = ("batches", ("training-unseeded",)) if first.trained else ("losses", ())
        return Violation(f"the same seed gives other {what} {elsewhere}", hint=hint, names=key)
    if not _same_losses(first, again):
        return Violation(
            f"the same seed gives the same batches and other losses {elsewhere}",
            hint="Call torch.manual_seed(seed) first: dropout draws from the global generator.",
            names=("training-dropout-unseeded",) if first.trained and drops_out(part, seed) else (),
        )
    other = run(part, seed, drawn=5)
    if _various(first) and _same(first, other) and (first.trained or _same_losses(first, other)):
        return Violation("another seed gives the same batches", hint=hint, names=("training-seed-unused",))
    return None


def _same(one: Watched, other: Watched) -> bool:
    """Whether two runs have the same batches."""
    a, b = [call.tokens for call in one.trained], [call.tokens for call in other.trained]
    return len(a) == len(b) and all(map(np.array_equal, a, b))


def _same_losses(one: Watched, other: Watched) -> bool:
    a, b = one.value, other.value
    return a.shape == b.shape and np.allclose(a, b, rtol=1e-5, atol=0)


def _various(found: Watched) -> bool:
    """Whether batches differ at all; that they do not is told with the windows."""
    return not found.trained or len({tuple(call.tokens.reshape(-1)) for call in found.trained}) > 1
