"""What honest submissions do keeps working in the sandbox."""

import textwrap
import tomllib
from collections.abc import Iterator

import pytest

from grader.worker import Host, Limits
from grader.worker.levels import levels_available
from tests.hostile import HERE

pytestmark = pytest.mark.skipif("sandbox" not in levels_available(), reason="this machine gives no sandbox")
LIMITS = Limits(call_seconds=60, import_seconds=60)
CODE = tomllib.loads((HERE / "honest.toml").read_text("utf-8"))
IMPORTS = {"numpy": "import numpy as np", "torch": "import numpy as np\nimport torch"}


@pytest.fixture(scope="module")
def numpy_host() -> Iterator[Host]:
    with Host("numpy", "sandbox", LIMITS) as host:
        yield host


@pytest.fixture(scope="module")
def torch_host() -> Iterator[Host]:
    pytest.importorskip("torch")
    with Host("torch", "sandbox", LIMITS) as host:
        yield host


def runs(host: Host, code: str) -> None:
    body = textwrap.indent(code.strip(), "    ")
    with host.start() as worker:
        worker.load({"decoder.py": f"{IMPORTS[host.kind]}\ndef f():\n{body}\n    return 1\n"}, "decoder")
        assert worker.call("f").value == 1


@pytest.mark.parametrize("name", CODE["numpy"])
def test_numpy_and_the_library(numpy_host, name):
    runs(numpy_host, CODE["numpy"][name])


@pytest.mark.parametrize("name", CODE["torch"])
def test_torch(torch_host, name):
    runs(torch_host, CODE["torch"][name])
