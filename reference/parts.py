"""Knows how named functions are kept, wired to one another, and replaced one by one; knows no formula."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NoReturn, TypeVar

Function = Callable[..., Any]
F = TypeVar("F", bound=Function)


class Parts:
    """A registry of functions that call each other through it, so that one can be exchanged in all the others.

    While a book is written, its modules add their functions; `seal` ends that:

        BOOK = Parts()

        @BOOK.register
        def attention_head(H, W_Q, W_K, W_V, *, the=BOOK):
            A = the.causal_attention_weights(the.attention_scores(H @ W_Q, H @ W_K))
            ...

        BOOK.seal()

    After that nothing changes any more. `BOOK.attention_head` is the function wired to BOOK, and
    `BOOK.replace(attention_scores=f).attention_head` is the same function, with `f` for the scores.
    Each assignment has a `Parts` of its own.
    """

    _functions: dict[str, Function]
    _sealed: bool

    def __init__(self, functions: Mapping[str, Function] | None = None) -> None:
        self.__dict__["_functions"] = {}
        self.__dict__["_sealed"] = False
        for name, function in (functions or {}).items():
            self._add(name, function)

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in the order of the book."""
        return tuple(self._functions)

    @property
    def functions(self) -> Mapping[str, Function]:
        """The functions as they were written, by name, not wired to anything. Read-only."""
        return MappingProxyType(self._functions)

    def register(self, function: F) -> F:
        """Add a function under its own name and return it as it was.

        errors: TypeError after `seal`; ValueError for a name that is taken or that `Parts` itself uses.
        """
        if self._sealed:
            raise TypeError(f"these parts are sealed; use replace({function.__name__}=...) to get other ones")
        self._add(function.__name__, function)
        return function

    def seal(self) -> None:
        """End the building: from here on `register` raises."""
        self.__dict__["_sealed"] = True

    def replace(self, **functions: Function) -> Parts:
        """Return new, sealed parts in which every function that uses one of these names uses the new one.

        A function that has a parameter `the` is wired to the new parts. One that was taken from other parts
        (`other.attention_head`) stays wired to those; `other.functions["attention_head"]` is free.

        errors: AttributeError for an unknown name; TypeError for something that cannot be called.
        """
        for name in functions:
            if name not in self._functions:
                self._unknown(name)
        parts = Parts({**self._functions, **functions})
        parts.seal()
        return parts

    def _add(self, name: str, function: Function) -> None:
        if not callable(function):
            raise TypeError(f"{name} is to be a function, not {type(function).__name__}")
        if name in self._functions:
            raise ValueError(f"there is already a part named {name}")
        if name.startswith("_") or hasattr(Parts, name):
            raise ValueError(f"a part cannot be named {name}: Parts uses that name itself")
        self._functions[name] = function

    def __getattr__(self, name: str) -> Function:
        # Reached once a name: what is bound is kept in __dict__, where Python looks first.
        if name.startswith("_") or name not in self._functions:
            self._unknown(name)
        bound = self.__dict__[name] = _wired(self._functions[name], self)
        return bound

    def _unknown(self, name: str) -> NoReturn:
        known = ", ".join(self.__dict__.get("_functions", ()))
        raise AttributeError(f"no part is named {name}; the names are: {known}", name=name, obj=self)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"parts do not change; replace({name}=...) returns new ones")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("parts do not change")

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._functions})

    def __repr__(self) -> str:
        return f"Parts({', '.join(self._functions)})"


def _wired(function: Function, parts: Parts) -> Function:
    """The function with `the=parts` when it has such a parameter that is still free, else the function."""
    if not _takes_the(function):
        return function
    return functools.update_wrapper(functools.partial(function, the=parts), function)


@functools.lru_cache(maxsize=4096)
def _takes_the(function: Function) -> bool:
    if isinstance(function, functools.partial) and "the" in function.keywords:
        return False
    try:
        parameter = inspect.signature(function).parameters.get("the")
    except (TypeError, ValueError):  # some functions written in C have no signature
        return False
    return parameter is not None and parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD)
