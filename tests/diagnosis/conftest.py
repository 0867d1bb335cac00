"""One pair of warm parents for all measurements."""

from collections.abc import Iterator

import pytest

from grader.student import Hosts
from tests.diagnosis import measure

pytest.importorskip("torch")


@pytest.fixture(scope="session")
def warm() -> Iterator[Hosts]:
    with measure.hosts() as hosts:
        yield hosts
