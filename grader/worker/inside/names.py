"""What the names in a source stand for: dotted names of modules, followed through imports, assignments and getattr."""

import ast
from collections.abc import Iterator

from .imports import _skipped

_IMPORTERS = ("import_module", "__import__")
_RUNNERS = ("eval", "exec", "compile")
DEEPEST = 60


class Names:
    """One module's syntax tree and what its names stand for.

    stars    modules of which it imports everything
    defined  names that it gives something of its own
    opaque   whether it imports or runs what cannot be read from the text
    """

    def __init__(self, text: str, package: list[str]) -> None:
        self.package = package
        self.aliases: dict[str, set[str]] = {}
        self.texts: dict[str, str] = {}
        self.stars: list[str] = []
        self.defined: set[str] = set()
        self.opaque = False
        self.nodes = list(_walk(ast.parse(text)))
        for node in self.nodes:
            self._bind(node)
        for _ in range(3):  # F = nn.functional; f = F.softmax
            for node in self.nodes:
                self._assign(node)

    def _bind(self, node: ast.AST) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                self._alias(alias.asname or alias.name.split(".")[0], alias.name if alias.asname else None)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                stem = self.stem(node)
                if alias.name == "*":
                    self.stars.append(stem)
                else:
                    self._alias(alias.asname or alias.name, f"{stem}.{alias.name}")
        elif isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            self.defined.add(node.name)
        elif isinstance(node, ast.arg):
            self.defined.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            self.defined.add(node.id)

    def _alias(self, name: str, dotted: str | None) -> None:
        self.aliases.setdefault(name, set()).add(dotted or name)

    def _assign(self, node: ast.AST) -> None:
        value = getattr(node, "value", None)
        if not isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr) or value is None:
            return
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            if isinstance(target, ast.Name):
                if (text := self.text(value)) is not None:
                    self.texts[target.id] = text
                if found := self.dotted(value):
                    self.aliases.setdefault(target.id, set()).update(sorted(found)[:8])

    def stem(self, node: ast.ImportFrom) -> str:
        """The module of a ``from ... import``, absolute."""
        base = self.package[: len(self.package) - node.level + 1] if node.level else []
        return ".".join([*base, *([node.module] if node.module else [])])

    def text(self, node: ast.AST | None, depth: int = 0) -> str | None:
        """A constant string, also one that is put together from constants."""
        if depth > DEEPEST:
            return None
        if isinstance(node, ast.Constant):
            return node.value if isinstance(node.value, str) else None
        if isinstance(node, ast.Name):
            return self.texts.get(node.id)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return _joined([self.text(side, depth + 1) for side in (node.left, node.right)])
        if isinstance(node, ast.JoinedStr):
            inner = [part.value if isinstance(part, ast.FormattedValue) else part for part in node.values]
            return _joined([self.text(part, depth + 1) for part in inner])
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "join":
            items = node.args[0] if node.args else None
            if isinstance(items, ast.List | ast.Tuple) and (glue := self.text(node.func.value, depth + 1)) is not None:
                parts = [self.text(item, depth + 1) for item in items.elts]
                return None if None in parts else glue.join(part for part in parts if part is not None)
        return None

    def dotted(self, node: ast.AST, depth: int = 0) -> set[str]:
        """What an expression may stand for; nothing where it is no name of a module or of something in one."""
        if depth > DEEPEST:
            return set()
        if isinstance(node, ast.Name):
            return self.aliases.get(node.id, set())
        if isinstance(node, ast.Attribute):
            return {f"{head}.{node.attr}" for head in self.dotted(node.value, depth + 1)}
        if isinstance(node, ast.Subscript):
            return self._entry(node, depth)
        return self._called(node, depth) if isinstance(node, ast.Call) else set()

    def _entry(self, node: ast.Subscript, depth: int) -> set[str]:
        """vars(x)["name"], x.__dict__["name"], sys.modules["name"]."""
        key, holder = self.text(node.slice), node.value
        if key is None:
            return set()
        if isinstance(holder, ast.Call) and _called(holder) == "vars" and holder.args:
            return {f"{head}.{key}" for head in self.dotted(holder.args[0], depth + 1)}
        heads = self.dotted(holder, depth + 1)
        found = {f"{head.removesuffix('.__dict__')}.{key}" for head in heads if head.endswith(".__dict__")}
        return found | ({key} if "sys.modules" in heads else set())

    def _called(self, node: ast.Call, depth: int) -> set[str]:
        """getattr(x, "name"), import_module("name"), attrgetter("name")(x)."""
        name, args = _called(node), node.args
        if name == "getattr" and len(args) > 1 and (key := self.text(args[1])) is not None:
            return {f"{head}.{key}" for head in self.dotted(args[0], depth + 1)}
        if name in _IMPORTERS and args and (key := self.text(args[0])) is not None:
            return {key if name == "import_module" else key.split(".")[0]}
        if isinstance(node.func, ast.Call) and _called(node.func) == "attrgetter" and node.func.args and args:
            key = self.text(node.func.args[0])
            return {f"{head}.{key}" for head in self.dotted(args[0], depth + 1)} if key is not None else set()
        return set()

    def imports(self) -> Iterator[tuple[int, str]]:
        """(line, dotted name) of every import."""
        for node in self.nodes:
            if isinstance(node, ast.Import):
                yield from ((node.lineno, alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                stem = self.stem(node)
                yield node.lineno, stem
                yield from ((node.lineno, f"{stem}.{alias.name}") for alias in node.names if alias.name != "*")
            elif isinstance(node, ast.Call) and _called(node) in _IMPORTERS and node.args:
                if (name := self.text(node.args[0])) is None:
                    self.opaque = True
                else:
                    yield node.lineno, name
            elif isinstance(node, ast.Call) and _called(node) in ("spec_from_file_location", "run_path", "run_module"):
                self.opaque = True

    def uses(self) -> Iterator[tuple[int, str]]:
        """(line, dotted name) of every expression that stands for something in a module."""
        for node in self.nodes:
            if isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
                yield from ((node.lineno, name) for name in sorted(self.dotted(node)))
            elif isinstance(node, ast.Name) and node.id not in self.defined | self.aliases.keys():
                yield from ((node.lineno, f"{star}.{node.id}") for star in self.stars)

    def run(self) -> Iterator[tuple[int, str]]:
        """(line, text) of what eval and exec are given."""
        for node in self.nodes:
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id in _RUNNERS
                and node.args
            ):
                if (text := self.text(node.args[0])) is None:
                    self.opaque = True
                else:
                    yield node.lineno, text


def _walk(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node that runs when the module is imported or used: nothing under ``if __name__ == "__main__"``."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, ast.If) and _skipped(node.test):
            waiting += node.orelse[::-1]
        else:
            waiting += [*ast.iter_child_nodes(node)][::-1]


def _called(node: ast.Call) -> str:
    return str(getattr(node.func, "attr", getattr(node.func, "id", "")))


def _joined(parts: list[str | None]) -> str | None:
    return None if None in parts else "".join(part for part in parts if part is not None)
