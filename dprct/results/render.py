"""Tables of results as text, LaTeX and HTML: the same cells, escaped for each."""

from __future__ import annotations

import html as _html
import math
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

WIDTH = 78

_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "`": r"\textasciigrave{}",
    "[": r"{[}",
    "]": r"{]}",
}


@dataclass(frozen=True, slots=True)
class Column:
    """One column of numbers of a table.

    Parameters
    ----------
    key : str
        Where the number is found in a row.
    heading : str
    show : callable
        Spells a number.
    """

    key: str
    heading: str
    show: Callable[[float], str]


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table that is ready to be written: cells of text, and what stands around them.

    Parameters
    ----------
    title : str
    facts : sequence of (name, value)
        Above the table.
    headings : sequence of str
        Of the columns; that of the row names is empty.
    rows : sequence of (name, cells)
    notes : sequence of str
        Below the table.
    """

    title: str
    facts: tuple[tuple[str, str], ...]
    headings: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]
    notes: tuple[str, ...] = ()


def number(value: float, decimals: int = 4) -> str:
    """Spell a number with fixed decimals, or in powers of ten where they would not do.

    Examples
    --------
    >>> number(0.43135), number(-1794.3), number(0.0000123), number(float("nan"))
    ('0.4314', '-1794.3000', '1.230e-05', '')
    """
    if math.isnan(value):
        return ""
    size = abs(value)
    if size and math.isfinite(size) and not 10.0 ** (1 - decimals) <= size < 1e7:
        return f"{value:.{max(decimals - 1, 1)}e}"
    return f"{value:.{decimals}f}"


def statistic(value: float) -> str:
    """Spell a test statistic.

    Examples
    --------
    >>> statistic(18.9912)
    '18.991'
    """
    return "" if math.isnan(value) else f"{value:.3f}"


def p_value(value: float) -> str:
    """Spell a p-value; what would print as zero prints as a bound.

    Examples
    --------
    >>> p_value(0.04123), p_value(1e-9)
    ('0.041', '<0.001')
    """
    if math.isnan(value):
        return ""
    return "<0.001" if value < 0.0005 else f"{value:.3f}"


def count(value: float) -> str:
    """Spell a number of things.

    Examples
    --------
    >>> count(2812)
    '2,812'
    """
    return f"{value:,.0f}"


def rows_of(
    numbers: Mapping[str, Mapping[str, float]],
    columns: Sequence[Column],
    order: Sequence[str],
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the rows of a table in a given order; a name without numbers is omitted.

    Parameters
    ----------
    numbers : mapping of row name to mapping of column key to number
    columns : sequence of Column
    order : sequence of str
        Row names.
    """
    absent = ("(omitted)", *("" for _ in columns[1:]))
    return tuple(
        (name, tuple(c.show(numbers[name][c.key]) for c in columns) if name in numbers else absent)
        for name in order
    )


def text(sheet: Sheet) -> str:
    """Return a table as plain text; control characters of a name print as ``?``.

    Examples
    --------
    >>> print(text(Sheet("Fit", (("Rows", "3"),), ("coef",), (("x", ("1.0",)),), ("A note.",))))
    Fit
    ============
    Rows:      3
    ------------
          coef
    ------------
    x      1.0
    ------------
    A note.
    """
    table = [("", sheet.headings), *((printable(name), cells) for name, cells in sheet.rows)]
    first = max(len(name) for name, _ in table)
    widths = [max(len(cells[j]) for _, cells in table) + 2 for j in range(len(sheet.headings))]
    lines = [
        (name.ljust(first) + "".join(c.rjust(w) for c, w in zip(cells, widths, strict=True)))
        for name, cells in table
    ]
    facts = [(f"{printable(name)}:", printable(value)) for name, value in sheet.facts]
    width = max(12, first + sum(widths), *(len(n) + len(v) + 2 for n, v in facts), 12)
    rule = "-" * width
    body = [
        printable(sheet.title),
        "=" * width,
        *_paired(facts, width),
        rule,
        lines[0].rstrip(),
        rule,
        *(line.rstrip() for line in lines[1:]),
        rule,
        *(
            line
            for note in sheet.notes
            for line in textwrap.wrap(printable(note), max(width, WIDTH))
        ),
    ]
    return "\n".join(body)


