"""Knows every wrong submission for the assignment encoder-block and the text of each."""

import importlib
import pkgutil
from functools import cache

from tests.right.encoder_block import HERE
from tests.wrong.hand_decoder import _patched
from tests.wrong.hand_decoder.model import Wrong

__all__ = ["Wrong", "all_wrong", "source"]


@cache
def all_wrong() -> tuple[Wrong, ...]:
    """All wrong submissions, module by module in alphabetical order."""
    modules = [importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]
    return tuple(wrong for module in modules for wrong in getattr(module, "WRONG", ()))


def source(wrong: Wrong) -> str:
    """The text of the submission. ValueError when a patch does not fit exactly once."""
    return _patched((HERE / f"{wrong.base}.py").read_text(encoding="utf-8"), wrong)
