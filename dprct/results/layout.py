"""Where the cells of a table are printed: errors beside estimates, or below them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dprct.results import typeset
from dprct.results.style import Estimate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dprct.results.cells import Cell, Column, Part, Row
    from dprct.results.style import Printed, Style


@dataclass(frozen=True, slots=True)
class Layout:
    """The contents of a table with the style that prints them; see :class:`~.tables.Table`."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    parts: tuple[tuple[Part, str], ...]
    style: Style

    def headings(self) -> tuple[tuple[tuple[str, int], ...], tuple[str, ...]]:
        """Return the headings above with their widths, and the headings of single columns."""
        spans: list[tuple[str, int]] = []
        headings: list[str] = []
        for j, column in enumerate(self.columns):
            split = self._beside and holds_estimates(self.rows, j)
            own = [heading for _, heading in self.parts] if split else [column.heading]
            over = f"{column.over} {column.heading}".strip() if split else column.over
            if spans and spans[-1][0] == over and not split:
                spans[-1] = (over, spans[-1][1] + len(own))
            else:
                spans.append((over, len(own)))
            headings += own
        return tuple(spans), tuple(headings)

    def lines(self) -> tuple[typeset.Line, ...]:
        """Return the printed lines; an estimate with errors below takes several."""
        lines: list[typeset.Line] = []
        for row in self.rows:
            if row.kind == "section":
                lines.append(typeset.Line(row.name, (), "section"))
                continue
            first = row.kind == "statistic" and bool(lines) and lines[-1].kind != "statistic"
            for k, part in enumerate(self._parts_below(row)):
                cells = tuple(
                    cell
                    for j in range(len(self.columns))
                    for cell in self._printed_at(row, j, part)
                )
                name = "" if k else row.name
                lines.append(typeset.Line(name, cells, row.kind, rule=first and not k))
        return tuple(lines)

    @property
    def _beside(self) -> bool:
        return self.style.errors == "beside"

    def _parts_below(self, row: Row) -> list[Part]:
        parts = [part for part, _ in self.parts]
        below = not self._beside and any(isinstance(cell, Estimate) for cell in row.cells)
        return parts if below else parts[:1]

    def _printed_at(self, row: Row, j: int, part: Part) -> list[Printed | str]:
        """Print a cell in the columns that it takes: one, or one per part."""
        if not (self._beside and holds_estimates(self.rows, j)):
            return [self._printed(row.cells[j], part, row.digits)]
        return [self._printed(row.cells[j], one, row.digits) for one, _ in self.parts]

    def _printed(self, cell: Cell, part: Part, digits: int | None) -> Printed | str:
        """Print one part of a cell; what is no estimate has its first part only."""
        if isinstance(cell, Estimate):
            if part == "estimate":
                return self.style.estimate(cell)
            if part == "std.error":
                return self.style.standard_error(cell)
            return self.style.p_value(cell.adjusted if part == "p.adjusted" else cell.p)
        if cell is None or part != self.parts[0][0]:
            return ""
        return cell if isinstance(cell, str) else self.style.number(cell, digits)


def holds_estimates(rows: Sequence[Row], j: int) -> bool:
    """Whether some cell of a column is an estimate.

    Examples
    --------
    >>> from dprct.results.cells import Row
    >>> holds_estimates([Row("a", "a", (Estimate(1.0), 2))], 0)
    True
    """
    return any(isinstance(row.cells[j], Estimate) for row in rows if row.cells)
