"""Knows a book that remembers: a part that stays as it is computes each of its inputs once.

A diagnosis evaluates a part with hundreds of variations, most of which hand the same arrays to the same sub-parts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from inspect import signature
from typing import Any

import numpy as np

Function = Callable[..., Any]


class Memo:
    """A book of parts for one diagnosis.

    below   for each part, the parts that it is made of, directly or through others
    """

    def __init__(self, book: Any, below: Mapping[str, tuple[str, ...]]) -> None:
        self.book, self.below = book, below
        self._kept = {name: _remembering(getattr(book, name)) for name in below}
        self.plain = book.replace(**self._kept) if self._kept else book

    def put(self, **wrong: Function) -> Any:
        """The book with other functions; whatever is not built on them remembers what it has computed."""
        kept = {
            name: function
            for name, function in self._kept.items()
            if name not in wrong and not any(other in wrong for other in self.below[name])
        }
        return self.book.replace(**kept, **wrong)

    def bound(self, function: Function) -> Function:
        """A function that may take `the`, bound to the book."""
        return partial(function, the=self.plain) if takes_the(function) else function


def takes_the(function: Function) -> bool:
    """Whether a function is to be told its book."""
    while isinstance(function, partial):
        if "the" in function.keywords:
            return False
        function = function.func
    return _has_the(function)


@lru_cache(maxsize=4096)
def _has_the(function: Function) -> bool:
    return "the" in signature(function).parameters


def _remembering(function: Function) -> Function:
    results: dict[Any, tuple[tuple[Any, ...], Any]] = {}

    def remembering(*args: Any) -> Any:
        key = tuple(_key(arg) for arg in args)
        if key not in results:
            results[key] = args, function(*args)  # the arguments are kept so that an id stays theirs
        return results[key][1]

    return remembering


def _key(arg: Any) -> Any:
    if isinstance(arg, np.ndarray):
        return arg.shape, arg.dtype.char, arg.tobytes()
    return (arg,) if isinstance(arg, float | int) else id(arg)
