"""What goes wrong in the loss: the logarithm, the mean, the alignment, what is taken for logits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from grader.misconceptions import Choice, Family, misconception
from reference import BOOK, Parts
from reference.book import real


def _mean(x: Any) -> Any:
    """The mean; NaN of nothing, without a warning."""
    return x.mean() if x.size else np.nan


def loss_with(
    Z: Any,
    targets: Any,
    *,
    takes: str = "logits",
    aligned: str = "given",
    base: str = "e",
    mean: str = "positions",
    sign: str = "minus",
    form: str = "stable",
    the: Parts = BOOK,
) -> Any:
    """The mean of -ln p, with a choice at each step."""
    Z, targets = real(Z), np.asarray(targets)
    if takes == "probabilities":
        Z = the.next_token_probabilities(Z)
    Z, targets = {
        "given": lambda: (Z, targets),
        "shifted": lambda: (Z[:-1], targets[1:]),
        "shifted back": lambda: (Z[1:], targets[:-1]),
        "drop last": lambda: (Z[:-1], targets[:-1]),
        "drop first": lambda: (Z[1:], targets[1:]),
        "rolled": lambda: (Z, np.roll(targets, -1)),
        "rolled back": lambda: (Z, np.roll(targets, 1)),
        "last only": lambda: (Z[-1:], targets[-1:]),
        "first only": lambda: (Z[:1], targets[:1]),
    }[aligned]()
    T, v = Z.shape
    with np.errstate(all="ignore"):
        if form == "stable":
            top = Z.max(axis=-1, keepdims=True)
            logs = Z - top - np.log(np.exp(Z - top).sum(axis=-1, keepdims=True))
        elif form == "log of softmax":
            logs = np.log(the.next_token_probabilities(Z))
        elif form.startswith("plus "):
            logs = np.log(the.next_token_probabilities(Z) + float(form[5:]))
        elif form.startswith("floor "):
            logs = np.log(np.maximum(the.next_token_probabilities(Z), float(form[6:])))
        elif form == "plain exp":
            logs = Z - np.log(np.exp(Z).sum(axis=-1, keepdims=True))
        elif form == "no log":
            logs = the.next_token_probabilities(Z)
        elif form == "one minus":
            logs = the.next_token_probabilities(Z) - 1
        elif form == "logit":
            logs = Z
        else:
            logs = np.log(Z)
        picked = logs[np.arange(T), targets]
        picked = picked / {"e": 1.0, "2": np.log(2), "10": np.log(10)}[base]
        totals: dict[str, Any] = {
            "positions": lambda: _mean(picked),
            "sum": lambda: picked.sum(),
            "one less": lambda: picked.sum() / max(T - 1, 1),
            "one more": lambda: picked.sum() / (T + 1),
            "entries": lambda: picked.sum() / (T * v),
            "vocabulary": lambda: picked.sum() / v,
            "median": lambda: np.median(picked) if picked.size else np.nan,
            "maximum": lambda: picked.min(),
            "every target": lambda: _mean(logs[:, targets]) / {"e": 1.0, "2": np.log(2), "10": np.log(10)}[base],
            "none": lambda: picked,
        }
        total = totals[mean]()
    return total if sign == "plus" else -total


CURE = "-mean over t of (Z[t, targets[t]] - log Σ exp Z[t]), with the natural logarithm."


def _c(key: str, title: str, formula: str, why: str) -> Choice:
    return Choice(key, title, formula, why, CURE)


FAINT = ("1e-12", "1e-15", "1e-20", "1e-30")  # as summands: too small to show beside a probability


LOSS = Family(
    "loss",
    loss_with,
    {
        "takes": {
            "probabilities": _c(
                "loss-softmax-twice",
                "the softmax is taken twice",
                "-ln softmax(softmax(Z))[target]: it never falls to 0",
                "Probabilities are passed to a function that wants logits.",
            ),
        },
        "aligned": {
            "shifted": _c(
                "loss-shifts-targets",
                "the targets are shifted again",
                "Z[:-1] against targets[1:]",
                "targets[t] already is the token after position t.",
            ),
            "shifted back": _c(
                "loss-shifts-back",
                "the targets are shifted the other way",
                "Z[1:] against targets[:-1]",
                "The shift is turned.",
            ),
            "drop last": _c(
                "loss-drops-last",
                "the last position is dropped",
                "Z[:-1] against targets[:-1]",
                "A sequence is taken to have no last target.",
            ),
            "drop first": _c(
                "loss-drops-first",
                "the first position is dropped",
                "Z[1:] against targets[1:]",
                "A first token is taken to have no loss.",
            ),
            "rolled": _c(
                "loss-rolls-targets",
                "the targets are rolled",
                "targets[t + 1 mod T]",
                "np.roll is used for the shift, which is done already.",
            ),
            "rolled back": _c(
                "loss-rolls-targets-back",
                "the targets are rolled back",
                "targets[t - 1 mod T]",
                "np.roll with the wrong sign.",
            ),
            "last only": _c(
                "loss-last-only", "only the last position counts", "-ln p[T-1]", "Only the newest token is looked at."
            ),
            "first only": _c(
                "loss-first-only", "only the first position counts", "-ln p[0]", "An index is fixed at 0."
            ),
        },
        "base": {
            "2": _c("loss-in-bits", "in bits", "-log₂ p", "Information is often measured in bits."),
            "10": _c("loss-base-10", "the decimal logarithm", "-log₁₀ p", "log10 is taken for log."),
        },
        "mean": {
            "sum": _c("loss-summed", "the sum over positions", "-Σ ln p", "The mean is forgotten."),
            "one less": _c(
                "loss-divided-by-one-less",
                "divided by T - 1",
                "-Σ ln p / (T - 1)",
                "One target is taken to be missing.",
            ),
            "one more": _c(
                "loss-divided-by-one-more", "divided by T + 1", "-Σ ln p / (T + 1)", "A start token is counted in."
            ),
            "entries": _c(
                "loss-divided-by-entries",
                "divided by all entries",
                "-Σ ln p / (T · v)",
                "np.mean over a one-hot product counts every entry.",
            ),
            "vocabulary": _c(
                "loss-divided-by-vocabulary",
                "divided by the vocabulary's size",
                "-Σ ln p / v",
                "len of a row is taken for T.",
            ),
            "median": _c("loss-median", "the median over positions", "-median ln p", "Another average is used."),
            "maximum": _c(
                "loss-of-worst-position", "only the worst position counts", "max over t of -ln p[t]", "max for mean."
            ),
            "every target": _c(
                "loss-every-target-everywhere",
                "every target is charged at every position",
                "mean over t and r of -ln p[t, targets[r]]",
                "Z[:, targets] is T × T; the rows have to be counted along: Z[np.arange(T), targets].",
            ),
            "none": _c("loss-per-position", "one loss for each position", "-ln p[t]", "The mean is forgotten."),
        },
        "sign": {
            "plus": _c("loss-sign", "the sign is turned", "mean of ln p: negative", "The minus is forgotten."),
        },
        "form": {
            "log of softmax": _c(
                "loss-log-of-softmax",
                "the logarithm of a softmax",
                "-ln(softmax(Z)): -ln 0 = inf for confident wrong logits",
                "It is right on paper.",
            ),
            **{
                f"plus {tiny}": _c(
                    f"loss-log-plus-{tiny}",
                    "a small number is added inside the logarithm",
                    f"-ln(p + {tiny})",
                    "It keeps ln 0 away.",
                )
                for tiny in ("1e-5", "1e-6", "1e-7", "1e-8", "1e-9", "1e-10")
            },
            **{
                f"floor {tiny}": _c(
                    f"loss-probability-floor-{tiny}",
                    "probabilities are kept above a small number",
                    f"-ln max(p, {tiny}): never above {-math.log(float(tiny)):.1f}"
                    + (f"; -ln(p + {tiny}) cannot be told from it" if tiny in FAINT else ""),
                    "It keeps ln 0 away.",
                )
                for tiny in ("1e-5", "1e-6", "1e-7", "1e-8", "1e-9", "1e-10", *FAINT)
            },
            "plain exp": _c(
                "loss-no-maximum",
                "exp without subtracting the maximum",
                "-Z + ln Σ exp(Z): inf at large logits",
                "Ordinary logits do not show it.",
            ),
            "no log": _c(
                "loss-no-logarithm", "the logarithm is missing", "-p", "Likelihood and its logarithm are mixed up."
            ),
            "one minus": _c("loss-one-minus-p", "1 - p", "mean of 1 - p", "An error rate is meant."),
            "logit": _c("loss-from-logit", "the logit itself", "-Z[t, target]", "The normalization is forgotten."),
        },
    },
)


@misconception(
    "loss-perplexity",
    part="loss",
    title="perplexity in place of the loss",
    formula="exp(mean of -ln p)",
    why="Both are reported for language models.",
    cure="Return the mean of -ln p itself.",
)
def perplexity(Z: Any, targets: Any, *, the: Parts = BOOK) -> Any:
    with np.errstate(over="ignore"):
        return np.exp(loss_with(Z, targets, the=the))


@misconception(
    "loss-of-mean-probability",
    part="loss",
    title="the logarithm of the mean probability",
    formula="-ln(mean over t of p[t, targets[t]])",
    why="The mean is taken one step too early.",
    cure=CURE,
)
def of_mean_probability(Z: Any, targets: Any, *, the: Parts = BOOK) -> Any:
    P = the.next_token_probabilities(Z)
    with np.errstate(divide="ignore"):
        return -np.log(P[np.arange(len(P)), np.asarray(targets)].mean())


@misconception(
    "loss-entropy",
    part="loss",
    title="the entropy of the predictions",
    formula="-Σ p ln p, whatever the targets",
    why="Entropy and cross-entropy are mixed up.",
    cure=CURE,
)
def entropy(Z: Any, targets: Any, *, the: Parts = BOOK) -> Any:
    P = the.next_token_probabilities(Z)
    with np.errstate(all="ignore"):
        return -np.where(P > 0, P * np.log(P), 0).sum(axis=-1).mean()


@misconception(
    "loss-squared-error",
    part="loss",
    title="squared error against one-hot targets",
    formula="mean of Σ (p - onehot)²",
    why="It is the loss of regression.",
    cure=CURE,
)
def squared_error(Z: Any, targets: Any, *, the: Parts = BOOK) -> Any:
    P = the.next_token_probabilities(Z)
    return ((P - np.eye(P.shape[1])[np.asarray(targets)]) ** 2).sum(axis=-1).mean()


@misconception(
    "loss-column-mean",
    part="loss",
    title="normalized over the positions",
    formula="softmax of Z over t, then -ln p",
    why="axis=0 is taken for the vocabulary.",
    cure=CURE,
)
def column_mean(Z: Any, targets: Any) -> Any:
    P = BOOK.softmax(real(Z).T).T
    with np.errstate(divide="ignore"):
        return -np.log(P[np.arange(len(P)), np.asarray(targets)]).mean()
