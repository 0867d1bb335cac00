"""Knows the submissions of an audit: each misconception as one, degenerate ones, right ones; text, never run here."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Literal

from grader.misconceptions import Misconception, all_misconceptions
from grader.spec import Spec, slug
from grader.submission import Submission, read

Kind = Literal["wrong", "degenerate", "right"]


@dataclass(frozen=True)
class Variant:
    """One submission and what is known of it.

    part    the function that is wrong; empty when the whole submission is degenerate or right
    expect  the id of the misconception that is to be named; empty when it has none
    """

    id: str
    kind: Kind
    part: str
    expect: str
    submission: Submission


MAIN = """
import numpy as np
from audited_{module} import {book} as RIGHT

BACKEND = "numpy"

{change}

def _exported(name):
    function = getattr(BOOK, name)

    def exported(*args):
        with np.errstate(all="ignore"):
            return function(*args)

    return exported


for _name in RIGHT.names:
    globals()[_name] = _exported(_name)
"""

REGISTRY = '''
"""What the files of misconceptions register, as functions by id."""

from functools import partial

WRONG = {}


class Choice:
    def __init__(self, id, title, formula, why, cure):
        self.id, self.title, self.formula, self.why, self.cure = id, title, formula, why, cure


class Family:
    def __init__(self, part, function, places):
        self.places = places
        for place, choices in places.items():
            for value, choice in choices.items():
                WRONG[choice.id] = partial(function, **{place: value})


def misconception(key, **_):
    def register(wrong):
        WRONG[key] = wrong
        return wrong

    return register


def pattern(*_, **__):
    pass
'''

# What a part does in place of its work, whatever the part: `right` is the right function, args its arguments.
CHANGES = {
    "zeros": "tree(right(*args), lambda y: 0.0 * y)",
    "constant": "tree(right(*args), lambda y: np.full_like(y, 0.25))",
    "random": "tree(right(*args), lambda y: np.random.default_rng().standard_normal(np.shape(y)))",
    "input-returned": "tree(right(*args), lambda y: fitted(args[0] if args else 0.0, np.shape(y)))",
    "memoizing": "memory.setdefault(tuple(np.shape(a) for a in args), right(*args))",
    "not-implemented": "missing()",
}
ONE_PART = {
    "changes-its-input": "grow(args, right(*args))",
    "noise": "tree(right(*args), lambda y: y + 1e-3 * np.random.default_rng().standard_normal(np.shape(y)))",
    "integers": "tree(right(*args), lambda y: np.asarray(y).astype(int))",
    "rounded": "tree(right(*args), lambda y: np.round(y, 2))",
    "counts-its-calls": "tree(right(*args), lambda y: y + counted(memory))",
    "memoizing": CHANGES["memoizing"],
    "zeros": CHANGES["zeros"],
    "constant": CHANGES["constant"],
    "last-row-only": "tree(right(*args), lambda y: y[-1:] if y.ndim else y[None])",
    "half-precision": "tree(right(*args), lambda y: np.asarray(y).astype(np.float16))",
}
ROUNDING = ("integers", "rounded")

HELPERS = """
memory = {}


def tree(y, f):
    if isinstance(y, tuple):
        return tuple(f(numbers(item)) for item in y)
    if isinstance(y, dict):
        return {key: f(numbers(item)) for key, item in y.items()}
    return f(numbers(y))


def numbers(y):
    return y if isinstance(y, np.ndarray) and y.dtype.kind == "i" else np.asarray(y, float)


def fitted(x, shape):
    x = np.asarray(x, float) if not isinstance(x, (list, dict)) else np.zeros(1)
    return np.resize(x, shape)


def grow(args, result):
    for arg in args:
        if isinstance(arg, np.ndarray):
            arg += arg.dtype.type(1)
        elif isinstance(arg, dict):
            grow(arg.values(), None)
    return result


def counted(memory):
    memory["calls"] = memory.get("calls", -1) + 1
    return memory["calls"]


def missing():
    raise NotImplementedError("not written yet")


def changed(right):
    memory = {}

    def function(*args):
        return CHANGE

    return function
"""


def variants(spec: Spec) -> Iterator[Variant]:
    """Every variant of an assignment, in a fixed order.

    `grader/audit/of_<assignment>.py` gives those of an assignment of its own kind by its function `variants`. Those of
    all others are made of its reference, a `Parts`.
    """
    own = f"grader.audit.of_{spec.id.replace('-', '_')}"
    if importlib.util.find_spec(own) is not None:
        yield from importlib.import_module(own).variants(spec)
        return
    yield from _right(spec)
    yield from _degenerate(spec)
    for part in spec.parts:
        if part.returns != "dict":
            for change, code in ONE_PART.items():
                if change in ROUNDING and "ids" in part.traits:
                    continue  # integers stay as they are
                source = (
                    HELPERS.replace("CHANGE", code) + f"\nBOOK = RIGHT.replace({part.name}=changed(RIGHT.{part.name}))"
                )
                yield Variant(f"{part.slug}.any-{change}", "wrong", part.name, "", _submission(spec, source))
    yield from _inlined(spec)
    names = {part.name for part in spec.parts}
    for known in all_misconceptions():
        if known.wrong is None:
            continue
        for name in known.parts:
            if name in names:
                source = _with(known, f"BOOK = RIGHT.replace({name}=WRONG[{known.id!r}])")
                key = f"{spec.part(name).slug}.{known.id}"
                yield Variant(key, "wrong", name, known.id, _submission(spec, source, known.file))


def _inlined(spec: Spec) -> Iterator[Variant]:
    """A sub-part's mistake made inside a composite while the sub-part itself is right: those that end in NaN."""
    for part in spec.parts:
        for used in spec.below(part) if "causal" in part.traits else ():
            for known in all_misconceptions():
                if used in known.parts and known.id == "weights-no-maximum":
                    change = f"RIGHT.replace({used}=WRONG[{known.id!r}]).{part.name}"
                    source = _with(known, f"BOOK = RIGHT.replace({part.name}={change})")
                    key = f"{part.slug}.inlined-{slug(used)}-{known.id}"
                    yield Variant(key, "wrong", part.name, known.id, _submission(spec, source, known.file))


