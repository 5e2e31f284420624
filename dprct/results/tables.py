"""Tables of estimates: unrounded numbers that know how they are printed."""

from __future__ import annotations

import math
from dataclasses import field, fields, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, Self, TypedDict, Unpack, get_args, overload

from dprct.arguments import checked, given
from dprct.errors import ParameterError
from dprct.lazy import pandas as pd
from dprct.lazy import special
from dprct.plots import side_by_side
from dprct.records import dataclass
from dprct.results.base import checked_alpha, warning_in
from dprct.results.typeset import Grid, Line, Printed, Summary, html, latex, terminal_width, text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes

    from dprct.results.typeset import Spans

Brackets = Literal["()", "[]", "{}", ""]
StarPlace = Literal["estimate", "se"]
StarsFrom = Literal["p", "adjusted"]
Errors = Literal["beside", "below"]

MOST_DIGITS = 15
_NOT_RELEASED = "n.r."
_BRACKETS = {"()": "parentheses", "[]": "brackets", "{}": "braces"}


@dataclass(frozen=True)
class Estimate:
    """An estimate and the numbers printed with it, unrounded; NaN where there is none.

    Parameters
    ----------
    p, adjusted : float
        p-value, and p-value adjusted for the other hypotheses of its family.
    told : bool
        Whether the error may be known: where it was not released, it is printed as n.r.
    noise : float
        The part of the error that is privacy noise, which figures mark.

    Examples
    --------
    >>> Estimate(0.431, 0.023).p
    nan
    """

    value: float
    se: float = math.nan
    p: float = math.nan
    adjusted: float = math.nan
    told: bool = True
    noise: float = math.nan


class StyleOptions(TypedDict, total=False):
    """The options of :class:`Style`, and ``style``, the name of the one to start from."""

    style: str
    digits: int
    p_digits: int
    brackets: Brackets
    stars: StarPlace | None
    stars_from: StarsFrom
    thresholds: tuple[float, ...]
    errors: Errors
    thousands: bool
    notes: bool


