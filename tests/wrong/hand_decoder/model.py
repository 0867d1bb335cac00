"""Knows what a wrong submission is: one mistake, as a text patch of a right one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Replace = tuple[tuple[str, str], ...]
How = Literal["value", "gradient", "mutation", "state", "structure", "stability", "dtype", "exception", "missing", "size"]

V, E, Q, L = "numpy_vectorised", "numpy_einsum", "numpy_fused_qkv", "numpy_loops"
C, P, F = "numpy_classes", "torch_plain", "torch_functional"
BASES = (V, E, Q, L, C, P, F)


@dataclass(frozen=True, kw_only=True)
class Wrong:
    """One wrong submission.

    `part` is the function of the contract in which the mistake sits, `also` others that share the patched line.
    `mistake` is a row of the list of mistakes, or `own-...`. `misconception` is the id under which it is to be
    reported, several where the patch is several mistakes at once, None where nothing but a traceback tells. `how` says what betrays it; every way but "value",
    "structure" and "stability" may leave the numbers of a single call right; "size" is wrong at few sizes.
    """

    id: str
    base: str
    replace: Replace
    part: str
    mistake: str
    misconception: str | tuple[str, ...] | None
    how: How = "value"
    also: tuple[str, ...] = ()
    note: str = ""


SAME = "same"


def mistake(
    name: str,
    row: str,
    part: str,
    patches: dict[str, Replace],
    *,
    misconception: str | tuple[str, ...] | dict[str, str] | None = SAME,
    how: How = "value",
    also: tuple[str, ...] = (),
    note: str = "",
) -> list[Wrong]:
    """The same mistake on several bases; its misconception has the mistake's name unless told, perhaps base by base."""
    return [
        Wrong(
            id=f"{name}--{part}--{base}".replace("_", "-"),
            base=base,
            replace=replace,
            part=part,
            mistake=row,
            misconception=_of(misconception, name, base),
            how=how,
            also=also,
            note=note,
        )
        for base, replace in patches.items()
    ]


def _of(
    misconception: str | tuple[str, ...] | dict[str, str] | None, name: str, base: str
) -> str | tuple[str, ...] | None:
    if isinstance(misconception, dict):
        return misconception[base]
    return name if misconception == SAME else misconception
