"""Decoding with a cache: the logits of forward at every position, whatever the chunks; and the cache is used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from grader.cases import SMALLEST, Case
from grader.checks import check
from grader.compare import Array, Gap, number
from grader.decoding import SCHEDULES, T, decoder, operations
from grader.decoding_names import names
from grader.lm import SIZES, ids
from grader.module import Raised
from grader.part import Part, violation
from grader.verdict import Violation

PART = "DecoderLM.decode"
CONTEXT = SIZES["context"]
# one prompt and one token; single tokens; chunks; the whole context
CHUNKS = ((3,), *SCHEDULES, (CONTEXT - 1, 1))
FAR = 2048
COUNTED = {"vocab_size": 17, "context": 280, "width": 64, "heads": 8, "layers": 2, "hidden": 64}
PREFIXES = (32, 64, 128)


def cache_cases(part: str, seed: int) -> Iterator[Case]:
    """One case: what a check of caches draws, it draws from the seed."""
    yield Case("", (), (seed, 53), SMALLEST)


def chunk_cases(part: str, seed: int) -> Iterator[Case]:
    """Models with and without rotary, batches of two and of one, and lengths of chunks."""
    for B, rotary in ((2, True), (2, False), (1, True)):
        for chunks in CHUNKS:
            if B == 2 or len(chunks) == 3:
                how = f"rotary={rotary}, {B} row{'s' * (B > 1)}, chunks of {', '.join(map(str, chunks))}"
                yield Case(how, (), (seed, 53), SMALLEST, {"B": B, "rotary": rotary, "chunks": chunks})


@check(
    parts=[PART],
    says="decode gives logits (B, t, v) for t new tokens and a cache, and takes that cache again.",
    cases=cache_cases,
    needs=(),
    numbers=False,
)
def decode_shape(part: Part, case: Case) -> Violation | None:
    one = decoder(part, case.key[0])
    tokens, cache = ids(case.key, 2, 6), None
    for at, t in ((0, 3), (3, 1), (4, 2)):
        try:
            reply = one.call(f"{one.handle}.decode", (tokens[:, at : at + t], cache), ("array", "handle"))
        except Raised:
            if at == 4:  # several new tokens behind others: another check's matter
                return None
            raise
        logits, cache = reply.value
        wanted, v = (2, t, one.vocab_size), one.vocab_size
        if logits.shape != wanted:
            last = logits.shape in ((2, 1, v), (2, v)) and t > 1
            return Violation(
                f"the logits of {t} new token{'s' * (t > 1)} in 2 rows are {list(logits.shape)}",
                expected=list(wanted),
                observed=list(logits.shape),
                hint="Return the logits of every new position: (B, t, v).",
                names=("cache-last-logits-only",) if last else (),
            )
    return None


@check(
    parts=[PART],
    says="The logits decoded in chunks are those that forward gives for all tokens at once, at every position.",
    cases=chunk_cases,
    needs=("decode-shape",),
    numbers=False,
)
def matches_forward(part: Part, case: Case) -> Violation | None:
    B, rotary, chunks = (case.extra[key] for key in ("B", "rotary", "chunks"))
    tokens = ids(case.key, B, sum(chunks))
    one = decoder(part, case.key[0], rotary=rotary)
    expected = one.logits(tokens)
    try:
        observed = one.decoded(tokens, chunks)
    except Raised as fault:
        if known := names(part, case.key[0]):
            return Violation(f"decode raises {fault.message}", names=known, hint="See how long past and chunk are.")
        raise
    gap = part.gap(observed, expected)
    if not gap:
        return None
    return _violation(part, case, gap, observed, expected)


def _violation(part: Part, case: Case, gap: Gap, observed: Array, expected: Array) -> Violation:
    """Where the logits differ, and the mistakes that make them so."""
    chunks, (row, t, _) = case.extra["chunks"], gap.first
    call = int(np.searchsorted(np.cumsum(chunks), t, side="right"))
    where = f"in call {call + 1}, at position {t} of row {row}"
    found = violation(
        f"the logits are not those of forward: first {where}; {gap}",
        gap,
        observed,
        expected,
        "Position, mask and keys of a new token are those that it has when forward gets all tokens at once.",
    )
    if not _is_causal(part, case):
        return Violation(
            f"{found.message}; forward itself gives other logits for the first tokens when more follow",
            hint="See to model.lm-later-is-hidden first: no cache can agree with a forward that looks ahead.",
        )
    return Violation(**{**vars(found), "names": _stale(part, case) or names(part, case.key[0])})


def _is_causal(part: Part, case: Case) -> bool:
    one = decoder(part, case.key[0], rotary=case.extra["rotary"])
    tokens = ids(case.key, 2, T)
    return part.gap(one.logits(tokens[:, :3]), one.logits(tokens)[:, :3]) is None


def _stale(part: Part, case: Case) -> tuple[str, ...]:
    """Whether it is right in a process in which nothing was decoded and no model called before."""
    tokens = ids(case.key, case.extra["B"], sum(case.extra["chunks"]))
    one = decoder(part.anew(), case.key[0], rotary=case.extra["rotary"])
    decoded = one.decoded(tokens, case.extra["chunks"])
    alone = part.gap(decoded, one.logits(tokens)) is None
    return ("cache-stale",) if alone else ()


@check(
    parts=[PART],
    says=f"Beyond position {FAR} the decoded logits are still those of forward.",
    cases=cache_cases,
    needs=("matches-forward",),
    numbers=False,
)
def matches_forward_far(part: Part, case: Case) -> Violation | None:
    tiny: dict[str, Any] = {"context": FAR + 8, "width": 4, "heads": 1, "layers": 1, "hidden": 4}
    one, tokens = decoder(part, case.key[0], **tiny), ids(case.key, 1, FAR + 4)
    expected = one.logits(tokens)[:, FAR:]
    observed = one.decoded(tokens, (FAR + 1, 1, 2))[:, FAR:]
    return part.differs(
        observed, expected, f"the logits from position {FAR} on", "Compute positions and angles in full precision."
    )


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
