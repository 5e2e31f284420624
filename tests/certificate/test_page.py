from __future__ import annotations

import re
from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from dprct.certificate.page import claim, document, facts, grid, items, pair, section


class Seen(HTMLParser):
    """Collects tags and text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def seen(html: str) -> Seen:
    reader = Seen()
    reader.feed(html)
    reader.close()
    return reader


def with_words(words: str) -> str:
    parts = (items([words]), facts({words: words}), grid([words], [[words, words]]))
    body = section(words, *parts, claim(words, promised=True))
    return document(words, words, words, [body], words)


@given(st.text())
def test_no_text_becomes_a_tag(words: str) -> None:
    assert seen(with_words(words)).tags == seen(with_words("x")).tags


def test_a_hostile_label_is_shown_and_not_run() -> None:
    hostile = '</style><script>alert("x")</script>\x1b[2J'
    page = document(hostile, hostile, hostile, [items([hostile])], hostile)
    assert "script" not in seen(page).tags
    assert 'alert("x")' in "".join(seen(page).words)
    assert "\x1b" not in page


def test_a_page_loads_nothing() -> None:
    page = document("kind", "title", "subtitle", [], "foot")
    assert "default-src 'none'" in page
    for needed in ("http:", "https:", "src=", "url(", "@import", "<script"):
        assert needed not in page
    assert page.startswith('<!DOCTYPE html>\n<html lang="en">')


def test_tables_have_headers() -> None:
    assert '<th scope="row">n</th><td>400</td>' in facts({"n": "400"})
    assert "<td><code>ab</code></td>" in facts({"hash": "ab"}, code=("hash",))
    both = grid(("Fate", "Columns"), [("drop", "name")])
    assert '<th scope="col">Fate</th>' in both
    assert '<th scope="row">drop</th><td>name</td>' in both


def test_what_is_empty_has_no_heading() -> None:
    assert section("Limits", items([])) == ""
    assert facts({}) == ""
    assert pair("", "<p>x</p>") == "<p>x</p>"
    assert "pair" in pair("<p>y</p>", "<p>x</p>")


def test_the_alarm_is_said_only_where_nothing_is_promised() -> None:
    assert 'class="claim none"' in claim("x", promised=False)
    assert 'class="claim"' in claim("x", promised=True)


def luminance(colour: str) -> float:
    """Relative luminance of WCAG 2."""
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def schemes() -> list[dict[str, str]]:
    """The colours of the page by day, by night and in print."""
    found = re.findall(r":root \{(.*?)\}", document("", "", "", [], ""), re.DOTALL)
    named = [dict(re.findall(r"--(\w+): (#[0-9a-f]{3,6})", block)) for block in found]
    return [
        {k: v if len(v) == 7 else "#" + "".join(2 * c for c in v[1:]) for k, v in one.items()}
        for one in named
    ]


def test_every_colour_of_text_has_enough_contrast() -> None:
    assert len(schemes()) == 3
    for colours in schemes():
        for ink in ("ink", "soft", "mark", "alarm"):
            for ground in ("paper", "tint"):
                light, dark = sorted(
                    (luminance(colours[ink]), luminance(colours[ground])), reverse=True
                )
                assert (light + 0.05) / (dark + 0.05) >= 4.5, (ink, ground, colours)


def test_what_is_for_machines_is_escaped_too() -> None:
    """The name of a file stands in the command that checks it."""
    shown = facts({"<b>": "<i>", "Command": "dprct verify <b>.dta"}, code=("Command",))
    assert "<code>dprct verify &lt;b&gt;.dta</code>" in shown
    assert "<td>&lt;i&gt;</td>" in shown
    assert "<b>" not in shown
