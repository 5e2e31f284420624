"""Plain tables: .csv and .parquet, which know names and values only, and text as it is printed."""

from __future__ import annotations

import csv
import io
import math
import re
import warnings
from contextlib import contextmanager
from dataclasses import replace
from itertools import compress, islice, pairwise, repeat
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct import disk
from dprct.disk import atomic_write, file_error
from dprct.errors import ColumnError, DprctWarning, FileError, MissingDependencyError, SchemaError
from dprct.missing import MISSING_CODES, tagged
from dprct.records import dataclass
from dprct.schema.columns import Column, FileFacts, date_kind
from dprct.schema.facts import FLOAT_LIMITS
from dprct.schema.frames import table_of_frame
from dprct.schema.schema import Schema
from dprct.schema.tables import COMPANION, NumPyTable, broken_rules, eager, numbers_of, text_of

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping, Sequence
    from pathlib import Path

    import pandas as pd
    from narwhals.typing import IntoFrame
    from numpy.typing import NDArray

    from dprct.schema.facts import CellKind
    from dprct.schema.tables import Frame


_IN_NUMBERS = b"0123456789+-.eE\n"
_ZEROS_FIRST = re.compile(r"\n[+-]?0\d", re.ASCII)
_LONG_WHOLE = re.compile(r"^[+-]?\d{16,}$", re.ASCII | re.MULTILINE)
ABSENT = {code: number for number, code in enumerate(MISSING_CODES)} | dict.fromkeys(
    ("", "NA", "NaN", "nan"), 0
)
"""Cells that are missing, with the number of their code."""
_NO_DATE = re.compile(r"^(?!\d{4}-\d{2}-\d{2}$)", re.ASCII | re.MULTILINE)
_DAY = "%tdCCYY-NN-DD"
_FIRST_DAY = int(np.datetime64("1960-01-01", "D").astype(np.int64))  # of Stata, since 1970
_DAYS = (-715_509.0, 2_936_549.0)  # 0001-01-01 to 9999-12-31
_CHUNK = 500  # rows: more of them at a time are slower, as their texts leave the processor's cache
_NOTHING: Mapping[str, CellKind] = MappingProxyType({})
_EXACT = 2**53
_PLAIN = 1e15  # below, a whole double has less than 16 digits, and is printed as them and ".0"
_DTYPES = {"byte": "int8", "int": "int16", "long": "int32", "float": "float32"}


@dataclass(frozen=True)
class CsvFacts:
    """What a .csv file says of itself once its rows were read."""

    # Names, and which columns are numbers, dates or text; nothing else is taken from the cells.
    schema: Schema
    rows: int
    # Columns of numbers that are all whole: candidates for ``integer``, which a person confirms.
    whole: frozenset[str]
    empty: frozenset[str]  # columns without a value
    rounded: frozenset[str]  # columns of numbers, some with more digits than a double keeps


def as_declared(
    schema: Schema, empty: Container[str], rounded: Container[str], kinds: Mapping[str, CellKind]
) -> Schema:
    """Return the schema of a .csv whose columns are of the kinds that are declared.

    No cell then decides it, and with it what is refused: a column that is declared to be text may
    hold nothing but numbers but for one person, and one with bounds a number of 17 digits, which
    otherwise makes a column text, as identifiers are.
    """
    found = {}
    for name, kind in kinds.items():
        if kind == "text":
            found[name] = replace(schema.column(name), type="strL", format="")
        elif kind == "date" and name in empty:
            found[name] = replace(schema.column(name), format=_DAY)
        elif kind == "number" and name in rounded:
            found[name] = Column(name)
    return schema.with_columns(found.get(one.name, one) for one in schema.columns)


