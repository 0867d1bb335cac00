"""The commands, one file each, with a `command` inside. A new file is a new command."""

from __future__ import annotations

import pkgutil

ORDER = ("list", "init", "check", "grade", "report", "explain", "audit", "doctor")


def names() -> list[str]:
    """Every command, in the order of use, then by name. The file of `list` is `list_.py`: builtins keep their names."""
    found = {info.name.rstrip("_").replace("_", "-") for info in pkgutil.iter_modules(__path__)}
    return [name for name in ORDER if name in found] + sorted(found - set(ORDER))


def module_of(name: str) -> str:
    """The module that holds a command."""
    plain = name.replace("-", "_")
    modules = {info.name for info in pkgutil.iter_modules(__path__)}
    return plain if plain in modules else f"{plain}_"