@dataclass(frozen=True)
class Style:
    """How numbers are printed.

    Parameters
    ----------
    digits, p_digits : int
        Decimals of estimates and their errors, and of p-values.
    brackets : {"()", "[]", "{}", ""}
        Around standard errors.
    stars : {"estimate", "se"} or None
        Which number the stars follow; None prints no stars.
    stars_from : {"p", "adjusted"}
        Which p-value they speak of.
    thresholds : tuple of float
        A p-value below one of them earns a star.
    errors : {"beside", "below"}
        Whether standard errors stand in a column next to the estimate or in a row below it.
    thousands : bool
        Whether estimates have commas, as counts always do.
    notes : bool
        Whether notes are printed.

    Examples
    --------
    >>> style = STYLES["paper"]
    >>> style.standard_error(Estimate(0.132, 0.0971, p=0.087))
    Printed(text='[0.097]', stars=1)
    """

    digits: int = 3
    p_digits: int = 3
    brackets: Brackets = "()"
    stars: StarPlace | None = "estimate"
    stars_from: StarsFrom = "p"
    thresholds: tuple[float, ...] = (0.1, 0.05, 0.01)
    errors: Errors = "below"
    thousands: bool = False
    notes: bool = True

    def __post_init__(self) -> None:
        for name in ("digits", "p_digits"):
            value = getattr(self, name)
            if (
                isinstance(value, bool)
                or not isinstance(value, int)
                or not 0 <= value <= MOST_DIGITS
            ):
                raise ParameterError(
                    f"``{name}={value!r}``; give a whole number from 0 to {MOST_DIGITS}"
                )
        for name, kind in (
            ("brackets", Brackets),
            ("stars", StarPlace),
            ("stars_from", StarsFrom),
            ("errors", Errors),
        ):
            value = getattr(self, name)
            if value not in get_args(kind) and not (name == "stars" and value is None):
                allowed = ", ".join(map(repr, get_args(kind)))
                none = " or ``None``" if name == "stars" else ""
                raise ParameterError(f"``{name}={value!r}``; allowed: {allowed}{none}")
        given = tuple(self.thresholds)
        if any(not 0 < one < 1 for one in given) or len(set(given)) < len(given):
            raise ParameterError(
                f"``thresholds={self.thresholds!r}``; give distinct levels between 0 and 1 such as "
                "``(0.1, 0.05, 0.01)``"
            )
        object.__setattr__(self, "thresholds", tuple(sorted(given, reverse=True)))

    def changed(self, options: Mapping[str, object]) -> Style:
        """Return the style with some options changed; ``style`` names another one to start from."""
        known = ["style", *(field.name for field in fields(self))]
        unknown = [name for name in options if name not in known]
        if unknown:
            raise ParameterError(
                f"no option {unknown[0]!r} of a table; allowed: {', '.join(known)}"
            )
        rest = {name: value for name, value in options.items() if name != "style"}
        start = style_named(options["style"]) if "style" in options else self
        return replace(start, **rest)  # type: ignore[arg-type]  # checked above and on creation

    def number(self, value: float, digits: int | None = None) -> Printed:
        """Print a number, with a count's commas if it is whole by type."""
        if isinstance(value, int):
            return Printed(f"{value:,d}")
        return Printed(self._fixed(value, self.digits if digits is None else digits))

    def estimate(self, cell: Estimate) -> Printed:
        """Print an estimate."""
        text = self._fixed(cell.value, self.digits)
        return Printed(text, self._count(cell) if self.stars == "estimate" and text else 0)

    def standard_error(self, cell: Estimate) -> Printed:
        """Print a standard error in its brackets."""
        text = self._enclosed(self._fixed(cell.se, self.digits), self.brackets)
        return Printed(text, self._count(cell) if self.stars == "se" and text else 0)

    def p_value(self, p: float) -> Printed:
        """Print a p-value; below an estimate, in the brackets that standard errors do not use."""
        text = self._fixed(p, self.p_digits)
        if self.errors == "beside":
            return Printed(text)
        return Printed(self._enclosed(text, self._other_brackets))

    def legend(self) -> str:
        """Meaning of the stars, or nothing where there are none."""
        if self.stars is None or not self.thresholds:
            return ""
        levels = ", ".join(
            f"{'*' * k} p < {level:g}" for k, level in enumerate(self.thresholds, start=1)
        )
        return f"{levels} (adjusted)." if self.stars_from == "adjusted" else f"{levels}."

    def key_to_brackets(self, parts: Sequence[str]) -> str:
        """Key to the brackets below an estimate, if there are any."""
        named = {"p.value": "p-values", "p.adjusted": "adjusted p-values"}
        ps = [words for part, words in named.items() if part in parts]
        if self.errors == "beside" or "std.error" not in parts or not self.brackets:
            return ""
        said = [f"Standard errors in {_BRACKETS[self.brackets]}"]
        said += [f"{words} in {_BRACKETS[self._other_brackets]}" for words in ps]
        return ", ".join(said) + "."

    @property
    def _other_brackets(self) -> str:
        return "()" if self.brackets == "[]" else "[]"

    def _count(self, cell: Estimate) -> int:
        p = cell.adjusted if self.stars_from == "adjusted" else cell.p
        return sum(p < level for level in self.thresholds)

    def _fixed(self, value: float, digits: int) -> str:
        if math.isnan(value):
            return ""
        text = f"{value:,.{digits}f}" if self.thousands else f"{value:.{digits}f}"
        return text.removeprefix("-") if text.strip("-0.,") == "" else text

    @staticmethod
    def _enclosed(text: str, brackets: str) -> str:
        return f"{brackets[:1]}{text}{brackets[1:]}" if text else ""


STYLES: Mapping[str, Style] = MappingProxyType(
    {
        "paper": Style(brackets="[]", stars="se", errors="beside"),
        "econ": Style(),
        "aer": Style(stars=None),
        "esttab": Style(thresholds=(0.05, 0.01, 0.001)),
    }
)
"""By name: standard errors in brackets next to the estimate with stars after them (``paper``);
below it in parentheses with stars at the estimate (``econ``), without stars (``aer``), or with
the levels of Stata's ``esttab``."""


