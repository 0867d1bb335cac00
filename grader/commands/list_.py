"""`grader list`: the assignments, one line each."""

from __future__ import annotations

import click


@click.command("list", short_help="The assignments, one line each.")
def command() -> int:
    """List the assignments: id, file, title."""
    from grader.catalogue import entries

    found = entries()
    ids, names = (max(map(len, column)) for column in zip(*((e.id, e.file) for e in found), strict=True))
    for entry in found:
        click.echo(f"{entry.id:{ids}}  {entry.file:{names}}  {entry.title}")
    return 0
