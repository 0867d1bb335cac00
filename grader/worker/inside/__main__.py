"""Where the student's process begins: loads this folder under a private name, then keeps a warm parent or serves.

Its modules get a copy of the builtins of their own: a submission that replaces ``len`` replaces it for itself only.
"""

import builtins
import importlib.machinery
import importlib.util
import json
import sys
import types
from pathlib import Path

PRIVATE = "_decoder_grader_inside"


class _Loader(importlib.machinery.SourceFileLoader):
    def exec_module(self, module: types.ModuleType) -> None:
        module.__dict__["__builtins__"] = dict(vars(builtins))
        super().exec_module(module)


class _Finder:
    """Finds the modules of this folder as ``PRIVATE.name``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def find_spec(self, name: str, path: object = None, target: object = None) -> importlib.machinery.ModuleSpec | None:
        head, *rest = name.split(".")
        if head != PRIVATE:
            return None
        place = self.folder.joinpath(*rest)
        file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
        return importlib.util.spec_from_file_location(
            name,
            file,
            loader=_Loader(name, str(file)),
            submodule_search_locations=[str(place)] if place.is_dir() else None,
        )


def main() -> None:
    """``python __main__.py warm|serve SETUP``: SETUP is JSON."""
    role, setup = sys.argv[1], json.loads(sys.argv[2])
    sys.path += [path for path in setup["paths"] if path not in sys.path]
    finder = _Finder(Path(__file__).parent)
    sys.meta_path.insert(0, finder)
    program = importlib.import_module(f"{PRIVATE}.{role}")
    sys.meta_path.remove(finder)
    for name in [name for name in sys.modules if name.split(".")[0] == PRIVATE]:
        del sys.modules[name]
    sys.argv[:] = [""]
    sys.modules["__main__"] = types.ModuleType("__main__")
    program.main(setup)


if __name__ == "__main__":
    main()
