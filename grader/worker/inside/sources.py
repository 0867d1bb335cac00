"""How the student's sources become importable modules without being files, and what is not importable here."""

import importlib.abc
import importlib.machinery
import importlib.util
import linecache
import sys
from collections.abc import Sequence
from types import CodeType, ModuleType
from typing import Any


class Withheld(importlib.abc.MetaPathFinder):
    """Refuses the grader's own packages, and others that hold answers."""

    def __init__(self, names: frozenset[str]) -> None:
        self._names = names

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        """Raise for a withheld name; None, "not mine", for any other."""
        if name.split(".")[0] in self._names:
            raise ModuleNotFoundError(f"{name} is not available while grading", name=name)


class Sources(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finder and loader of ``texts``, relative posix path -> source; each folder is a package, __init__.py or not."""

    def __init__(self, texts: dict[str, str | bytes]) -> None:
        self.texts = texts

    def path_of(self, name: str) -> tuple[str | None, bool] | None:
        """(source path or None for a bare folder, whether it is a package); None when nothing has that name."""
        place = name.replace(".", "/")
        if f"{place}/__init__.py" in self.texts:
            return f"{place}/__init__.py", True
        if f"{place}.py" in self.texts:
            return f"{place}.py", False
        if any(path.startswith(f"{place}/") for path in self.texts):
            return None, True
        return None

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        """The module's specification; ``__file__`` is the relative path."""
        found = self.path_of(name)
        if found is None:
            return None
        file, package = found
        spec = importlib.machinery.ModuleSpec(name, self, origin=file, is_package=package)
        spec.has_location = file is not None
        if package:
            spec.submodule_search_locations = [name.replace(".", "/")]
        return spec

    def exec_module(self, module: ModuleType) -> None:
        """Run the module's source."""
        if module.__spec__ is not None and module.__spec__.origin is not None:
            exec(self.code(module.__spec__.origin), module.__dict__)

    def code(self, path: str) -> CodeType:
        """Compiled source. Raises SyntaxError, ValueError."""
        code: CodeType = compile(self.texts[path], path, "exec", dont_inherit=True)
        return code

    def get_source(self, name: str) -> str | None:
        """The text, for inspect and tracebacks."""
        found = self.path_of(name)
        return self.text(found[0]) if found and found[0] else None

    def text(self, path: str) -> str:
        """The text of one file; bytes are decoded as Python would."""
        source = self.texts[path]
        return source if isinstance(source, str) else importlib.util.decode_source(source)

    def install(self, withheld: frozenset[str]) -> None:
        """Make the sources importable, before everything else of the same name, and visible in tracebacks."""
        tops: set[str] = {path.split("/")[0].removesuffix(".py") for path in self.texts}
        for name in [name for name in sys.modules if name.split(".")[0] in tops]:
            if name.split(".")[0] not in ("__main__", "sys", "builtins"):
                del sys.modules[name]
        sys.meta_path[:0] = [self, Withheld(withheld)]
        for path in self.texts:
            try:
                lines: Sequence[str] = self.text(path).splitlines(keepends=True)
            except (SyntaxError, UnicodeError):
                continue
            linecache.cache[path] = (len(lines), None, list(lines), path)
