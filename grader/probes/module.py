"""Knows a torch module of a submission as checks see it: built there, asked here, known by its answers alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, cast
from weakref import WeakKeyDictionary

import numpy as np

from grader.compare import Array
from grader.part import Part
from grader.student import Student
from grader.worker import BadResult, Handle, Raised, Reply, StudentFault, Worker
from grader.worker.text import clean

__all__ = [
    "HEADS",
    "WIDTH",
    "Gradients",
    "Instance",
    "Parameter",
    "Piece",
    "Raised",
    "StudentFault",
    "build",
    "process",
    "small",
]

Precision = Literal["float64", "float32"]
Piece = tuple[int, tuple[tuple[int, int], ...]]  # a parameter's place, and from where to where on its first axes
WIDTH, HEADS = 12, 3  # B = 2, T = 5, h = 3, d_k = 4 and d = 12 differ pairwise
SHOWN = 6  # names of parameters in one sentence
MADE = {"modules": list, "parameters": list, "loose": list, "computed": bool}
SLOPES = {"x": (np.ndarray, type(None)), "parameters": list, "norms": np.ndarray, "forward": np.ndarray,
          "backward": np.ndarray}  # fmt: skip
_made: WeakKeyDictionary[Worker, dict[Any, Instance]] = WeakKeyDictionary()
_precisions: WeakKeyDictionary[Student, dict[str, Precision]] = WeakKeyDictionary()


@dataclass(frozen=True)
class Parameter:
    """One tensor that is learned. `name` is the student's text, made harmless."""

    name: str
    shape: tuple[int, ...]
    trainable: bool


@dataclass(frozen=True)
class Gradients:
    """What automatic differentiation gives; None and -1 where it gives nothing.

    x, parameters   gradients; `norms` those of the parameters' gradients, module by module
    forward, backward   the norm of every stage of a stack, from the input to the result, and of the gradient there
    """

    x: Array | None
    parameters: list[Array | None]
    norms: Array
    forward: Array
    backward: Array