def facts_of_csv(path: Path) -> CsvFacts:
    """Facts of a comma-separated file, which is read a few thousand rows at a time."""
    kinds, rows = _kinds(path)
    columns = tuple(kind.column(name) for name, kind in kinds.items())
    schema = Schema(columns, file=FileFacts(rows=rows), opened=True, source=path)
    whole = frozenset(name for name, kind in kinds.items() if kind.is_whole)
    empty = frozenset(name for name, kind in kinds.items() if not kind.seen)
    rounded = frozenset(name for name, kind in kinds.items() if kind.number and not kind.exact)
    return CsvFacts(schema, rows, whole, empty, rounded)


def read_csv(
    path: Path, declared: Mapping[str, CellKind] = _NOTHING
) -> tuple[pd.DataFrame, Schema]:
    """Read a comma-separated UTF-8 file with a row of names.

    Notes
    -----
    A column is text unless every cell that is not missing is a number, or every one a date such as
    2021-03-05, which becomes a number of days that is shown as a date.  One that is declared to be
    text is text whatever its cells are.
    """
    table, schema = table_of_csv(path, facts_of_csv(path), declared)
    return table.native, schema


def table_of_csv(
    path: Path, found: CsvFacts, declared: Mapping[str, CellKind] = _NOTHING
) -> tuple[NumPyTable, Schema]:
    """Read the same without pandas, once its facts are known."""
    schema = as_declared(found.schema, found.empty, found.rounded, declared)
    out = {
        column.name: np.empty(found.rows, dtype=object if column.is_text else np.float64)
        for column in schema.columns
    }
    start = 0
    with _refusing(path):
        for names, cells in _chunks(path):
            end = start + len(cells[0])
            for name, column in zip(names, cells, strict=True):
                kind = schema.column(name)
                out[name][start:end] = column if kind.is_text else _numbers(column, kind.format)
            start = end
    if start != found.rows:
        raise FileError(f"{path.name!r} was changed while it was read; read it again")
    return NumPyTable(out, found.rows), schema


@dataclass
class _Kind:
    """What the cells of a column can still be, after those that were seen."""

    number: bool = True
    exact: bool = True  # doubles keep all numbers
    date: bool = True
    whole: bool = True
    seen: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether all are whole numbers, or dates."""
        return self.seen and (self.date or (self.number and self.exact and self.whole))

    def column(self, name: str) -> Column:
        """Column of what the cells are."""
        if (self.number and self.exact) or not self.seen:
            return Column(name)
        return Column(name, format=_DAY) if self.date else Column(name, "strL")

    def see(self, cells: Sequence[str]) -> None:
        """Narrow down by more cells, which are matched as the lines of one text: it is faster."""
        if not (self.number or self.date):
            return
        present = [*{*cells} - ABSENT.keys()]
        if not present:
            return
        self.seen = True
        lines = "\n".join(present)
        plain = lines.count("\n") < len(present)
        numbers = _decimals(present, lines) if self.number and plain else None
        self.number = numbers is not None
        self.exact &= numbers is None or not _is_rounded(numbers, lines)
        self.whole &= numbers is None or bool(np.all(numbers == np.floor(numbers)))
        self.date &= plain and _are_dates(present, lines)


def _kinds(path: Path) -> tuple[dict[str, _Kind], int]:
    kinds: dict[str, _Kind] = {}
    rows = 0
    with _refusing(path):
        for names, cells in _chunks(path):
            kinds = kinds or {name: _Kind() for name in names}
            for kind, column in zip(kinds.values(), cells, strict=True):
                kind.see(column)
            rows += len(cells[0])
    if not kinds:
        raise FileError(f"{path.name!r} has names but no rows; give a file with data")
    return kinds, rows


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    """Refuse what is no such file in one sentence without a cell of it."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise FileError(
            f"{path.name!r} is not UTF-8 text (first at byte {error.start}); save it as UTF-8"
        ) from None
    except csv.Error as error:
        raise FileError(
            f"{path.name!r} is not a comma-separated file ({error}); close every quote, or save it "
            "again as .csv"
        ) from None


