from __future__ import annotations

import re

import pytest

from dprct.app.reading import html_of, page_of
from dprct.errors import FileError


def test_the_page_of_the_documentation_is_shown_without_a_link_that_leads_away() -> None:
    html = page_of("choosing_bounds")
    assert '<h2 id="not-from-the-data">' in html
    assert "<table>" in html
    assert "<pre>" in html
    assert "href" not in html.replace('href="../app.css"', "")
    assert "http" not in html


@pytest.mark.parametrize(
    ("markdown", "html"),
    [
        ("a <b>\nc", "<p>a &lt;b&gt; c</p>"),
        ("`a<b`", "<p><code>a&lt;b</code></p>"),
        ("[words](http://x)", "<p>words</p>"),
        ("- a\n- b", "<ul><li>a</li><li>b</li></ul>"),
        ("```\na\n\n<b>\n```\nc", "<pre>a\n\n&lt;b&gt;</pre>\n<p>c</p>"),
        ("# A\ntext", '<h1 id="a">A</h1><p>text</p>'),
    ],
)
def test_blocks(markdown: str, html: str) -> None:
    assert re.sub(r"\s*\n?</li>", "</li>", html_of(markdown)) == html


def test_a_page_that_is_not_there_is_said() -> None:
    with pytest.raises(FileError, match="not installed"):
        page_of("nothing")
