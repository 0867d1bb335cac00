"""Knows the right submissions for the assignment decoder-lm."""

from pathlib import Path

HERE = Path(__file__).parent


def all_right() -> tuple[Path, ...]:
    """Every right submission, sorted by name: files, and folders that hold adapters.py."""
    files = [path for path in HERE.glob("*.py") if path.stem != "__init__"]
    return tuple(sorted([*files, *(path.parent for path in HERE.glob("*/adapters.py"))], key=lambda path: path.stem))
