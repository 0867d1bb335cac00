"""Hosts that the tests of this folder share, and the way from a source text to a loaded worker."""

import textwrap
from collections.abc import Callable, Iterator

import pytest

from grader.worker import Host, Limits, Worker

MIB = 1 << 20
PATIENT = Limits(call_seconds=60, import_seconds=60)
QUICK = Limits(call_seconds=0.5, import_seconds=0.5, memory_bytes=256 * MIB, printed_bytes=1000, result_bytes=MIB)

Start = Callable[..., Worker]


@pytest.fixture(scope="session")
def numpy_host() -> Iterator[Host]:
    with Host("numpy", limits=PATIENT) as host:
        yield host


@pytest.fixture(scope="session")
def torch_host() -> Iterator[Host]:
    with Host("torch", limits=PATIENT) as host:
        yield host


@pytest.fixture(scope="session")
def quick_host() -> Iterator[Host]:
    with Host("numpy", limits=QUICK) as host:
        yield host


def starter(host: Host, workers: list[Worker]) -> Start:
    def start(source: str = "", **files: str) -> Worker:
        worker = host.start()
        workers.append(worker)
        sources = {"decoder.py": textwrap.dedent(source)}
        sources |= {name.replace("__", "/") + ".py": textwrap.dedent(text) for name, text in files.items()}
        worker.load(sources, "decoder")
        return worker

    return start


@pytest.fixture
def workers() -> Iterator[list[Worker]]:
    started: list[Worker] = []
    yield started
    for worker in started:
        worker.close()


@pytest.fixture
def numpy_worker(numpy_host: Host, workers: list[Worker]) -> Start:
    return starter(numpy_host, workers)


@pytest.fixture
def torch_worker(torch_host: Host, workers: list[Worker]) -> Start:
    return starter(torch_host, workers)


@pytest.fixture
def quick_worker(quick_host: Host, workers: list[Worker]) -> Start:
    return starter(quick_host, workers)
