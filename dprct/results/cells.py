"""What a table is made of: columns, rows, and cells that are not yet printed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from dprct.results.style import Estimate

if TYPE_CHECKING:
    from collections.abc import Callable

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


@dataclass(frozen=True, slots=True)
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
    """

    key: str
    heading: str
    over: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a table.

    Parameters
    ----------
    key : str
        Name in the numeric frame.
    name : str
        As it is printed.
    cells : tuple of Estimate, float, int, str or None
        One per column; an int is a count, a str is words, None is empty.
    kind : {"row", "section", "statistic"}
        A section heads the rows below it and has no cells; statistics stand at the foot.
    digits : int, optional
        Decimals of plain numbers, where they are not those of the table.
    """

    key: str
    name: str
    cells: tuple[Cell, ...] = ()
    kind: RowKind = "row"
    digits: int | None = None
