"""The one engine that prints tables: a grid of cells as text, LaTeX and HTML.

Summaries of fits, regression tables, tables of effects and results documents are grids.  A cell
is a :class:`Printed` number, which is aligned at its last digit, or words.
"""

from __future__ import annotations

import html as _html
import math
import os
import sys
import textwrap
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from dprct.privacy.budget import DOES_NOT_PROTECT, TAKES_AS_PUBLIC
from dprct.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

WIDTH = 78
"""Characters to which sentences are wrapped; a table may be wider."""
GAP = 2
_NARROWEST = 20
"""Terminals narrower than this are written to as if they had this many columns."""

LineKind = Literal["row", "section", "statistic"]
Spans = tuple[tuple[str, int], ...]
"""Headings, each with the number of columns below it."""

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
    "\N{MULTIPLICATION SIGN}": r"\ensuremath{\times}",
}
_BRACKETS = ")]}"


@dataclass(frozen=True)
class Printed:
    """A number as it is printed: its text, and how many stars follow.

    Examples
    --------
    >>> str(Printed("-0.247", 3))
    '-0.247***'
    """

    text: str
    stars: int = 0

    def __str__(self) -> str:
        return self.text + "*" * self.stars


@dataclass(frozen=True)
class Line:
    """One line of a grid."""

    name: str  # empty for the continuation of the line above
    cells: tuple[Printed | str, ...] = ()  # a str is words, not a number
    kind: LineKind = "row"  # a section has a name and no cells; statistics belong to no section
    rule: bool = False  # whether a rule stands above it


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Everything that is printed of a table."""

    headings: tuple[str, ...]
    lines: tuple[Line, ...]
    title: str = ""
    # (name, value): what the table is about: above it as text, below it in LaTeX and HTML.
    facts: tuple[tuple[str, str], ...] = ()
    corner: str = ""  # heading of the names of rows
    spans: tuple[Spans, ...] = ()  # rows of headings above the headings, from the top
    notes: tuple[str, ...] = ()  # sentences below the table
    warning: str = ""  # what stands above everything else; empty if nothing does

    @property
    def above(self) -> tuple[Spans, ...]:
        """The rows of headings above the headings, from the top; a row without words is none."""
        return tuple(row for row in self.spans if any(words for words, _ in row))

    @property
    def sectioned(self) -> bool:
        """Whether some lines head others."""
        return any(line.kind == "section" for line in self.lines)


class Summary(str):
    r"""A table as a text that also knows its HTML and its LaTeX.

    It is a ``str``: it prints, and is searched and written to a file like one.  Printed on a
    terminal, it is as wide as that at most.  A notebook shows it as an HTML table.

    Examples
    --------
    >>> line = Line("x", (Printed("1.5"),))
    >>> summary = Summary.of(Grid(title="Fit", headings=("coef",), lines=(line,)))
    >>> "coef" in summary, summary.as_latex().splitlines()[0]
    (True, '\\begin{tabular}{l S[parse-numbers=false]}')
    """

    grid: Grid

    @classmethod
    def of(cls, grid: Grid) -> Summary:
        """Return the summary that a grid is."""
        made = cls(text(grid))
        made.grid = grid
        return made

    def as_text(self, width: int | None = None) -> str:
        """Return the table as text of at most ``width`` characters; its own width if None."""
        return text(self.grid, width)

    def as_latex(self) -> str:
        """Return the table as LaTeX, for ``booktabs``, ``siunitx`` and ``threeparttable``."""
        return latex(self.grid)

    def as_html(self) -> str:
        """Return the table as HTML."""
        return html(self.grid)

    def without(self, notes: Iterable[str]) -> Summary:
        """Return the table without some of its notes, such as a guarantee that is said elsewhere.

        Examples
        --------
        >>> table = Summary.of(Grid(headings=("coef",), lines=(), notes=("Few rows.", "Pure.")))
        >>> table.without(["Pure."]).grid.notes
        ('Few rows.',)
        """
        left_out = {*notes}
        kept = tuple(note for note in self.grid.notes if note not in left_out)
        return Summary.of(replace(self.grid, notes=kept))

    def as_brief_text(self) -> str:
        """Return the table without what its guarantee takes as public and does not protect."""
        kept = tuple(note for note in self.grid.notes if not note.startswith(_LISTS))
        return text(replace(self.grid, notes=kept), terminal_width())

    def _repr_html_(self) -> str:
        return html(self.grid, folded=True)

    def __repr__(self) -> str:
        return self.as_text(terminal_width())

    def __str__(self) -> str:
        return self.as_text(terminal_width())

    def __reduce__(self) -> tuple[Callable[[Grid], Summary], tuple[Grid]]:
        return Summary.of, (self.grid,)


_IN_FILE = ContextVar("in a file", default=False)


@contextmanager
def as_in_a_file() -> Iterator[None]:
    """Make tables as wide as they are, because what is printed here is stored, not shown."""
    token = _IN_FILE.set(True)
    try:
        yield
    finally:
        _IN_FILE.reset(token)


def terminal_width() -> int | None:
    """Return the columns of the terminal that is written to; None where it is none."""
    if _IN_FILE.get():
        return None
    try:
        found = os.get_terminal_size(sys.stdout.fileno()).columns
    except (AttributeError, OSError, ValueError):
        return None
    return max(found, _NARROWEST) if found else None


# numbers

_MOST_DIGITS, _POWER_DIGITS = 10, 3


def number(value: float, decimals: int = 4) -> str:
    """Spell a number with fixed decimals, or in powers of ten where they would not do.

    Examples
    --------
    >>> number(0.43135), number(-1794.3), number(0.0000123), number(float("nan"))
    ('0.4314', '-1794.3000', '0.0000123', '')
    """
    return str(numbers([value], decimals)[0])


def numbers(values: Sequence[float], decimals: int = 4) -> tuple[Printed, ...]:
    """Spell the numbers of one column in one way: with the same decimals, or all in powers of ten.

    Decimals are as many as the smallest number needs for three digits; a number has ten at most.

    Examples
    --------
    >>> [str(cell) for cell in numbers([0.43135, 12.0])]
    ['0.4314', '12.0000']
    >>> [str(cell) for cell in numbers([0.43135, 0.0005818, float("nan")])]
    ['0.431350', '0.000582', '']
    >>> [str(cell) for cell in numbers([431.35, 0.0000000123])]
    ['4.314e+02', '1.230e-08']
    """
    sizes = [abs(value) for value in values if value and math.isfinite(value)]
    smallest = min(sizes, default=1.0)
    if smallest < 10.0 ** (1 - decimals):
        decimals = 2 - math.floor(math.log10(smallest))
    largest = max(sizes, default=1.0)
    powers = largest >= 1e7 or (decimals > 4 and largest * 10.0**decimals >= 10.0**_MOST_DIGITS)
    form = f".{_POWER_DIGITS}e" if powers else f".{decimals}f"
    return tuple(Printed("" if math.isnan(value) else f"{value:{form}}") for value in values)


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


@dataclass(frozen=True)
class NumberColumn:
    """One column of numbers of a grid."""

    key: str  # where the number is found in a row
    heading: str
    # Spells the numbers of the column, all at once.
    show: Callable[[Sequence[float]], Sequence[Printed]] = numbers


def each(spell: Callable[[float], str]) -> Callable[[Sequence[float]], Sequence[Printed]]:
    """Speller of the numbers of a column, one by one."""
    return lambda values: tuple(Printed(spell(value)) for value in values)


def lines_of(
    found: Mapping[str, Mapping[str, float]],
    columns: Sequence[NumberColumn],
    order: Sequence[str],
) -> tuple[Line, ...]:
    """The lines of a grid in a given order; a name without numbers was omitted."""
    there = [name for name in order if name in found]
    shown = [column.show([found[name][column.key] for name in there]) for column in columns]
    cells = dict(zip(there, zip(*shown, strict=True), strict=True)) if columns else {}
    absent = ("(omitted)", *("" for _ in columns[1:]))
    return tuple(Line(name, tuple(cells.get(name, absent))) for name in order)


# text


def text(grid: Grid, width: int | None = None) -> str:
    """Return a grid as plain text; control characters of a name print as ``?``.

    Headings and names are wrapped to the width, and columns that still do not fit follow below the
    others.  Without it, a line is as long as the table needs.

    Examples
    --------
    >>> line = Line("got", (Printed("0.431", 3),))
    >>> print(text(Grid(title="Effects", corner="Outcome", headings=("ITT",), lines=(line,))))
    Effects
    =================
    Outcome       ITT
    -----------------
    got      0.431***
    -----------------
    """
    shown = _printable(grid)
    blocks = [shown] if width is None else _fitting(shown, width)
    bodies = [_block(block) for block in blocks]
    facts = [(f"{name}:", value) for name, value in shown.facts]
    total = max(width for _, width in bodies)
    most = WIDTH if width is None else min(WIDTH, width)
    if facts:
        own = max(len(name) + len(value) + 2 for name, value in facts)
        total = max(total, 12, own if own <= most else 0)
    limit = max(total, WIDTH) if width is None else width
    total = min(total, limit)
    rule = "-" * total
    lines = [
        *textwrap.wrap(shown.warning, limit),
        *(textwrap.wrap(shown.title, limit) if shown.title else []),
        "=" * total,
        *_paired(facts, total),
        *([rule] if facts else []),
    ]
    for k, (body, _) in enumerate(bodies):
        lines += [""] * bool(k) + [rule if line is None else line for line in body]
    lines += [line for note in shown.notes for line in textwrap.wrap(note, limit)]
    return "\n".join(line.rstrip() for line in lines)


def _block(grid: Grid) -> tuple[list[str | None], int]:
    """Return headings and rows of a grid between rules, each of which is None, and the width."""
    cells = _cells_text(grid)
    headings = [heading.split("\n") for heading in grid.headings]
    corner = grid.corner.split("\n")
    deep = max(len(one) for one in (corner, *headings))
    widths = _widths(grid, cells, headings)
    names = [_shown(grid, line).split("\n") for line in grid.lines]
    first = max(len(part) for name in (corner, *names) for part in name)
    body: list[str | None] = []
    for line, name, row in zip(grid.lines, names, cells, strict=True):
        body += [None] if line.rule else []
        filled = (cell.rjust(width) for cell, width in zip(row, widths, strict=bool(row)))
        body += name[:-1]
        body.append(name[-1].ljust(first) + "".join(filled))
    # headings of several lines end on the same line
    tops = [[""] * (deep - len(one)) + one for one in (corner, *headings)]
    head: list[str | None] = [
        tops[0][k].ljust(first)
        + "".join(top[k].rjust(width) for top, width in zip(tops[1:], widths, strict=True))
        for k in range(deep)
    ]
    spans = [" " * first + _spanned_text(row, widths) for row in grid.above]
    return [*spans, *head, None, *body, None], first + sum(widths)


def _printable(grid: Grid) -> Grid:
    """Return a grid without characters that a terminal would act upon."""
    return replace(
        grid,
        title=printable(grid.title),
        facts=tuple((printable(name), printable(value)) for name, value in grid.facts),
        corner=printable(grid.corner),
        headings=tuple(map(printable, grid.headings)),
        spans=tuple(tuple((printable(text), n) for text, n in row) for row in grid.spans),
        lines=tuple(replace(line, name=printable(line.name)) for line in grid.lines),
        notes=tuple(map(printable, grid.notes)),
        warning=printable(grid.warning),
    )


def _fitting(grid: Grid, width: int) -> list[Grid]:
    """Return the grid as blocks of columns that fit, with wrapped headings and names."""
    if _block(grid)[1] <= width:
        return [grid]
    cells = _cells_text(grid)
    needed = [max((len(row[j]) for row in cells if row), default=0) for j in _columns(grid)]
    headings = tuple(
        "\n".join(textwrap.wrap(heading, max(room, 8)) or [""])
        for heading, room in zip(grid.headings, needed, strict=True)
    )
    nameless = replace(
        grid,
        headings=headings,
        corner="",
        lines=tuple(replace(line, name="") for line in grid.lines if line.cells),
    )
    widest = max(_block(_part(nameless, j, j + 1))[1] for j in _columns(grid))
    room = max(width - widest, 10)
    lead = 2 * grid.sectioned
    lines = tuple(
        replace(line, name="\n".join(textwrap.wrap(line.name, room - lead) or [""]))
        for line in grid.lines
    )
    corner = "\n".join(textwrap.wrap(grid.corner, room) or [""])
    wrapped = replace(grid, headings=headings, lines=lines, corner=corner)
    blocks, start = [], 0
    for end in range(1, len(headings) + 1):
        last = end == len(headings)
        if last or _block(_part(wrapped, start, end + 1))[1] > width:
            blocks.append(_part(wrapped, start, end))
            start = end
    return blocks


def _columns(grid: Grid) -> range:
    return range(len(grid.headings))


def _part(grid: Grid, start: int, end: int) -> Grid:
    """Return some columns of a grid, with the headings that still span one of them."""
    return replace(
        grid,
        headings=grid.headings[start:end],
        spans=tuple(_still_above(row, start, end) for row in grid.spans),
        lines=tuple(replace(line, cells=line.cells[start:end]) for line in grid.lines),
    )


def _still_above(spans: Spans, start: int, end: int) -> Spans:
    """Return the headings that span one of some columns, with how many of these they span."""
    places = [k for k, (_, columns) in enumerate(spans) for _ in range(columns)][start:end]
    return tuple((spans[k][0], places.count(k)) for k in dict.fromkeys(places))


def _shown(grid: Grid, line: Line) -> str:
    if not _is_indented(grid, line):
        return line.name
    return "\n".join(f"  {part}" for part in line.name.split("\n"))


def _is_indented(grid: Grid, line: Line) -> bool:
    return grid.sectioned and line.kind == "row" and bool(line.name)


def _widths(
    grid: Grid, cells: Sequence[Sequence[str]], headings: Sequence[Sequence[str]]
) -> list[int]:
    """Return the width of every column with the gap before it; a wide span widens its last."""
    widths = [
        GAP + max(len(part) for part in (*parts, *(row[j] for row in cells if row)))
        for j, parts in enumerate(headings)
    ]
    for row in reversed(grid.above):
        start = 0
        for heading, columns in row:
            missing = GAP + len(heading) - sum(widths[start : start + columns])
            widths[start + columns - 1] += max(0, missing)
            start += columns
    return widths


def _cells_text(grid: Grid) -> list[list[str]]:
    """Return the cells of every line; what follows a number's last digit hangs to its right."""
    tails = [
        max((_tail(line.cells[j]) for line in grid.lines if line.cells), default=0)
        for j in _columns(grid)
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
    return cell.stars + (cell.text.endswith(tuple(_BRACKETS)))


def _spanned_text(spans: Spans, widths: Sequence[int]) -> str:
    start, line = 0, ""
    for heading, columns in spans:
        width = sum(widths[start : start + columns])
        line += " " * GAP + heading.center(width - GAP)
        start += columns
    return line


def _paired(facts: Sequence[tuple[str, str]], width: int) -> list[str]:
    """Set short facts two to a line, long ones on lines of their own, wrapped where they must."""
    half = (width - 4) // 2
    lines: list[str] = []
    waiting = ""
    for name, value in facts:
        if len(name) + len(value) + 1 <= half:
            cell = name + value.rjust(half - len(name))
            lines += [f"{waiting}    {cell}"] if waiting else []
            waiting = "" if waiting else cell
            continue
        lines += [waiting] if waiting else []
        waiting = ""
        if len(name) + len(value) + 1 <= width:
            lines.append(f"{name} {value.rjust(width - len(name) - 1)}")
        else:
            lines += textwrap.wrap(f"{name} {value}", width, subsequent_indent="    ")
    return [*lines, waiting] if waiting else lines


# LaTeX


def latex(grid: Grid) -> str:
    r"""Return a grid as LaTeX; every name is escaped.

    Notes
    -----
    It needs the packages ``booktabs`` and ``siunitx``, which aligns numbers at the decimal point,
    and ``threeparttable`` where there are notes.

    Examples
    --------
    >>> line = Line("a_b", (Printed("-0.431", 3),))
    >>> print(latex(Grid(headings=("ITT",), lines=(line,))))
    \begin{tabular}{l S[parse-numbers=false]}
    \toprule
     & {ITT} \\
    \midrule
    a\_b & -0.431\textsuperscript{***} \\
    \bottomrule
    \end{tabular}
    """
    width = 1 + len(grid.headings)
    columns = " ".join(_latex_column(grid, j) for j in _columns(grid))
    lines = [rf"\begin{{tabular}}{{l {columns}}}", r"\toprule"]
    for row in grid.above:
        lines += _spanned_latex(row)
    heads = [f"{{{in_tex(heading)}}}" for heading in grid.headings]
    lines += [_latex_row([in_tex(grid.corner), *heads]), r"\midrule"]
    for line in grid.lines:
        lines += [r"\midrule"] if line.rule else []
        name = in_tex(line.name)
        if line.kind == "section":
            lines.append(rf"\multicolumn{{{width}}}{{l}}{{\textit{{{name}}}}} \\")
        else:
            lead = r"\quad " if _is_indented(grid, line) else ""
            lines.append(_latex_row([lead + name, *map(_latex_cell, line.cells)]))
    facts = [
        rf"{in_tex(name)} & \multicolumn{{{width - 1}}}{{r}}{{{in_tex(value)}}} \\"
        for name, value in grid.facts
        if len(value) <= WIDTH // 2
    ]
    long = [f"{name}: {value}." for name, value in grid.facts if len(value) > WIDTH // 2]
    lines += [*([r"\midrule"] if facts else []), *facts, r"\bottomrule", r"\end{tabular}"]
    if not (grid.notes or long or grid.warning):
        return "\n".join(lines)
    return "\n".join(
        [
            r"\begin{threeparttable}",
            *([rf"\textbf{{{in_tex(grid.warning)}}}\par"] if grid.warning else []),
            *lines,
            r"\begin{tablenotes}[flushleft]\footnotesize",
            *(rf"\item {in_tex(note)}" for note in (*long, *grid.notes)),
            r"\end{tablenotes}",
            r"\end{threeparttable}",
        ]
    )


def _latex_column(grid: Grid, j: int) -> str:
    """Return the specification of a column: aligned at the point where it holds numbers."""
    cells = [line.cells[j] for line in grid.lines if line.cells]
    is_number = any(isinstance(cell, Printed) and cell.text for cell in cells)
    return "S[parse-numbers=false]" if is_number else "r"


def _spanned_latex(spans: Spans) -> list[str]:
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
    """Return a cell; braces keep siunitx from reading words as a number."""
    if isinstance(cell, str):
        return f"{{{in_tex(cell)}}}" if cell else ""
    stars = rf"\textsuperscript{{{'*' * cell.stars}}}" if cell.stars else ""
    plain = cell.text.strip("()-").replace(".", "", 1)
    if plain.isdigit() or not cell.text:
        return cell.text + stars
    # a number with commas, a bound, a power of ten or square brackets
    number = "$-$" + in_tex(cell.text[1:]) if cell.text.startswith("-") else in_tex(cell.text)
    return f"{{{number}{stars}}}"


# HTML

_LEFT = ' style="text-align:left"'
_RIGHT = ' style="text-align:right;font-variant-numeric:tabular-nums"'
_TABLE = ' style="border-collapse:collapse;border-top:2px solid;border-bottom:2px solid"'
_RULED = ' style="border-top:1px solid"'


_FOLDED = "What this takes as public, and what it does not protect"
_LISTS = TAKES_AS_PUBLIC, DOES_NOT_PROTECT


def html(grid: Grid, *, folded: bool = False) -> str:
    """Return a grid as an HTML fragment with rules; numbers are aligned, every name is escaped.

    ``folded`` lists of the guarantee open on a click only, as in a notebook.

    Examples
    --------
    >>> line = Line("a<b", (Printed("0.431", 1),))
    >>> written = html(Grid(headings=("ITT",), lines=(line,)))
    >>> "a&lt;b" in written, "0.431<sup>*</sup>" in written
    (True, True)
    """
    width = 1 + len(grid.headings)
    above = [
        "".join(
            f'<th colspan="{columns}" style="text-align:center">{in_html(heading)}</th>'
            for heading, columns in row
        )
        for row in grid.above
    ]
    heads = "".join(f"<th{_RIGHT}>{in_html(heading)}</th>" for heading in grid.headings)
    foot = [
        f'<tr><th{_LEFT}>{in_html(name)}</th><td colspan="{width - 1}"{_LEFT}>'
        f"{in_html(value)}</td></tr>"
        for name, value in grid.facts
    ]
    lists = [note for note in grid.notes if folded and note.startswith(_LISTS)]
    notes = [in_html(note) for note in grid.notes if note not in lists]
    if lists:
        inside = "<br>".join(map(in_html, lists))
        notes.append(f"<details><summary>{_FOLDED}</summary>{inside}</details>")
    foot += [f'<tr><td colspan="{width}"{_LEFT}><small>{note}</small></td></tr>' for note in notes]
    return "\n".join(
        [
            *([f"<p><strong>{in_html(grid.warning)}</strong></p>"] if grid.warning else []),
            f"<table{_TABLE}>",
            *([f"<caption>{in_html(grid.title)}</caption>"] if grid.title else []),
            "<thead>",
            *(f"<tr><th></th>{row}</tr>" for row in above),
            f"<tr><th{_LEFT}>{in_html(grid.corner)}</th>{heads}</tr>",
            "</thead>",
            f"<tbody{_RULED}>",
            *(_html_line(grid, line, width) for line in grid.lines),
            "</tbody>",
            *([f"<tfoot{_RULED}>", *foot, "</tfoot>"] if foot else []),
            "</table>",
        ]
    )


def _html_line(grid: Grid, line: Line, width: int) -> str:
    row = f"<tr{_RULED}>" if line.rule else "<tr>"
    if line.kind == "section":
        return f'{row}<th colspan="{width}"{_LEFT}>{in_html(line.name)}</th></tr>'
    indent = "&emsp;" if _is_indented(grid, line) else ""
    name = f"<th{_LEFT}>{indent}{in_html(line.name)}</th>"
    return f"{row}{name}{''.join(map(_html_cell, line.cells))}</tr>"


def _html_cell(cell: Printed | str) -> str:
    if isinstance(cell, str):
        return f"<td{_RIGHT}>{in_html(cell)}</td>"
    number = in_html(cell.text.replace("-", "\N{MINUS SIGN}"))
    return f"<td{_RIGHT}>{number}{f'<sup>{chr(42) * cell.stars}</sup>' if cell.stars else ''}</td>"


def printable(value: str) -> str:
    r"""Text without what a terminal or an encoder would act upon.

    Examples
    --------
    >>> printable("a\tb\x07")
    'a b?'
    """
    return "".join(c if c.isprintable() else " " if c.isspace() else "?" for c in value)


def in_tex(value: str) -> str:
    r"""Text that LaTeX prints as it stands.

    Examples
    --------
    >>> in_tex("50% of a_b")
    '50\\% of a\\_b'
    """
    return "".join(_LATEX.get(character, character) for character in printable(value))


def in_html(value: str) -> str:
    """Text that a browser prints as it stands.

    Examples
    --------
    >>> in_html("a < b")
    'a &lt; b'
    """
    return _html.escape(printable(value))
