"""Knows what a wrong submission for decoder-lm is: one mistake, as a text patch of a right one."""

from __future__ import annotations

from dataclasses import dataclass

P, T, D, R = "plain", "tied_preallocated", "dropout_fused", "rms_bias_free"
L, S, F, A = "heads_by_loops", "float32_tables", "functional", "with_adapters"

Names = str | tuple[str, ...] | None


@dataclass(frozen=True, kw_only=True)
class Wrong:
    """One wrong submission.

    says           what is wrong, in words
    only           the checks of the chapter that it concerns
    misconception  the id under which it is to be reported; several where each of them is true of it, of which at least
                   one is to be reported; None where no name is certain
    """

    id: str
    says: str
    base: str
    replace: tuple[tuple[str, str], ...]
    only: str
    misconception: Names

    @property
    def names(self) -> tuple[str, ...]:
        """The ids that may be reported."""
        if self.misconception is None:
            return ()
        return (self.misconception,) if isinstance(self.misconception, str) else self.misconception


def chapter(only: str, *entries: tuple[str, str, Names, str, tuple[tuple[str, str], ...]]) -> tuple[Wrong, ...]:
    """The wrong ones of a chapter, each as (id, says, misconception, base, patches)."""
    return tuple(
        Wrong(id=f"{only.split('.')[0]}--{name}", says=says, base=base, replace=patches, only=only, misconception=known)
        for name, says, known, base, patches in entries
    )