def latex(sheet: Sheet) -> str:
    r"""Return a table as LaTeX for the package ``booktabs``; every name is escaped.

    Examples
    --------
    >>> print(latex(Sheet("Fit", (), ("coef",), (("x_1", ("1.0",)),))))
    \begin{tabular}{lr}
    \toprule
     & coef \\
    \midrule
    x\_1 & 1.0 \\
    \bottomrule
    \end{tabular}
    """
    width = 1 + len(sheet.headings)
    lines = [
        rf"\begin{{tabular}}{{l{'r' * len(sheet.headings)}}}",
        r"\toprule",
        _latex_row("", sheet.headings),
        r"\midrule",
        *(_latex_row(name, cells) for name, cells in sheet.rows),
        *([r"\midrule"] if sheet.facts else []),
        *(
            rf"{in_tex(name)} & \multicolumn{{{width - 1}}}{{r}}{{{in_tex(value)}}} \\"
            for name, value in sheet.facts
        ),
        r"\bottomrule",
        *(
            rf"\multicolumn{{{width}}}{{p{{0.9\linewidth}}}}{{\footnotesize {in_tex(note)}}} \\"
            for note in sheet.notes
        ),
        r"\end{tabular}",
    ]
    return "\n".join(lines)


def html(sheet: Sheet) -> str:
    """Return a table as an HTML fragment; every name is escaped.

    Examples
    --------
    >>> "<th>x&lt;1</th>" in html(Sheet("Fit", (), ("coef",), (("x<1", ("1.0",)),)))
    True
    """
    width = 1 + len(sheet.headings)
    head = "".join(f"<th>{in_html(heading)}</th>" for heading in ("", *sheet.headings))
    body = [
        f"<tr><th>{in_html(name)}</th>{''.join(f'<td>{in_html(c)}</td>' for c in cells)}</tr>"
        for name, cells in sheet.rows
    ]
    facts = [
        f'<tr><th>{in_html(name)}</th><td colspan="{width - 1}">{in_html(value)}</td></tr>'
        for name, value in sheet.facts
    ]
    notes = [
        f'<tr><td colspan="{width}"><small>{in_html(note)}</small></td></tr>'
        for note in sheet.notes
    ]
    return "\n".join(
        [
            "<table>",
            f"<caption>{in_html(sheet.title)}</caption>",
            f"<thead><tr>{head}</tr></thead>",
            "<tbody>",
            *body,
            "</tbody>",
            "<tfoot>",
            *facts,
            *notes,
            "</tfoot>",
            "</table>",
        ]
    )


def printable(value: str) -> str:
    r"""Return text without what a terminal or an encoder would act upon.

    Examples
    --------
    >>> printable("a\tb\x07")
    'a b?'
    """
    return "".join(c if c.isprintable() else " " if c.isspace() else "?" for c in value)


def in_tex(value: str) -> str:
    r"""Return text that LaTeX prints as it stands.

    Examples
    --------
    >>> in_tex("50% of a_b")
    '50\\% of a\\_b'
    """
    return "".join(_LATEX.get(character, character) for character in printable(value))


def in_html(value: str) -> str:
    """Return text that a browser prints as it stands.

    Examples
    --------
    >>> in_html("a < b")
    'a &lt; b'
    """
    return _html.escape(printable(value))


def _paired(facts: Sequence[tuple[str, str]], width: int) -> list[str]:
    """Set short facts two to a line, long ones on lines of their own."""
    half = (width - 4) // 2
    lines: list[str] = []
    waiting = ""
    for name, value in facts:
        if len(name) + len(value) + 1 <= half:
            cell = name + value.rjust(half - len(name))
            lines += [f"{waiting}    {cell}"] if waiting else []
            waiting = "" if waiting else cell
        else:
            lines += [waiting] if waiting else []
            waiting = ""
            lines.append(f"{name} {value.rjust(width - len(name) - 1)}")
    return [*lines, waiting] if waiting else lines


def _latex_row(name: str, cells: Sequence[str]) -> str:
    # A row that starts with "[" would be read as the optional argument of the "\\" before it.
    return " & ".join([in_tex(name), *map(in_tex, cells)]) + r" \\"
