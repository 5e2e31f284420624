"""Fresh keys: identifiers that still identify, and say nothing of those that they replace.

All files share one pool of keys, which depends on the storage type only: 1, 2, 3, ...  A file of n
units uses the first n of the pool, in a random order.  So nothing has to be kept between two
releases, keys of one column have the same form in every file of a study, and ``merge 1:1 hhid
using other`` on two protected files matches as many rows as the smaller one has.  Rows that match
are not the same people: the pool says how many units a file has, which is public, and nothing of
who they are.
"""

from __future__ import annotations

import string
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.errors import SchemaError
from dprct.schema.columns import INTEGER_LIMITS, text_width
from dprct.schema.tables import numbers_of, text_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dprct.schema.columns import Column
    from dprct.schema.schema import Schema
    from dprct.schema.tables import Frame

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
    """Return what a release of the schema is not good for because its keys are fresh."""
    return (LIMIT,) if any(column.fate == "key" for column in schema.columns) else ()


def check_keys(schema: Schema, rows: int) -> None:
    """Refuse a key whose storage type has too few keys for so many rows.

    Of a key that repeats, the fewest units that the rows can belong to are counted: how many there
    are is known when the data are there (:func:`unit_rows`).

    Raises
    ------
    SchemaError
    """
    for column in schema.columns:
        if column.fate == "key" and column.derived is None:
            again = repeats(schema) and column.name == schema.unit.id
            _check_space(column, -(-rows // schema.unit.max_rows) if again else rows)


def unit_rows(schema: Schema, frame: Frame) -> NDArray[np.int64] | None:
    """Return a number of its unit for every row, from 0; None where keys do not repeat.

    Parameters
    ----------
    schema : Schema
    frame : (n, ...) data frame
        Confidential, legal in the schema.

    Returns
    -------
    (n,) array of int64, or None

    Raises
    ------
    SchemaError
        If the id's storage type has too few keys for so many units.

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
    """Return the first ``count`` keys of the column's pool, every order equally likely.

    Parameters
    ----------
    column : Column
        Only its storage type matters.
    count : int
    rng : numpy.random.Generator

    Returns
    -------
    (count,) array
        float64, or object for text: digits, padded with zeros to the width of the column (at most
        12), and once these are used up with letters among them.

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
    """Return the key of every row's unit: a bijection of the units, drawn uniformly.

    Parameters
    ----------
    column : Column
    units : (n,) array of int64
        From :func:`unit_rows`, in any order of the rows.
    rng : numpy.random.Generator

    Returns
    -------
    (n,) array

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
    """Return how many keys the pool of the column has."""
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