def _with(known: Misconception, change: str) -> str:
    """The change after the import of the file that holds a misconception."""
    module = Path(known.file).stem
    return f"import audited_{module}_mistakes\nfrom audited_registry import WRONG\n\n{change}"


def _right(spec: Spec) -> Iterator[Variant]:
    for name, code in (
        ("reference", "right(*args)"),
        ("lists", "tree(right(*args), lambda y: y.tolist())"),
        ("views", "tree(right(*args), lambda y: np.asarray(y.T, order='C').T)"),
        ("float32", "tree(right(*args), lambda y: y.astype(np.float32) if y.dtype.kind == 'f' else y)"),
        ("prints", "print('called with', len(args)) or right(*args)"),
    ):
        yield Variant(name, "right", "", "", _submission(spec, _wrapped(spec, code)))
    if twin := _twin(spec):
        yield twin


def _wrapped(spec: Spec, code: str) -> str:
    book = "BOOK = type('Book', (), {name: staticmethod(changed(getattr(RIGHT, name))) for name in RIGHT.names})"
    return f"{HELPERS.replace('CHANGE', code)}\n{book}"


def _twin(spec: Spec) -> Variant | None:
    """The reference's torch twin, where it has one and torch is installed: `reference.x` has `x_torch_twin.py`."""
    package, *module = spec.reference.split(":")[0].split(".")
    twin = files(package) / "_".join([*module, "torch_twin.py"])
    if importlib.util.find_spec("torch") is None or not twin.is_file():
        return None
    sources = {spec.file: twin.read_bytes()}
    return Variant("torch-twin", "right", "", "", as_submission(spec, sources))


def _degenerate(spec: Spec) -> Iterator[Variant]:
    for name, code in CHANGES.items():
        yield Variant(name, "degenerate", "", "", _submission(spec, _wrapped(spec, code)))
    yield from template_of(spec)


def template_of(spec: Spec) -> Iterator[Variant]:
    """The template as it is handed out."""
    template = files("student_template") / (spec.template or spec.id) / spec.file
    if template.is_file():
        yield Variant("template", "degenerate", "", "", as_submission(spec, {spec.file: template.read_bytes()}))


def of_paths(spec: Spec, paths: tuple[Path, ...]) -> Iterator[Variant]:
    """Further right submissions: files and folders."""
    for path in paths:
        submission = read(path, spec.file)
        yield Variant(submission.name, "right", "", "", submission)


def _submission(spec: Spec, change: str, mistakes: str = "") -> Submission:
    """The reference under another name, with one change to it."""
    module, book = spec.reference.split(":")
    package = module.split(".")[0]
    sources: dict[str, bytes] = {}
    for file in files(package).iterdir():
        if file.name.endswith(".py") and "torch" not in file.name:
            sources[f"audited_{package}/{file.name}"] = _renamed(file.read_text("utf-8"), package)
    if mistakes:
        sources["audited_registry.py"] = REGISTRY.encode()
        for file in files("grader.misconceptions").iterdir():
            if file.name.endswith(".py") and file.name != "__init__.py":
                name = f"audited_{Path(file.name).stem}_mistakes.py"
                sources[name] = _renamed(file.read_text("utf-8"), package)
        stem = Path(mistakes).stem
        sources.setdefault(f"audited_{stem}_mistakes.py", _renamed(Path(mistakes).read_text("utf-8"), package))
    sources[spec.file] = MAIN.format(module=module, book=book, change=change).encode()
    return as_submission(spec, sources)


def _renamed(source: str, package: str) -> bytes:
    """A source whose imports of the reference and of the registry go to the copies."""
    source = re.sub(rf"^(\s*(?:from|import)\s+){package}\b", rf"\1audited_{package}", source, flags=re.M)
    source = re.sub(r"^(\s*from\s+)grader\.misconceptions\.(\w+)", r"\1audited_\2_mistakes", source, flags=re.M)
    source = re.sub(r"^(\s*from\s+)grader\.misconceptions\b", r"\1audited_registry", source, flags=re.M)
    return source.encode()


def mistakes_of(spec: Spec, known: Misconception) -> tuple[str, dict[str, bytes]]:
    """The module in which a copy of a misconception's file will be, and all the sources that it needs."""
    return f"audited_{Path(known.file).stem}_mistakes", dict(_submission(spec, "", known.file).sources)


def as_submission(spec: Spec, sources: dict[str, bytes]) -> Submission:
    """Sources by path, as what was read from a folder."""
    digest = hashlib.sha256(b"\0".join(name.encode() + data for name, data in sorted(sources.items()))).hexdigest()
    main = Path(spec.file).stem
    return Submission(main, Path(spec.file), sources, main, None, digest)
