"""A grid of printed cells as text, LaTeX and HTML; headings may span several columns."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from dprct.results.render import WIDTH, in_html, in_tex, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dprct.results.tables import Printed

GAP = 2

LineKind = Literal["row", "section", "statistic"]


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a grid.

    Parameters
    ----------
    name : str
        Empty for the continuation of the line above.
    cells : tuple of Printed or str
        A str is words, not a number.
    kind : {"row", "section", "statistic"}
        A section has a name and no cells; statistics belong to no section.
    rule : bool
        Whether a rule stands above it.
    """

    name: str
    cells: tuple[Printed | str, ...] = ()
    kind: LineKind = "row"
    rule: bool = False


@dataclass(frozen=True, slots=True)
class Grid:
    """Everything that is printed of a table.

    Parameters
    ----------
    title : str
    corner : str
        Heading of the names of rows.
    spans : tuple of (heading, number of columns)
        Headings above the headings; none if all are empty.
    headings : tuple of str
    lines : tuple of Line
    notes : tuple of str
    """

    title: str
    corner: str
    spans: tuple[tuple[str, int], ...]
    headings: tuple[str, ...]
    lines: tuple[Line, ...]
    notes: tuple[str, ...] = ()

    @property
    def spanned(self) -> tuple[tuple[str, int], ...]:
        """The headings above the headings, or none."""
        return self.spans if any(heading for heading, _ in self.spans) else ()

    @property
    def sectioned(self) -> bool:
        """Whether some lines head others."""
        return any(line.kind == "section" for line in self.lines)


def text(grid: Grid) -> str:
    """Return a grid as plain text; control characters of a name print as ``?``.

    Examples
    --------
    >>> from dprct.results.tables import Printed
    >>> line = Line("got", (Printed("0.431", 3),))
    >>> print(text(Grid("Effects", "Outcome", (("", 1),), ("ITT",), (line,), ("A note.",))))
    Effects
    =================
    Outcome       ITT
    -----------------
    got      0.431***
    -----------------
    A note.
    """
    cells = _cells_text(grid)
    widths = _widths(grid, cells)
    names = [printable(_shown(grid, line)) for line in grid.lines]
    first = max(map(len, [printable(grid.corner), *names]))
    total = first + sum(widths)
    rule = "-" * total
    body: list[str] = []
    for line, name, row in zip(grid.lines, names, cells, strict=True):
        body += [rule] if line.rule else []
        filled = (cell.rjust(width) for cell, width in zip(row, widths, strict=bool(row)))
        body.append(name.ljust(first) + "".join(filled))
    title = [printable(grid.title)] if grid.title else []
    spans = [" " * first + _spanned_text(grid, widths)] if grid.spanned else []
    head = printable(grid.corner).ljust(first) + "".join(
        printable(heading).rjust(width)
        for heading, width in zip(grid.headings, widths, strict=True)
    )
    notes = [
        line for note in grid.notes for line in textwrap.wrap(printable(note), max(total, WIDTH))
    ]
    lines = [*title, "=" * total, *spans, head, rule, *body, rule, *notes]
    return "\n".join(line.rstrip() for line in lines)


def latex(grid: Grid) -> str:
    r"""Return a grid as LaTeX for the package ``booktabs``; every name is escaped.

    Examples
    --------
    >>> from dprct.results.tables import Printed
    >>> line = Line("a_b", (Printed("-0.431", 3),))
    >>> print(latex(Grid("Effects", "", (("", 1),), ("ITT",), (line,))))
    \begin{tabular}{lr}
    \toprule
     & ITT \\
    \midrule
    a\_b & $-$0.431\textsuperscript{***} \\
    \bottomrule
    \end{tabular}
    """
    width = 1 + len(grid.headings)
    lines = [rf"\begin{{tabular}}{{l{'r' * (width - 1)}}}", r"\toprule"]
    if grid.spanned:
        lines += _spanned_latex(grid.spanned)
    lines += [_latex_row([in_tex(grid.corner), *map(in_tex, grid.headings)]), r"\midrule"]
    for line in grid.lines:
        lines += [r"\midrule"] if line.rule else []
        name = in_tex(line.name)
        if line.kind == "section":
            lines.append(rf"\multicolumn{{{width}}}{{l}}{{\textit{{{name}}}}} \\")
        else:
            lead = r"\quad " if _is_indented(grid, line) else ""
            lines.append(_latex_row([lead + name, *map(_latex_cell, line.cells)]))
    notes = (
        rf"\multicolumn{{{width}}}{{p{{0.9\linewidth}}}}{{\footnotesize {in_tex(note)}}} \\"
        for note in grid.notes
    )
    return "\n".join([*lines, r"\bottomrule", *notes, r"\end{tabular}"])