@dataclass(frozen=True)
class Instance:
    """A module in the submission's process, or a stack of them; its parameters' numbers come from here.

    shapes: x (B, T, d) -> (B, T, d)
    errors: the worker's faults, which the engine turns into verdicts
    """

    part: Part
    modules: tuple[Handle, ...]
    parameters: tuple[Parameter, ...]
    loose: tuple[str, ...]
    computed: bool  # whether some of its weights are computed from parameters: weight norm and the like
    width: int
    heads: int
    precision: Precision
    values: list[Array | None] = field(default_factory=list)
    repeats: int = 1

    def times(self, repeats: int) -> Instance:
        """The stack several times over: as deep as `repeats` of it, with the parameters of one."""
        return replace(self, repeats=repeats)

    def forward(self, x: Array, *, seed: int = 0, strided: bool = False) -> Array:
        """The result for x, as it was returned."""
        return np.asarray(self.reply(x, seed=seed, strided=strided).value)

    def __call__(self, x: Array) -> Array:
        """The result for x, in float64 and of x's shape. errors: BadResult for another shape."""
        y = self.forward(x)
        if y.shape != x.shape:
            raise BadResult(f"returned the shape {list(y.shape)} for {list(x.shape)}")
        return y.astype(np.float64)

    def reply(self, x: Array, *, seed: int = 0, strided: bool = False) -> Reply:
        """The result with its number type (`dtypes`) and x after the call (`args_after`)."""
        modules, given = list(self.modules) * self.repeats, self._given(x)
        reply = student_of(self.part).ask(
            self.part.part, lambda w: w.op("module_forward", modules=modules, x=given, seed=seed, strided=strided)
        )
        if not isinstance(reply.value, np.ndarray) or not isinstance(reply.args_after, np.ndarray):
            raise BadResult("returned no array")
        return reply

    def gradients(self, x: Array, cotangent: Array, *, whole: bool = True) -> Gradients:
        """Of Σ cotangent · result. errors: NoGradient when the result has none."""
        asked = {
            "modules": list(self.modules) * self.repeats,
            "x": self._given(x),
            "cotangent": np.asarray(cotangent, self.precision),
            "seed": 0,
            "whole": whole,
        }
        told = student_of(self.part).ask(self.part.part, lambda w: w.told("module_gradients", SLOPES, **asked))
        expected = [p.shape for p in self.parameters] if whole else []
        given = told["parameters"]
        fits = (
            told["norms"].shape == (len(self.parameters),)
            and len(given) == len(expected)
            and all(
                g is None or (isinstance(g, np.ndarray) and g.shape == shape)
                for g, shape in zip(given, expected, strict=True)
            )
        )
        if not fits or (told["x"] is not None and told["x"].shape != x.shape):
            raise BadResult("gave gradients of other shapes than the parameters have")
        return Gradients(**told)

    def _given(self, x: Array) -> Array:
        """Vectors in this precision; ids stay integers."""
        return x if x.dtype.kind == "i" else np.asarray(x, self.precision)

    def fill(self, values: Sequence[Array | None], *, cast: bool = False) -> None:
        """Put numbers into the parameters, of this precision again with `cast`; None leaves one as it is."""
        given = [None if value is None else np.asarray(value, self.precision) for value in values]
        asked: dict[str, Any] = {
            "modules": list(self.modules),
            "values": given,
            "precision": self.precision if cast else "",
        }
        student_of(self.part).ask(self.part.part, lambda w: w.op("module_fill", **asked))

    def redraw(self, seed: int, scale: float = 1.0) -> Instance:
        """Numbers of ordinary size in every parameter that learns: no gain stays 1, no shift and no projection 0."""
        rng = np.random.default_rng((seed, 31))
        self.values[:] = [_drawn(rng, p.shape, scale, self.width) if p.trainable else None for p in self.parameters]
        self.fill(self.values, cast=True)
        return self

    def copy(self, other: Instance) -> Instance:
        """The state of another instance of the same class: its parameters and buffers as they are."""
        for source, target in zip(other.modules, self.modules, strict=True):
            asked: dict[str, Any] = {"source": source, "target": target}
            student_of(self.part).ask(self.part.part, partial(_copy, asked=asked))
        return self

    def zero(self, places: Iterable[int | Piece]) -> None:
        """0 in these parameters, or pieces of parameters, the drawn numbers in the others."""
        self.scale(dict.fromkeys(places, 0.0))

    def scale(self, factors: Mapping[int, float] | Mapping[Piece, float] | Mapping[int | Piece, float]) -> None:
        """The drawn numbers, times a factor where one is given."""
        given = list(self.values)
        for where, factor in factors.items():
            place, cut = (where, ()) if isinstance(where, int) else where
            if (value := given[place]) is not None:
                given[place] = value = value.copy()
                value[tuple(slice(*part) for part in cut)] *= factor
        self.fill(given)

    def train(self, training: bool) -> None:
        """Into training, or into evaluation."""
        modules = list(self.modules)
        student_of(self.part).ask(self.part.part, lambda w: w.op("module_train", modules=modules, training=training))

    def names(self, places: Iterable[int | Piece]) -> str:
        """Parameters in a sentence, with the piece that is meant."""
        found = [self._named(place) for place in places]
        more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
        return ", ".join(found[:SHOWN]) + more

    def _named(self, where: int | Piece) -> str:
        place, cut = (where, ()) if isinstance(where, int) else where
        told = ", ".join(str(a) if b == a + 1 else f"{a}:{b}" for a, b in cut)
        return self.parameters[place].name + (f"[{told}]" if told else "")


def build(
    part: Part,
    *,
    width: int = WIDTH,
    heads: int = HEADS,
    precision: Precision | None = None,
    count: int = 1,
    arguments: dict[str, Any] | None = None,
    probe: Array | None = None,
    fresh: bool = False,
    plain: bool = False,
) -> Instance:
    """An instance in evaluation mode, in double precision where that works; `count` of them make a stack.

    One that was made before is used again, with whatever its parameters hold, unless a `fresh` one is asked for; in a
    new process, after a crash, all are made anew.

    arguments   of the class, in place of width and heads
    probe       an input that it takes, by which its precision is found, and lazy parameters get their shapes
    plain       with the weights that torch computes from parameters (weight norm and the like) as parameters
    errors      the worker's faults
    """
    given = {"width": width, "heads": heads} if arguments is None else arguments
    taken = np.random.default_rng(3).standard_normal((1, 2, width)) if probe is None else probe
    chosen = precision or _precision(part, arguments if probe is not None else None, probe)
    made = _made.setdefault(process(part), {})
    key = part.name, repr(given), chosen, count
    if key not in made and (plain or not fresh):
        made[key] = _new(part, given, taken, chosen, count)
    plain = plain and made[key].computed
    if fresh:
        known = _new(part, given, taken, chosen, count, seed=1, plain=plain)
    elif plain:
        known = made.get((key, plain)) or _new(part, given, taken, chosen, count, plain=True)
        made[key, plain] = known
    else:
        known = made[key]
    return replace(known, part=part, width=width, heads=heads, values=[None for _ in known.parameters])


