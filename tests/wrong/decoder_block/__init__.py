"""Knows every wrong submission for the assignment decoder-block and the text of each."""

import importlib
import pkgutil
from functools import cache

from tests.right.decoder_block import HERE
from tests.wrong.hand_decoder.model import Wrong

__all__ = ["Wrong", "all_wrong", "source"]


@cache
def all_wrong() -> tuple[Wrong, ...]:
    """All wrong submissions, module by module in alphabetical order."""
    modules = [importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]
    return tuple(wrong for module in modules for wrong in getattr(module, "WRONG", ()))


def source(wrong: Wrong) -> str:
    """The text of the submission. ValueError when a patch does not fit exactly once."""
    text = (HERE / f"{wrong.base}.py").read_text(encoding="utf-8")
    for old, new in wrong.replace:
        if (count := text.count(old)) != 1:
            raise ValueError(f"{wrong.id}: {old!r} occurs {count} times")
        text = text.replace(old, new)
    return text
