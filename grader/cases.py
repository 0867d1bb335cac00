"""Knows the inputs that checks draw on: finite families, ordered from small to large; holds no expected number.

Structure (sizes, cuts, scales) is enumerated, numbers come from a seeded generator. Sizes differ pairwise, gains are
not 1, shifts and biases are not 0, eps is well above every tolerance: each of these hides whole families of mistakes
when it is at its usual default.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.registry import Registry, import_folder

Array = NDArray[Any]
Arguments = tuple[Any, ...]


@dataclass(frozen=True)
class Sizes:
    """The book's letters.

    T positions, d width, d_k query/key width, d_v value width, h heads, m feed-forward width, v vocabulary, L layers.
    """

    T: int
    d: int
    d_k: int
    d_v: int
    h: int
    m: int
    v: int
    L: int
    T_q: int = 0

    @property
    def n(self) -> int:
        """Positions of the memory that a decoder layer consults."""
        return self.T_q

    def text(self, letters: str) -> str:
        """`T = 4, d = 6` for the letters that a part has."""
        return ", ".join(f"{letter} = {getattr(self, letter)}" for letter in letters.split())


SMALLEST = Sizes(T=2, d=3, d_k=2, d_v=4, h=2, m=5, v=7, L=1, T_q=3)
HANDOUT = Sizes(T=4, d=6, d_k=2, d_v=3, h=3, m=5, v=7, L=2, T_q=3)  # scores 4 × 4, retrieved 4 × 3
MIDDLE = Sizes(T=5, d=8, d_k=3, d_v=4, h=2, m=7, v=11, L=2, T_q=6)
LARGE = Sizes(T=9, d=5, d_k=4, d_v=2, h=3, m=8, v=13, L=3, T_q=7)
# As they often are: keys as wide as values, matrices that are square, more positions than a small table has.
LONG = Sizes(T=40, d=16, d_k=4, d_v=4, h=4, m=16, v=16, L=4, T_q=24)
SQUARE = Sizes(T=6, d=6, d_k=6, d_v=6, h=1, m=6, v=6, L=2, T_q=6)
ONE = Sizes(T=1, d=4, d_k=3, d_v=2, h=1, m=6, v=5, L=1, T_q=2)
SIZES = (SMALLEST, HANDOUT, MIDDLE, LARGE, ONE)


@dataclass(frozen=True)
class Case:
    """One input of one part.

    label    what tells this case from others, for the student
    args     the arguments, float64
    key      seeds whatever a check draws on top, so that two runs agree
    sizes    the sizes it was made with
    extra    what a family adds, such as a cut
    """

    label: str
    args: Arguments
    key: tuple[int, ...]
    sizes: Sizes
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def rng(self) -> np.random.Generator:
        """A new generator, the same for the same case."""
        return np.random.default_rng((*self.key, 7))

    @property
    def x(self) -> Array:
        """The sequence: the first argument."""
        return np.asarray(self.args[0])

    def with_x(self, x: Any) -> Arguments:
        """The arguments with another first one."""
        return (x, *self.args[1:])

    def with_arg(self, index: int, value: Any) -> Arguments:
        """The arguments with another one at `index`."""
        return (*self.args[:index], value, *self.args[index + 1 :])


EPS = 0.05  # of the norms: so large that another eps, or eps outside the root, shows at once


def _weights(rng: np.random.Generator, *shape: int) -> Array:
    """Normal, with variance 1.5 / fan-in: outputs of ordinary size, attention neither flat nor one-hot."""
    weights: Array = rng.standard_normal(shape) * np.sqrt(1.5 / shape[0])
    return weights


def head_weights(rng: np.random.Generator, s: Sizes) -> tuple[Array, Array, Array]:
    """(W_Q, W_K, W_V) of one head."""
    return _weights(rng, s.d, s.d_k), _weights(rng, s.d, s.d_k), _weights(rng, s.d, s.d_v)


def norm_parameters(rng: np.random.Generator, s: Sizes) -> dict[str, Array]:
    """gain around 1 and shift around 0, neither equal to it."""
    return {"gain": 1 + 0.5 * rng.standard_normal(s.d), "shift": 0.7 * rng.standard_normal(s.d)}


def block_parameters(rng: np.random.Generator, s: Sizes) -> dict[str, Any]:
    """One block's dict of the contract."""
    return {
        "norm_1": norm_parameters(rng, s),
        "norm_2": norm_parameters(rng, s),
        "heads": [head_weights(rng, s) for _ in range(s.h)],
        "W_O": _weights(rng, s.h * s.d_v, s.d),
        "W_1": _weights(rng, s.d, s.m),
        "b_1": 0.5 * rng.standard_normal(s.m),
        "W_2": _weights(rng, s.m, s.d),
        "b_2": 0.5 * rng.standard_normal(s.d),
        "eps": EPS,
    }


