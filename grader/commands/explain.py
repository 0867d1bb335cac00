"""`grader explain`: what a check, a function, a criterion or a misconception is."""

from __future__ import annotations

from pathlib import Path

import click


@click.command(short_help="What a check asks, a function's formula, a misconception.")
@click.argument("id_", metavar="ID")
@click.option("--assignment", "-a", help="Look in this one only: an id, or the path of a spec.")
def command(id_: str, assignment: str | None) -> int:
    """Explain ID: a check (softmax.value, value), a function, a criterion, or a misconception.

    In a folder with a grader.toml its assignment comes first.
    """
    from grader.catalogue import entries
    from grader.cli import Unusable
    from grader.explain import known, lookup
    from grader.near import near
    from grader.output import say, sheet
    from grader.settings import assignment_in
    from grader.spec import load

    here = assignment_in(Path.cwd()) if assignment is None else assignment
    others = [] if assignment else [entry.id for entry in entries() if entry.id != here]
    specs = [load(name) for name in ([here] if here else []) + others]
    found: dict[str, list[str]] = {}
    for spec in specs:
        for text in lookup(id_, spec):
            found.setdefault(text, []).append(spec.id)
    if not found:
        close = near(id_, (name for spec in specs for name in known(spec)))
        hint = f"close to it: {', '.join(close)}" if close else "`grader check` shows the ids of what failed"
        raise Unusable(f"nothing is called {id_!r}; {hint}")
    say("\n\n".join(_wrapped(_titled(text, of), sheet().width) for text, of in found.items()))
    return 0


def _titled(text: str, assignments: list[str]) -> str:
    """A text with the assignments that it is of, behind its first line."""
    first, rest = text.split("\n", 1)
    return f"{first}   [{', '.join(assignments)}]\n{rest}"


def _wrapped(text: str, width: int) -> str:
    """Lines that keep their indentation when they are too long."""
    import textwrap

    lines = []
    for line in text.splitlines():
        label = len(line) - len(line.lstrip())
        if "  " in line.strip() and label:  # `  key       text`
            label = line.index(line.strip().split("  ", 1)[1].strip(), label)
        lines += textwrap.wrap(line, width, subsequent_indent=" " * label, break_on_hyphens=False) or [""]
    return "\n".join(lines)
