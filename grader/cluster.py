"""Knows how a class is graded on a Dask cluster: a parcel goes to a worker there, the files come back.

A submission runs in processes of its own below the worker, as everywhere. What a lost worker had, another one gets.
"""

from __future__ import annotations

import atexit
import logging
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from types import TracebackType
from typing import Any, Self

from grader.lane import Answer, Fault, Lane, Parcel
from grader.names import Task
from grader.worker import GraderFault
from grader.worker.levels import resolve

CONNECT_SECONDS = 10
WORKER_SECONDS = 60


class Cluster:
    """The workers of the scheduler at an address; a context manager.

    errors: GraderFault when `distributed` is not installed or nothing answers there.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        try:
            self._dask: Any = import_module("distributed")
        except ImportError as error:
            raise GraderFault(
                "--cluster needs the package `distributed` here and there: pip install 'decoder-grader[cluster]'"
            ) from error
        logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what matters is said in a line of ours
        try:
            self._client = self._dask.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise GraderFault(f"no Dask scheduler answers at {address}: {error}") from error

    def isolation(self, level: str) -> str:
        """What a level is on the workers, as the first of them says."""
        try:
            return str(self._client.submit(_isolation, level, pure=False).result(WORKER_SECONDS))
        except TimeoutError as error:
            raise GraderFault(
                f"the Dask scheduler at {self._address} has no worker that answers within {WORKER_SECONDS} seconds;"
                " start one: dask worker " + self._address
            ) from error

    def answers(
        self, tasks: Sequence[Task], parcel: Callable[[Task], Parcel | Fault]
    ) -> Generator[tuple[Task, Answer], None, None]:
        """The answer for every task as soon as it is there.

        One for each thread is on its way at a time, so that a worker that dies has no others, and one that comes later
        gets its share.
        """
        waiting = iter(tasks)
        sent: dict[Any, Task] = {}
        coming = self._dask.as_completed(loop=self._client.loop)

        def send() -> Iterator[tuple[Task, Answer]]:
            """Fill the threads; what cannot be sent is answered at once."""
            free = sum(self._client.nthreads().values()) - len(sent)
            room = max(free, 0 if sent else 1)
            while room and (task := next(waiting, None)):
                made = parcel(task)
                if isinstance(made, Fault):
                    yield task, made
                    continue
                future = self._client.submit(_answer, made, key=f"grader-{id(self)}-{task.name}", pure=False)
                sent[future] = task
                coming.add(future)
                room -= 1

        try:
            yield from send()
            for future in coming:
                yield sent.pop(future), _result(future)
                yield from send()
        except OSError as error:
            raise GraderFault(f"the cluster has gone: {error}") from error
        finally:
            with suppress(Exception):
                self._client.cancel(list(sent))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()


def _result(future: Any) -> Answer:
    try:
        answer: Answer = future.result()
    except Exception as error:  # noqa: BLE001 - a lost worker, a scheduler that has ended: none is the submission's
        return Fault(f"the cluster: {str(error).split('. ')[0] or type(error).__name__}")
    return answer


_local = threading.local()


def _answer(parcel: Parcel) -> Answer:
    """On a worker: in the lane of this thread, which ends with the process."""
    if not hasattr(_local, "lane"):
        _local.lane = Lane()
        atexit.register(_local.lane.close)
    lane: Lane = _local.lane
    return lane.answer(parcel)


def _isolation(level: str) -> str:
    return str(resolve(level))
