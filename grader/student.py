"""Knows how a submission answers: which process runs it, what becomes of the process, and what it printed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, TypeVar

import numpy as np

from grader.compare import Array
from grader.hosts import Hosts
from grader.part import Path
from grader.spec import PartSpec, Spec
from grader.submission import Submission
from grader.worker import (
    Crashed,
    GraderFault,
    Limits,
    Loaded,
    LoadFailed,
    Missing,
    StudentFault,
    TimedOut,
    Want,
    Worker,
)
from grader.worker.limits import Used
from grader.worker.view import OURS

T = TypeVar("T")
PRINTED_CHARACTERS = 4000
# Where libraries lie on this machine: warnings say it. From a word's start only: a long word would take a minute.
INSTALLED = re.compile(r"(?<![^\s\"'])[^\s\"']*[/\\](?:site|dist)-packages[/\\]")
CRASHES = 3  # of one part, after which it is not called any more


def hosts_of(spec: Spec, level: str = "auto") -> Hosts:
    """Warm parents for an assignment: within its limits, and without its reference in view."""
    package = spec.reference.split(":")[0].split(".")[0]
    return Hosts(level, limits_of(spec), () if package in OURS else (package,))


def limits_of(spec: Spec) -> Limits:
    """The spec's limits over the worker's defaults."""
    given = {key: value for key, value in spec.limits.model_dump().items() if value is not None}
    return Limits(**given)


class Student:
    """One submission's functions, each call in its process; a process that ends is followed by a fresh one.

    A part that has run out of time once is not called again, nor one that has brought its process down three times:
    the same fault is raised at once, so that an endless loop costs one time limit and not one for each check.
    """

    def __init__(self, submission: Submission, hosts: Hosts) -> None:
        self.submission, self._hosts = submission, hosts
        self._used = Used()
        self._hushed = False
        self._worker: Worker | None = None
        self._fresh: Student | None = None
        self._others: list[Student] = []
        self._crashes: Counter[str] = Counter()
        self._given_up: dict[str, TimedOut | Crashed] = {}
        self._dtypes: tuple[str, ...] = ()
        self.printed = ""
        self._kind, self._hash_seed = "", 0

    def load(self) -> Loaded:
        """Import the submission in a process of the right kind; errors: LoadFailed, Tampered, GraderFault."""
        if self.submission.mentions_torch:
            self._hosts.get("torch")  # begins to start while the sources are scanned
        self._loaded = self._start()
        self.printed = self._loaded.printed
        return self._loaded

    @property
    def loaded(self) -> Loaded:
        """What is known of it since `load`."""
        return self._loaded

    @property
    def backend(self) -> str:
        """The array type that it takes."""
        return self._loaded.backend

    @property
    def layers(self) -> tuple[str, ...]:
        """What confines its process."""
        return self._worker.layers if self._worker else ()

    def defines(self, name: str) -> bool:
        """Whether the contract's name is there."""
        return name.split(".")[0] in self._loaded.names

    def call(self, part: PartSpec, args: Sequence[Any]) -> Any:
        """The results: an array, a tuple of arrays, or a dict; errors: the worker's faults."""
        reply = self._ask(part, lambda worker: worker.call(part.name, args, _want(part)))
        self._dtypes = reply.dtypes
        return reply.value

    def echo(self, part: PartSpec, args: Sequence[Any]) -> tuple[Any, Any]:
        """The results and the arguments after the call."""
        reply = self._ask(part, lambda worker: worker.call(part.name, args, _want(part), echo=True))
        return reply.value, reply.args_after

    def gradient(
        self, part: PartSpec, args: Sequence[Any], cotangents: Sequence[Array], wrt: Sequence[Path]
    ) -> list[Array | None]:
        """Autograd's gradients at the paths `wrt`."""
        given: Any = [np.asarray(cotangent) for cotangent in cotangents]
        reply = self._ask(part, lambda worker: worker.gradient(part.name, args, _want(part), given, wrt))
        return list(reply.value)

    def ask(self, part: PartSpec, question: Callable[[Worker], T]) -> T:
        """What its process answers, a fresh one after a crash; errors: the worker's faults."""
        return self._ask(part, question)

    def dtypes(self) -> tuple[str, ...]:
        """The number types of the latest results."""
        return self._dtypes

    def fresh(self) -> Student:
        """The same submission in a process of its own; one serves all parts, so that it sees them in another order."""
        if self._fresh is None:
            self._fresh = Student(self.submission, self._hosts)
            self._fresh._kind, self._fresh._used = self._kind, self._used
            self._fresh.load()
        return self._fresh

    def anew(self, hash_seed: int = 0) -> Student:
        """The same submission in a new process each time, in which nothing was called; sets go by the seed."""
        other = Student(self.submission, self._hosts)
        other._kind, other._hash_seed, other._used = self._kind, hash_seed, self._used
        self._others.append(other)
        other.load()
        return other

    def apart(self, question: Callable[[Worker], T]) -> T:
        """What a process answers that has taken the sources and run none of them; errors: the worker's faults."""
        sub = self.submission
        with self._hosts.get(self._kind or "numpy").start(self._used) as worker:
            worker.scan(sub.sources, sub.main, sub.adapters)
            return question(worker)

    def reseed(self, seed: int) -> None:
        """Put its process's global random generators into a known state."""
        assert self._worker is not None
        self._worker.op("reseed", seed=seed)

    def close(self) -> None:
        """End its processes; a last look for bytes that were written out of turn. Errors: Tampered."""
        others, self._fresh, self._others = [*filter(None, [self._fresh]), *self._others], None, []
        with ExitStack() as ending:
            if self._worker is not None:
                ending.callback(self._worker.close)
            for other in others:
                ending.callback(other.close)
            self._settle()

    def _settle(self) -> None:
        with suppress(StudentFault, GraderFault):  # it had answered everything
            if self._worker is not None and self._worker.alive:
                self._worker.settle()

    def _ask(self, part: PartSpec, question: Callable[[Worker], T]) -> T:
        if not self.defines(part.name):
            raise Missing(part.name)
        if part.name in self._given_up:
            raise self._given_up[part.name]
        try:
            answer = self._answer(question)
        except StudentFault as fault:
            self._keep(fault.printed)
            if not isinstance(fault, TimedOut | Crashed):
                raise
            self._crashes[part.name] += 1
            if isinstance(fault, TimedOut) or self._crashes[part.name] >= CRASHES:
                self._given_up[part.name] = fault
            raise
        self._keep(getattr(answer, "printed", ""))
        return answer

    def _answer(self, question: Callable[[Worker], T]) -> T:
        """Ask, and where the grader itself fails, once more: no submission is to choose that it is not graded."""
        for again in (True, False):
            if self._worker is None or not self._worker.alive:
                self._start()
            assert self._worker is not None
            try:
                return question(self._worker)
            except GraderFault as fault:
                self._worker.close()
                if not again:
                    raise Crashed(f"the grader lost it twice in the same call ({fault.message})") from fault
        raise AssertionError("unreachable")

    @contextmanager
    def hushed(self, hushed: bool) -> Iterator[None]:
        """Whether what it prints meanwhile is dropped: it may be the arguments of a hidden check."""
        before, self._hushed = self._hushed, hushed
        try:
            yield
        finally:
            self._hushed = before

    def _keep(self, text: str) -> None:
        if text and not self._hushed and len(self.printed) < PRINTED_CHARACTERS:
            self.printed = (self.printed + INSTALLED.sub("", text))[:PRINTED_CHARACTERS]

    def _start(self) -> Loaded:
        sub = self.submission
        if not self._kind:
            self._kind = "numpy"
            if sub.mentions_torch:
                self._worker = self._hosts.get("numpy").start(self._used)
                self._kind = self._worker.scan(sub.sources, sub.main, sub.adapters)
                if self._kind == "torch":
                    self._worker.close()
                    self._worker = None
        if self._worker is None or not self._worker.alive:
            self._worker = self._hosts.get(self._kind, self._hash_seed).start(self._used)
        try:
            return self._worker.load(sub.sources, sub.main, sub.adapters)
        except GraderFault:  # once more, as in `_answer`
            self._worker.close()
            self._worker = self._hosts.get(self._kind, self._hash_seed).start(self._used)
        try:
            return self._worker.load(sub.sources, sub.main, sub.adapters)
        except GraderFault as fault:
            self._worker.close()
            raise LoadFailed("crash", f"the grader lost the process twice at its import ({fault.message})") from fault


def _want(part: PartSpec) -> Want:
    if part.returns == "dict":
        return "dict"
    return "array" if len(part.returns) == 1 else tuple("array" for _ in part.returns)
