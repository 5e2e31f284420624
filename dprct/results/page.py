"""Pages that stand alone: no script, nothing from elsewhere, every text escaped."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_STYLE = """
:root { color-scheme: light dark; --ink: #1c1e21; --soft: #55595f; --rule: #c9ccd1;
  --paper: #ffffff; --desk: #eef0f2; --tint: #f4f6f8; --mark: #1f4e79; --alarm: #8c1d18; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e7e9; --soft: #a9aeb5; --rule: #43484f;
  --paper: #1b1d20; --desk: #121315; --tint: #24272b; --mark: #8fbce6; --alarm: #f2a19b; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--desk); color: var(--ink);
  font: 1rem/1.5 "Source Serif 4", Charter, "Bitstream Charter", Cambria, Georgia, serif; }
main { max-width: 50rem; margin: 1.5rem auto; padding: 2.5rem 3rem; background: var(--paper);
  border: 1px solid var(--rule); overflow-wrap: break-word; }
header { border-bottom: 3px double var(--mark); padding-bottom: .8rem; margin-bottom: 1.2rem; }
.kind { margin: 0; color: var(--soft); font-size: .85rem; letter-spacing: .08em;
  text-transform: uppercase; }
h1 { margin: .15rem 0 .3rem; font-size: 1.65rem; line-height: 1.2; font-weight: 600; }
h2 { margin: 1.5rem 0 .4rem; font-size: 1.05rem; color: var(--mark); font-weight: 600;
  break-after: avoid; }
p, ul, table, dl { margin: .4rem 0; }
ul { padding-left: 1.2rem; } li { margin: .12rem 0; }
.claim { border-left: 4px solid var(--mark); background: var(--tint); padding: .7rem 1rem;
  margin: .8rem 0; }
.claim p:first-child { font-weight: 600; margin-top: 0; } .claim p:last-child { margin-bottom: 0; }
.none { border-color: var(--alarm); } .none p:first-child { color: var(--alarm); }
table { border-collapse: collapse; width: 100%; font-size: .93rem; }
caption { text-align: left; color: var(--soft); padding-bottom: .25rem; }
th, td { text-align: left; vertical-align: top; padding: .28rem .8rem .28rem 0;
  border-bottom: 1px solid var(--rule); }
th { font-weight: 600; } thead th { border-bottom: 1.5px solid var(--soft); }
tbody th { width: 11rem; }
code { overflow-wrap: anywhere;
  font: .86em/1.4 ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; }
footer { margin-top: 1.5rem; border-top: 1px solid var(--rule); padding-top: .5rem;
  color: var(--soft); font-size: .85rem; }
.pair { display: grid; grid-template-columns: 1fr 1fr; column-gap: 2rem; }
.sign td { height: 3.2rem; vertical-align: bottom; color: var(--soft); }
@media screen and (max-width: 40rem) {
  main { margin: 0; padding: 1.2rem 1rem; border: 0; }
  .pair { display: block; }
  table, thead, tbody, tr, th, td { display: block; width: auto; }
  thead { position: absolute; left: -9999px; }
  tr { border-bottom: 1px solid var(--rule); padding: .3rem 0; }
  th, td { border: 0; padding: 0; } tbody th { width: auto; } }
