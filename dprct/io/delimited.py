"""Text tables as others print them: cells without a guess at what they mean."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dprct.errors import FileError
from dprct.io.atomic import file_error

if TYPE_CHECKING:
    from pathlib import Path

DELIMITERS = {".csv": ",", ".tab": "\t", ".tsv": "\t", ".txt": "\t"}
"""What separates cells, by extension."""

_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_MEANS = {"n": "\n", "r": "\r", "t": "\t"}


@dataclass(frozen=True, slots=True)
class Cells:
    """The cells of a text table.

    Parameters
    ----------
    names : tuple of str
    columns : tuple of tuple of str
        One per name, each with the cells from the first row to the last.
    """

    names: tuple[str, ...]
    columns: tuple[tuple[str, ...], ...]


def readings(path: Path) -> list[Cells]:
    r"""Return what a text table may say: archives quote their texts in two ways.

    Parameters
    ----------
    path : Path
        UTF-8 with a row of names; ``.csv`` is separated by commas, ``.tab``, ``.tsv`` and ``.txt``
        by tabs.  A first column without a name, the row numbers of R and pandas, is left out.

    Returns
    -------
    list of Cells
        With quotes doubled and, of what is separated by tabs, also with backslashes before
        quotes, tabs and line ends, as the Dataverse writes them.

    Raises
    ------
    FileError
        If the file cannot be read, is not UTF-8, or has rows of unequal length in both ways.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "trial.tab"
    >>> _ = path.write_text('got\tvillage\n1\t"the \\"old\\" one"\n')
    >>> readings(path)[-1].columns
    (('1',), ('the "old" one',))
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise file_error(error, path, "read") from None
    except UnicodeDecodeError as error:
        raise FileError(
            f"{path.name!r} is not UTF-8 text (first at byte {error.start}); save it as UTF-8"
        ) from None
    delimiter = DELIMITERS[path.suffix.lower()]
    ways = [_doubled(text, delimiter)]
    if delimiter == "\t":
        ways.append(_backslashed(text))
    found = [cells for rows in ways if (cells := _cells(rows)) is not None]
    if not found:
        raise FileError(
            f"{path.name!r} is no table: it needs a row of names, rows with as many cells, and no "
            f"cell above {csv.field_size_limit():,} characters"
        )
    return found


def _doubled(text: str, delimiter: str) -> list[list[str]]:
    lines = io.StringIO(text, newline="")  # which ends no line where Unicode alone would
    try:
        return [row or [""] for row in csv.reader(lines, delimiter=delimiter, strict=True)]
    except csv.Error:
        return []


def _backslashed(text: str) -> list[list[str]]:
    return [
        [_unescaped(cell) for cell in line.split("\t")]
        for line in text.removesuffix("\n").split("\n")
    ]


def _unescaped(cell: str) -> str:
    cell = cell.removesuffix("\r")
    if len(cell) < 2 or not cell.startswith('"') or not cell.endswith('"'):
        return cell
    return _ESCAPED.sub(lambda found: _MEANS.get(found[1], found[1]), cell[1:-1])


def _cells(rows: list[list[str]]) -> Cells | None:
    if not any(rows[0] if rows else ()) or any(len(row) != len(rows[0]) for row in rows):
        return None
    names, *body = rows
    columns = list(zip(*body, strict=True)) or [()] * len(names)
    first = 1 if names[0] == "" else 0
    return Cells(tuple(names[first:]), tuple(columns[first:]))
