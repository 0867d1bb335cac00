"""What `evaluate` gives: the mean of −log p(next token) in nats, over every token of the text but the first."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from grader.cases import Case
from grader.checks import check
from grader.checks.module_shapes import module_cases
from grader.checks.training_worth import BELOW, loss_of, noise_model, noise_text
from grader.compare import Array, number
from grader.part import Part
from grader.probes.module import StudentFault
from grader.probes.next_token import Batch, close, entropy, log_softmax, readings
from grader.probes.trained import CONTEXT, LONG, new, text
from grader.probes.watched import Watched, kept, watch
from grader.verdict import Violation

FIRST = ("one-number",)
SHORT = (CONTEXT, 5, 3)  # tokens: these need not be cut
CUT = (CONTEXT + 1, LONG)  # tokens: these may be cut, or have to be
HINT = (
    "Add up F.cross_entropy(logits, targets, reduction='sum') over windows whose last target is the first input of the"
    " next one, and divide by n - 1."
)


def evaluated(part: Part, seed: int, n: int, *, training: bool = False, around: int = 1) -> Watched:
    """One run of `evaluate` on n tokens, made once for a submission."""
    found: Watched = kept(
        part,
        f"evaluate {seed} {n} {training} {around}",
        lambda: watch(part, new(part, seed), text(seed, n).ids, training=training, around=around),
    )
    return found


def value(found: Watched) -> float:
    """The number that was returned; NaN where there are several."""
    return float(found.value.reshape(-1)[0]) if found.value.size == 1 else float("nan")


@check(
    parts=["evaluate"],
    says="The result is one finite number, and another one for another text.",
    cases=module_cases,
    needs=(),
    numbers=False,
    carried=False,
)
def one_number(part: Part, case: Case) -> Violation | None:
    for n in SHORT:
        found = evaluated(part, case.key[0], n)
        if found.value.size != 1:
            return Violation(f"returned numbers of the shape {list(found.value.shape)} for {n} tokens", hint=HINT)
        if not np.isfinite(value(found)):
            return Violation(f"the loss of {n} tokens is {number(value(found))}", hint=HINT)
    losses = {value(evaluated(part, case.key[0], n)) for n in SHORT}
    if len(losses) == 1:
        return Violation(f"every text has the loss {number(round(losses.pop(), 4))}", hint=HINT)
    return None


@check(
    parts=["evaluate"],
    says="On a text that need not be cut the result is the mean of −log p(next token), in nats, by the model's logits.",
    cases=module_cases,
    needs=FIRST,
    numbers=False,
    carried=False,
)
def mean_loss(part: Part, case: Case) -> Violation | None:
    told, wrong = [], []
    for n in SHORT:
        found, words = evaluated(part, case.key[0], n), text(case.key[0], n)
        batch = _one_window(part, case.key[0], n)
        right, loss = next(readings(batch)).value, value(found)
        seen = [words.batch([call]) for call in found.calls if call.tokens.shape == batch.x.shape]
        own = [next(readings(b)).value for b in seen if b is not None and b.complete]
        told.append((loss, _readings(part, case.key[0], batch, n)))
        if not close(loss, right) and not (len(own) == 1 and close(loss, own[0])):
            wrong.append((n, loss, right))
    if not wrong:
        return None
    n, loss, right = wrong[0]
    return Violation(
        f"the loss of {n} tokens is given as {number(round(loss, 4))}, the logits give {number(round(right, 4))}",
        hint="The mean over the n - 1 tokens that follow another one, of -log softmax(logits)[token], natural"
        " logarithm: F.cross_entropy(model(tokens[None, :-1])[0], tokens[1:]).",
        names=_names(told),
    )


def _one_window(part: Part, seed: int, n: int) -> Batch:
    words = text(seed, n)
    x = words.ids[None, :-1]
    return Batch(new(part, seed).logits(x), x, words.follows, words.before)


def _readings(part: Part, seed: int, batch: Batch, n: int) -> list[tuple[str, float]]:
    """What mistakes give; some give the model all n tokens."""
    found = [(reading.key, reading.value) for reading in readings(batch) if reading.key]
    T = batch.x.shape[1]
    for key in ("double-shift", "predicts-past"):  # the sum over fewer tokens, divided as if they were all there
        found += [(key, v * (T - 1) / T) for known, v in found if known == key]
    if n <= CONTEXT:
        ids = text(seed, n).ids[None]
        z = new(part, seed).logits(ids)
        found += [("no-shift", entropy(z, ids)[0]), ("predicts-past", entropy(z[:, 1:], ids[:, :-1])[0])]
    return found


def _names(told: list[tuple[float, list[tuple[str, float]]]]) -> tuple[str, ...]:
    """The one mistake that gives the numbers of all texts."""
    keys = {key for _, table in told for key, _ in table}
    for key in sorted(keys):
        given = [(loss, [v for k, v in table if k == key]) for loss, table in told]
        given = [(loss, values) for loss, values in given if values]
        if len(given) < 2 or not all(any(close(loss, v) for v in values) for loss, values in given):
            keys.discard(key)
    return (f"evaluation-{keys.pop()}",) if len(keys) == 1 else ()


@check(
    parts=["evaluate"],
    says="In a text longer than the context every token but the first is predicted once.",
    cases=module_cases,
    needs=(*FIRST, "mean-loss"),
    numbers=False,
    carried=False,
)
def long_text(part: Part, case: Case) -> Violation | None:
    return next(filter(None, (_once(part, case.key[0], n) for n in CUT)), None)


def _once(part: Part, seed: int, n: int) -> Violation | None:
    """Whether the loss of n tokens is a mean over all of them but the first."""
    found = evaluated(part, seed, n)
    loss, rows = value(found), list(_rows(found, seed, n))
    if not rows:
        low, high = _bounds(part, seed, n)
        fits = low - 1e-4 <= loss <= high + 1e-4
        return None if fits else _wrong(n, loss, "lies outside of what windows can give", ())
    longest = max(call.tokens.shape[1] for call in found.calls)
    if longest > CONTEXT + 1:
        told = f"comes from a call with {longest} tokens"
        return _wrong(n, loss, told, ("evaluation-context-exceeded",))
    predicted = _by_token(rows)
    if missing := sorted(set(range(1, n)) - set(predicted)):
        told = f"has no part from token {missing[0]}, which is predicted in no window"
        return _wrong(n, loss, told, _missing(missing, rows, loss, n))
    low, high = (float(np.mean([pick(values) for values in predicted.values()])) for pick in (min, max))
    room = 2e-5 * max(1.0, abs(low), abs(high))
    if low - room <= loss <= high + room:
        twice = [v for values in predicted.values() for v in values]
        if len(twice) == n - 1 or not close(loss, float(np.mean(twice))) or high - low < 1e-3:
            return None
        return _wrong(n, loss, "counts some tokens twice", ("evaluation-tokens-twice",))
    mean = f", {number(round(low, 4))}" if close(low, high) else ""
    return _wrong(n, loss, f"is not the mean over the other {n - 1}{mean}", _weighted(rows, loss, n))


def _wrong(n: int, loss: float, told: str, names: tuple[str, ...]) -> Violation:
    said = f"the loss of {n} tokens, with a context of {CONTEXT}, is given as {number(round(loss, 4))}; it"
    return Violation(f"{said} {told}", hint=HINT, names=names)


def _rows(found: Watched, seed: int, n: int) -> Iterator[tuple[int, int, Array]]:
    """(call, place of the first token, −log p of the tokens that follow) for every window that the model was given.

    What comes after the end of a piece of the text, such as padding, does not count.
    """
    words = text(seed, n)
    for call in found.calls:
        if call.logits is None or call.logits.shape[2] <= int(words.ids.max()):
            continue
        losses = -log_softmax(call.logits)
        for row, tokens in enumerate(call.tokens):
            places = words.places(tokens)
            breaks = np.flatnonzero((np.diff(places) != 1) | (places[1:] < 0))
            length = int(breaks[0]) + 1 if len(breaks) else len(tokens)
            first = int(places[0])
            length = min(length, n - 1 - first)
            if first >= 0 and length > 0:
                yield call.number, first, losses[row, np.arange(length), words.ids[first + 1 : first + 1 + length]]


def _by_token(rows: list[tuple[int, int, Array]]) -> dict[int, list[float]]:
    predicted: dict[int, list[float]] = {}
    for _, first, losses in rows:
        for place, loss in enumerate(losses.tolist(), first + 1):
            predicted.setdefault(place, []).append(loss)
    return predicted


def _missing(missing: list[int], rows: list[tuple[int, int, Array]], loss: float, n: int) -> tuple[str, ...]:
    """Why tokens are predicted nowhere, where the rest accounts for the loss."""
    predicted = _by_token(rows)
    if not any(close(loss, v) for v in (float(np.mean([np.mean(v) for v in predicted.values()])), *_means(rows))):
        return ()
    if {first for _, first, _ in rows} == {0}:
        return ("evaluation-first-window-only",)
    if missing == list(range(missing[0], n)):
        return ("evaluation-tail-dropped",)
    starts = {first for _, first, _ in rows} - {0}
    return ("evaluation-window-starts-skipped",) if starts and set(missing) <= starts | {n - 1} else ()


def _means(rows: list[tuple[int, int, Array]]) -> Iterator[float]:
    """Means of the means of windows, and of calls."""
    yield float(np.mean([losses.mean() for _, _, losses in rows]))
    calls = dict.fromkeys(call for call, _, _ in rows)
    yield float(np.mean([np.concatenate([losses for c, _, losses in rows if c == call]).mean() for call in calls]))


def _weighted(rows: list[tuple[int, int, Array]], loss: float, n: int) -> tuple[str, ...]:
    """Which wrong weights of the same predictions give the loss."""
    pieces = [losses for _, _, losses in rows]
    inner = [[p[:-1] for p in pieces], [p[:-1] if len(p) == CONTEXT else p for p in pieces]]
    whole = [p for p in pieces if len(p) == CONTEXT]
    told = {
        "mean-of-means": list(_means(rows)),
        "window-starts-skipped": [m for part in inner for m in _either([p for p in part if len(p)])],
        "tail-dropped": _either(whole) if len(whole) < len(pieces) else [],
        "first-window-only": [float(pieces[0].mean())] if rows[0][1] == 0 else [],
        "token-too-many": [float(sum(p.sum() for p in pieces)) / n],
    }
    keys = [key for key, values in told.items() if any(close(loss, v) for v in values)]
    return (f"evaluation-{keys[0]}",) if len(keys) == 1 else ()


def _either(pieces: list[Array]) -> list[float]:
    """The mean over all, and the mean of their means."""
    return [float(np.concatenate(pieces).mean()), float(np.mean([p.mean() for p in pieces]))] if pieces else []


def _bounds(part: Part, seed: int, n: int) -> tuple[float, float]:
    """The least and the greatest mean that any choice of contexts gives, each token being predicted once."""
    words, made = text(seed, n), new(part, seed)
    predicted: dict[int, list[float]] = {}
    for start in range(n - 1):
        x = words.ids[None, start : min(start + CONTEXT, n - 1)]
        losses = -log_softmax(made.logits(x))[0]
        for place in range(x.shape[1]):
            predicted.setdefault(start + place + 1, []).append(float(losses[place, words.ids[start + place + 1]]))
    low, high = (float(np.mean([pick(v) for v in predicted.values()])) for pick in (min, max))
    return low, high


@check(
    parts=["evaluate"],
    says="Noise is not evaluated as better than its entropy allows.",
    cases=module_cases,
    needs=(*FIRST, "mean-loss", "long-text"),
    numbers=False,
    carried=False,
)
def honest_on_noise(part: Part, case: Case) -> Violation | None:
    _, held, honest = noise_text(case.key[0])
    try:
        made = noise_model(part.sibling("train"), case.key[0])
    except StudentFault:
        return None  # that is told of `train`
    if loss_of(made, held) < honest - BELOW:
        return None  # that the model sees ahead is told there, too
    told = np.asarray(made.call(part.name, (made.handle, held)).value, np.float64)
    loss = float(told.reshape(-1)[0]) if told.size == 1 else np.nan
    if not loss < honest - BELOW:
        return None
    return Violation(
        f"noise that was held out is evaluated at {loss:.1f} nats a token; with the true probabilities it costs"
        f" {honest:.2f}",
        hint="Predict each token from those before it alone.",
        names=("evaluation-targets-seen",),
    )
