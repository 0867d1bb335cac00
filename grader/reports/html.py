"""One page that stands alone: no script, nothing loaded from elsewhere, every text of a student escaped."""

from __future__ import annotations

from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from grader.reports import _blocks as blocks
from grader.reports import _view as view
from grader.reports import report
from grader.reports._plot import plot
from grader.reports._svg import heat_map, legend
from grader.reports._text import clean, head

if TYPE_CHECKING:
    from grader.api import Result
    from grader.verdict import Named, Verdict

PRINTED_LINES = 40
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


@report("html", file="report.html", says="a page to read in a browser, with pictures, that stands alone")
def page(result: Result) -> str:
    """The same as the terminal shows, with every failure in full."""
    title = f"{clean(result.name)}: {clean(result.spec.title)}"
    style = (files("grader.reports") / "_page.css").read_text("utf-8")
    body = "\n".join(part for part in (_top(result), _criteria(result), _failures(result), _tail(result)) if part)
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="color-scheme" '
        f'content="light dark">\n<title>{escape(title)}</title>\n<style>\n{style}</style>\n</head>\n'
        f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def _e(text: object) -> str:
    return escape(clean(text))


def _top(result: Result) -> str:
    rubric = result.rubric
    backend = {"numpy": " · NumPy", "torch": " · torch"}.get(str(rubric["submission"]["backend"]), "")
    state = "passed" if rubric["passed"] else "below"
    lines = [
        f'<header>\n<p class="sub">{_e(rubric["assignment"]["id"])} · {_e(result.name)}{backend}</p>',
        f"<h1>{_e(rubric['assignment']['title'])}</h1>",
        f'<p class="score {state}"><strong>{round(rubric["score"], 2):g}</strong> of {rubric["max_score"]:g} points'
        f" ({rubric['percent']:g} %) <span>{_e(view.verdict_line(result))}</span></p>",
    ]
    if result.problem:
        evidence = result.verdicts[0].evidence if result.verdicts else {}
        lines.append(f'<p class="problem">{escape(clean(result.problem, lines=True))}</p>')
        lines.append(_frames(evidence.get("traceback") or [evidence] * bool(evidence.get("code"))))
    step, shows = view.next_step(result)
    if step:
        command = f" <code>{_e(shows)}</code>" if shows else ""
        lines.append(f'<p class="next"><b>Next.</b> {_e(step)}{command}</p>')
    return "\n".join([*(line for line in lines if line), "</header>"])


def _criteria(result: Result) -> str:
    gates = {gate["criterion"] for gate in result.rubric["gates"]}
    rows = []
    for criterion in result.rubric["criteria"]:
        share = criterion["earned"] / criterion["points"]
        gate = ' <span class="tag">needed to pass</span>' if criterion["id"] in gates else ""
        earned = f"{round(criterion['earned'], 2):g}" if criterion["kind"] == "automatic" else "to be marked"
        rows.append(
            f'<tr><th scope="row">{_e(criterion["title"])}{gate}</th><td class="bar" aria-hidden="true">'
            f'<span class="track"><span style="width:{100 * share:.0f}%"></span></span></td>'
            f'<td class="points">{earned} / {criterion["points"]:g}</td></tr>'
        )
    heading = '<th scope="col">Criterion</th><td></td><th scope="col" class="points">Points</th>'
    body = "\n".join(rows)
    return (
        f'<section>\n<h2>Points</h2>\n<table class="criteria">\n<thead><tr>{heading}</tr></thead>\n<tbody>\n{body}\n'
        "</tbody>\n</table>\n</section>"
    )


def _failures(result: Result) -> str:
    if result.problem:
        return ""
    sections, unwritten = [], []
    for group in view.groups(result):
        if group.unwritten or (group.missing and not group.failures):
            unwritten.append(f"<code>{_e(group.part.name)}</code>{' (not defined)' if group.missing else ''}")
        else:
            sections.append(_section(group))
    if unwritten:
        sections.append(f"<p><b>Not written yet:</b> {', '.join(unwritten)}</p>")
    return (
        "<section>\n<h2>What to mend, in this order</h2>\n" + "\n".join(sections) + "\n</section>" if sections else ""
    )


def _section(group: view.Group) -> str:
    lines = [
        f'<article>\n<h3><code>{_e(group.part.signature)}</code></h3>\n<p class="formula">{_e(group.part.formula)}</p>'
    ]
    lines += [_named(named) for named in group.named]
    if group.because:
        names = ", ".join(f"<code>{_e(name)}</code>" for name in group.because)
        lines.append(f'<p class="dim">It uses {names}: mend that first.</p>')
    if group.raised_in:
        lines.append(f"<p>It stops inside <code>{_e(group.raised_in)}</code>.</p>")
    lines += [_failure(v, group, first=i == 0 and group.own) for i, v in enumerate(group.failures)]
    if group.waiting:
        lines.append(f'<p class="dim">Checks that wait for what failed here: {group.waiting}.</p>')
    if group.hidden:
        lines.append(f'<p class="dim">Hidden checks that did not pass: {group.hidden}.</p>')
    return "\n".join([*lines, "</article>"])


