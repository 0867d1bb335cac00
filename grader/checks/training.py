"""The losses that `train` reports: one for each step, and the mean of −log p(next token) in nats, before the step."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from grader.cases import Case
from grader.checks import check
from grader.checks.module_shapes import module_cases
from grader.compare import Array, number
from grader.part import Part
from grader.probes.module import Raised
from grader.probes.next_token import Batch, Reading, along, close, readings, smoothing
from grader.probes.trained import CONTEXT, STEPS, drops_out, groups, new, run, text
from grader.probes.watched import Call, Watched
from grader.verdict import Violation

FIRST = ("train-runs",)
HINT = (
    "loss = F.cross_entropy(logits.flatten(0, 1), window[:, 1:].flatten()), where the window has context + 1 tokens"
    " and logits = model(window[:, :-1]); keep loss.item()."
)


@check(
    parts=["train"],
    says="Training runs, calls the model or moves its parameters, and returns numbers.",
    cases=module_cases,
    needs=(),
    numbers=False,
    carried=False,
)
def train_runs(part: Part, case: Case) -> Violation | None:
    try:
        found = run(part, case.key[0])
    except Raised as fault:
        if wrong := _stepped_between(part, case, fault):
            return wrong
        raise
    if any(call.graph for call in found.calls) or any(found.moved):
        return None
    return Violation(
        "the model is not called in a way that a gradient could come back from, and its parameters stay as they are",
        hint="In every step: logits = model(window[:, :-1]), outside torch.no_grad(); then the loss.",
    )


@check(
    parts=["train"],
    says="The result is a list of as many finite losses as there are steps.",
    cases=module_cases,
    needs=FIRST,
    numbers=False,
    carried=False,
)
def one_loss_a_step(part: Part, case: Case) -> Violation | None:
    losses = run(part, case.key[0]).value
    if losses.shape != (STEPS,):
        told = f"{losses.shape[0]} losses" if losses.ndim == 1 else f"numbers of the shape {list(losses.shape)}"
        return Violation(
            f"{STEPS} steps give {told if losses.ndim else 'one number'}", hint="Append loss.item() in every step."
        )
    if not np.isfinite(losses.astype(np.float64)).all():
        return Violation(f"loss {int(np.argmin(np.isfinite(losses)))} is not finite")
    return None


def _stepped_between(part: Part, case: Case, fault: Raised) -> Violation | None:
    """A step between forward and backward, which torch refuses as soon as it changes something: at the second one."""
    if "modified by an inplace operation" not in fault.message:
        return None
    try:
        run(part, case.key[0], steps=1)
    except Raised:
        return None
    return Violation(
        "backward fails in the second step: the first one has changed parameters that its graph still needs",
        hint="In every step: optimizer.zero_grad(), loss.backward(), optimizer.step().",
        names=("training-step-before-backward",),
    )


@check(
    parts=["train"],
    says="Each reported loss is the mean of −log p(next token) over its batch, in nats, before the step.",
    cases=module_cases,
    needs=(*FIRST, "one-loss-a-step"),
    numbers=False,
    carried=False,
)
def reported_loss(part: Part, case: Case) -> Violation | None:
    found, seed = run(part, case.key[0]), case.key[0]
    losses = found.value.astype(np.float64)
    if losses.shape != (STEPS,) or not np.isfinite(losses).all():
        return None  # that is told before
    batches = _batches(found, seed)
    if batches is None:
        return _first_of_one_window(part, seed) if not found.trained else None
    right = [next(readings(batch)).value for batch in batches]
    if all(map(close, losses, right)):
        return None
    return _reported(losses, right, _names(found, seed, batches, losses, right))


def _batches(found: Watched, seed: int) -> list[Batch] | None:
    """The batch of each step, where every input has a next token."""
    steps = groups(found, STEPS)
    batches = [_complete(text(seed).batch(calls)) for calls in steps or []]
    return [b for b in batches if b] if batches and all(batches) else None


def _complete(batch: Batch | None) -> Batch | None:
    """The batch; of a window that was given to the model whole, all but its last position."""
    if batch is not None and batch.x.shape[1] == CONTEXT + 1:
        batch = batch.without_last()
    return batch if batch is not None and batch.complete else None


def _reported(losses: Array, right: list[float], names: tuple[str, ...]) -> Violation:
    step = next(i for i, (a, b) in enumerate(zip(losses, right, strict=False)) if not close(a, b))
    return Violation(
        f"the loss of step {step} is reported as {number(round(float(losses[step]), 4))};"
        f" the logits of its batch give {number(round(right[step], 4))}",
        hint=HINT,
        names=names,
    )


def _names(found: Watched, seed: int, batches: list[Batch], losses: Array, right: list[float]) -> tuple[str, ...]:
    """The one mistake that gives every reported loss."""
    tables = [list(readings(batch)) for batch in batches]
    keys = {key for key in _keys(tables) if _explains(key, tables, losses)}
    if not keys:
        keys = set(_of_the_sequence(found, seed, batches, losses, np.array(right)))
    return (f"training-{keys.pop()}",) if len(keys) == 1 else ()


def _keys(tables: list[list[Reading]]) -> list[str]:
    return list(dict.fromkeys(reading.key for table in tables for reading in table if reading.key))


def _explains(key: str, tables: list[list[Reading]], losses: Array) -> bool:
    """Whether a mistake gives every loss for which it can be told, and more than one."""
    told = 0
    for table, loss in zip(tables, losses, strict=True):
        values = [reading.value for reading in table if reading.key == key]
        if values and not any(close(loss, value) for value in values):
            return False
        told += bool(values)
    return told > 1


def _of_the_sequence(found: Watched, seed: int, batches: list[Batch], losses: Array, right: Array) -> Iterator[str]:
    means = np.cumsum(right) / np.arange(1, len(right) + 1)
    if all(map(close, losses, means)):
        yield "running-mean"
    weights = (losses[1:] - right[1:]) / (losses[:-1] - right[1:])  # of what was reported before
    if close(losses[0], right[0]) and 0 < weights[0] < 1 and np.allclose(weights, weights[0], rtol=1e-3):
        yield "running-mean"
    shares = [smoothing(batch, loss) for batch, loss in zip(batches, losses, strict=True)]
    if all(share is not None and abs(share - (shares[0] or 0)) < 1e-3 for share in shares):
        yield "label-smoothing"
    after = _after(found, seed) or [[]]
    if all(any(close(loss, value) for value in values) for loss, values in zip(losses, after, strict=False)):
        yield "loss-after-step"


def _after(found: Watched, seed: int) -> list[list[float]] | None:
    """For each step, the losses of the calls that come after its own and have the same tokens."""
    steps, own = groups(found, STEPS) or [], {call.number for call in found.trained}
    told: list[list[float]] = []
    for calls, following in zip(steps, [*steps[1:], []], strict=True):
        end = following[0].number if following else len(found.calls)
        later = [c for c in found.calls[calls[-1].number + 1 : end] if c.number not in own]
        told.append([value for call in later if (value := _loss(call, seed)) is not None])
    return told if told and all(told) else None


def _loss(call: Call, seed: int) -> float | None:
    batch = _complete(text(seed).batch([call]))
    return next(readings(batch)).value if batch else None


def _first_of_one_window(part: Part, seed: int) -> Violation | None:
    """Where no call of the model is seen: a text of one window has but one batch, whatever is drawn."""
    if drops_out(part, seed):
        return None
    found, words = run(part, seed, n=CONTEXT + 1, rows=1), text(seed, CONTEXT + 1)
    x = words.ids[None, :-1]
    told = list(readings(Batch(new(part, seed).logits(x), x, words.follows, words.before)))
    loss = float(found.value.reshape(-1)[0]) if found.value.size else np.nan
    if close(loss, told[0].value):
        return None
    keys = {reading.key for reading in told[1:] if close(loss, reading.value)}
    return _reported(np.array([loss]), [told[0].value], (f"training-{keys.pop()}",) if len(keys) == 1 else ())


@check(
    parts=["train"],
    says="The gradient that comes back to the logits is that of the mean of −log p(next token).",
    cases=module_cases,
    needs=FIRST,
    numbers=False,
    carried=False,
)
def gradient_of_the_loss(part: Part, case: Case) -> Violation | None:
    pairs = pulls(part, case.key[0])
    wrong = [(batch, pulled) for batch, pulled in pairs if not _right_pull(batch, pulled)]
    if not wrong:
        return None
    return Violation(
        "the gradient at the logits is not that of −log p of the next tokens",
        hint=HINT,
        names=_pulled_by([pair for pair in wrong if pair[0].complete]),
    )


def pulls(part: Part, seed: int) -> list[tuple[Batch, Array]]:
    """The windows of each call, and the gradient that came back to its logits."""
    calls, words = run(part, seed).calls, text(seed)
    pairs = [(words.batch([call]), call.pulled) for call in calls]
    return [(batch, pulled) for batch, pulled in pairs if batch is not None and pulled is not None]


def _right_pull(batch: Batch, pulled: Array) -> bool:
    """Whether a gradient is the right one, up to a factor above 0; a window given whole has no target at its end."""
    if batch.x.shape[1] == CONTEXT + 1:
        if np.abs(pulled[:, -1]).max() > 0:
            return False
        batch, pulled = batch.without_last(), pulled[:, :-1]
    if not batch.complete:
        return True  # that is told with the windows
    pull = next(readings(batch)).pull
    factor = along(pulled, pull) if pull is not None and np.isfinite(pulled).all() else None
    return factor is not None and factor > 0


def _pulled_by(pairs: list[tuple[Batch, Array]]) -> tuple[str, ...]:
    """The one mistake whose gradient all of them are."""
    tables = [list(readings(batch)) for batch, _ in pairs]
    keys = set()
    for key in _keys(tables):
        pulls = [[r.pull for r in table if r.key == key and r.pull is not None] for table in tables]
        told = [
            any((along(pulled, pull) or 0) > 0 for pull in given)
            for given, (_, pulled) in zip(pulls, pairs, strict=True)
            if given
        ]
        if told and all(told):
            keys.add(key)
    if not keys and pairs and all(np.isfinite(pulled).all() and _smoothed(batch, pulled) for batch, pulled in pairs):
        keys.add("label-smoothing")
    return (f"training-{keys.pop()}",) if len(keys) == 1 else ()


def _smoothed(batch: Batch, pulled: Array) -> bool:
    """Whether a gradient is p − (1 − s) · onehot − s / v for some s, up to a factor."""
    v = batch.logits.shape[-1]
    sides = [batch.p, -np.eye(v)[batch.y], -np.full_like(batch.p, 1 / v)]
    A = np.stack([side.reshape(-1) for side in sides], axis=1)
    (whole, target, even), *_ = np.linalg.lstsq(A, pulled.reshape(-1), rcond=None)
    gap = np.abs(A @ np.array([whole, target, even]) - pulled.reshape(-1)).max()
    fits = gap <= 1e-4 * np.abs(pulled).max() and abs(target + even - whole) <= 1e-3 * abs(whole)
    return bool(whole > 0 and even > 1e-3 * whole and fits)
