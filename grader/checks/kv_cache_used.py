"""Whether a cache is used: what is in it counts, and a step costs the work of one token."""

from __future__ import annotations

from grader.cases import Case
from grader.checks import check
from grader.checks.kv_cache import PART, cache_cases
from grader.compare import Array, number
from grader.part import Part
from grader.probes.decoding import decoder, operations
from grader.probes.lm import ids
from grader.verdict import Violation

COUNTED = {"vocab_size": 17, "context": 280, "width": 64, "heads": 8, "layers": 2, "hidden": 64}
PREFIXES = (32, 64, 128)


@check(
    parts=[PART],
    says="The logits of a new token hang on the token and on what is in the cache.",
    cases=cache_cases,
    needs=("decode-shape",),
    numbers=False,
)
def past_counts(part: Part, case: Case) -> Violation | None:
    one, tokens = decoder(part, case.key[0]), ids(case.key, 2, 4)
    other = (tokens + 1) % one.vocab_size

    def last(past: Array, new: Array) -> Array:
        return one.decode(new, one.decode(past)[1])[0]

    right = last(tokens[:, :3], tokens[:, 3:])
    if not part.gap(last(tokens[:, :3], other[:, 3:]), right):
        return Violation("another new token gets the same logits", hint="Embed the new tokens.")
    if not part.gap(last(other[:, :3], tokens[:, 3:]), right):
        return Violation(
            "the logits stay as they are when other tokens were cached",
            hint="Join cached and new keys and values before the scores.",
            names=("cache-ignored",),
        )
    return None


@check(
    parts=[PART],
    says="One more token costs the work of one token: keys and values of the past are not computed again.",
    cases=cache_cases,
    needs=("past-counts",),
    numbers=False,
)
def uses_the_cache(part: Part, case: Case) -> Violation | None:
    one = decoder(part, case.key[0], **COUNTED)
    tokens = ids(case.key, 1, PREFIXES[-1] + 1, vocab_size=COUNTED["vocab_size"])
    steps, forwards = operations(one, tokens, PREFIXES)
    growth = (steps[-1] - steps[0]) / (PREFIXES[-1] - PREFIXES[0])
    d, layers, whole = COUNTED["width"], COUNTED["layers"], steps[-1] / max(forwards[-1], 1.0)
    # attention over the past grows by 4 d a layer, keys or values of the past by 2 d² each
    if growth <= layers * d**2 and whole <= 0.5:
        return None
    key = ""
    if whole > 0.7:
        key = "cache-recomputes"
    elif layers * 2 * d**2 <= growth <= layers * (4 * d**2 + 8 * d):
        key = "cache-reprojects"
    return Violation(
        f"a step after {PREFIXES[0]} tokens takes {steps[0]:.0f} floating-point operations, after {PREFIXES[-1]} tokens"
        f" {steps[-1]:.0f}, which is {number(round(100 * whole))} % of a whole forward",
        hint="Keep the keys and values of each layer; compute those of the new tokens only.",
        size=growth,
        allowed=float(layers * d**2),
        names=(key,),
    )