def decoder_parameters(rng: np.random.Generator, s: Sizes, positions: bool = True) -> dict[str, Any]:
    """The dict `params` of the contract, its blocks all different."""
    params: dict[str, Any] = {
        "embedding": rng.standard_normal((s.v, s.d)),
        "blocks": [{**block_parameters(rng, s), "eps": EPS * (1 + 0.3 * layer)} for layer in range(s.L)],
        "norm_f": norm_parameters(rng, s),
        "W_out": _weights(rng, s.d, s.v),
        "b_out": 0.5 * rng.standard_normal(s.v),
        "eps": 1.6 * EPS,  # not that of the blocks
    }
    if positions:
        params["positions"] = 0.8 * rng.standard_normal((s.T + 3, s.d))
    return params


Builder = Callable[[np.random.Generator, Sizes], Arguments]
BUILDERS: Registry[tuple[str, Builder]] = Registry("builder of arguments")
More = Callable[[int], Iterator[Case]]
MORE: Registry[More] = Registry("family of further cases")
Extreme = Callable[[int], Iterator[tuple[str, Arguments]]]
EXTREMES: Registry[Extreme] = Registry("family of extremes")


def arguments_of(part: str, letters: str) -> Callable[[Builder], Builder]:
    """Register how generic arguments of a part are made, and which letters describe them.

    errors: RegistrationError for a part that has them already, as for the other two.
    """

    def register(builder: Builder) -> Builder:
        BUILDERS.add(part, (letters, builder), _file(builder))
        return builder

    return register


def also_of(part: str) -> Callable[[More], More]:
    """Register what a part's generic family has besides one case of each size."""

    def register(family: More) -> More:
        MORE.add(part, family, _file(family))
        return family

    return register


def extremes_of(part: str) -> Callable[[Extreme], Extreme]:
    """Register the large, tiny, constant and empty inputs of a part."""

    def register(family: Extreme) -> Extreme:
        EXTREMES.add(part, family, _file(family))
        return family

    return register


def _file(function: Callable[..., Any]) -> str:
    return sys.modules[function.__module__].__file__ or function.__module__


def letters_of(part: str) -> str:
    """The letters of the sizes that describe a part's cases."""
    return BUILDERS.get(part)[0]


def _rows(letters: str) -> Callable[[np.random.Generator, Sizes], Array]:
    return lambda rng, s: rng.standard_normal(tuple(getattr(s, letter) for letter in letters.split())) * 1.3


arguments_of("softmax", "T v")(lambda rng, s: (2 * _rows("T v")(rng, s),))
arguments_of("attention_scores", "T_q T d_k")(lambda rng, s: (_rows("T_q d_k")(rng, s), _rows("T d_k")(rng, s)))
arguments_of("causal_attention_weights", "T")(lambda rng, s: (_rows("T T")(rng, s),))
arguments_of("attention_head", "T d d_k d_v")(lambda rng, s: (_rows("T d")(rng, s), *head_weights(rng, s)))
arguments_of("multi_head_attention", "T d d_k d_v h")(
    lambda rng, s: (_rows("T d")(rng, s), [head_weights(rng, s) for _ in range(s.h)], _weights(rng, s.h * s.d_v, s.d))
)
arguments_of("next_token_probabilities", "T v")(lambda rng, s: (2 * _rows("T v")(rng, s),))
arguments_of("loss", "T v")(lambda rng, s: (2 * _rows("T v")(rng, s), rng.integers(s.v, size=s.T)))
arguments_of("hand_calculation", "")(lambda rng, s: ())
arguments_of("decoder_block", "T d d_k d_v h m")(lambda rng, s: (_rows("T d")(rng, s), block_parameters(rng, s)))
arguments_of("decoder", "T d d_k d_v h m v L")(
    lambda rng, s: (rng.permutation(max(s.v, s.T))[: s.T] % s.v, decoder_parameters(rng, s))
)