def _chunks(path: Path) -> Iterator[tuple[list[str], list[tuple[str, ...]]]]:
    """Yield the names and the columns of the next rows, as text."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        lines = _lines(csv.reader(file, strict=True), path.name)
        names = next(lines, None)
        if names is None:
            raise FileError(f"{path.name!r} is empty; it needs a row of names")
        _check_header(names, path.name)
        while rows := list(islice(lines, _CHUNK)):
            yield names, list(zip(*rows, strict=True))


def _lines(reader: Any, file: str) -> Iterator[list[str]]:
    width = None
    for row in reader:
        width = len(row) if width is None else width
        if not row and width != 1:
            continue
        if row and len(row) != width:
            raise FileError(
                f"line {reader.line_num} of {file!r} has {len(row)} cells where the row of names "
                f"has {width}; give every row as many"
            )
        yield row or [""]  # the csv module gives an empty cell alone on its line as no cell


def _check_header(names: list[str], file: str) -> None:
    if len(names) == 1 and (";" in names[0] or "\t" in names[0]):
        raise FileError(
            f"{file!r} separates its columns by semicolons or tabs; separate them by commas"
        )
    numbers = [name for name in names if _is_number(name)]
    if numbers and not _count_up(numbers):
        raise SchemaError(
            f"{file!r} seems to begin with a row of data: {len(numbers)} of its {len(names)} names "
            "are numbers; give it a row of names"
        )
    if len(set(names)) < len(names):
        twice = ", ".join(sorted({name for name in names if names.count(name) > 1}))
        raise SchemaError(f"{file!r} has columns named twice: {twice}; give each its own name")
    if "" in names:
        raise SchemaError(f"column {names.index('') + 1} of {file!r} has no name; give it one")


def _is_number(name: str) -> bool:
    try:
        return math.isfinite(float(name))
    except ValueError:
        return False


def _count_up(names: list[str]) -> bool:
    """Whether they are numbers that count up, as years do, or the columns of an array."""
    found = [int(name) if name.isdecimal() else -1 for name in names]
    steps = {b - a for a, b in pairwise(found)}
    return min(found) >= 0 and len(steps) == 1 and min(steps) > 0


def _numbers(cells: Sequence[str], form: str) -> NDArray[np.float64]:
    """Numbers and missing codes of cells that were seen to be such, or dates."""
    codes = np.fromiter(map(ABSENT.get, cells, repeat(-1)), np.int8, len(cells))
    out = tagged(np.maximum(codes, 0))
    there = codes < 0
    present = cells if np.all(there) else list(compress(cells, there.tolist()))
    try:
        if form:
            out[there] = np.array(present, "datetime64[D]").astype(np.int64) - _FIRST_DAY
        else:
            out[there] = np.array(list(map(float, present)))
    except ValueError:
        raise FileError("the file was changed while it was read; read it again") from None
    return out


def _decimals(cells: list[str], lines: str) -> NDArray[np.float64] | None:
    """Return decimal numbers that doubles can hold, or None where a cell is none."""
    if lines.encode().translate(None, _IN_NUMBERS) or _ZEROS_FIRST.search(f"\n{lines}"):
        return None
    try:
        numbers = np.array(list(map(float, cells)))
    except ValueError:
        return None
    return numbers if np.all(np.abs(numbers) <= FLOAT_LIMITS["double"]) else None


def _is_rounded(numbers: NDArray[np.float64], lines: str) -> bool:
    """Whether whole numbers are among them that doubles do not keep: identifiers, mostly."""
    long = np.any(np.abs(numbers) >= _PLAIN)
    return bool(long) and any(abs(int(number)) > _EXACT for number in _LONG_WHOLE.findall(lines))


def _are_dates(cells: list[str], lines: str) -> bool:
    """Whether each cell is a day of the calendar, as 2021-03-05."""
    if _NO_DATE.search(lines):
        return False
    try:
        np.array(cells, "datetime64[D]")
    except ValueError:
        return False
    return True


def write_csv(data: IntoFrame, schema: Schema, path: Path) -> None:
    """Write a comma-separated UTF-8 file with a row of names.

    Notes
    -----
    Numbers are the shortest decimals that read back as the same double, and days of a column that
    is shown as dates are written as 2021-03-05; ``.`` is an empty cell, ``.a`` to ``.z`` are
    written as such.
    """
    frame = _fitting(data, schema)
    columns = [_printed(frame, column) for column in schema.columns]
    _say_lost(schema, path, types=True)
    with atomic_write(path, "w") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(schema.names)
        writer.writerows(zip(*columns, strict=True))


def _printed(frame: Frame, column: Column) -> list[str]:
    if column.is_text:
        return _unicode(frame, column, ".csv")
    values, codes = numbers_of(frame, column.name)
    texts = _days(values, codes) if date_kind(column.format) == "d" else None
    if texts is None:
        texts = list(map(repr, values.tolist()))
        for row in np.flatnonzero((values == np.floor(values)) & (np.abs(values) < _PLAIN)):
            texts[row] = texts[row][:-2]
    for row in np.flatnonzero(codes >= 0):
        texts[row] = MISSING_CODES[codes[row]] if codes[row] else ""
    return texts


def _days(values: NDArray[np.float64], codes: NDArray[Any]) -> list[str] | None:
    """Days as 2021-03-05, which is read as the same number; None if one is no such day."""
    days = np.where(codes < 0, values, 0.0)
    if np.any((days != np.floor(days)) | (days < _DAYS[0]) | (days > _DAYS[1])):
        return None
    return [str(day) for day in days.astype(np.int64) + np.datetime64("1960-01-01", "D")]


def read_parquet(path: Path) -> tuple[pd.DataFrame, Schema]:
    """Read a .parquet file; companion columns ``<name>__missing`` become missing codes again."""
    arrow, parquet = arrow_of("reading .parquet")
    try:
        with disk.opened(path) as file:
            table = parquet.read_table(file)
    except (arrow.ArrowException, OSError):
        raise FileError(
            f"{path.name!r} is not a parquet file that can be read; check how it was made"
        ) from None
    data, schema = table_of_frame(table)
    companions = [
        name
        for name in schema.names
        if table.schema.field(name).type == arrow.int8() and _is_companion(name, data)
    ]
    for name in companions:
        _restore(data, name)
    kept = schema.select(name for name in schema.names if name not in companions)
    return data.drop(columns=companions), replace(kept, source=path)


def _is_companion(name: str, data: pd.DataFrame) -> bool:
    """Whether a column says exactly where and how another one is missing."""
    of = name.removesuffix(COMPANION)
    if of == name or of not in data or data[of].dtype != np.float64:
        return False
    numbers = data[name].to_numpy()
    legal = np.isin(numbers, np.arange(-1, len(MISSING_CODES)))
    return bool(np.all(legal & ((numbers >= 0) == np.isnan(data[of].to_numpy()))))


def _restore(data: pd.DataFrame, companion: str) -> None:
    name = companion.removesuffix(COMPANION)
    codes = data[companion].to_numpy().astype(np.int8)
    data[name] = np.where(codes < 0, data[name].to_numpy(), tagged(np.maximum(codes, 0)))


def write_parquet(data: IntoFrame, schema: Schema, path: Path) -> None:
    """Write a .parquet file; columns with ``.a`` to ``.z`` get a companion ``<name>__missing``.

    Notes
    -----
    byte, int and long are int8, int16 and int32 with nulls; float and double keep their width.
    Companions hold -1 for a number, 0 for ``.``, 1 to 26 for ``.a`` to ``.z``.
    """
    arrow, parquet = arrow_of("writing .parquet")
    frame = _fitting(data, schema)
    columns: dict[str, Any] = {}
    for column in schema.columns:
        columns |= _arrays(frame, column, schema, arrow)
    _say_lost(schema, path, types=False)
    with atomic_write(path) as file:
        parquet.write_table(arrow.table(columns), file)


def _arrays(frame: Frame, column: Column, schema: Schema, arrow: Any) -> dict[str, Any]:
    if column.is_text:
        return {column.name: arrow.array(_unicode(frame, column, ".parquet"), arrow.string())}
    values, codes = numbers_of(frame, column.name)
    plain = np.where(codes < 0, values, 0.0).astype(_DTYPES.get(column.type, "float64"))
    out = {column.name: arrow.array(plain, mask=codes >= 0)}
    if np.any(codes > 0):
        companion = column.name + COMPANION
        if companion in schema.names:
            raise SchemaError(
                f"column {companion!r} has the name that the missing codes of {column.name!r} "
                "need in a .parquet file; rename it"
            )
        out[companion] = arrow.array(codes, arrow.int8())
    return out


def arrow_of(purpose: str) -> tuple[Any, Any]:
    """Return pyarrow and its parquet module, or name the extra that brings them."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError:
        raise MissingDependencyError.extra("pyarrow", "engines", purpose) from None
    return pyarrow, pyarrow.parquet


