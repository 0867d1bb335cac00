"""The report as Markdown: for a comment on a pull request, a job's summary, a learning platform."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

from grader.reports import _view as view
from grader.reports import report
from grader.reports._text import clean, shortened

if TYPE_CHECKING:
    from grader.api import Result
    from grader.verdict import Verdict

SPECIAL = re.compile(r"([\\`*_{}\[\]()#+!|~$])")
BRIEF = 5  # failures of one part


@report("markdown", file="report.md", says="points and failures as Markdown, for a comment or a job's summary")
def markdown(result: Result) -> str:
    """Points as a table, then the failures in words; no matrices."""
    rubric = result.rubric
    lines = [
        f"## {_m(rubric['assignment']['title'])}",
        f"{code(result.name)}: **{round(rubric['score'], 2):g} of {rubric['max_score']:g}** ({rubric['percent']:g} %),"
        f" {_m(view.verdict_line(result))}",
    ]
    if result.problem:
        lines.append(_fence(result.problem))
    lines.append(_criteria(result))
    step, shows = view.next_step(result)
    if step:
        lines.append(f"**Next:** {_m(step)}" + (f" {code(shows)}" if shows else ""))
    if not result.problem:
        lines += [_group(group) for group in view.groups(result) if group.failures or group.missing]
    return "\n\n".join(lines) + "\n"


def _m(text: object) -> str:
    """Text in which nothing is markup. What comes from a student's exception goes through `code`, which holds more."""
    return SPECIAL.sub(r"\\\1", escape(clean(text), quote=False))


def code(text: object) -> str:
    """Inline code that no backtick in the text can end."""
    plain = clean(text).replace("|", "/")
    longest = max((len(run) for run in re.findall("`+", plain)), default=0)
    ticks = "`" * (longest + 1)
    space = " " if longest or plain.strip() != plain else ""
    return f"{ticks}{space}{plain}{space}{ticks}"


def _fence(text: str) -> str:
    plain = clean(text, lines=True)
    ticks = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", plain)), default=0))
    return f"{ticks}text\n{plain}\n{ticks}"


def _criteria(result: Result) -> str:
    gates = {gate["criterion"] for gate in result.rubric["gates"]}
    lines = ["| Criterion | Points |", "|---|---:|"]
    for criterion in result.rubric["criteria"]:
        gate = " *(needed to pass)*" if criterion["id"] in gates else ""
        earned = f"{round(criterion['earned'], 2):g}" if criterion["kind"] == "automatic" else "to be marked"
        lines.append(f"| {_m(criterion['title'])}{gate} | {earned} / {criterion['points']:g} |")
    return "\n".join(lines)


def _group(group: view.Group) -> str:
    lines = [f"### {code(group.part.signature)}"]
    if group.missing and not group.failures:
        return f"{lines[0]}\n\nIt is not defined."
    if group.unwritten:
        return f"{lines[0]}\n\nIt is not written yet: {code(group.part.formula)}"
    lines += [
        f"**This is: {_m(named.title)}** ({code(named.id)}). {code(named.formula)} {_m(named.cure)}"
        for named in group.named
    ]
    if group.raised_in:
        lines.append(f"It stops inside {code(group.raised_in)}.")
    else:
        lines.append("\n".join(_failure(verdict, group) for verdict in group.failures[:BRIEF]))
    if len(group.failures) > BRIEF:
        lines.append(f"And {len(group.failures) - BRIEF} more.")
    if group.because:
        lines.append(f"It uses {', '.join(code(name) for name in group.because)}: mend that first.")
    return "\n\n".join(lines)


def _failure(verdict: Verdict, group: view.Group) -> str:
    hint = view.plain_hint(verdict, group.part)
    message = shortened(clean(verdict.message), 300)
    said = _m(message) if verdict.status == "failed" else code(message)
    return f"- {code(verdict.id)}: {said}" + (f" *{_m(hint)}*" if hint else "")