@page { size: A4; margin: 11mm 15mm; }
@media print {
  :root { color-scheme: light; --ink: #000; --soft: #444; --rule: #bbb; --paper: #fff;
    --desk: #fff; --tint: #f3f5f7; --mark: #1f4e79; --alarm: #8c1d18; }
  html { font-size: 7.9pt; }
  body { line-height: 1.25; }
  main { max-width: none; margin: 0; padding: 0; border: 0; }
  header { padding-bottom: .5rem; margin-bottom: .7rem; }
  h2 { margin: .95rem 0 .2rem; font-size: 1.15rem; }
  p, ul, table { margin: .3rem 0; } li { margin: 0; }
  .claim { padding: .5rem .9rem; margin: .5rem 0; print-color-adjust: exact; }
  th, td { padding: .18rem .8rem .18rem 0; }
  tr, li, section:last-of-type { break-inside: avoid; }
  footer { margin-top: .8rem; padding-top: .3rem; } }
"""


def document(kind: str, title: str, subtitle: str, body: Iterable[str], foot: str) -> str:
    """Return a whole page.

    Parameters
    ----------
    kind, title, subtitle : str
        What it is, of what, and a line below; plain text.
    body : iterable of str
        Sections, as :func:`section` makes them.
    foot : str
        Plain text.

    Notes
    -----
    Nothing is loaded and nothing runs: the page forbids both itself, beside every text being
    escaped, as names and labels come from a file.
    """
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{text(kind)}: {text(title)}</title>
<style>{_STYLE}</style>
</head>
<body>
<main>
<header>
<p class="kind">{text(kind)}</p>
<h1>{text(title)}</h1>
<p>{text(subtitle)}</p>
</header>
{"".join(body)}<footer>{text(foot)}</footer>
</main>
</body>
</html>
"""


def text(words: object) -> str:
    """Return a text as HTML, without characters that steer.

    Examples
    --------
    >>> text("age <b> & more")
    'age &lt;b&gt; &amp; more'
    """
    return escape("".join(c if c.isprintable() else " " for c in str(words)))


def section(heading: str, *parts: str) -> str:
    """Return a heading (plain text) with what is below it (HTML); nothing if that is empty."""
    inner = "".join(parts)
    return f"<section>\n<h2>{text(heading)}</h2>\n{inner}</section>\n" if inner else ""


def pair(left: str, right: str) -> str:
    """Return two sections side by side where there is room; one alone if the other is empty."""
    if not (left and right):
        return left + right
    return f'<div class="pair">\n<div>\n{left}</div>\n<div>\n{right}</div>\n</div>\n'


def paragraphs(*lines: str) -> str:
    """Return plain texts as paragraphs."""
    return "".join(f"<p>{text(line)}</p>\n" for line in lines)


def items(lines: Iterable[str]) -> str:
    """Return plain texts as a list; nothing if there are none."""
    inner = "".join(f"<li>{text(line)}</li>\n" for line in lines)
    return f"<ul>\n{inner}</ul>\n" if inner else ""


def claim(*lines: str, promised: bool) -> str:
    """Return the statement that a page is about; it says itself where nothing is promised."""
    kind = "claim" if promised else "claim none"
    return f'<div class="{kind}">\n{paragraphs(*lines)}</div>\n'


def facts(rows: Mapping[str, str], *, code: Sequence[str] = ()) -> str:
    """Return names and what they are, as a table with a header in each row.

    Parameters
    ----------
    rows : mapping of str to str
        Plain texts.
    code : sequence of str
        Names of rows that are for machines, such as hashes.
    """

    def cell(name: str, value: str) -> str:
        return f"<code>{text(value)}</code>" if name in code else text(value)

    inner = "".join(
        f'<tr><th scope="row">{text(name)}</th><td>{cell(name, value)}</td></tr>\n'
        for name, value in rows.items()
    )
    return f"<table>\n<tbody>\n{inner}</tbody>\n</table>\n" if inner else ""


def grid(heads: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "") -> str:
    """Return a table with a header in each column and in each row; plain texts."""
    above = f"<caption>{text(caption)}</caption>\n" if caption else ""
    body = "".join(
        f'<tr><th scope="row">{text(row[0])}</th>'
        + "".join(f"<td>{text(value)}</td>" for value in row[1:])
        + "</tr>\n"
        for row in rows
    )
    top = "".join(f'<th scope="col">{text(head)}</th>' for head in heads)
    return f"<table>\n{above}<thead><tr>{top}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n"


def signatures(roles: Sequence[str]) -> str:
    """Return lines for names, dates and signatures, one for each role."""
    lines = "".join(
        f'<tr><th scope="row">{text(role)}</th><td></td><td></td><td></td></tr>\n' for role in roles
    )
    heads = "".join(f'<th scope="col">{head}</th>' for head in ("", "Name", "Date", "Signature"))
    top = f'<table class="sign">\n<thead><tr>{heads}</tr></thead>\n'
    return f"{top}<tbody>\n{lines}</tbody>\n</table>\n"
