"""Knows the right submissions for the assignment decoder-lm."""

from pathlib import Path

HERE = Path(__file__).parent


def all_right() -> tuple[Path, ...]:
    """Every right submission, sorted by name."""
    return tuple(sorted(path for path in HERE.glob("*.py") if path.stem != "__init__"))