def _fitting(data: IntoFrame, schema: Schema) -> Frame:
    """Return the data behind one interface, refusing what does not fit the storage types."""
    frame = eager(data)
    expected = set(schema.names)
    extra = [n for n in frame.columns if n not in expected and n.removesuffix(COMPANION) == n]
    if extra:
        raise ColumnError.unknown(extra[0], schema.names)
    for column in schema.columns:
        if broken := broken_rules(Column(column.name, column.type), frame):
            raise SchemaError(
                f"column {column.name!r} holds {broken[0]}; correct the data or the column's type"
            )
    return frame


def _unicode(frame: Frame, column: Column, extension: str) -> list[str]:
    cells = text_of(frame, column.name).tolist()
    texts = [cell for cell in cells if isinstance(cell, str) and _encodes(cell)]
    if len(texts) < len(cells):
        raise SchemaError(
            f"column {column.name!r} holds text that is not Unicode, which {extension} cannot "
            "keep; drop it or write .dta"
        )
    return texts


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _say_lost(schema: Schema, path: Path, *, types: bool) -> None:
    facts = {
        "storage types": types and any(c.type not in ("double", "strL") for c in schema.columns),
        "display formats": any(c.format for c in schema.columns),
        "variable labels": any(c.label for c in schema.columns),
        "value labels": bool(schema.file.value_labels),
        "the dataset label": bool(schema.file.label),
        "notes and characteristics": bool(schema.file.characteristics),
        "the sort order": bool(schema.file.sorted_by),
    }
    if lost := ", ".join(fact for fact, there in facts.items() if there):
        warnings.warn(
            f"{path.name!r} cannot keep {lost}; save the schema next to it, or write .dta",
            DprctWarning,
            stacklevel=5,  # the caller of dprct.io.write
        )


DELIMITERS = {".csv": ",", ".tab": "\t", ".tsv": "\t", ".txt": "\t"}
"""What separates cells, by extension."""

_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_MEANS = {"n": "\n", "r": "\r", "t": "\t"}


@dataclass(frozen=True)
class Cells:
    """The cells of a text table."""

    names: tuple[str, ...]
    # One per name, each with the cells from the first row to the last.
    columns: tuple[tuple[str, ...], ...]


def readings(path: Path) -> list[Cells]:
    r"""Readings of a text table: archives quote their texts in two ways.

    A ``.csv`` is separated by commas, ``.tab``, ``.tsv`` and ``.txt`` by tabs.  A first column
    without a name, the row numbers of R and pandas, is left out.

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
        with disk.opened(path) as file:
            text = file.read().decode("utf-8-sig")
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
            f"{path.name!r} is not a table: it needs a row of names, rows of equal length, and no "
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