def html(grid: Grid) -> str:
    """Return a grid as an HTML fragment; every name is escaped.

    Examples
    --------
    >>> from dprct.results.tables import Printed
    >>> line = Line("a<b", (Printed("0.431", 1),))
    >>> written = html(Grid("Effects", "", (("", 1),), ("ITT",), (line,)))
    >>> "<tr><th>a&lt;b</th><td>0.431<sup>*</sup></td></tr>" in written
    True
    """
    width = 1 + len(grid.headings)
    above = "".join(
        f'<th colspan="{columns}">{in_html(heading)}</th>' for heading, columns in grid.spanned
    )
    heads = "".join(f"<th>{in_html(heading)}</th>" for heading in (grid.corner, *grid.headings))
    body = [
        f'<tr><th colspan="{width}">{in_html(line.name)}</th></tr>'
        if line.kind == "section"
        else f"<tr><th>{in_html(line.name)}</th>{''.join(map(_html_cell, line.cells))}</tr>"
        for line in grid.lines
    ]
    notes = [
        f'<tr><td colspan="{width}"><small>{in_html(note)}</small></td></tr>' for note in grid.notes
    ]
    return "\n".join(
        [
            "<table>",
            *([f"<caption>{in_html(grid.title)}</caption>"] if grid.title else []),
            "<thead>",
            *([f"<tr><th></th>{above}</tr>"] if above else []),
            f"<tr>{heads}</tr>",
            "</thead>",
            "<tbody>",
            *body,
            "</tbody>",
            *(["<tfoot>", *notes, "</tfoot>"] if notes else []),
            "</table>",
        ]
    )


def _shown(grid: Grid, line: Line) -> str:
    return f"  {line.name}" if _is_indented(grid, line) else line.name


def _is_indented(grid: Grid, line: Line) -> bool:
    return grid.sectioned and line.kind == "row" and bool(line.name)


def _widths(grid: Grid, cells: Sequence[Sequence[str]]) -> list[int]:
    """Return the width of every column with the gap before it; a wide span widens its last."""
    widths = [
        GAP + max(len(text) for text in (printable(heading), *(row[j] for row in cells if row)))
        for j, heading in enumerate(grid.headings)
    ]
    start = 0
    for heading, columns in grid.spanned:
        missing = GAP + len(printable(heading)) - sum(widths[start : start + columns])
        widths[start + columns - 1] += max(0, missing)
        start += columns
    return widths


def _cells_text(grid: Grid) -> list[list[str]]:
    """Return the cells of every line; what follows a number's last digit hangs to its right."""
    tails = [
        max((_tail(line.cells[j]) for line in grid.lines if line.cells), default=0)
        for j in range(len(grid.headings))
    ]
    return [
        [
            printable(str(cell)) + " " * (0 if isinstance(cell, str) else tail - _tail(cell))
            for cell, tail in zip(line.cells, tails, strict=True)
        ]
        if line.cells
        else []
        for line in grid.lines
    ]


def _tail(cell: Printed | str) -> int:
    if isinstance(cell, str):
        return 0
    return cell.stars + (not cell.text[-1:].isdigit() and bool(cell.text))


def _spanned_text(grid: Grid, widths: Sequence[int]) -> str:
    start, line = 0, ""
    for heading, columns in grid.spanned:
        width = sum(widths[start : start + columns])
        line += " " * GAP + printable(heading).center(width - GAP)
        start += columns
    return line


def _spanned_latex(spans: Sequence[tuple[str, int]]) -> list[str]:
    cells, rules, at = [""], [], 2
    for heading, columns in spans:
        cells.append(rf"\multicolumn{{{columns}}}{{c}}{{{in_tex(heading)}}}")
        if heading:
            rules.append(rf"\cmidrule(lr){{{at}-{at + columns - 1}}}")
        at += columns
    return [_latex_row(cells), " ".join(rules)]


def _latex_row(cells: Sequence[str]) -> str:
    # A row that starts with a star would be read as part of the line break before it.
    first = f"{{}}{cells[0]}" if cells[0].startswith("*") else cells[0]
    return " & ".join([first, *cells[1:]]) + r" \\"


def _latex_cell(cell: Printed | str) -> str:
    if isinstance(cell, str):
        return in_tex(cell)
    number = "$-$" + cell.text[1:] if cell.text.startswith("-") else in_tex(cell.text)
    return number + (rf"\textsuperscript{{{'*' * cell.stars}}}" if cell.stars else "")


def _html_cell(cell: Printed | str) -> str:
    if isinstance(cell, str):
        return f"<td>{in_html(cell)}</td>"
    number = in_html(cell.text.replace("-", "\N{MINUS SIGN}"))
    return f"<td>{number}{f'<sup>{chr(42) * cell.stars}</sup>' if cell.stars else ''}</td>"
