"""Find transformer modules in the sources that ``scan`` has brought, running nothing."""

from typing import Any

from ..faults import plain
from ..forbidden import forbidden
from ..names import Names
from ..sources import Sources
from ..submission import Submission
from ..tree import unpack

MOST = 20


def run(submission: Submission, arguments: Any, body: bytearray) -> dict[str, Any]:
    """arguments: modules to begin at -> found: (file, line, dotted name), in the order of files and lines."""
    modules = unpack(arguments, body)["modules"]
    found = submission.run(_search, submission.sources, modules)
    return {"found": [(plain(file)[:200], line, plain(name)[:120]) for file, line, name in found[:MOST]]}


def _search(sources: Sources, modules: list[str]) -> list[tuple[str, int, str]]:
    local = frozenset(path.split("/")[0].removesuffix(".py") for path in sources.texts)
    read = _reached(sources, modules)
    found: dict[tuple[str, int], str] = {}
    for file, names in read.items():
        seen = [*names.imports(), *names.uses()]
        for line, text in names.run():
            seen += [(line, dotted) for _, dotted in _inner(text, names)]
        for line, dotted in seen:
            meant = {dotted, *_through(dotted, read, sources)}
            wrong = sorted((one for one in meant if forbidden(one, local)), key=len)
            if wrong:
                known = found.get((file, line))
                found[file, line] = min(filter(None, (known, wrong[0])), key=len)
    return [(file, line, name) for (file, line), name in sorted(found.items())]


def _reached(sources: Sources, modules: list[str]) -> dict[str, Names]:
    """The sources that are imported, by their files; all of them where some import cannot be read from the text."""
    read: dict[str, Names] = {}
    waiting, seen = list(modules), set[str]()
    while waiting:
        name = waiting.pop(0)
        for module in [name.rsplit(".", n)[0] for n in range(name.count(".") + 1)]:
            place = sources.path_of(module)
            if module in seen or place is None or place[0] is None:
                continue
            seen.add(module)
            package = module.split(".") if place[1] else module.split(".")[:-1]
            names = read[place[0]] = Names(sources.text(place[0]), package)
            waiting += [dotted for _, dotted in names.imports()]
            list(names.run())
            if names.opaque and not seen >= (everything := _everything(sources)):
                waiting += sorted(everything)
    return read


def _everything(sources: Sources) -> set[str]:
    files = [path for path in sources.texts if path.endswith(".py")]
    return {path.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for path in files}


def _through(dotted: str, read: dict[str, Names], sources: Sources, depth: int = 0) -> set[str]:
    """What a name in another module of the submission stands for there."""
    parts, found = dotted.split("."), set[str]()
    for cut in range(len(parts) - 1, 0, -1):
        place = sources.path_of(".".join(parts[:cut]))
        names = read.get(place[0] or "") if place else None
        if names is None:
            continue
        head, rest = parts[cut], parts[cut + 1 :]
        heads = set(names.aliases.get(head, ()))
        if head not in names.defined and head not in names.aliases:
            heads |= {f"{star}.{head}" for star in names.stars}
        for one in sorted(heads)[:8]:
            whole = ".".join([one, *rest])
            found |= {whole} | (_through(whole, read, sources, depth + 1) if depth < 4 else set())
        break
    return found


def _inner(text: str, names: Names) -> list[tuple[int, str]]:
    """The names in a text that eval or exec is given, as they stand in the module around it."""
    try:
        inner = Names(text, names.package)
    except (SyntaxError, ValueError, RecursionError):
        return []
    inner.aliases = {**names.aliases, **inner.aliases}
    inner.stars += names.stars
    inner.defined |= names.defined
    return [*inner.imports(), *inner.uses()]