def _named(named: Named) -> str:
    pairs = [("computed", named.formula), ("the cure", named.cure)]
    pairs += [("or, alike on every input", ", ".join(named.alternatives))] * bool(named.alternatives)
    terms = "".join(f"<dt>{term}</dt><dd>{_e(text)}</dd>" for term, text in pairs)
    title = f"<b>This is: {_e(named.title)}</b> <code>{_e(named.id)}</code>"
    return f'<aside class="named"><p>{title}</p><dl>{terms}</dl></aside>'


def _failure(verdict: Verdict, group: view.Group, *, first: bool) -> str:
    status = "" if verdict.status == "failed" else f' <span class="tag">{verdict.status}</span>'
    summary = f"<code>{_e(verdict.id)}</code>{status} {_e(verdict.message)}"
    lines = [
        f"<details{' open' if first else ''}>\n<summary>{summary}</summary>",
        f'<p class="says">{_e(verdict.title)}</p>',
    ]
    if case := verdict.evidence.get("case"):
        lines.append(f"<p>With {_e(case)}.</p>")
    lines.append(_frames(verdict.evidence.get("traceback") or []))
    drawn, compared = blocks.influence(verdict), blocks.comparison(verdict)
    for tables in (blocks.inputs(verdict) if compared or drawn else (), compared):
        if tables:
            lines.append(f'<div class="tables">{"".join(_table(block) for block in tables)}</div>')
    if drawn:
        lines.append(f"<figure>{heat_map(drawn)}<figcaption>{legend(drawn)}</figcaption></figure>")
    if series := plot(verdict.evidence.get("picture")):
        lines.append(f"<figure>{series}</figure>")
    if hint := view.plain_hint(verdict, group.part):
        lines.append(f'<p class="hint"><b>Hint.</b> {_e(hint)}</p>')
    return "\n".join([*(line for line in lines if line), "</details>"])


def _table(block: blocks.Block) -> str:
    shape = f" ({_e(block.shape)})" if block.shape else ""
    rows = "".join(
        "<tr>"
        + "".join(
            f"<td><mark>{_e(cell)}</mark></td>" if (i, j) in block.marks else f"<td>{_e(cell)}</td>"
            for j, cell in enumerate(row)
        )
        + "</tr>"
        for i, row in enumerate(block.cells)
    )
    return f'<table class="numbers"><caption>{_e(block.title)}{shape}</caption><tbody>{rows}</tbody></table>'


def _frames(frames: list[dict[str, Any]]) -> str:
    lines = []
    for frame in frames[-6:]:
        inside = f", in {_e(frame['function'])}" if frame.get("function") else ""
        lines.append(f"{_e(frame.get('file', ''))}, line {_e(frame.get('line', '?'))}{inside}")
        lines.append(f"    {_e(frame.get('code', ''))}")
    return "<pre>" + "\n".join(lines) + "</pre>" if lines else ""


def _tail(result: Result) -> str:
    lines = []
    if found := view.notes(result):
        items = "".join(
            f"<li><code>{_e(part)}</code>: {_e(sentence)}{f' ({count} checks)' if count > 1 else ''}</li>"
            for part, sentence, count in found
        )
        lines.append(f"<section>\n<h2>Passed, and worth knowing</h2>\n<ul>{items}</ul>\n</section>")
    for verdict in result.verdicts:
        hidden = verdict.id in view.hidden_ids(result)
        if verdict.passed and not hidden and (series := plot(verdict.evidence.get("picture"))):
            title = f"<h2>Measured</h2>\n<p><code>{_e(verdict.id)}</code> {_e(verdict.title)}</p>"
            lines.append(f"<section>\n{title}\n<figure>{series}</figure>\n</section>")
    if result.printed.strip():
        printed, more = head(result.printed, PRINTED_LINES)
        rest = f"\n… and {more} more lines" if more else ""
        text = escape("\n".join(printed)) + rest
        lines.append(f"<section>\n<h2>Your code printed</h2>\n<pre>{text}</pre>\n</section>")
    origin = result.rubric["provenance"]
    versions = ", ".join(f"{key} {origin[key]}" for key in ("grader", "python", "numpy", "torch") if origin[key])
    lines.append(f"<footer>{_e(versions)}, isolation {_e(origin['isolation'])}, seed {origin['seed']}</footer>")
    return "\n".join(lines)
