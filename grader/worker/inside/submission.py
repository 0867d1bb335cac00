"""One submission in this process: its sources, its modules, its objects, and how its code is run."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from .faults import Fault, describe, is_memory, plain
from .results import Taken
from .sources import Sources
from .tensors import to_tensor
from .tree import Handle

_getrecursionlimit, _setrecursionlimit = sys.getrecursionlimit, sys.setrecursionlimit


@dataclass
class Submission:
    """What the operations share. ``modules`` are asked in order for a name."""

    limits: dict[str, Any]
    withheld: frozenset[str] = frozenset()
    sources: Sources = field(default_factory=lambda: Sources({}))
    modules: list[ModuleType] = field(default_factory=list)
    backend: str = "numpy"
    objects: dict[str, Any] = field(default_factory=dict)

    def run(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call the student's code. Raises Fault for whatever it raises."""
        try:
            return function(*args, **kwargs)
        except Fault:
            raise
        except BaseException as error:  # noqa: BLE001 - SystemExit and KeyboardInterrupt are the student's too
            raise self.fault(error) from None
        finally:
            if _getrecursionlimit() < 1000:
                _setrecursionlimit(1000)

    def fault(self, error: BaseException) -> Fault:
        """The report of an exception of the student's code that is being handled."""
        if is_memory(error):
            return Fault("memory")
        return Fault("raised", **describe(error, self.sources.texts))

    def find(self, target: str) -> Any:
        """The function, method or object that ``target`` names: "f", "Class.f", "@1", "@1.f". Raises Fault."""
        head, *rest = target.split(".")
        if head.startswith("@"):
            if head not in self.objects:
                raise Fault("missing", name=target, message=f"{target} is not an object of this submission")
            value = self.objects[head]
        else:
            holders = [module for module in self.modules if self._has(module, head)]
            if not holders:
                raise Fault("missing", name=head, message=f"{head} is not defined")
            value = self.run(getattr, holders[0], head)
        for name in rest:
            if not self._has(value, name):
                raise Fault("missing", name=target, message=f"{target} is not defined")
            value = self.run(getattr, value, name)
        if not callable(value):
            kind = plain(type(value).__name__)[:80]
            raise Fault(
                "missing", name=target, message=f"{target} is defined but cannot be called: it is of type {kind}"
            )
        return value

    def _has(self, holder: Any, name: str) -> bool:
        return bool(self.run(hasattr, holder, name))

    def leaf(self, value: Any) -> Any:
        """An argument as the submission takes it: an array of its backend, or the object that a handle names."""
        if type(value) is Handle:
            if value not in self.objects:
                raise Fault("missing", name=str(value), message=f"{value} is not an object of this submission")
            return self.objects[value]
        return to_tensor(value) if self.backend == "torch" else value

    def keep(self, value: Any) -> Handle:
        """Store an object; its handle."""
        name = f"@{len(self.objects) + 1}"
        self.objects[name] = value
        return Handle(name)

    def taken(self) -> Taken:
        """A reader of results under this submission's cap."""
        return Taken(int(self.limits["result_bytes"]), self.keep)
