"""Knows what decodes wrongly: by wrong decoders that give the same numbers, and by where the logits differ at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import numpy as np

from grader.compare import Array
from grader.misconceptions.cached_decoding import RIGHT, How, decoded
from grader.misconceptions.caches import WAYS
from grader.part import Part
from grader.probes.decoding import SCHEDULES, T, agree, decoder, decoder_precision
from grader.probes.decoding_consulted import Setting, Wrong, by_consulted, by_dependence, by_window, settled
from grader.probes.lm import SIZES, Model, ids, model
from grader.probes.module import Raised
from grader.worker import StudentFault
from reference.lm import ACTIVATIONS, LM, draw


def names(part: Part, seed: int) -> tuple[str, ...]:
    """The mistakes that a decoder makes whose logits are not those of forward; none where it is not certain."""
    with suppress(StudentFault):
        wrong = {
            setting: bad
            for setting in (Setting(rotary, layers) for layers in (1, 2) for rotary in (False, True))
            if (bad := _wrong_schedules(part, seed, setting))
        }
        if not wrong:
            return by_window(part, seed)
        if found := _by_reference(part, seed):
            return found
        for candidate in (by_consulted, by_dependence, _by_settings):
            if found := candidate(part, seed, wrong):
                return found
    return ()


def _wrong_schedules(part: Part, seed: int, setting: Setting) -> dict[tuple[int, ...], str]:
    """The schedules whose logits are not those of forward, with what was raised, if anything was."""
    tokens, bad = ids((seed, 1), 2, T), {}
    for schedule in SCHEDULES:
        one = decoder(part, seed, rotary=setting.rotary, layers=setting.layers)
        expected = one.logits(tokens)
        try:
            if not agree(part, one.decoded(tokens, schedule), expected):
                bad[schedule] = ""
        except Raised as fault:
            bad[schedule] = fault.text or fault.type
    return bad


def _by_reference(part: Part, seed: int) -> tuple[str, ...]:
    """The wrong decoder of the reference that gives the student's numbers, from the reference's weights."""
    found = []
    for rotary in (True, False):
        with suppress(StudentFault):
            agreed = _agreed(part, seed, rotary)
            if agreed is not None:
                found.append(agreed)
    return settled(found)


def _agreed(part: Part, seed: int, rotary: bool) -> set[str] | None:
    """The mistakes whose wrong decoders give the student's numbers; None where those are right."""
    sizes = {name: SIZES[name] for name in ("vocab_size", "width", "layers", "hidden")}
    weights = draw(seed, context=0 if rotary else SIZES["context"], **sizes)
    tokens, heads = ids((seed, 2), 2, T), SIZES["heads"]

    def fresh() -> Model:
        made = model(part, precision=decoder_precision(part), fresh=True, rotary=rotary)
        made.load_reference(weights)
        return made

    right = fresh().logits(tokens)
    kinds = [kind for kind in ACTIVATIONS if agree(part, right, LM.DecoderLM(tokens, weights, heads, kind))]
    if not kinds:
        return set()
    observed: dict[tuple[int, ...], Array] = {}
    for schedule in SCHEDULES:
        with suppress(Raised):
            observed[schedule] = fresh().decoded(tokens, schedule)
    if len(observed) < 2:
        return set()
    if len(observed) == len(SCHEDULES) and all(agree(part, logits, right) for logits in observed.values()):
        return None

    def holds(how: How) -> bool:
        return all(
            agree(part, logits, decoded(weights, tokens, schedule, heads=heads, activation=kinds[0], how=how))
            for schedule, logits in observed.items()
        )

    return {name for name, how in _ways(rotary) if holds(how)}


def _ways(rotary: bool) -> Iterator[tuple[str, How]]:
    """The wrong decoders that are wrong in a model with rotary, or without."""
    for name, how in WAYS:
        if rotary or replace(how, turned="right") != RIGHT:
            yield name, how


def _by_settings(part: Part, seed: int, wrong: Wrong) -> tuple[str, ...]:
    """From where it is wrong at all."""
    texts = {text for bad in wrong.values() for text in bad.values()}
    chunked = {schedule for schedule in SCHEDULES if max(schedule[1:]) > 1}
    if all("must match the size" in text for text in texts) and all(set(bad) == chunked for bad in wrong.values()):
        return ("cache-mask-square",)
    if any(texts):
        return ()
    upper, first = {s for s in wrong if s.layers == 2}, {s for s in wrong if s.layers == 1}
    if Setting(False, 2) in upper and not first:
        return ("cache-shared-by-layers",) if _prompt_is_right(part, seed) else ()
    if upper == {Setting(True, 2)} and not first:
        return ("cache-counter-early",) if (1,) * T not in wrong[Setting(True, 2)] else ()
    if first == {Setting(True, 1)} and not _order_counts(part, seed):
        return ("cache-position-zero",)
    return ()


def _prompt_is_right(part: Part, seed: int) -> bool:
    one, tokens = decoder(part, seed, rotary=False, layers=2), ids((seed, 4), 2, T)
    return agree(part, one.decode(tokens)[0], one.logits(tokens))


def _order_counts(part: Part, seed: int) -> bool:
    """Whether the order of the past counts with rotary and one layer, where tokens come one by one."""
    tokens = ids((seed, 5), 2, T)
    mixed = np.concatenate([tokens[:, -2::-1], tokens[:, -1:]], axis=1)
    one, other = (decoder(part, seed, rotary=True, layers=1).decoded(x, (1,) * T) for x in (tokens, mixed))
    return not agree(part, one[:, -1], other[:, -1])
