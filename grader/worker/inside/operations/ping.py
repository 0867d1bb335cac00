"""Answer, and do nothing else: whoever wrote out of turn before is found."""

from typing import Any

from ..session import Session


def run(session: Session, arguments: Any, body: bytearray) -> None:
    """None."""