@arguments_of("layer_norm", "T d")
def _layer_norm(rng: np.random.Generator, s: Sizes) -> Arguments:
    norm = norm_parameters(rng, s)
    return _rows("T d")(rng, s) + 0.6, norm["gain"], norm["shift"], EPS


@also_of("layer_norm")
def _other_eps(seed: int) -> Iterator[Case]:
    """An eps above what is ever usual, and one that only just is not 0."""
    for eps in (0.7, 1e-8):
        case = make("layer_norm", HANDOUT, seed, stream=2)
        yield replace(case, label=f"{case.label}, eps = {eps:g}", args=case.with_arg(3, eps))


@arguments_of("feed_forward", "T d m")
def _feed_forward(rng: np.random.Generator, s: Sizes) -> Arguments:
    block = block_parameters(rng, s)
    return _rows("T d")(rng, s), block["W_1"], block["b_1"], block["W_2"], block["b_2"]


def make(part: str, sizes: Sizes, seed: int, stream: int = 0) -> Case:
    """One generic case of a part."""
    letters, builder = BUILDERS.get(part)
    key = (seed, stream, *part.encode(), sizes.T, sizes.d, sizes.L)
    return Case(sizes.text(letters), builder(np.random.default_rng(key), sizes), key, sizes)


def generic(part: str, seed: int) -> Iterator[Case]:
    """Every size once, one with other numbers again; for the decoder also without positions."""
    for sizes in SIZES:
        yield make(part, sizes, seed)
    again = make(part, HANDOUT, seed, stream=9)
    yield replace(again, label=again.label + ", other numbers")
    if part == "decoder":
        case = make(part, MIDDLE, seed, stream=1)
        params = {key: value for key, value in case.args[1].items() if key != "positions"}
        yield replace(case, label=case.label + ", without positions", args=(case.args[0], params))
    if part in MORE:
        yield from MORE.get(part)(seed)


def thorough(part: str, seed: int) -> Iterator[Case]:
    """The generic family, and sizes at which few are wrong: square matrices, a long sequence."""
    yield from generic(part, seed)
    for sizes in (SQUARE, LONG):
        yield make(part, sizes, seed)


def one(sizes: Sizes, stream: int = 0) -> Callable[[str, int], Iterator[Case]]:
    """A family of a single generic case."""
    return lambda part, seed: iter([make(part, sizes, seed, stream)])


def some(*sizes: Sizes, stream: int = 0) -> Callable[[str, int], Iterator[Case]]:
    """A family of the sizes given."""
    return lambda part, seed: (make(part, s, seed, stream) for s in sizes)


def only_once(part: str, seed: int) -> Iterator[Case]:
    """A family of one case without arguments: for checks that bring numbers of their own."""
    yield Case("", (), (seed, *part.encode()), SMALLEST)


def as_float32(tree: Any) -> Any:
    """The same arguments, every float64 array rounded to float32."""
    if isinstance(tree, dict):
        return {key: as_float32(value) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return type(tree)(as_float32(value) for value in tree)
    return tree.astype(np.float32) if isinstance(tree, np.ndarray) and tree.dtype == np.float64 else tree


def tree_map(function: Callable[[Array], Any], tree: Any) -> Any:
    """Apply a function to every array of a tree of dicts, lists and tuples."""
    if isinstance(tree, dict):
        return {key: tree_map(function, value) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return type(tree)(tree_map(function, value) for value in tree)
    return function(tree) if isinstance(tree, np.ndarray) else tree


def _fill() -> None:
    """Let every file of the folder `cases_of` register the inputs of its parts."""
    import_folder(importlib.import_module("grader.cases_of"))


_fill()
