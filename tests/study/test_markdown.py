from __future__ import annotations

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dprct.study.markdown import code, plain, prose

WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), max_size=40)


def unescaped(markdown: str) -> str:
    """Return what CommonMark shows of text in which only backslash escapes have a meaning."""
    return html.unescape(re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", markdown))


@given(WORDS.filter(lambda text: "&" not in text))
def test_plain_text_is_shown_as_it_is(text: str) -> None:
    line = plain(text)
    assert "\n" not in line
    assert not re.search(r"(?<!\\)(?:\\\\)*[`*\[\]<>|~&]", line)
    assert unescaped(line) == " ".join(text.split())


@pytest.mark.parametrize(
    "start", ["# a", "- a", "+ a", "= a", "1. a", "12) a", "--- a", "===", "> a"]
)
def test_no_line_begins_a_block(start: str) -> None:
    assert not re.match(r"#|[-+=>]|\d+[.)]", plain(start))
    assert unescaped(plain(start)) == start


def test_an_entity_is_not_one() -> None:
    assert plain("&lt;b&gt;") == r"\&lt;b\&gt;"


@pytest.mark.parametrize("text", ["snake_case_name", "https://example.org/a_b-c?d=1"])
def test_names_and_addresses_stay_readable(text: str) -> None:
    assert plain(text) == text


def test_paragraphs_stay_paragraphs() -> None:
    assert prose("\n one\ntwo \n \n\n*three*\n") == "one two\n\n\\*three\\*"
    assert prose(" \n ") == ""


@pytest.mark.parametrize("name", ["a.dta", "a`b", "``", "`x", "x`", "a``b`c", "a b", "a|b"])
def test_code_is_fenced_by_more_ticks_than_it_has(name: str) -> None:
    fenced = code(name)
    fence = re.match("`+", fenced)
    assert fence is not None
    inside = fenced[len(fence[0]) : -len(fence[0])]
    assert fence[0] not in inside
    assert inside.strip() == name or inside == name
    assert "|" not in code(name, cell=True).replace("\\|", "")
