"""Text of unknown origin: control characters go, ASCII terminals get letters."""

import re

import pytest

from grader.reports._text import clean, encodable, head, to_ascii
from grader.reports.terminal import render
from tests.reports.submissions import changed, graded, result_of


@pytest.mark.parametrize(
    "hostile", ["\x1b[2Jx", "a\rb", "\x9b31m", "\u202eevil", "\u2066x", "\ud800", "\x00", "\u200b"]
)
def test_control_characters_go(hostile):
    assert all(c.isprintable() for c in clean(hostile))


def test_line_breaks_become_spaces_unless_asked_for():
    assert clean("a\nb\tc") == "a b    c"
    assert clean("a\r\nb", lines=True) == "a\nb"


def test_head_counts_what_it_leaves_out():
    assert head("1\n2\n3\n", 2) == (["1", "2"], 1)


def test_ascii_has_letters_for_formulas():
    assert to_ascii("Q Kᵀ / √d_k, s ≤ t, é, ∮") == "Q K^T / sqrt d_k, s <= t, e, ?"
    assert encodable("√", "cp1252") == "sqrt "
    assert encodable("√", "utf-8") == "√"


@pytest.mark.parametrize("name", ["right", "wrong", "unreadable"])
def test_ascii_report_is_ascii(name):
    assert render(result_of(name), ascii=True).isascii()


@pytest.mark.parametrize("width", [40, 60, 120])
def test_lines_keep_to_the_width(width):
    text = render(result_of("wrong"), width=width)
    assert max(map(len, text.splitlines())) <= width


def test_colours_only_when_asked_for():
    assert "\x1b[" in render(result_of("wrong"), color=True)
    assert "\x1b" not in render(result_of("wrong"))


def test_students_markup_is_shown_as_it_is():
    assert "[red]</pre><b>Z</b>" in render(result_of("wrong"))


def test_hostile_exception_text_is_harmless_everywhere():
    from grader.reports.html import page
    from grader.reports.markdown import markdown

    bad = "raise ValueError('\\x1b]0;owned\\x07 [bold]<script>alert(1)</script> ![x](http://e.example/?q) @all `')"
    result = graded(changed(("    e = np.exp(x - biggest)", f"    {bad}")), "hostile")
    text = render(result)
    assert "\x1b" not in text
    assert "[bold]<script>" in text
    html = page(result)
    assert "<script" not in html
    assert "\x1b" not in html
    assert "&lt;script&gt;" in html
    outside = re.sub(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", "", markdown(result))
    for markup in ("![x]", "<script", "@all", "http://"):
        assert markup not in outside


def test_it_is_told_where_the_time_went():
    result = result_of("right")
    timing, criteria = result.rubric["timing"], {line["id"] for line in result.rubric["criteria"]}
    assert timing["criteria"].keys() == criteria
    assert 0 < sum(timing["criteria"].values()) <= timing["seconds"]
    column = re.compile(r"\d\.\d s$", re.M)
    assert len(column.findall(render(result, seconds=True))) == len(criteria)
    assert not column.findall(render(result))
