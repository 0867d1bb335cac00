"""Whether a submission needs torch, read from its syntax trees without running anything."""

import ast
from collections.abc import Iterator
from typing import Any

from .sources import Sources


def _skipped(test: ast.expr) -> bool:
    """``if __name__ == "__main__"`` and ``if TYPE_CHECKING``: not run when the module is imported."""
    if isinstance(test, ast.Compare):
        sides = [test.left, *test.comparators]
        return any(isinstance(side, ast.Name) and side.id == "__name__" for side in sides)
    return getattr(test, "id", getattr(test, "attr", None)) == "TYPE_CHECKING"


def _named(node: ast.AST, package: list[str]) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = package[: len(package) - node.level + 1] if node.level else []
        stem = [*base, *([node.module] if node.module else [])]
        yield ".".join(stem)
        yield from (".".join([*stem, alias.name]) for alias in node.names)
    elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
        called = getattr(node.func, "attr", getattr(node.func, "id", None))
        if called in ("import_module", "__import__") and isinstance(node.args[0].value, str):
            yield node.args[0].value


def imported(tree: ast.AST, package: list[str]) -> Iterator[str]:
    """Names of the modules that a module of ``package`` imports at any level."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield from _named(node, package)
        if isinstance(node, ast.If) and _skipped(node.test):
            waiting += node.orelse
        else:
            waiting += ast.iter_child_nodes(node)


def declared(tree: ast.Module) -> Any:
    """The value of a literal ``BACKEND = ...`` at module level, or None."""
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        value = getattr(node, "value", None)
        if any(isinstance(t, ast.Name) and t.id == "BACKEND" for t in targets) and isinstance(value, ast.Constant):
            return value.value
    return None


def needs_torch(sources: Sources, modules: list[str]) -> bool:
    """Whether ``modules``, or a source that they import, import torch or declare it. Raises what compiling raises."""
    waiting, seen = list(modules), set[str]()
    while waiting:
        name = waiting.pop()
        parents = [name.rsplit(".", n)[0] for n in range(name.count(".") + 1)]
        for module in parents:
            found = sources.path_of(module)
            if module in seen or found is None or found[0] is None:
                continue
            seen.add(module)
            tree = ast.parse(sources.texts[found[0]], found[0])
            package = module.split(".") if found[1] else module.split(".")[:-1]
            names = list(imported(tree, package))
            if declared(tree) == "torch" or any(n.split(".")[0] == "torch" for n in names):
                return True
            waiting += names
    return False
