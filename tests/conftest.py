"""Keeps tests together that share what is slow to make, when several processes run them (pytest -n)."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A file's tests share warm parents, those in `hostile` also the places that all users of a machine can write."""
    if not config.pluginmanager.hasplugin("xdist"):
        return
    for item in items:
        place = item.path.relative_to(HERE)
        item.add_marker(pytest.mark.xdist_group("hostile" if place.parts[0] == "hostile" else str(place)))
