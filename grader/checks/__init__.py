"""Knows what a check is: a sentence, the parts it speaks of, its cases, and a search for a counterexample.

Every file of this folder holds one family; other packages add theirs through the entry-point group `grader.checks`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, KeysView, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from grader.registry import RegistrationError, Registry, filled
from grader.verdict import Violation

if TYPE_CHECKING:
    from grader.cases import Case
    from grader.part import Part
    from grader.spec import PartSpec

Cases = Callable[[str, int], "Iterable[Case]"]
Judge = Callable[["Part", "Case"], Violation | None]


@dataclass(frozen=True)
class Check:
    """A property of parts; true of the reference on every case.

    name     kebab-case; a verdict's id is `<part>.<name>`
    parts    the functions it applies to, by name or, as `@causal`, by a trait that the spec gives them; the names of a
             registry stand for what is registered there later, too
    says     one sentence in the present tense
    cases    (part, seed) -> the inputs, from small to large, visited until one is a counterexample
    judge    (part, case) -> Violation or None
    needs    names of checks of the same part without which this one says nothing
    numbers  False for what wrong numbers do not explain, so that no mistake in them is named
    carried  False for what is judged on behaviour alone, whatever the sub-parts do
    noted    whether what a part notes while it passes is worth saying: elsewhere numbers may agree for other reasons
    extreme  whether it asks what ordinary numbers do not show, so that a mistake which only extremes show explains it
    automatic whether it asks torch for gradients
    """

    name: str
    parts: Collection[str]
    says: str
    cases: Cases
    judge: Judge
    needs: tuple[str, ...]
    carried: bool
    numbers: bool
    file: str
    noted: bool = False
    extreme: bool = False
    automatic: bool = False

    def applies_to(self, part: PartSpec) -> bool:
        """Whether the check speaks of a part, by its name or by one of its traits."""
        return part.name in self.parts or any(f"@{trait}" in self.parts for trait in part.traits)


registry: Registry[Check] = Registry("check")


def check(
    *,
    parts: Collection[str],
    says: str,
    cases: Cases,
    name: str | None = None,
    needs: Sequence[str] = ("shape",),
    carried: bool = True,
    numbers: bool = True,
    noted: bool = False,
    extreme: bool = False,
    automatic: bool = False,
) -> Callable[[Judge], Judge]:
    """Register a function as a check under its own name, with `-` for `_`.

    errors: RegistrationError for an empty `says` or `parts`, or a name that is taken.
    """

    def register(judge: Judge) -> Judge:
        file = sys.modules[judge.__module__].__file__ or judge.__module__
        key = name or judge.__name__.replace("_", "-")
        if not says.endswith(".") or not parts or isinstance(parts, str):
            raise RegistrationError(
                f"{file}: the check {key!r} needs `parts` and a sentence in `says` that ends with a full stop"
            )
        of = parts if isinstance(parts, KeysView) else tuple(parts)
        kinds = {"noted": noted, "extreme": extreme, "automatic": automatic}
        registry.add(key, Check(key, of, says, cases, judge, tuple(needs), carried, numbers, file, **kinds), file)
        return judge

    return register


@cache
def all_checks() -> Registry[Check]:
    """Every check there is, ours and those of installed packages, in a fixed order."""
    return filled(registry, sys.modules[__name__], "grader.checks")
