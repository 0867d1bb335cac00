"""One file, one operation: each has ``run(submission, arguments, body) -> tree``; its name is the operation's."""

import importlib
import pkgutil
from collections.abc import Callable
from typing import Any

TABLE: dict[str, Callable[..., Any]] = {
    module.name: importlib.import_module(f"{__name__}.{module.name}").run for module in pkgutil.iter_modules(__path__)
}
