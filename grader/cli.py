"""Knows how the command line starts and how it ends: a command by its name, an exit status, one line for a fault.

Each command is a file of `grader/commands/`, imported when it is asked for.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any

import click

from grader import __version__, commands

PASSED, BELOW, UNUSABLE, FAULT, INTERRUPTED = 0, 1, 2, 3, 130


class Unusable(click.ClickException):
    """Arguments or a spec that nothing can be done with; ends with status 2."""

    exit_code = UNUSABLE


class Commands(click.Group):
    """The commands of `grader/commands/`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order in which one needs them."""
        return commands.names()

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """The command of a name, imported now."""
        if name not in commands.names():
            return None
        found: click.Command = import_module(f"grader.commands.{commands.module_of(name)}").command
        return found


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="grader")
def cli() -> None:
    """Grade hand-written transformer decoders: what is wrong, which mistake it is, and a score.

    \b
    grader init hand-decoder     a folder to work in
    grader check                 grade what you have written so far
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and end the process with its exit status. 0 passed, 1 below, 2 unusable, 3 the grader failed."""
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status. Tracebacks are for GRADER_DEBUG=1."""
    try:
        return _status(cli.main(args=arguments, prog_name="grader", standalone_mode=False))
    except click.ClickException as error:
        with suppress(BrokenPipeError):
            error.show()
        return UNUSABLE
    except (click.Abort, KeyboardInterrupt):
        with suppress(BrokenPipeError):
            click.echo("interrupted", err=True)
        return INTERRUPTED
    except BrokenPipeError:  # of a command that only tells something: those that grade go on, and keep their status
        from grader.output import reader_gone

        reader_gone(sys.stdout)
        return PASSED
    except Exception as error:
        if os.environ.get("GRADER_DEBUG") == "1":
            raise
        return explained(error)


def _status(value: Any) -> int:
    return value if isinstance(value, int) else PASSED


def explained(error: Exception) -> int:
    """One line for whatever else was raised: a spec that cannot be used, or a fault of ours."""
    from grader.output import say
    from grader.spec import SpecError

    if isinstance(error, SpecError):
        say(f"Error: {error}", err=True)
        return UNUSABLE
    say(f"grader: not graded: {fault_text(error)}", err=True)
    say(
        "The grader or this machine failed, not the submission. Run it again with GRADER_DEBUG=1 for the details, and"
        f" report them with the submission and the version (grader {__version__}).",
        err=True,
    )
    return FAULT


def fault_text(error: BaseException) -> str:
    """One line for a fault of ours: its own sentence, or what Python calls it."""
    from grader.registry import RegistrationError
    from grader.worker import WorkerFault

    text = " ".join(str(error).split())
    return text if isinstance(error, WorkerFault | RegistrationError) else f"{type(error).__name__}: {text}"


if __name__ == "__main__":
    main()
