"""`grader doctor`: what confines submissions on this machine, and what to do for more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from grader.doctor import Examined, Findings


@click.command(short_help="Say how submissions are confined here, and what to do for more.")
def command() -> int:
    """Try every isolation level: its layers, what a submission cannot do, what it costs.

    Ends with 0 when the level that is taken by itself holds what it promises, with 3 when it does not.
    """
    from grader.cli import FAULT, PASSED
    from grader.doctor import examine
    from grader.output import say

    findings = examine()
    say("\n".join(lines(findings)))
    return PASSED if findings.sound else FAULT


def lines(findings: Findings) -> list[str]:
    """The report, line by line."""
    out = ["Layers of the sandbox"]
    for layer in findings.layers:
        state = "yes" if layer.held else "NO" if layer.required else "no"
        out.append(f"  {layer.name:16} {state:4} {layer.why}".rstrip())
        if layer.remedy:
            out.append(f"  {'':16} {'':4} -> {layer.remedy}")
    out += ["", "Levels"]
    for one in findings.levels:
        taken = "  (taken unless --isolation says otherwise)" if one.level == findings.level else ""
        out += [f"  {one.level}{taken}", *_level(one)]
    out.append("  none")
    out.append("      no limits and no time-outs, for a debugger; what it grades does not count")
    return out


def _level(one: Examined) -> list[str]:
    if not one.available:
        return [f"      not to be had: {one.why}"]
    refused = [deed.what for deed in one.deeds if deed.refused]
    allowed = [deed.what for deed in one.deeds if not deed.refused]
    out = [
        f"      in force: {one.isolation}",
        f"      start: {one.first:.0f} ms with its libraries, {one.again:.1f} ms for each submission after that",
        f"      refused: {', '.join(refused) or 'nothing'}",
    ]
    if allowed:
        promised = one.level == "sandbox"
        out.append(f"      {'BROKEN PROMISE, allowed' if promised else 'allowed'}: {', '.join(allowed)}")
    return out
