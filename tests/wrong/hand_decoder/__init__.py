"""Knows every wrong submission for the assignment hand-decoder and the text of each."""

import importlib
import pkgutil
from functools import cache

from tests.right.hand_decoder import HERE
from tests.wrong.hand_decoder.model import Wrong

__all__ = ["PAIRS", "Wrong", "all_wrong", "backend", "one_of_each", "pair_source", "source"]


@cache
def all_wrong() -> tuple[Wrong, ...]:
    """All wrong submissions, module by module in alphabetical order."""
    modules = [importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]
    return tuple(wrong for module in modules for wrong in getattr(module, "WRONG", ()))


def one_of_each(corpus: tuple[Wrong, ...] = ()) -> tuple[Wrong, ...]:
    """Each mistake in each part once, on the bases in turn: a quarter of the time, most of the variety."""
    groups: dict[object, list[Wrong]] = {}
    for wrong in corpus or all_wrong():
        groups.setdefault((wrong.id.rsplit("--", 1)[0], wrong.misconception), []).append(wrong)
    return tuple(group[i % len(group)] for i, group in enumerate(groups.values()))


def backend(wrong: Wrong) -> str:
    """numpy or torch."""
    return wrong.base.split("_")[0]


def source(wrong: Wrong) -> str:
    """The text of the submission. ValueError when a patch does not fit exactly once."""
    return _patched(_base(wrong.base), wrong)


def pair_source(first: Wrong, second: Wrong) -> str:
    """Both mistakes in one submission. ValueError when the bases differ or the patches collide."""
    if first.base != second.base:
        raise ValueError(f"{first.id} and {second.id} have different bases")
    return _patched(_patched(_base(first.base), first), second)


@cache
def _base(name: str) -> str:
    return (HERE / f"{name}.py").read_text(encoding="utf-8")


def _patched(text: str, wrong: Wrong) -> str:
    for old, new in wrong.replace:
        if (count := text.count(old)) != 1:
            raise ValueError(f"{wrong.id}: {old!r} occurs {count} times")
        text = text.replace(old, new)
    return text


def _pairs() -> tuple[tuple[Wrong, Wrong], ...]:
    from tests.wrong.hand_decoder.pairs import PAIR_IDS

    by_id = {wrong.id: wrong for wrong in all_wrong()}
    return tuple((by_id[first], by_id[second]) for first, second in PAIR_IDS)


PAIRS = _pairs()
