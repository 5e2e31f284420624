"""From synthetic columns to a whole file: keys, fillers, and outcomes drawn within their bins.

Nothing here is private: the input is released or public.
"""

from __future__ import annotations

import math
import string
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.encoding import Encoding, encoding
from dprct.errors import ColumnError, SchemaError
from dprct.missing import missing_numbers, tagged
from dprct.records import dataclass
from dprct.results.covariance import blocks
from dprct.schema.columns import Code, Column, Unit, rebounded, stored
from dprct.schema.expressions import evaluate, parents
from dprct.schema.facts import FLOAT_LIMITS, INTEGER_LIMITS, text_width
from dprct.schema.tables import NumPyTable, numbers_of, text_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from dprct.encoding import Coded
    from dprct.schema.schema import Schema
    from dprct.schema.tables import Frame

    Array = NDArray[np.float64]
    Codes = NDArray[np.int64]


_SIGNS = string.digits + string.ascii_lowercase
_TEN, _ALL = len(string.digits), len(_SIGNS)
_WIDEST = 12

LIMIT = (
    "keys are fresh in every file: rows of two released files that match by a key are not the "
    "same people, and what was merged shows no relation between the files"
)
"""What a file with keys is not good for."""


def repeats(schema: Schema) -> bool:
    """Whether the key of a unit may stand in several rows, as in a panel."""
    unit = schema.unit
    return unit.id is not None and unit.max_rows > 1 and schema.column(unit.id).fate == "key"


def key_limits(schema: Schema) -> tuple[str, ...]:
    """Limits of a release of the schema because its keys are fresh."""
    return (LIMIT,) if any(column.fate == "key" for column in schema.columns) else ()


