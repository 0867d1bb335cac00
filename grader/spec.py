"""Knows what an assignment asks and what it is worth: a TOML file becomes a frozen, validated `Spec`."""

from __future__ import annotations

import hashlib
import importlib
import tomllib
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError, model_validator

from grader.compare import Tolerance
from grader.registry import load_entry_points

Identifier = Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]


class SpecError(Exception):
    """A spec cannot be used; the message names the file, the key and what is allowed there."""


class _Source(Protocol):
    """A file to read: a path, or a resource inside a package."""

    @property
    def name(self) -> str: ...
    def read_bytes(self) -> bytes: ...


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class TolerancePair(_Model):
    """One precision's tolerance and why it is that."""

    relative: Annotated[float, Field(ge=0, lt=1)]
    absolute: Annotated[float, Field(ge=0, lt=1)]
    reason: Annotated[str, Field(min_length=10)]

    @property
    def tolerance(self) -> Tolerance:
        """The same for comparisons."""
        return Tolerance(self.relative, self.absolute, self.reason)


class Tolerances(_Model):
    """float64 judges; float32 is what a submission that computes in single precision gets."""

    float64: TolerancePair
    float32: TolerancePair


class SpecLimits(_Model):
    """Seconds and bytes for a submission; what is absent takes the worker's default."""

    call_seconds: Annotated[float, Field(gt=0)] | None = None
    total_seconds: Annotated[float, Field(gt=0)] | None = None
    import_seconds: Annotated[float, Field(gt=0)] | None = None
    memory_bytes: Annotated[int, Field(gt=0)] | None = None


class PartSpec(_Model):
    """One function that a student writes: its arguments and results with their shapes in the book's letters.

    id      the first half of its checks' ids, where it is another one than its name in kebab-case
    kind    function; module: a class of torch modules, whose `forward` has these arguments and results;
            class: any other class, whose `train` has them; method: of the class before the dot
    """

    name: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_.]*$")]
    id: Identifier | None = None
    kind: Literal["function", "module", "class", "method"] = "function"
    arguments: dict[str, str] = {}
    returns: dict[str, str] | Literal["dict"]
    uses: tuple[str, ...] = ()
    traits: tuple[str, ...] = ()
    formula: str = ""

    @property
    def slug(self) -> str:
        """The first half of its checks' ids."""
        return self.id or slug(self.name)

    @property
    def signature(self) -> str:
        """As a student writes it."""
        return f"{self.name}({', '.join(self.arguments)})"

    @property
    def stub(self) -> str:
        """The line that defines it."""
        if self.kind in ("module", "class"):
            return f"class {self.name}(torch.nn.Module)" if self.kind == "module" else f"class {self.name}"
        return f"def {self.signature}"


class Criterion(_Model):
    """One line of the rubric.

    rule   part: the points are split evenly over the parts, and a part earns its share if all its checks here hold;
           each: every check earns its own share by weight; all: everything or nothing
    gate   when it does not hold, the assignment is not passed whatever the points
    checks patterns of check ids; a check belongs to the first criterion that has a pattern for it
    carried what a part earns that is right given the student's own wrong sub-parts: full, none, or a fraction
    """

    id: Identifier
    title: str
    points: Annotated[float, Field(gt=0)]
    kind: Literal["automatic", "manual"] = "automatic"
    rule: Literal["part", "each", "all"] = "part"
    gate: bool = False
    checks: tuple[str, ...] = ()
    weights: dict[str, Annotated[float, Field(gt=0)]] = {}
    hidden: tuple[str, ...] = ()
    carried: Literal["full", "none"] | Annotated[float, Field(gt=0, lt=1)] = "full"

    @model_validator(mode="after")
    def _manual_has_no_checks(self) -> Criterion:
        if (self.kind == "manual") == bool(self.checks):
            raise ValueError("an automatic criterion has `checks`, a manual one has none")
        if self.kind == "manual" and self.gate:
            raise ValueError("a manual criterion is no gate: nothing is known of it when a submission is graded")
        return self

    def selects(self, check_id: str) -> bool:
        """Whether one of its patterns matches."""
        return any(fnmatchcase(check_id, pattern) for pattern in self.checks)

    def hides(self, check_id: str) -> bool:
        """Whether one of the patterns in `hidden` matches."""
        return any(fnmatchcase(check_id, pattern) for pattern in self.hidden)

    @property
    def carried_share(self) -> float:
        """The fraction of a part's share that a carried part earns."""
        if isinstance(self.carried, float):
            return self.carried
        return 1.0 if self.carried == "full" else 0.0


