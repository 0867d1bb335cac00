"""Knows which two mistakes in different parts are put into one submission."""

PAIR_IDS: tuple[tuple[str, str], ...] = ()
