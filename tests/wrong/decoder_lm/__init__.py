"""Knows every wrong submission for the assignment decoder-lm and the texts of each."""

import importlib
import pkgutil
from functools import cache

from tests.right.decoder_lm import HERE
from tests.wrong.decoder_lm.model import Wrong

__all__ = ["Wrong", "all_wrong", "sources"]


@cache
def all_wrong() -> tuple[Wrong, ...]:
    """All wrong submissions, module by module in alphabetical order."""
    modules = [importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]
    return tuple(wrong for module in modules for wrong in getattr(module, "WRONG", ()))


def sources(wrong: Wrong) -> dict[str, str]:
    """The submission's files, name -> text. ValueError when a patch does not fit exactly once."""
    base = HERE / wrong.base
    if base.is_dir():
        texts = {path.name: path.read_text(encoding="utf-8") for path in sorted(base.glob("*.py"))}
    else:
        texts = {"decoder_lm.py": (HERE / f"{wrong.base}.py").read_text(encoding="utf-8")}
    for old, new in wrong.replace:
        places = {name: text.count(old) for name, text in texts.items() if old in text}
        if sum(places.values()) != 1:
            raise ValueError(f"{wrong.id}: {old!r} occurs {sum(places.values())} times")
        (name,) = places
        texts[name] = texts[name].replace(old, new)
    return texts