class Spec(_Model):
    """An assignment. Holds no answer: the numbers come from the reference that `reference` names."""

    id: Identifier
    title: str
    version: str
    file: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*\.py$")]
    reference: Annotated[str, Field(pattern=r"^[\w.]+:\w+$")]
    template: str = ""
    passing_percent: Annotated[float, Field(ge=0, le=100)] = 80.0
    degenerate_floor_percent: Annotated[float, Field(ge=0, le=100)] = 10.0
    plugins: tuple[str, ...] = ()
    tolerances: Tolerances
    limits: SpecLimits = SpecLimits()
    parts: Annotated[tuple[PartSpec, ...], Field(min_length=1)]
    criteria: Annotated[tuple[Criterion, ...], Field(min_length=1)]
    skip: dict[str, str] = {}

    _sha256: str = PrivateAttr(default="")
    _checks: tuple[Any, ...] = PrivateAttr(default=())
    _origin: str = PrivateAttr(default="")

    @model_validator(mode="after")
    def _names_fit(self) -> Spec:
        names = [part.name for part in self.parts]
        _unique("parts.name", names)
        _unique("parts.id", [part.slug for part in self.parts])
        _unique("criteria.id", [criterion.id for criterion in self.criteria])
        for part in self.parts:
            for used in part.uses:
                if used not in names:
                    raise ValueError(f"parts.{part.name}.uses: {used!r} is not a part; allowed: {', '.join(names)}")
        return self

    @property
    def sha256(self) -> str:
        """Of the file's bytes, and of the plugins that it names."""
        return self._sha256

    @property
    def origin(self) -> str:
        """The file that it came from."""
        return self._origin

    @property
    def checks(self) -> tuple[Any, ...]:
        """Those of its plugins, which are asked here and nowhere else."""
        return self._checks

    @property
    def max_score(self) -> float:
        """All the points there are, whatever ran."""
        return sum(criterion.points for criterion in self.criteria)

    def part(self, name: str) -> PartSpec:
        """The part of that name."""
        return next(part for part in self.parts if part.name == name)

    def below(self, part: PartSpec) -> tuple[str, ...]:
        """The parts that a part is made of, directly or through others, in the spec's order."""
        found: set[str] = set()
        waiting = list(part.uses)
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting.extend(self.part(name).uses)
        return tuple(other.name for other in self.parts if other.name in found)

    def criterion_of(self, check_id: str) -> Criterion | None:
        """The first criterion that selects a check, or None."""
        return next((criterion for criterion in self.criteria if criterion.selects(check_id)), None)

    @cached_property
    def book(self) -> Any:
        """The reference's parts."""
        module, name = self.reference.split(":")
        try:
            return getattr(importlib.import_module(module), name)
        except Exception as error:
            raise SpecError(f"{self.origin}: reference: {self.reference!r} cannot be imported: {error}") from error


def slug(name: str) -> str:
    """`attention_head` -> `attention-head`: how functions are written in ids."""
    return name.replace("_", "-").replace(".", "-").lower()


def _unique(key: str, names: list[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"{key}: {', '.join(twice)} stands there twice; every one needs a name of its own")


def parse(data: bytes, origin: str) -> Spec:
    """A spec from its file's bytes; errors: SpecError naming the file, the place and what is allowed."""
    try:
        content = tomllib.loads(data.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SpecError(f"{origin}: not valid TOML: {error}") from error
    try:
        spec = Spec.model_validate(content)
    except ValidationError as error:
        raise SpecError("\n".join(_explain(origin, content, problem) for problem in error.errors())) from error
    spec._origin = origin
    spec._sha256 = hashlib.sha256(data).hexdigest()
    return spec


def _explain(origin: str, content: Mapping[str, Any], problem: Any) -> str:
    """One line for one thing that pydantic found: file, key, what is there, what is allowed."""
    place, here = "", content
    for step in problem["loc"]:
        place += f"[{step}]" if isinstance(step, int) else f".{step}" if place else str(step)
        here = here[step] if isinstance(here, dict | list) and _has(here, step) else here
        if isinstance(here, dict) and isinstance(step, int) and (name := here.get("id") or here.get("name")):
            place += f" ({name})"
    kind, context = problem["type"], problem.get("ctx", {})
    if kind == "literal_error":
        says = f"{problem['input']!r} is not allowed; allowed: {context['expected']}"
    elif kind == "extra_forbidden":
        says = "there is no such key; check its spelling against specs/hand-decoder.toml"
    elif kind == "missing":
        says = "is missing and has no default"
    else:
        says = problem["msg"].removeprefix("Value error, ")
        if isinstance(problem["input"], str | int | float | bool):
            says = f"{problem['input']!r}: {says}"
    return f"{origin}: {place}: {says}" if place else f"{origin}: {says}"


def _has(here: Any, step: Any) -> bool:
    return step in here if isinstance(here, dict) else isinstance(step, int) and step < len(here)


def available() -> dict[str, _Source]:
    """Every assignment by id: those that come with the package and those of other packages (`grader.assignments`)."""
    found: dict[str, _Source] = {}
    folder = files("specs")
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.name.endswith(".toml") and entry.name != "hand-numbers.toml":
            found[entry.name.removesuffix(".toml")] = entry
    for name, thing in load_entry_points("grader.assignments"):
        if name in found:
            raise SpecError(f"the assignment {name!r} of the entry point {thing} is already defined in {found[name]}")
        found[name] = Path(thing() if callable(thing) else thing)
    return found


def load(assignment: str | Path) -> Spec:
    """The spec of an assignment's id, or of a TOML file.

    errors: SpecError for an unknown id (with the known ones), a missing file or a file that is not right.
    """
    text = str(assignment)
    if text.endswith(".toml"):
        path = Path(text)
        try:
            data = path.read_bytes()
        except OSError as error:
            raise SpecError(f"{path}: cannot be read: {error.strerror or error}") from error
        spec = parse(data, str(path))
        return _with_plugins(spec, path.parent, data)
    known = available()
    if text not in known:
        raise SpecError(
            f"no assignment is called {text!r}; there are: {', '.join(known)}; or give the path of a .toml file"
        )
    source = known[text]
    if isinstance(source, Path):
        data = source.read_bytes()
        return _with_plugins(parse(data, str(source)), source.parent, data)
    return parse(source.read_bytes(), f"specs/{source.name}")


def _with_plugins(spec: Spec, folder: Path, data: bytes) -> Spec:
    """Load the instructor's own check files that stand beside a spec; they are trusted, as the spec is."""
    if not spec.plugins:
        return spec
    from grader.plugins import PluginError, load_plugins

    try:
        spec._checks, contents = load_plugins(folder / name for name in spec.plugins)
    except PluginError as error:
        raise SpecError(f"{spec.origin}: plugins: {error}") from error
    digest = hashlib.sha256(data)
    for content in contents:
        digest.update(content)
    spec._sha256 = digest.hexdigest()
    return spec