def process(part: Part) -> Worker:
    """The submission's process, a new one after a crash: what was made in the one before is gone."""
    return student_of(part).ask(part.part, lambda worker: worker)


def student_of(part: Part) -> Student:
    return cast(Student, part.caller)


def _new(
    part: Part,
    arguments: dict[str, Any],
    probe: Array,
    precision: Precision,
    count: int,
    *,
    seed: int = 0,
    plain: bool = False,
) -> Instance:
    asked = {
        "target": part.name,
        "kwargs": arguments,
        "count": count,
        "precision": precision,
        "seed": seed,
        "plain": plain,
        "probe": probe if probe.dtype.kind == "i" else probe.astype(precision),
    }
    told = student_of(part).ask(part.part, lambda w: w.told("module_new", MADE, **asked))
    parameters = []
    for item in told["parameters"]:
        if not (isinstance(item, tuple) and len(item) == 3 and isinstance(item[0], str) and isinstance(item[1], list)):
            raise BadResult("has parameters that cannot be told")
        if not all(type(n) is int and 0 <= n < 1 << 20 for n in item[1]) or np.prod(item[1], dtype=float) > 1e7:
            raise BadResult(f"has a parameter of the shape {str(item[1])[:80]}")
        parameters.append(Parameter(_plain(item[0]), tuple(item[1]), bool(item[2])))
    if len(told["modules"]) != count or not all(isinstance(module, Handle) for module in told["modules"]):
        raise BadResult("made no module")
    loose = tuple(_plain(name) for name in told["loose"] if isinstance(name, str))
    modules, each = tuple(told["modules"]), tuple(parameters) * count
    return Instance(part, modules, each, loose, told["computed"], WIDTH, HEADS, precision)


def _copy(worker: Worker, asked: dict[str, Any]) -> None:
    worker.op("module_copy", **asked)


def _plain(text: str) -> str:
    return clean(text, 80).replace("\n", " ").replace("\t", " ")


def _precision(part: Part, arguments: dict[str, Any] | None, probe: Array | None) -> Precision:
    """float64 where the module takes it, as its tensors of a fixed type may not."""
    student = student_of(part)
    known = _precisions.setdefault(student, {})
    if part.name not in known:
        known[part.name] = "float64"
        x = np.random.default_rng(3).standard_normal((1, 2, WIDTH)) if probe is None else probe
        try:
            build(part, precision="float64", arguments=arguments, probe=probe).forward(x)
        except Raised:
            known[part.name] = "float32"
            with suppress(Raised):  # what it raises here has nothing to do with precision, and comes again
                build(part, precision="float32", arguments=arguments, probe=probe).forward(x)
                part.note("computes in single precision only; accepted")
    return known[part.name]


def small(shape: tuple[int, ...], width: int) -> bool:
    """Whether a parameter holds no matrix: a vector, but for one that is as long as a matrix of the block.

    Axes of length 1 do not count: a convolution of one position is a matrix.
    """
    return sum(n != 1 for n in shape) < 2 and int(np.prod(shape)) < width * width


def _drawn(rng: np.random.Generator, shape: tuple[int, ...], scale: float, width: int) -> Array:
    """Vectors between 0.5 and 1.5 with either sign; matrices normal, of variance 1.5 over the root of their sides."""
    if small(shape, width):
        return np.asarray(rng.uniform(0.5, 1.5, shape) * rng.choice([-1.0, 1.0], shape))
    sides = [n for n in shape if n != 1]
    side = float(np.sqrt(sides[-1] * sides[-2])) or 1.0 if len(sides) > 1 else 2.0 * width
    return np.asarray(scale * rng.standard_normal(shape) * np.sqrt(1.5 / side))
