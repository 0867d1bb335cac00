"""What training comes to: a few tokens are learned by heart, prose better than by counting pairs, noise not at all."""

from __future__ import annotations

from typing import Any

import numpy as np

from grader.cases import Case
from grader.checks import check
from grader.checks.module_shapes import module_cases
from grader.checks.training import FIRST, gradient_of_the_loss, pulls
from grader.checks.training_steps import gradient_steps
from grader.compare import Array
from grader.part import Part
from grader.probes.lm import Model, model
from grader.probes.module import process, student_of
from grader.probes.next_token import entropy
from grader.probes.texts import bigram_loss, noise, noise_weights, prose, unigram_loss
from grader.probes.watched import kept
from grader.verdict import Violation

# A text of CONTEXT + 2 random ids of 11 has two windows. Measured after 150 steps of 4 rows, on eight right models:
# at most 0.2 nats of 2.4 with AdamW, Adam, RMSprop, SGD with momentum, each also with warm-up, cosine decay, weight
# decay, clipping or dropout, at one of these rates (plain SGD at the second); trainers that learn something else stay
# above 2.
RATES, LEARNED = (0.01, 0.3), 0.5
TINY: dict[str, Any] = {"vocab_size": 11, "context": 16, "width": 12, "heads": 3, "layers": 2, "hidden": 20}
# Prose, character by character. Counting pairs gives 1.98 nats on what is held out; right models and trainers reach
# 0.8 to 1.8 at one of these rates (plain SGD with decay at the last).
PROSE: dict[str, Any] = {"context": 32, "width": 32, "heads": 4, "layers": 2, "hidden": 64}
PROSE_RATES, SEEN, HELD_OUT, MARGIN = (0.01, 0.3, 1.0), 8_000, 2_017, 0.1
# Noise of entropy 1.95 nats. Right models stay above it; those that see one token ahead fall to 0.4 and below.
NOISE: dict[str, Any] = {"vocab_size": 8, "context": 16, "width": 32, "heads": 4, "layers": 2, "hidden": 64}
NOISE_SEEN, NOISE_HELD_OUT, BELOW = 5_000, 1_009, 0.2


def untrained(part: Part, sizes: dict[str, Any]) -> Model:
    """A new model in evaluation mode."""
    return model(part, precision="float32", fresh=True, **sizes)


def fit(part: Part, made: Model, tokens: Array, steps: int, rows: int, lr: float, seed: int = 0) -> Model:
    """The model after the submission's `train`, in evaluation mode."""
    given = (made.handle, np.asarray(tokens, np.int64), steps, rows, lr, seed)
    student_of(part).ask(part.part, lambda w: w.call(part.name, given, "array"))
    made.instance.train(False)
    return made


def loss_of(made: Model, tokens: Array) -> float:
    """The mean next-token loss in windows of the context; what is left over at the end is not looked at. shapes: (n)"""
    context = int(made.arguments["context"])
    starts = range(0, len(tokens) - context, context)
    windows = np.stack([tokens[start : start + context + 1] for start in starts])
    return entropy(made.logits(windows[:, :-1]), windows[:, 1:])[0]


def _said(loss: float) -> str:
    """A trained loss for a reader, in few digits: others differ from machine to machine."""
    return f"{loss:.1f}" if np.isfinite(loss) else "no number"


@check(
    parts=["train"],
    says="150 steps learn 18 tokens by heart: below 0.5 nats with a learning rate of 0.01 or 0.3.",
    cases=module_cases,
    needs=FIRST,
    numbers=False,
    carried=False,
)
def overfits(part: Part, case: Case) -> Violation | None:
    tokens = np.random.default_rng((*case.key, 1)).integers(0, TINY["vocab_size"], TINY["context"] + 2)
    window = tokens[: TINY["context"] + 1]
    losses: list[float] = []
    for rate in RATES:
        made = untrained(part, TINY)
        before = loss_of(made, window)
        losses.append(loss_of(fit(part, made, tokens, 150, 4, rate), window))
        if losses[-1] <= LEARNED:
            return None
    least = float(np.fmin.reduce(losses))
    rises = all(not loss <= before + 1 for loss in losses)
    return Violation(
        f"after 150 steps on {len(tokens)} tokens their loss is {_said(least)} nats; it was {_said(before)} before",
        hint="Each step goes against the gradient of −log p of the next tokens, by lr.",
        names=("training-ascends",) if rises and _steps_rightly(part, case) else (),
        allowed=LEARNED,
    )


def _steps_rightly(part: Part, case: Case) -> bool:
    """Whether all that is known of a step but its direction is right."""
    known = bool(pulls(part, case.key[0]))
    return known and gradient_of_the_loss(part, case) is None and gradient_steps(part, case) is None


@check(
    parts=["train"],
    says="In 4 times 100 steps prose that was held out is predicted better than by counting pairs, by 0.1 nats.",
    cases=module_cases,
    needs=(*FIRST, "overfits"),
    numbers=False,
    carried=False,
)
def held_out_prose(part: Part, case: Case) -> Violation | None:
    text = prose(SEEN + HELD_OUT, seed=case.key[0]).lower()
    known = sorted(set(text))
    ids = np.array([known.index(character) for character in text])
    seen, held = ids[:SEEN], ids[SEEN:]
    single, pairs = (f(seen, held, len(known)) for f in (unigram_loss, bigram_loss))
    sizes = {**PROSE, "vocab_size": len(known)}
    least = np.nan
    for rate in PROSE_RATES:
        made = untrained(part, sizes)
        for again in range(4):  # not in one call, so that a slow machine keeps within the limit of one
            least = float(np.fmin(least, loss_of(fit(part, made, seen, 100, 8, rate, again), held)))
            if least <= pairs - MARGIN:
                return None
    return Violation(
        f"prose that was held out costs {_said(least)} nats a character; counting characters gives {single:.2f},"
        f" counting pairs {pairs:.2f}",
        hint="Train on windows from the whole text, with an optimizer such as AdamW, by the learning rate given.",
        allowed=pairs - MARGIN,
    )


def noise_text(seed: int) -> tuple[Array, Array, float]:
    """Ids to learn from, ids that are held out, and what these cost with the true probabilities."""
    ids = noise(NOISE_SEEN + NOISE_HELD_OUT, NOISE["vocab_size"], seed)
    seen, held = ids[:NOISE_SEEN], ids[NOISE_SEEN:]
    return seen, held, float(-np.log(noise_weights(NOISE["vocab_size"]))[held[1:]].mean())


def noise_model(part: Part, seed: int) -> Model:
    """A model that was trained on noise, by the submission's `train`."""

    def made() -> Model:
        return fit(part, untrained(part, NOISE), noise_text(seed)[0], 150, 8, 0.01)

    found: Model = kept(part, f"noise {seed} {id(process(part))}", made)
    return found


@check(
    parts=["train"],
    says="After training on noise, noise that was held out is predicted no better than its entropy allows.",
    cases=module_cases,
    needs=FIRST,
    numbers=False,
    carried=False,
)
def nothing_from_noise(part: Part, case: Case) -> Violation | None:
    _, held, honest = noise_text(case.key[0])
    loss = loss_of(noise_model(part, case.key[0]), held)
    if not loss < honest - BELOW:
        return None
    return Violation(
        f"noise that was held out costs {_said(loss)} nats a token; with the true probabilities it costs {honest:.2f}",
        hint="Nothing predicts noise: the model sees the tokens that it is to predict. Look at the mask.",
        names=("training-leak",),
        allowed=honest - BELOW,
    )
