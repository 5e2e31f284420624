"""The schema: every public fact about a table, declared by its owner, dated and hashed."""

from __future__ import annotations

import datetime as dt
import difflib
import functools
import hashlib
import itertools
import json
import math
import numbers
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dprct.arguments import checked, given
from dprct.errors import ColumnError, SchemaError
from dprct.schema.columns import (
    BuiltFrom,
    Code,
    Column,
    Fate,
    FileFacts,
    Role,
    Unit,
    check_literal,
    check_missing_codes,
    number_limits,
    resolves,
    shown,
    with_origin,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd
    from narwhals.typing import IntoFrame


FREE_FATES = ("withheld", "key", "drop")
"""What a release may do with free text and with coordinates."""

MOST_BINS = 1 << 20


def declared(column: Column, fact: object) -> Column:
    """Return ``column`` with a declared fact.

    Parameters
    ----------
    column : Column
    fact : tuple, list or mapping
        A tuple is bounds, a list is levels, a mapping names facts of :class:`Column`.

    Raises
    ------
    SchemaError
        If the fact is unknown, malformed, or contradicts another.

    Examples
    --------
    >>> declared(Column("age", "byte"), {"bounds": [15, 80], "bins": 5}).bins
    5
    """
    if isinstance(fact, tuple):
        fact = {"bounds": fact}
    elif isinstance(fact, list):
        fact = {"levels": fact}
    if not isinstance(fact, Mapping):
        raise SchemaError(
            f"column {column.name!r}: declared as ``{type(fact).__name__}``; give ``a tuple`` "
            "(bounds), a list (levels) or ``a dict`` of facts"
        )
    changes: dict[str, Any] = {}
    for key, value in fact.items():
        if key not in _READERS:
            raise SchemaError(_unknown(key, column.name))
        changes[key] = _READERS[key](value, column)
    new = replace(column, **changes)
    check_column(new)
    return new


def check_column(column: Column) -> None:
    """Refuse a column whose facts contradict each other.

    Raises
    ------
    SchemaError
    """
    if column.is_text:
        _check_text(column)
    else:
        _check_numbers(column)
    if column.locates and column.fate not in (None, *FREE_FATES):
        raise SchemaError(
            f"column {column.name!r} holds coordinates and cannot be {column.fate!r}; "
            f"allowed: {', '.join(FREE_FATES)}, or declare ``coordinates=false``"
        )
    if column.derived is not None and column.fate not in (None, "modelled"):
        raise SchemaError(
            f"column {column.name!r} is derived and {column.fate!r}; a derived column is "
            "recomputed from its parents, so leave its fate out"
        )


def _check_text(column: Column) -> None:
    unfit = [name for name in ("bounds", "bins", "decimals") if getattr(column, name) is not None]
    if unfit:
        raise SchemaError(
            f"column {column.name!r} holds text and cannot have {', '.join(unfit)}; give levels"
        )
    if column.missing:
        raise SchemaError(
            f"column {column.name!r} holds text, which has no missing codes; declare "
            "``missing='never'`` and, if it may be empty, the level ''"
        )
    if column.levels is None and column.fate not in (None, "public", *FREE_FATES):
        raise SchemaError(
            f"column {column.name!r} is free text and cannot be {column.fate!r}; "
            f"allowed: {', '.join(FREE_FATES)}, or declare its levels"
        )
    if column.type == "strL" and column.fate == "public":
        raise SchemaError(
            f"column {column.name!r} is strL and cannot be 'public'; "
            f"allowed: {', '.join(FREE_FATES)}, or modelled with its levels; an arm or a block is "
            "public as numbers (0/1, or codes with value labels)"
        )


def _check_numbers(column: Column) -> None:
    low, high = column.bounds if column.bounds is not None else (-math.inf, math.inf)
    levels = [float(level) for level in column.levels or ()]
    _check_storage(column, [*levels, *(column.bounds or ())])
    if any(not low <= level <= high for level in levels):
        raise SchemaError(f"column {column.name!r}: a level lies outside the bounds; mend one")
    if isinstance(column.bins, tuple):
        edges = (low, *column.bins, high)
        if any(a >= b for a, b in itertools.pairwise(edges)):
            raise SchemaError(
                f"column {column.name!r}: bins must be increasing and strictly within the bounds"
            )
    if column.type == "float" and len(set(map(_single, levels))) < len(levels):
        raise SchemaError(
            f"column {column.name!r}: type float does not tell two of the levels apart; mend one"
        )
    _check_step(column)
    if column.bins is not None and column.levels is not None:
        raise SchemaError(f"column {column.name!r} has bins and levels; give one of them")


def _check_step(column: Column) -> None:
    step, storage = column.step, column.type
    if step is None:
        return
    if column.bounds is not None and not resolves(storage, max(map(abs, column.bounds)), step):
        what = "whole numbers" if column.is_integer else f"{column.decimals} decimals"
        raise SchemaError(
            f"column {column.name!r}: type {storage} does not tell {what} apart up to these "
            "bounds; narrow the bounds, or leave integer and decimals out"
        )
    levels = [x for x in column.levels or () if isinstance(x, float)]
    if any((Fraction(repr(level)) / step).denominator > 1 for level in levels):
        raise SchemaError(
            f"column {column.name!r}: a level has more than {column.decimals} decimals; mend one"
        )


def _check_storage(column: Column, facts: Sequence[float]) -> None:
    if column.is_integer and any(x != math.floor(x) for x in facts):
        raise SchemaError(
            f"column {column.name!r} holds whole numbers; give whole bounds and levels"
        )
    low, high = number_limits(column.type)
    if any(not low <= x <= high for x in facts):
        raise SchemaError(
            f"column {column.name!r}: type {column.type} holds {low:g} to {high:g}; "
            "give bounds and levels within"
        )


def _single(number: float) -> bytes:
    """Return the four bytes that a float column keeps of a number."""
    return struct.pack("<f", number)


def _number(value: object, column: Column, fact: str) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise SchemaError(
            f"column {column.name!r}: {fact} must be numbers; got ``{type(value).__name__}``"
            + _as_number(column.format)
        )
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise SchemaError(f"column {column.name!r}: {fact} must be finite; got {number}")
    return number + 0.0  # no negative zero: it would be another fact than zero


def _as_number(display: str) -> str:
    """Return how a date is given as a number, for a column that is displayed as one."""
    if display.startswith(("%td", "%d", "%-td")):
        return "; give a date as its days since 1 January 1960"
    if display.startswith(("%tc", "%-tc")):
        return "; give a time as its milliseconds since 1 January 1960"
    return ""


def _bounds(value: object, column: Column) -> tuple[float, float]:
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise SchemaError(
            f"column {column.name!r}: bounds are ``(low, high)``; got {_length(value)}"
        )
    low, high = (_number(x, column, "bounds") for x in value)
    if low >= high:
        raise SchemaError(
            f"column {column.name!r}: bounds ({low:g}, {high:g}) are reversed or empty; "
            "give ``(low, high)`` with low < high"
        )
    return low, high


def _levels(value: object, column: Column) -> tuple[float | str, ...]:
    if not isinstance(value, (tuple, list)) or not value:
        raise SchemaError(f"column {column.name!r}: levels are a list of at least one value")
    if column.is_text:
        if not all(isinstance(level, str) for level in value):
            raise SchemaError(f"column {column.name!r} holds text; its levels must be text")
        found: list[float | str] = [str(level) for level in value]
    else:
        found = sorted(_number(level, column, "levels") for level in value)
    if len(set(found)) < len(found):
        raise SchemaError(f"column {column.name!r}: a level is given twice; give each once")
    return tuple(found)


def _bins(value: object, column: Column) -> int | tuple[float, ...]:
    if isinstance(value, (tuple, list)) and value:
        return tuple(_number(edge, column, "bins") for edge in value)
    number = _whole(value)
    if number is None or not 1 <= number <= MOST_BINS:
        raise SchemaError(
            f"column {column.name!r}: ``bins={given(value)}``; give a number of bins from 1 to "
            f"{MOST_BINS}, or a list of the inner edges"
        )
    return number


def _decimals(value: object, column: Column) -> int:
    number = _whole(value)
    if number is None or not 0 <= number <= 15:
        raise SchemaError(f"column {column.name!r}: ``decimals={given(value)}``; give 0 to 15")
    return number


def _whole(value: object) -> int | None:
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    return int(value) if whole else None  # type: ignore[call-overload]


def _length(value: object) -> str:
    kind = type(value).__name__
    return f"a {kind} of {len(value)}" if isinstance(value, (tuple, list)) else kind


def _flag(fact: str) -> Callable[[object, Column], bool]:
    def read(value: object, column: Column) -> bool:
        if not isinstance(value, bool):
            raise SchemaError(
                f"column {column.name!r}: ``{fact}={given(value)}``; give true or false"
            )
        return value

    return read


def _text(fact: str) -> Callable[[object, Column], str]:
    def read(value: object, column: Column) -> str:
        if not isinstance(value, str):
            raise SchemaError(
                f"column {column.name!r}: {fact} must be text; got ``{given(value)}``"
            )
        return value

    return read


def _choice(fact: str, kind: object) -> Callable[[object, Column], object]:
    def read(value: object, column: Column) -> object:
        check_literal(value, kind, fact, column.name)
        return value

    return read


_READERS: dict[str, Callable[[Any, Column], Any]] = {
    "bounds": _bounds,
    "levels": _levels,
    "bins": _bins,
    "decimals": _decimals,
    "integer": _flag("integer"),
    "missing": lambda value, column: check_missing_codes(value, column.name),
    "fate": _choice("fate", Fate),
    "role": _choice("role", Role),
    "exclusive": _text("exclusive"),
    "built_from": _choice("built_from", BuiltFrom),
    "constants_public": _flag("constants_public"),
    "coordinates": _flag("coordinates"),
    "confirmed": _flag("confirmed"),
    "derived": _text("derived"),
    "label": _text("label"),
    "format": _text("format"),
}

DECLARABLE = tuple(_READERS)
"""Names of the facts that :func:`declared` takes."""


def _unknown(key: object, name: str) -> str:
    close = difflib.get_close_matches(str(key), DECLARABLE, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"allowed: {', '.join(DECLARABLE)}"
    return f"column {name!r}: unknown fact {key!r}; {hint}"


@dataclass(frozen=True, slots=True)
class Seal:
    """When the public facts were fixed, and what they were.

    Parameters
    ----------
    at : str
        Time in UTC, ISO 8601.
    sha256 : str
        Hash of every public fact.
    before_opening : bool
        Whether the facts were fixed before the data section was read.
    by : str
        Who declared the facts; empty where nobody was named.
    """

    at: str
    sha256: str
    before_opening: bool
    by: str = ""

    def __str__(self) -> str:
        when = "before the data were read" if self.before_opening else "sealed after opening"
        who = "".join(c if c.isprintable() else " " for c in shown(self.by)).strip()
        who = who or "somebody unnamed"
        return f"schema {self.sha256[:16]} declared by {who} on {self.at}, {when}"


@dataclass(frozen=True)
class Schema:
    """The public facts of a table. Private methods take public facts from here and nowhere else.

    Parameters
    ----------
    columns : tuple of Column
        The columns in the order of the file.
    file : FileFacts
        Label sets, data set label, sort order and other facts of the file.
    dataset_id : str or None
        Name under which privacy charges are recorded; the same for every version of the data.
    unit : Unit
        Who one record is.
    seal_of : Seal or None
        Set by :meth:`seal`.
    opened : bool
        Whether the data section was read before the facts were sealed.
    source : Path or None
        The file that was read, if there is one; never written anywhere.
    sample : str
        Which rows of a larger file the table holds, as a condition on public columns; empty where
        it holds all.  A release refuses a table with other rows.

    Examples
    --------
    >>> schema = Schema((Column("age", "byte"), Column("got", "byte")))
    >>> schema = schema.declare(age=(15, 80), got=[0, 1])
    >>> schema.column("age").bounds
    (15.0, 80.0)
    """

    columns: tuple[Column, ...]
    file: FileFacts = field(default_factory=FileFacts)
    dataset_id: str | None = None
    unit: Unit = field(default_factory=Unit)
    seal_of: Seal | None = None
    opened: bool = False
    source: Path | None = field(default=None, compare=False, repr=False)
    sample: str = ""

    def __post_init__(self) -> None:
        listed = isinstance(self.columns, (tuple, list))
        if not listed or not all(isinstance(column, Column) for column in self.columns):
            raise SchemaError(
                "``columns=`` of a schema is not ``a tuple`` of columns; give one, such "
                "as schema.columns"
            )
        if len(set(self.names)) < len(self.columns):
            twice = sorted({name for name in self.names if self.names.count(name) > 1})
            raise SchemaError(
                f"columns named twice: {', '.join(twice)}; give every column its own name"
            )

    @property
    def names(self) -> list[str]:
        """Names of the columns, in order."""
        return [column.name for column in self.columns]

    @checked
    def column(self, name: str) -> Column:
        """Return the column called ``name``; a derived one inherits how its parents were built.

        Raises
        ------
        ColumnError
            If there is none; the message suggests the closest name.
        FormulaError
            If it is derived, and its definition is not an expression.
        """
        return with_origin(self._as_declared(name), self.columns)

    def _as_declared(self, name: str) -> Column:
        try:
            return self._by_name[name]
        except (KeyError, TypeError):
            raise ColumnError.unknown(name, self.names) from None

    @functools.cached_property
    def _by_name(self) -> dict[str, Column]:
        return {column.name: column for column in self.columns}

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_by_name"}

    @checked
    def labels_of(self, name: str) -> Mapping[Code, str]:
        """Return the value labels attached to a column (empty where there are none)."""
        attached = self.column(name).value_label
        return self.file.value_labels.get(attached, {}) if attached else {}

    @checked
    def with_columns(self, columns: Iterable[Column]) -> Schema:
        """Return the schema with these columns instead of those of the same name.

        The seal stays valid as long as no public fact changes.
        """
        new = {column.name: column for column in columns}
        unknown = [name for name in new if name not in self._by_name]
        if unknown:
            raise ColumnError.unknown(unknown[0], self.names)
        return self._changed(columns=tuple(new.get(c.name, c) for c in self.columns))

    @checked
    def select(self, names: Iterable[str]) -> Schema:
        """Return the schema of these columns only, in this order."""
        return self._changed(columns=tuple(self.column(n) for n in names))

    @checked
    def declare(
        self,
        *,
        dataset_id: str | None = None,
        unit: Unit | None = None,
        confirm_header: bool = False,
        **facts: object,
    ) -> Schema:
        """Return the schema with public facts added, which must not come from the data.

        Parameters
        ----------
        dataset_id : str, optional
            Name under which privacy charges of this data set are recorded.
        unit : Unit, optional
            Who one record is.
        confirm_header : bool
            Whether to confirm that all facts of the file's header (types, formats, labels) are
            public.
        **facts
            One entry per column: a tuple is bounds, a list is levels, a dict names facts of
            :class:`Column` (``dict(bounds=(15, 80), bins=5, missing=["."])``).

        Raises
        ------
        ColumnError
            For an unknown column.
        SchemaError
            For an unknown or contradictory fact.
        """
        new = [declared(self._as_declared(name), fact) for name, fact in facts.items()]
        schema = self.with_columns(new)
        if confirm_header:
            schema = schema.with_columns([replace(c, confirmed=True) for c in schema.columns])
        return schema._changed(
            dataset_id=self.dataset_id if dataset_id is None else dataset_id,
            unit=self.unit if unit is None else unit,
        )

    @checked
    def declare_rest(self, fate: Fate) -> Schema:
        """Return the schema in which every column without a fate gets this one.

        Examples
        --------
        >>> schema = Schema((Column("got", "byte"), Column("diary", "strL")))
        >>> schema.declare_rest("withheld").column("diary").fate
        'withheld'
        """
        rest = [c for c in self.columns if c.fate is None and c.derived is None]
        return self.with_columns([declared(c, {"fate": fate}) for c in rest])

    def digest(self) -> str:
        """Return the SHA-256 of every public fact."""
        return hashlib.sha256(
            json.dumps(self._facts(), sort_keys=True, ensure_ascii=True).encode("ascii")
        ).hexdigest()

    def seal(self, by: str = "") -> Schema:
        """Return the schema with a date and a hash. Seal it before the data are read.

        A sealed, unchanged schema keeps its date, unless another person declares it.

        Parameters
        ----------
        by : str
            Who declares the public facts; certificates name them.
        """
        seal = self.seal_of
        if seal is not None and seal.sha256 == self.digest() and by in ("", seal.by):
            return self
        now = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
        return replace(self, seal_of=Seal(now, self.digest(), not self.opened, by))

    def unsealed(self) -> Schema:
        """Return the schema without its seal."""
        return replace(self, seal_of=None)

    def as_opened(self) -> Schema:
        """Return the schema, marked as one whose data were read; an existing seal stays."""
        return replace(self, opened=True)

    def seal_beside_data(self) -> Schema:
        """Return the schema, sealed now if it was not yet; every model keeps this one.

        An existing seal stays, because only a seal from before the data were read can prove its
        date.
        """
        return self.as_opened().seal()

    def _changed(self, **changes: Any) -> Schema:
        new = replace(self, **changes)
        stands = new.seal_of is None or new.seal_of.sha256 == new.digest()
        return new if stands else new.unsealed()

    def _facts(self) -> dict[str, Any]:
        columns = [
            {f.name: _plain(getattr(column, f.name)) for f in fields(column)}
            for column in self.columns
        ]
        file = self.file
        return {
            "columns": columns,
            "release": file.release,
            "label": file.label,
            "sorted_by": file.sorted_by,
            "value_labels": {
                name: {str(code): text for code, text in labels.items()}
                for name, labels in file.value_labels.items()
            },
            "characteristics": file.characteristics,
            "rows": file.rows,
            "dataset_id": self.dataset_id,
            "unit": [self.unit.name, self.unit.id, self.unit.max_rows],
            **({"sample": self.sample} if self.sample else {}),
        }

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        rows = "" if self.file.rows is None else f"{self.file.rows} rows, "
        seal = "not sealed" if self.seal_of is None else str(self.seal_of)
        lines = [f"{rows}{len(self.columns)} columns; one record is one {self.unit.name}; {seal}"]
        width = max((len(name) for name in self.names), default=0)
        fates = max((len(c.fate) + 2 for c in self.columns if c.fate), default=0)
        lines += [
            f"  {c.name:<{width}}  {c.type:<8}{c.fate or '':<{fates}}{shown(c.label)}".rstrip()
            for c in self.columns
        ]
        return "\n".join(lines)

    @classmethod
    @checked
    def from_dta(cls, path: str | Path) -> Schema:
        """Return the schema of a .dta file's header and labels; the data are not read.

        See :func:`dprct.io.stata.read_header`.
        """
        from dprct.io.stata import read_header

        return read_header(path)

    @classmethod
    def from_frame(cls, frame: IntoFrame) -> Schema:
        """Return a schema with the names and types of a data frame's columns; values are not used.

        If the frame has dates or categoricals, its values must be turned into codes and numbers,
        too: :func:`dprct.schema.frames.table_of_frame` returns both.
        """
        from dprct.schema.frames import schema_of_frame

        return schema_of_frame(frame)

    @classmethod
    @checked
    def load(cls, path: str | Path) -> Schema:
        """Return the schema that a TOML file describes; see :func:`dprct.schema.toml.load`."""
        from dprct.schema.toml import load

        return load(path)

    @checked
    def save(self, path: str | Path) -> None:
        """Write the schema as a TOML file, to be read and edited by people."""
        from dprct.disk import atomic_write
        from dprct.schema.toml import text_for

        text = text_for(self, Path(path))
        with atomic_write(path, mode="wb") as file:
            file.write(text)

    def validate(self, data: IntoFrame) -> None:
        """Raise if data are not legal in this schema; no value is shown."""
        from dprct.schema.tables import validate

        validate(self, data)

    @checked
    def decode(self, data: pd.DataFrame) -> pd.DataFrame:
        """Return a view of the data with categories for labelled codes and dates for dates."""
        from dprct.schema.frames import decode

        return decode(self, data)


def _plain(fact: object) -> object:
    """Return a fact such that 15 and 15.0 have one hash, for a bound or a level is a number."""
    if isinstance(fact, tuple):
        return [x if isinstance(x, str) else float(x) for x in fact]
    return fact


def check_schema(schema: object) -> None:
    """Refuse what is no schema.

    Raises
    ------
    SchemaError

    Examples
    --------
    >>> check_schema(Schema(()))
    """
    if not isinstance(schema, Schema):
        raise SchemaError(
            f"schema is ``{type(schema).__name__}``; give a ``dprct.Schema``, such as "
            "``dprct.read`` returns with the data"
        )