def check_keys(schema: Schema, rows: int) -> None:
    """Refuse a key whose storage type has too few keys for so many rows.

    Of a key that repeats, the fewest units that the rows can belong to are counted: how many there
    are is known when the data are there (:func:`unit_rows`).
    """
    for column in schema.columns:
        if column.fate == "key" and column.derived is None:
            again = repeats(schema) and column.name == schema.unit.id
            _check_space(column, -(-rows // schema.unit.max_rows) if again else rows)


def unit_rows(schema: Schema, frame: Frame | NumPyTable) -> NDArray[np.int64] | None:
    """A number of its unit for every row, from 0; None where keys do not repeat.

    Notes
    -----
    Which rows belong together is public, because an id that repeats was declared
    (``Unit(id, max_rows)``) and the guarantee lists it.  The ids themselves are not: the numbers
    follow the order of the rows and stay in the process until keys are drawn for them.
    """
    name = schema.unit.id
    if name is None or not repeats(schema):
        return None
    column = schema.column(name)
    ids = text_of(frame, name) if column.is_text else numbers_of(frame, name)[0]
    seen: dict[Any, int] = {}
    units = np.array([seen.setdefault(one, len(seen)) for one in ids.tolist()], np.int64)
    _check_space(column, len(seen))
    return units


def fresh_keys(column: Column, count: int, rng: np.random.Generator) -> NDArray[Any]:
    """The first ``count`` keys of the column's pool, every order equally likely.

    They are float64, or text: digits, padded with zeros to the width of the column (at most 12),
    and once these are used up with letters among them.

    Notes
    -----
    A function of public facts and of a random permutation.

    Examples
    --------
    >>> from dprct.schema import Column
    >>> rng = np.random.default_rng(1)
    >>> sorted(fresh_keys(Column("hhid", "str4"), 3, rng).tolist())
    ['0001', '0002', '0003']
    """
    numbers = rng.permutation(count) + 1
    if not column.is_text:
        return numbers.astype(np.float64)
    width = _width(column)
    return np.array([_text_key(int(k), width) for k in numbers], dtype=object)


def relabelled(column: Column, units: NDArray[np.int64], rng: np.random.Generator) -> NDArray[Any]:
    """The key of every row's unit, of :func:`unit_rows`: a bijection of the units, drawn uniformly.

    Notes
    -----
    Any numbering of the same units gives keys of the same law, so nothing of the ids is left but
    which rows belong together.

    Examples
    --------
    >>> from dprct.schema import Column
    >>> keys = relabelled(Column("id", "int"), np.array([0, 0, 1]), np.random.default_rng(1))
    >>> bool(keys[0] == keys[1] != keys[2])
    True
    """
    return fresh_keys(column, len(set(units.tolist())), rng)[units]


def _check_space(column: Column, count: int) -> None:
    if _space(column) < count:
        raise SchemaError(
            f"column {column.name!r}: type {column.type} cannot hold {count} distinct keys; "
            "withhold or drop it"
        )


def _space(column: Column) -> int:
    """How many keys the pool of the column has."""
    if column.is_text:
        return int(_ALL ** _width(column))
    if column.type in INTEGER_LIMITS:
        return INTEGER_LIMITS[column.type][1]
    return 1 << (24 if column.type == "float" else 53)


def _width(column: Column) -> int:
    return min(text_width(column.type) or _WIDEST, _WIDEST)


def _text_key(k: int, width: int) -> str:
    """Return the k-th text of a width: digits first, then those with a letter, zeros last."""
    if k < _TEN**width:
        return str(k).zfill(width)
    if k < _ALL**width:
        return _with_letter(k - _TEN**width, width)
    return "0" * width


def _with_letter(k: int, width: int) -> str:
    """Return the k-th text, from 0, with at least one letter in it."""
    behind_digit = _ALL ** (width - 1) - _TEN ** (width - 1)
    if k < _TEN * behind_digit:
        digit, rest = divmod(k, behind_digit)
        return _SIGNS[digit] + _with_letter(rest, width - 1)
    letter, rest = divmod(k - _TEN * behind_digit, _ALL ** (width - 1))
    tail = ""
    for _ in range(width - 1):
        rest, sign = divmod(rest, _ALL)
        tail = _SIGNS[sign] + tail
    return _SIGNS[_TEN + letter] + tail


_MOST_VALUES = 1 << 53


def check_fates(schema: Schema, rows: int) -> None:
    """Refuse a schema in which the fate of a column is open or cannot be carried out."""
    open_ones = [c.name for c in schema.columns if c.fate is None and c.derived is None]
    if open_ones:
        raise SchemaError(
            f"no fate declared for: {', '.join(open_ones)}; declare modelled, filler, withheld, "
            "key, public or drop for each (or, once the columns of the model have "
            "theirs, ``schema.declare_rest('withheld')`` for the rest)"
        )
    for column in schema.columns:
        if column.derived is not None:
            _check_parents(column, schema)
        elif column.fate == "filler":
            _filler_encoding(column)
    _check_groups(schema)
    check_keys(schema, rows)


def _check_groups(schema: Schema) -> None:
    """Refuse an exclusive group that is neither modelled nor public: rows could be in several."""
    groups: dict[str, set[str | None]] = {}
    for column in schema.columns:
        if column.exclusive is not None and column.fate in ("modelled", "public", "filler"):
            groups.setdefault(column.exclusive, set()).add(column.fate)
    for group, fates in groups.items():
        if fates not in ({"modelled"}, {"public"}):
            raise SchemaError(
                f"the exclusive group {group!r} has columns whose fate is "
                f"{' or '.join(sorted(map(str, fates)))}, so that a row could be in several of "
                "them; model all of them, or make all public"
            )


def assembled(
    schema: Schema,
    modelled: Mapping[str, NDArray[Any]],
    public: Mapping[str, NDArray[Any]],
    rows: int,
    rng: np.random.Generator,
    units: NDArray[np.int64] | None = None,
    given: Mapping[str, NDArray[Any]] | None = None,
) -> NumPyTable:
    """The protected table: every column of the schema by its fate, rows sorted.

    ``rng`` serves filler and keys, which are functions of public facts only; ``units`` are those of
    :func:`unit_rows`.  Columns that are ``given`` were made before and stay as they are, whatever
    their fate; derived ones are computed again.

    Notes
    -----
    Public columns and ``units`` are shuffled first, together: a file that lies in the order of a
    confidential column would otherwise tell it, row by row, of whoever the public columns name.
    """
    if public or units is not None:
        order = rng.permutation(rows)
        units = None if units is None else units[order]
        public = {name: values[order] for name, values in public.items()}
    given = given or {}
    known: dict[str, NDArray[Any]] = {}
    for column in schema.columns:
        if units is not None and column.name == schema.unit.id:
            known[column.name] = relabelled(column, units, rng)
        elif column.derived is None and column.fate != "drop":
            made = given.get(column.name)
            known[column.name] = (
                _filled(column, modelled, public, rows, rng) if made is None else made
            )
    for column in _in_order(schema):
        known[column.name] = _derived(column, known)
    kept = {c.name: known[c.name] for c in schema.columns if c.fate != "drop"}
    return NumPyTable(sorted_rows(kept, released_schema(schema)), rows)


def released_schema(schema: Schema) -> Schema:
    """Return the schema of the protected file: no dropped column, a sort order that holds."""
    kept = [column.name for column in schema.columns if column.fate != "drop"]
    order: list[str] = []
    for name in schema.file.sorted_by:
        if name not in kept:
            break
        order.append(name)
    return replace(
        schema,
        columns=tuple(_released_column(schema.column(name)) for name in kept),
        file=replace(
            schema.file, sorted_by=tuple(order), value_labels=_released_label_sets(schema)
        ),
        unit=_released_unit(schema),
        source=None,
        sample="",
    )


def _released_column(column: Column) -> Column:
    """Return the column with facts that hold for the values that its fate gives it."""
    if column.fate == "key":
        return rebounded(column, None, levels=None, bins=None, decimals=None)
    if column.fate != "withheld" and column.derived is None:
        return column
    if column.is_text:
        levels = column.levels
        return replace(column, levels=levels if not levels or "" in levels else ("", *levels))
    missing = column.missing
    return replace(
        column, missing=missing if missing is None or "." in missing else (".", *missing)
    )


def _released_label_sets(schema: Schema) -> Mapping[str, Mapping[Code, str]]:
    """Return all label sets but those that only dropped columns use."""
    used = {c.value_label for c in schema.columns if c.fate != "drop"}
    gone = {c.value_label for c in schema.columns if c.fate == "drop"} - used
    return {name: labels for name, labels in schema.file.value_labels.items() if name not in gone}


def _released_unit(schema: Schema) -> Unit:
    """Identity of one record; an id identifies it no longer unless it is fresh or public."""
    unit = schema.unit
    fate = None if unit.id is None else schema.column(unit.id).fate
    return unit if fate in ("public", "key") else Unit(unit.name)


def sorted_rows(columns: Mapping[str, NDArray[Any]], schema: Schema) -> Mapping[str, NDArray[Any]]:
    """Return the rows in the order that the file's sort flag promises (missing last, . to .z)."""
    keys: list[NDArray[Any]] = []
    for name in schema.file.sorted_by:
        values = columns[name]
        if schema.column(name).is_text:
            as_bytes = [v if isinstance(v, bytes) else v.encode("utf-8", "surrogateescape")
                        for v in values]  # fmt: skip
            keys.append(np.unique(np.array(as_bytes, dtype=object), return_inverse=True)[1])
        else:
            keys += [missing_numbers(values), np.where(np.isnan(values), 0.0, values)]
    if not keys:
        return columns
    order = np.lexsort(keys[::-1])
    return {name: values[order] for name, values in columns.items()}


class Packed(Mapping[str, "NDArray[Any]"]):
    """Columns (n,), each in the shortest whole numbers that give it back to the bit, if any do.

    Such a column is made anew whenever it is asked for.  Few texts are numbered.

    Examples
    --------
    >>> columns = Packed({"t": np.array([0.0, 1.0]), "y": np.array([0.5, np.nan])})
    >>> columns["t"].tolist(), columns.taken(np.array([1, 1]))["t"].tolist()
    ([0.0, 1.0], [1.0, 1.0])
    """

    def __init__(self, columns: Mapping[str, NDArray[Any]]) -> None:
        held: Mapping[str, NDArray[Any]]
        held = columns._held if isinstance(columns, Packed) else columns
        self._held: dict[str, NDArray[Any]] = {n: _packed(values) for n, values in held.items()}
        self._texts: dict[str, NDArray[Any]] = {}
        if isinstance(columns, Packed):
            self._texts = columns._texts
            return
        for name, values in held.items():
            if values.dtype == object and (found := _numbered(values)) is not None:
                self._held[name], self._texts[name] = found

    def __getitem__(self, name: str) -> NDArray[Any]:
        values = self._held[name]
        if name in self._texts:
            texts: NDArray[Any] = self._texts[name][values]
            return texts
        return values.astype(np.float64) if values.dtype in _SHORT else values

    def __iter__(self) -> Iterator[str]:
        return iter(self._held)

    def __len__(self) -> int:
        return len(self._held)

    def with_others(self, columns: Mapping[str, NDArray[Any]]) -> Packed:
        """Return these columns and others, which replace those of their names."""
        found = Packed(columns)
        kept = {n: texts for n, texts in self._texts.items() if n not in found._held}
        found._texts = {**kept, **found._texts}
        found._held = {**self._held, **found._held}
        return found

    def taken(self, order: NDArray[np.int64]) -> Packed:
        """Return the columns with their rows in an order."""
        found = Packed({})
        found._held = {name: values[order] for name, values in self._held.items()}
        found._texts = self._texts
        return found


_SHORT = (np.int8, np.int16, np.int32)
_FEW_TEXTS = 1 << 10


def _numbered(texts: NDArray[Any]) -> tuple[NDArray[np.int16], NDArray[Any]] | None:
    """Return numbers of texts and the texts, told apart as Python does, where these are few."""
    known: dict[Any, int] = {}
    codes = np.empty(len(texts), np.int16)
    for rows in blocks(len(texts)):
        found = [known.setdefault(text, len(known)) for text in texts[rows]]
        if len(known) > _FEW_TEXTS or not all(isinstance(text, (str, bytes)) for text in known):
            return None
        codes[rows] = found
    of_codes = np.empty(len(known), object)
    of_codes[:] = list(known)
    return codes, of_codes


def _packed(values: NDArray[Any]) -> NDArray[Any]:
    """Return float64 as whole numbers of 8, 16 or 32 bits that are equal to the bit, or as is."""
    if values.dtype != np.float64:
        return values
    for kind in _SHORT:
        found = np.empty(len(values), kind)
        if all(_same_bits(values[rows], found[rows]) for rows in blocks(len(values))):
            return found
    return values


def _same_bits(values: Array, found: NDArray[Any]) -> bool:
    """Write values as whole numbers, and return whether these are the same to the bit."""
    with np.errstate(invalid="ignore"):  # what is none is refused by its bits
        found[:] = values
    return found.astype(np.float64).tobytes() == values.tobytes()


def own(column: pd.Series[Any]) -> NDArray[Any]:
    """The values (n,) of a column of a frame that nobody else has, to be changed by who gets them.

    Views of a frame are read-only, and who has the released one may change it.
    """
    values = column.to_numpy()
    values.flags.writeable = True
    return values


def _filled(
    column: Column,
    modelled: Mapping[str, NDArray[Any]],
    public: Mapping[str, NDArray[Any]],
    rows: int,
    rng: np.random.Generator,
) -> NDArray[Any]:
    match column.fate:
        case "modelled":
            return modelled[column.name]
        case "public":
            return public[column.name]
        case "filler":
            return _filler(column, rows, rng)
        case "key":
            return fresh_keys(column, rows, rng)
    if column.is_text:
        return np.full(rows, "", dtype=object)
    return tagged(np.zeros(rows))


def _filler_encoding(column: Column) -> Encoding:
    """One bin over a continuous domain: filler is uniform, whatever bins are declared.

    Nothing of the data enters, so it does not matter who a value was built from.
    """
    return encoding(replace(column, bins=None, built_from="own"), default_bins=1)


def _filler(column: Column, rows: int, rng: np.random.Generator) -> NDArray[Any]:
    """Return uniform draws: every admissible number and missing code has the same chance."""
    found = _filler_encoding(column)
    regular = len(found.cells)
    low, high = found.cells[0][0], found.cells[-1][-1]
    if len(found.cells[0]) == 1:
        values = regular
    elif found.step is not None:
        values = min(round((high - low) / float(found.step)) + 1, _MOST_VALUES)
    else:
        return np.asarray(found.decode(np.zeros(rows, np.int64), rng))
    drawn = rng.integers(0, values + len(found.missing), rows)
    codes = np.where(drawn < values, np.minimum(drawn, regular - 1), drawn - values + regular)
    return np.asarray(found.decode(codes, rng))


def _check_parents(column: Column, schema: Schema) -> None:
    if column.is_text:
        raise SchemaError(f"column {column.name!r} is derived and text; only numbers are derived")
    assert column.derived is not None
    for name in sorted(parents(column.derived)):
        if name not in schema.names:
            raise ColumnError.unknown(name, schema.names)
        parent = schema.column(name)
        if parent.is_text or (parent.derived is None and parent.fate not in ("modelled", "public")):
            raise SchemaError(
                f"column {column.name!r} is derived from {name!r}, which is not a modelled or "
                "public number; derive it from such columns"
            )
    if not parents(column.derived):
        raise SchemaError(f"column {column.name!r}: ``derived={column.derived!r}`` names no column")
    _in_order(schema)


def _in_order(schema: Schema) -> list[Column]:
    """Return the derived columns, every parent before its children."""
    waiting = {c.name: c for c in schema.columns if c.derived is not None}
    order: list[Column] = []
    while waiting:
        ready = [c for c in waiting.values() if c.derived and not parents(c.derived) & set(waiting)]
        if not ready:
            raise SchemaError(f"derived columns form a circle: {', '.join(sorted(waiting))}")
        order += ready
        for column in ready:
            del waiting[column.name]
    return order


def _derived(column: Column, known: Mapping[str, NDArray[Any]]) -> NDArray[np.float64]:
    """Evaluate on released values, then make legal: what the column cannot hold is missing."""
    assert column.derived is not None
    numeric = {name: np.asarray(known[name], np.float64) for name in parents(column.derived)}
    value = evaluate(column.derived, numeric)
    defined = ~np.isnan(value)
    value = np.where(defined, value, 0.0)
    if column.is_integer or column.decimals is not None:
        value = np.round(value, 0 if column.is_integer else column.decimals or 0)
    low, high = INTEGER_LIMITS.get(column.type) or (
        -FLOAT_LIMITS[column.type],
        FLOAT_LIMITS[column.type],
    )
    legal = defined & (value >= low) & (value <= high)
    value = stored(column, np.where(legal, value, 0.0))
    if column.bounds is not None:
        first, last = stored(column, np.array(column.bounds))
        legal &= (value >= first) & (value <= last)
    if column.levels is not None:
        legal &= np.isin(value, stored(column, np.array(column.levels)))
    return np.where(legal, value, tagged(0))


# Outcomes drawn within their bins so that each bin has its released mean.

_MOST_POINTS = 1 << 10
"""Legal values of a bin up to which they are told apart; more are drawn as if continuous."""

_STEEPEST, _HALVINGS = 600.0, 80


@dataclass(frozen=True)
class Binned:
    """The binned outcomes of a release, and the groups in which their bins have means; public."""

    places: tuple[int, ...]  # where the outcomes are among the encodings
    groups: tuple[int, ...]  # where the groups are: the treatment, if it is modelled

    @classmethod
    def of(cls, encodings: Sequence[Coded], *, grouped: bool) -> Binned:
        """Return the outcomes with bins among encodings, and the treatments if ``grouped``."""
        outcomes = [j for j, code in enumerate(encodings) if is_binned_outcome(code)]
        arms = [j for j, code in enumerate(encodings) if _is_arm(code)] if grouped else []
        return cls(tuple(outcomes), tuple(arms) if outcomes else ())

    def outcomes(self, encodings: Sequence[Coded]) -> list[Encoding]:
        """Return the encodings of the outcomes."""
        return [code for j in self.places if isinstance(code := encodings[j], Encoding)]

    def arms(self, encodings: Sequence[Coded]) -> list[Coded]:
        """Return the encodings of the groups."""
        return [encodings[j] for j in self.groups]

    def split(self, sums: Array, encodings: Sequence[Coded]) -> list[Array]:
        """Return released sums as one array (A, B) for each outcome."""
        arms = math.prod(encodings[j].size for j in self.groups)
        found, start = [], 0
        for outcome in self.outcomes(encodings):
            bins = len(outcome.cells)
            found.append(np.asarray(sums[start : start + arms * bins]).reshape(arms, bins))
            start += arms * bins
        return found

    def group_of(self, rows: Codes, encodings: Sequence[Coded]) -> Codes:
        """Return the group (m,) of rows of codes (m, p)."""
        group = np.zeros(len(rows), np.int64)
        for j in self.groups:
            group = group * encodings[j].size + rows[:, j]
        return group


def is_binned_outcome(code: Coded) -> bool:
    """Whether a code stands for a bin of a column whose role is outcome."""
    if not isinstance(code, Encoding) or code.column.role != "outcome":
        return False
    return len(code.cells[0]) == 2


def _is_arm(code: Coded) -> bool:
    return all(column.role == "treatment" for column in code.columns)


def redrawn(
    values: Mapping[str, NDArray[Any]],
    rows: Codes,
    encodings: Sequence[Coded],
    binned: Binned,
    offsets: Sequence[Array],
    rng: np.random.Generator,
) -> dict[str, NDArray[Any]]:
    """Decoded columns of which the binned outcomes are drawn with the mean of their bin.

    ``offsets`` have the mean of each bin in each group, (A, B_j), from its middle, in its widths;
    beyond the ends counts as at the end.
    """
    found = dict(values)
    group = binned.group_of(rows, encodings)
    for place, outcome, means in zip(
        binned.places, binned.outcomes(encodings), offsets, strict=True
    ):
        codes, column = rows[:, place], np.array(found[outcome.name])
        for a, k in np.ndindex(*means.shape):
            inside = np.flatnonzero((codes == k) & (group == a))
            if len(inside):
                column[inside] = _drawn(outcome, k, float(means[a, k]), len(inside), rng)
        found[outcome.name] = column
    return found


def means_of(sums: Array, counts: NDArray[Any]) -> Array:
    """Return mean offsets within [-1/2, 1/2] from noisy sums and noisy counts of equal shape."""
    return np.asarray(np.clip(sums / np.maximum(counts, 1.0), -0.5, 0.5))


def _drawn(outcome: Encoding, k: int, offset: float, size: int, rng: np.random.Generator) -> Array:
    """Draw admissible values of a bin whose mean is ``offset`` widths from its middle.

    Notes
    -----
    Of all laws on the admissible values of the bin with that mean, the one of largest entropy:
    density proportional to exp(tilt x), which is uniform where the offset is 0.
    """
    low, high = (float(x) for x in outcome.cells[k])
    if not high > low:
        return np.full(size, low)
    points = 0 if outcome.step is None else round((high - low) / float(outcome.step)) + 1
    if 0 < points <= _MOST_POINTS:
        at = np.linspace(0.0, 1.0, points)
        weights = np.exp(_logs(at, _tilt(offset, at)))
        place = at[rng.choice(points, size, p=weights / weights.sum())]
    else:
        place = _quantile(rng.random(size), _tilt(offset, None))
    drawn = low + place * (high - low)
    if outcome.step is not None:
        drawn = np.rint(drawn / float(outcome.step)) * float(outcome.step)
    return np.asarray(np.clip(stored(outcome.column, drawn), low, high), np.float64)


def _tilt(offset: float, at: Array | None) -> float:
    """Return the tilt whose mean is 1/2 + offset, by halving: the mean rises with it."""
    low, high = -_STEEPEST, _STEEPEST
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _mean(middle, at) < 0.5 + offset else (low, middle)
    return (low + high) / 2


def _mean(tilt: float, at: Array | None) -> float:
    if at is not None:
        weights = np.exp(_logs(at, tilt))
        return float(weights @ at / weights.sum())
    if abs(tilt) < 1e-4:
        return 0.5 + tilt / 12
    return 1 / -math.expm1(-tilt) - 1 / tilt


def _logs(at: Array, tilt: float) -> Array:
    logs = tilt * at
    return np.asarray(logs - (tilt if tilt > 0 else 0.0))


def _quantile(u: Array, tilt: float) -> Array:
    """Return quantiles of the density proportional to exp(tilt x) on [0, 1]."""
    if abs(tilt) < 1e-4:
        return u
    if tilt > 0:  # the same law seen from the other end, so that nothing overflows
        return np.asarray(1 - _quantile(1 - u, -tilt))
    return np.asarray(np.log1p(u * math.expm1(tilt)) / tilt)
