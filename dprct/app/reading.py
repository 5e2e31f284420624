"""The page of the documentation to which open points link, served by the app itself.

A link to the site would be a request that leaves the machine.
"""

from __future__ import annotations

import re
from html import escape
from importlib import resources
from pathlib import Path

from dprct.errors import FileError

_BESIDE = Path(__file__).resolve().parents[2] / "docs"


def page_of(name: str) -> str:
    """Return a page of the documentation as HTML.

    Examples
    --------
    >>> "<h1" in page_of("choosing_bounds")
    True
    """
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<title>{escape(name.replace("_", " "))}</title><link rel="stylesheet" '
        f'href="../app.css"></head><body><main class="reading">{html_of(_text(name))}'
        "</main></body></html>\n"
    )


def _text(name: str) -> str:
    """Return the page as it was written: from the wheel, or from the checkout."""
    for place in (resources.files("dprct").joinpath("reading"), _BESIDE):
        found = place.joinpath(f"{name}.md")
        if found.is_file():
            return found.read_text("utf-8")
    raise FileError(f"the page {name!r} is not installed; reinstall dprct")


def html_of(markdown: str) -> str:
    """Return the Markdown of our own pages as HTML: headings, paragraphs, lists, tables, code.

    Examples
    --------
    >>> html_of("# A & b")
    '<h1 id="a--b">A &amp; b</h1>'
    """
    blocks, code = [], False
    waiting: list[str] = []
    for line in [*markdown.splitlines(), ""]:
        fence = line.startswith("```")
        if fence and code:
            blocks.append(f"<pre>{escape(chr(10).join(waiting))}</pre>")
        elif code or (not fence and line.strip()):
            waiting.append(line)
            continue
        elif waiting:
            blocks.append(_block(waiting))
        waiting = []
        code = fence and not code
    return "\n".join(blocks)


def _block(lines: list[str]) -> str:
    heading = re.fullmatch(r"(#+) (.*)", lines[0])
    if heading:
        level, words = len(heading[1]), heading[2]
        anchor = re.sub(r"[^\w -]", "", words.lower()).replace(" ", "-")
        first = f'<h{level} id="{anchor}">{_inline(words)}</h{level}>'
        return first + (_block(lines[1:]) if lines[1:] else "")
    if lines[0].startswith("|"):
        rows = [[_inline(cell.strip()) for cell in line.strip("| ").split("|")] for line in lines]
        body = "".join(
            f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>"
            for place, row in enumerate(rows)
            if place > 1
        )
        head = "".join(f'<th scope="col">{cell}</th>' for cell in rows[0])
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    if re.match(r"[-*] |\d+\. ", lines[0]):
        items = re.split(r"(?m)^(?:[-*]|\d+\.) ", "\n".join(lines))
        return f"<ul>{''.join(f'<li>{_inline(item)}</li>' for item in items if item.strip())}</ul>"
    return f"<p>{_inline(' '.join(lines))}</p>"


def _inline(words: str) -> str:
    """Return one line of text; links become their words, because they lead out of this page."""
    text = escape(re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", words))
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", text)
    return re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", text)
