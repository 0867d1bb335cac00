"""Knows how extensions are found: every file of a folder of ours, and the entry points of other packages."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator, KeysView
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class RegistrationError(Exception):
    """An extension cannot be used; the message names it, its file and the remedy."""


_REGISTRIES: list[Registry[Any]] = []


def forget(file: str) -> None:
    """Take what a file has defined out of every registry: it could not be loaded, or is about to be loaded anew."""
    for registry in _REGISTRIES:
        registry.take(file)


class Registry(Generic[T]):
    """Things of one kind by id, each with the file that it came from."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._things: dict[str, T] = {}
        self._files: dict[str, str] = {}
        _REGISTRIES.append(self)

    def add(self, key: str, thing: T, file: str) -> None:
        """Register one; errors: RegistrationError when the id is taken."""
        if key in self._things:
            raise RegistrationError(
                f"{file}: the {self.kind} {key!r} is already defined in {self._files[key]}; rename one of the two"
            )
        self._things[key], self._files[key] = thing, file

    def __iter__(self) -> Iterator[T]:
        return iter(self._things.values())

    def __len__(self) -> int:
        return len(self._things)

    @property
    def names(self) -> KeysView[str]:
        """The ids, also those that come later."""
        return self._things.keys()

    def __contains__(self, key: object) -> bool:
        return key in self._things

    def get(self, key: str) -> T:
        """The thing of that id; errors: KeyError that lists what there is."""
        if key not in self._things:
            raise KeyError(f"no {self.kind} is called {key!r}; there are: {', '.join(sorted(self._things))}")
        return self._things[key]

    def file(self, key: str) -> str:
        """The file that defines it."""
        return self._files[key]

    def take(self, file: str) -> tuple[T, ...]:
        """What a file has defined, which is no longer here afterwards."""
        keys = [key for key, known in self._files.items() if known == file]
        for key in keys:
            del self._files[key]
        return tuple(self._things.pop(key) for key in keys)

    def arrange(self, folder: Path) -> None:
        """What the files of a folder define comes first, file by file: whoever imported one before changes nothing."""
        for key in sorted(self._files, key=lambda key: _place(self._files[key], folder)):
            self._things[key] = self._things.pop(key)


def _place(file: str, folder: Path) -> tuple[bool, str]:
    ours = Path(file).parent == folder
    return not ours, file if ours else ""


def import_folder(package: ModuleType) -> None:
    """Import every module of a package of ours, in the order of their names."""
    for info in sorted(pkgutil.iter_modules(package.__path__), key=lambda info: info.name):
        importlib.import_module(f"{package.__name__}.{info.name}")


def filled(registry: Registry[T], package: ModuleType, group: str) -> Registry[T]:
    """A registry with what every file of a folder of ours and every entry point of a group defines."""
    import_folder(package)
    registry.arrange(Path(str(package.__file__)).parent)
    for _ in load_entry_points(group):
        pass  # loading the module registers what it defines
    return registry


def load_entry_points(group: str, found: Callable[[], Iterable[EntryPoint]] | None = None) -> Iterator[tuple[str, Any]]:
    """(name, object) of every entry point of a group; errors: RegistrationError naming the package that cannot load."""
    for point in sorted(found() if found else entry_points(group=group), key=lambda point: point.name):
        try:
            yield point.name, point.load()
        except RegistrationError:
            raise
        except Exception as error:
            origin = f" of {point.dist.name}" if point.dist else ""
            raise RegistrationError(
                f"the entry point {point.name} = {point.value}{origin} in {group} cannot be loaded: {error}"
            ) from error
