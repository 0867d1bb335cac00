"""What a worker needs of a process, whatever way it was started."""

from dataclasses import dataclass
from typing import Protocol


class Late(Exception):
    """The deadline passed."""


class Gone(Exception):
    """The process ended, or closed its side of the conversation."""


@dataclass(frozen=True)
class Ending:
    """How a process ended: ``status`` is minus the signal or the exit status, None while it was still alive.

    ``overfull``: it was ended for what it had left in its folder.
    """

    status: int | None
    cpu_seconds: float | None = None
    peak_bytes: int | None = None
    overfull: bool = False


class Connection(Protocol):
    """One child and its conversation. Deadlines are moments of ``time.monotonic``."""

    def send(self, parts: list[bytes], deadline: float) -> None:
        """Write all. Raises Late, Gone."""

    def receive(self, count: int, deadline: float) -> bytearray:
        """Read exactly ``count`` bytes, draining what is printed meanwhile. Raises Late, Gone."""

    def stray(self) -> bool:
        """Whether bytes lie there that nobody asked for."""

    def printed(self) -> str:
        """What was printed since the last call."""

    def overfull(self) -> None:
        """Kill it for what it has left in its folder; may be called by another thread."""

    def end(self, grace: float = 0.0) -> Ending:
        """Give it ``grace`` seconds to end by itself, kill it with all it started, and leave nothing behind."""