def style_named(name: object) -> Style:
    """Return a style by its name.

    Examples
    --------
    >>> style_named("aer").stars is None
    True
    """
    if not isinstance(name, str) or name not in STYLES:
        raise ParameterError(f"``style={given(name)}``; allowed: {', '.join(STYLES)}")
    return STYLES[name]


Part = Literal["estimate", "std.error", "p.value", "p.adjusted"]
RowKind = Literal["row", "section", "statistic"]
Cell = Estimate | float | int | str | None

VALUE_OF: dict[Part, Callable[[Estimate], float]] = {
    "estimate": lambda cell: cell.value,
    "std.error": lambda cell: cell.se,
    "p.value": lambda cell: cell.p,
    "p.adjusted": lambda cell: cell.adjusted,
}
PARTS: tuple[Part, ...] = tuple(VALUE_OF)


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Parameters
    ----------
    key : str
        Name in the numeric frame.
    heading : str
        As it is printed.
    over : str
        Printed above the headings, once over neighbours that share it.  Where standard errors
        stand beside, the heading itself stands above and this before it.
    group : str
        Printed above these, once over neighbours that share it.
    """

    key: str
    heading: str
    over: str = ""
    group: str = ""


@dataclass(frozen=True)
class Row:
    """One row of a table."""

    key: str  # name in the numeric frame
    name: str  # as it is printed
    cells: tuple[Cell, ...] = ()  # one per column; an int is a count, a str is words, None is empty
    # A section heads the rows below it and has no cells; statistics stand at the foot.
    kind: RowKind = "row"
    digits: int | None = None  # decimals of plain numbers, where they are not those of the table


def _span(spans: list[tuple[str, int]], heading: str, columns: int, *, apart: bool = False) -> None:
    """Add columns to the last heading of a row if it is theirs, else with one of their own."""
    if spans and spans[-1][0] == heading and not apart:
        spans[-1] = (heading, spans[-1][1] + columns)
    else:
        spans.append((heading, columns))


def holds_estimates(rows: Sequence[Row], j: int) -> bool:
    """Whether some cell of a column is an estimate.

    Examples
    --------
    >>> from dprct.results.tables import Row
    >>> holds_estimates([Row("a", "a", (Estimate(1.0), 2))], 0)
    True
    """
    return any(isinstance(row.cells[j], Estimate) for row in rows if row.cells)


@checked
@dataclass(frozen=True, kw_only=True)
class Table:
    """A table of estimates, which prints as text, LaTeX, HTML or CSV.

    Parameters
    ----------
    columns : tuple of Column
    rows : tuple of Row
    title, corner : str
        Texts above the table, and above the names of its rows.
    parts : tuple of (part, heading)
        What is printed for each estimate: ``estimate``, ``std.error``, ``p.value``, ``p.adjusted``.
    style : Style
        Digits, brackets and stars; every ``to_`` method takes these options as keywords.
    notes : tuple of str
        Sentences below the table.

    Examples
    --------
    >>> table = Table(
    ...     columns=(Column("any", "Incentive"),),
    ...     rows=(Row("got", "Got the results", (Estimate(0.43135, 0.02301, p=0.0),)),),
    ... )
    >>> print(table.to_text(style="aer", notes=False))
    ==========================
                     Incentive
    --------------------------
    Got the results     0.431
                       (0.023)
    --------------------------
    >>> table.to_frame().loc["got", ("any", "std.error")]
    np.float64(0.02301)
    """

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    title: str = ""
    corner: str = ""
    parts: tuple[tuple[Part, str], ...] = (("estimate", "coef"), ("std.error", "std err"))
    style: Style = field(default_factory=lambda: STYLES["econ"])
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        keys = [column.key for column in self.columns]
        if len(set(keys)) < len(keys):
            raise ParameterError(f"columns of a table share a key: {keys}; give each its own")
        for row in self.rows:
            if row.kind != "section" and len(row.cells) != len(self.columns):
                raise ParameterError(
                    f"row {row.name!r} has {len(row.cells)} cells for {len(self.columns)} columns; "
                    "give one per column"
                )

    def styled(self, **options: Unpack[StyleOptions]) -> Self:
        """Return the table with another style.

        Parameters
        ----------
        **options
            ``style="aer"`` starts from a style by name; ``digits``, ``p_digits``, ``brackets``,
            ``stars``, ``stars_from``, ``thresholds``, ``errors``, ``thousands`` and ``notes``
            are those of :class:`~dprct.results.tables.Style`.
        """
        return replace(self, style=self.style.changed(dict(options)))

    def with_row(self, name: str, *cells: Cell, at: int | None = None) -> Self:
        """Return the table with a row added by hand.

        Parameters
        ----------
        name : str
        *cells
            One per column.
        at : int, optional
            Position among the rows.  By default, the row is added at the foot, with the statistics.
        """
        rows = list(self.rows)
        if at is None:
            rows.append(Row(name, name, cells, "statistic"))
        else:
            rows.insert(at, Row(name, name, cells))
        return replace(self, rows=tuple(rows))

    def to_text(self, width: int | None = None, **options: Unpack[StyleOptions]) -> str:
        """Return the table as plain text.

        Parameters
        ----------
        width : int, optional
            Maximum characters per line.  Headings and names are wrapped, and columns that still do
            not fit follow below the others.  By default, lines are as long as needed.
        **options
            As in :meth:`styled`.
        """
        if width is not None and width < 1:
            raise ParameterError(f"``width={given(width)}``; give a number of characters above 0")
        return text(self.styled(**options).grid(), width)

    def to_latex(self, **options: Unpack[StyleOptions]) -> str:
        """Return the table as LaTeX; options as in :meth:`styled`.

        The result is a ``tabular``; put it into a ``table`` with a caption.  It needs the packages
        ``booktabs``, ``siunitx`` and, where there are notes, ``threeparttable``.
        """
        return latex(self.styled(**options).grid())

    def to_html(self, **options: Unpack[StyleOptions]) -> str:
        """Return the table as HTML; options as in :meth:`styled`."""
        return html(self.styled(**options).grid())

    def to_docx(self, path: str | Path, **options: Unpack[StyleOptions]) -> None:
        """Write the table as a Word document; options as in :meth:`styled`.

        Parameters
        ----------
        path : str or Path
            Ends in ``.docx``; written whole or not at all. Needs python-docx (``dprct[docx]``).
        """
        from dprct.results.word import write_word

        write_word(self.styled(**options).grid(), path)

    def to_frame(self) -> pd.DataFrame:
        """Return the unrounded numbers.

        Returns
        -------
        DataFrame
            Columns are pairs of column and part; the part of a plain number is empty.  Rows are
            pairs of section and row if there are sections.  Words are left out.
        """
        labels, records, section = [], [], ""
        for row in self.rows:
            if row.kind == "section":
                section = row.key
            elif not _is_words(row):
                section = "" if row.kind == "statistic" else section
                labels.append((section, row.key))
                records.append(self._numbers(row))
        names = self._names()
        sections = any(row.kind == "section" for row in self.rows)
        index: pd.Index = (
            pd.MultiIndex.from_tuples(labels, names=["section", "row"])
            if sections
            else pd.Index([key for _, key in labels], name="row")
        )
        values = [[record.get(name, float("nan")) for name in names] for record in records]
        columns = pd.MultiIndex.from_tuples(names, names=["column", "part"])
        return pd.DataFrame(values, index=index, columns=columns, dtype=float)

    def displayed(self, **options: Unpack[StyleOptions]) -> pd.DataFrame:
        """Return the printed cells as a frame of text; options as in :meth:`styled`."""
        grid = self.styled(**options).grid()
        lines = [line for line in grid.lines if line.kind != "section"]
        above = [[words for words, width in row for _ in range(width)] for row in grid.above]
        headings = list(grid.headings)
        return pd.DataFrame(
            [[str(cell) for cell in line.cells] for line in lines],
            index=pd.Index([line.name for line in lines], name=grid.corner or None),
            columns=pd.MultiIndex.from_arrays([*above, headings]) if above else headings,
        )

    @overload
    def to_csv(self) -> str: ...
    @overload
    def to_csv(self, path: str | Path) -> None: ...
    def to_csv(self, path: str | Path | None = None) -> str | None:
        """Return or write the unrounded numbers as CSV.

        Parameters
        ----------
        path : str or Path, optional
            Written whole or not at all.

        Notes
        -----
        Columns have names such as ``arm:std.error``. Numbers have all digits needed to tell them
        apart.
        """
        frame = self.to_frame()
        names = [f"{column}:{part}" if part else column for column, part in self._names()]
        written = frame.set_axis(names, axis=1).to_csv(lineterminator="\n")
        if path is None:
            return written
        from dprct.disk import atomic_write

        with atomic_write(path, "w") as file:
            file.write(written)
        return None

    def plot(
        self, *, alpha: float = 0.05, keep: Sequence[str] | None = None, ax: Axes | None = None
    ) -> Axes:
        """Draw the estimates of all columns with their intervals, row by row.

        The part of an interval that is due to privacy noise is a thick line, where it is known.

        Parameters
        ----------
        alpha : float
            Intervals have level ``1 - alpha``: an estimate and normal quantiles of its standard
            error, privacy noise included where that is.
        keep : sequence of str, optional
            Keys of the rows to draw; by default all but the constant.
        ax : Axes, optional
            A new one if not given.

        Raises
        ------
        ParameterError
            If the table has no estimate in these rows.
        MissingDependencyError
            Without matplotlib.

        Examples
        --------
        >>> import matplotlib.pyplot as plt
        >>> cells = (Estimate(0.5, 0.1), Estimate(0.4, 0.2))
        >>> table = Table(columns=(Column("a", "Raw"), Column("b", "Private")),
        ...               rows=(Row("t", "Treated", cells),))
        >>> ax = table.plot()
        >>> [label.get_text() for label in ax.get_yticklabels()]
        ['Treated']
        >>> plt.close(ax.figure)
        """
        quantile = -special.ndtri(checked_alpha(alpha) / 2)
        found: dict[str, dict[str, tuple[float, ...]]] = {}
        section, of = "", list(dict.fromkeys(column.over for column in self.columns))
        for row in self.rows:
            section = row.name if row.kind == "section" else section
            if row.key == "Intercept" if keep is None else row.key not in keep:
                continue
            name = f"{section}: {row.name}" if section else row.name
            for column, cell in zip(self.columns, row.cells, strict=bool(row.cells)):
                if isinstance(cell, Estimate):
                    half = quantile * cell.se
                    ends = (cell.value, cell.value - half, cell.value + half, quantile * cell.noise)
                    words = f"{column.group} {column.heading}".strip()
                    words += f" {column.over}" * (len(of) > 1)
                    found.setdefault(words, {})[name] = ends
        if not found:
            raise ParameterError(
                "``keep=`` leaves no row with an estimate; name rows that have one"
            )
        frames = [
            pd.DataFrame.from_dict(
                cells, orient="index", columns=["estimate", "low", "high", "noise"]
            )
            for cells in found.values()
        ]
        label = f"Estimate, with {100 * (1 - alpha):g}% interval"
        label += f" (units of {of[0]})" * (len(of) == 1 and of[0] != "")
        names, mark = list(found), self._watermark
        return side_by_side(frames, names, label=label, title=self.title, watermark=mark, ax=ax)

    @property
    def _watermark(self) -> str:
        """What is written across the figure of a table that is not for release."""
        said = " ".join(self.notes)
        if "CONFIDENTIAL" in said:
            return "confidential"
        return "simulation: no guarantee" if "For simulation only" in said else ""

    def grid(self) -> Grid:
        """Return the table as printed cells, ready to be written in any format."""
        warning, said = warning_in(self.notes)
        notes: tuple[str, ...] = ()
        if self.style.notes:
            legend = self.style.legend() if self._has_p_values() else ""
            below = self.style.key_to_brackets([part for part, _ in self.parts])
            notes = tuple(note for note in (legend, below, *said) if note)
        spans, headings = self._headings()
        return Grid(
            title=self.title,
            corner=self.corner,
            spans=spans,
            headings=headings,
            lines=self._lines(),
            notes=notes,
            warning=warning,
        )

    def _headings(self) -> tuple[tuple[Spans, Spans], tuple[str, ...]]:
        """Return the two rows of headings above, with their widths, and those of single columns."""
        groups: list[tuple[str, int]] = []
        spans: list[tuple[str, int]] = []
        headings: list[str] = []
        for j, column in enumerate(self.columns):
            split = self._is_split(j)
            own = [heading for _, heading in self.parts] if split else [column.heading]
            over = f"{column.over} {column.heading}".strip() if split else column.over
            begins = not j or self.columns[j - 1].group != column.group
            _span(groups, column.group, len(own))
            _span(spans, over, len(own), apart=split or begins)
            headings += own
        return (tuple(groups), tuple(spans)), tuple(headings)

    def _lines(self) -> tuple[Line, ...]:
        """Return the printed lines; an estimate with errors below takes several."""
        lines: list[Line] = []
        for row in self.rows:
            if row.kind == "section":
                lines.append(Line(row.name, (), "section"))
                continue
            first = row.kind == "statistic" and bool(lines) and lines[-1].kind != "statistic"
            for k, part in enumerate(self._parts_below(row)):
                cells = tuple(
                    self._printed(cell, one, row.digits)
                    for j, cell in enumerate(row.cells)
                    for one in ([name for name, _ in self.parts] if self._is_split(j) else [part])
                )
                name = "" if k else row.name
                lines.append(Line(name, cells, row.kind, rule=first and not k))
        return tuple(lines)

    def _is_split(self, j: int) -> bool:
        """Whether the parts of a column's estimates stand beside each other."""
        return self.style.errors == "beside" and holds_estimates(self.rows, j)

    def _parts_below(self, row: Row) -> list[Part]:
        parts = [part for part, _ in self.parts]
        beside = self.style.errors == "beside"
        below = not beside and any(isinstance(cell, Estimate) for cell in row.cells)
        return parts if below else parts[:1]

    def _printed(self, cell: Cell, part: Part, digits: int | None) -> Printed | str:
        """Print one part of a cell; what is no estimate has its first part only."""
        if isinstance(cell, Estimate):
            if part == "estimate":
                return self.style.estimate(cell)
            if part == "std.error":
                return self.style.standard_error(cell) if cell.told else _NOT_RELEASED
            return self.style.p_value(cell.adjusted if part == "p.adjusted" else cell.p)
        if cell is None or part != self.parts[0][0]:
            return ""
        return cell if isinstance(cell, str) else self.style.number(cell, digits)

    def summary(self) -> Summary:
        """Return the table as a text that also knows its HTML and its LaTeX."""
        return Summary.of(self.grid())

    def __str__(self) -> str:
        return self.to_text(terminal_width())

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self.rows)} rows, {len(self.columns)} columns>"

    def _repr_html_(self) -> str:
        return self.to_html()

    def _has_p_values(self) -> bool:
        cells = (cell for row in self.rows for cell in row.cells)
        return any(isinstance(cell, Estimate) and not math.isnan(cell.p) for cell in cells)

    def _names(self) -> list[tuple[str, str]]:
        return [pair for j, column in enumerate(self.columns) for pair in self._pairs(j, column)]

    def _pairs(self, j: int, column: Column) -> list[tuple[str, str]]:
        if not holds_estimates(self.rows, j):
            return [(column.key, "")]
        return [(column.key, part) for part in PARTS if self._has_part(j, part)]

    def _has_part(self, j: int, part: Part) -> bool:
        cells = [row.cells[j] for row in self.rows if row.cells]
        values = [VALUE_OF[part](cell) for cell in cells if isinstance(cell, Estimate)]
        return part == "estimate" or not all(map(math.isnan, values))

    def _numbers(self, row: Row) -> dict[tuple[str, str], float]:
        found: dict[tuple[str, str], float] = {}
        for j, (column, cell) in enumerate(zip(self.columns, row.cells, strict=True)):
            if isinstance(cell, Estimate):
                found |= {(column.key, part): value(cell) for part, value in VALUE_OF.items()}
            elif cell is not None and not isinstance(cell, str):
                found[column.key, "estimate" if holds_estimates(self.rows, j) else ""] = float(cell)
        return found


def _is_words(row: Row) -> bool:
    return any(isinstance(cell, str) for cell in row.cells) and not any(
        isinstance(cell, (Estimate, float, int)) for cell in row.cells
    )
