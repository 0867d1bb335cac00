"""The page stands alone and is well formed."""

import re
from html.parser import HTMLParser

import pytest

from grader.reports.html import page
from tests.reports.submissions import changed, graded, result_of

VOID = {"meta", "br", "img", "link", "input"}


class Nesting(HTMLParser):
    """Every element that is opened is closed, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.parametrize("name", ["right", "wrong", "unreadable"])
def test_page_is_well_formed_and_loads_nothing(name):
    text, parser = page(result_of(name)), Nesting()
    parser.feed(text)
    parser.close()
    assert parser.open == []
    tags = {tag for tag, _ in parser.seen}
    assert not tags & {"script", "link", "img", "iframe", "object", "embed", "form", "base"}
    assert not any(key in ("src", "href") or key.startswith("on") for _, attrs in parser.seen for key in attrs)
    assert not re.search(r"url\(|@import|https?://", text)
    assert ("html", {"lang": "en"}) in parser.seen


def test_picture_has_a_description_and_marks_the_future():
    text = page(result_of("wrong"))
    assert 'role="img" aria-label="Influence of replaced positions' in text
    assert re.search(r'<rect class="leak"', text)
    assert "position 0, when position 1 is replaced" in text


def test_position_that_ignores_its_past_is_marked():
    text = page(graded(changed(("    return softmax(masked)", "    return np.eye(T)")), "identity"))
    assert '<rect class="stuck"' in text
    assert "moves although" not in text
