"""Tables of estimates: unrounded numbers that know how they are printed."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self, Unpack, overload

import pandas as pd

from dprct.arguments import checked
from dprct.errors import ParameterError
from dprct.results import typeset
from dprct.results.cells import PARTS, VALUE_OF, Cell, Column, Part, Row
from dprct.results.layout import Layout, holds_estimates
from dprct.results.style import STYLES, Estimate, Style, StyleOptions

if TYPE_CHECKING:
    from pathlib import Path


@checked
@dataclass(frozen=True, kw_only=True)
class Table:
    """A table of estimates.

    Parameters
    ----------
    columns : tuple of Column
    rows : tuple of Row
    title, corner : str
        Above the table, and above the names of its rows.
    parts : tuple of (part, heading)
        What is printed of an estimate: ``estimate``, ``std.error``, ``p.value``, ``p.adjusted``.
    style : Style
        Digits, brackets, stars; every ``to_`` method takes its options as keywords.
    notes : tuple of str
        Below the table.

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
            are those of :class:`~dprct.results.style.Style`.
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
            Position; the row else becomes a statistic at the foot.
        """
        rows = list(self.rows)
        if at is None:
            rows.append(Row(name, name, cells, "statistic"))
        else:
            rows.insert(at, Row(name, name, cells))
        return replace(self, rows=tuple(rows))

    def to_text(self, **options: Unpack[StyleOptions]) -> str:
        """Return the table as plain text; options as in :meth:`styled`."""
        return typeset.text(self.styled(**options).grid())

    def to_latex(self, **options: Unpack[StyleOptions]) -> str:
        """Return the table as LaTeX for the package ``booktabs``; options as in :meth:`styled`.

        It is a ``tabular``, to be put into a ``table`` with a caption of your own.
        """
        return typeset.latex(self.styled(**options).grid())

    def to_html(self, **options: Unpack[StyleOptions]) -> str:
        """Return the table as HTML; options as in :meth:`styled`."""
        return typeset.html(self.styled(**options).grid())

    def to_frame(self) -> pd.DataFrame:
        """Return the unrounded numbers.

        Returns
        -------
        DataFrame
            Columns are pairs of a column and a part, the part of a plain number being empty;
            rows are pairs of a section and a row where there are sections.  Words are left out.
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
        over = [heading for heading, width in grid.spans for _ in range(width)]
        headings = list(grid.headings)
        return pd.DataFrame(
            [[str(cell) for cell in line.cells] for line in lines],
            index=pd.Index([line.name for line in lines], name=grid.corner or None),
            columns=pd.MultiIndex.from_arrays([over, headings]) if grid.spanned else headings,
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
        A column is named ``arm:std.error``; numbers have all the digits that tell them apart.
        """
        frame = self.to_frame()
        names = [f"{column}:{part}" if part else column for column, part in self._names()]
        written = frame.set_axis(names, axis=1).to_csv(lineterminator="\n")
        if path is None:
            return written
        from dprct.io.atomic import atomic_write

        with atomic_write(path, "w") as file:
            file.write(written)
        return None

    def grid(self) -> typeset.Grid:
        """Return the table as printed cells, ready to be written in any format."""
        notes: tuple[str, ...] = ()
        if self.style.notes:
            legend = self.style.legend() if self._has_p_values() else ""
            below = self.style.key_to_brackets([part for part, _ in self.parts])
            notes = tuple(note for note in (legend, below, *self.notes) if note)
        layout = Layout(self.columns, self.rows, self.parts, self.style)
        spans, headings = layout.headings()
        return typeset.Grid(self.title, self.corner, spans, headings, layout.lines(), notes)

    def __str__(self) -> str:
        return self.to_text()

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
