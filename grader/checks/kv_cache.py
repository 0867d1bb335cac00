"""Decoding with a cache: the logits of forward at every position, whatever the chunks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from grader.cases import SMALLEST, Case
from grader.checks import check
from grader.compare import Array, Gap
from grader.part import Part, violation
from grader.probes.decoding import SCHEDULES, T, decoder
from grader.probes.decoding_names import names
from grader.probes.lm import SIZES, ids
from grader.probes.module import Raised
from grader.verdict import Violation

PART = "DecoderLM.decode"
CONTEXT = SIZES["context"]
# one prompt and one token; single tokens; chunks; the whole context
CHUNKS = ((3,), *SCHEDULES, (CONTEXT - 1, 1))
FAR = 2048
FINITE = "A token that may consult nothing becomes 0/0: every token consults itself."


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
    says="decode gives finite logits (B, t, v) for t new tokens and a cache, and takes that cache again.",
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
        if at < 4 and not np.isfinite(logits).all():
            return Violation(f"the logits of {t} new token{'s' * (t > 1)} are not finite", hint=FINITE)
    return None


@check(
    parts=[PART],
    says="The logits decoded in chunks are those that forward gives for all tokens at once, at every position.",
    cases=chunk_cases,
    needs=("decode-shape",),
    numbers=False,
    noted=True,
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
    gap = part.gap(observed, expected, part.loose if one.instance.precision == "float32" else None)
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
