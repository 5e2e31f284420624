"""Differences between the rows of two files: counts only, never a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dprct.errors import SchemaError
from dprct.io.compare.comparison import Difference
from dprct.missing import missing_numbers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from dprct.schema.schema import Schema


@dataclass(frozen=True, slots=True)
class Differing:
    """How many rows of a column differ.

    Parameters
    ----------
    rows : int
        Rows that differ in any way.
    codes : int
        Those of them that differ in which missing code they are, or in whether they are missing.
    """

    rows: int
    codes: int


def value_differences(
    a: tuple[pd.DataFrame, Schema], b: tuple[pd.DataFrame, Schema]
) -> Iterator[Difference]:
    """Yield in which columns two tables differ row by row, and whether their sort order holds.

    Parameters
    ----------
    a, b : (data, schema)
        As :func:`dprct.io.read` returns them; only columns of both are compared.

    Yields
    ------
    Difference
        Facets ``rows``, ``values`` and ``sort``.
    """
    (data_a, schema_a), (data_b, schema_b) = a, b
    n, m = len(data_a), len(data_b)
    if n != m:
        yield Difference("rows", None, f"{n} in the first, {m} in the second")
    for name in [name for name in schema_a.names if name in set(schema_b.names)]:
        text = schema_a.column(name).is_text
        if n != m:
            detail = "not compared, as the numbers of rows differ"
        elif text != schema_b.column(name).is_text:
            detail = "not compared, as one is text and the other a number"
        else:
            detail = _counted(_differing(data_a[name], data_b[name], text=text), n)
        if detail:
            yield Difference("values", name, detail)
    yield from _false_order(a, b)


def _counted(found: Differing, n: int) -> str:
    if not found.rows:
        return ""
    codes = f", {found.codes} of them in missing codes" if found.codes else ""
    return f"{found.rows} of {n} rows differ{codes}"


def _differing(a: pd.Series[Any], b: pd.Series[Any], *, text: bool) -> Differing:
    if text:
        return Differing(int(np.count_nonzero(_cells(a) != _cells(b))), 0)
    return differing_numbers(_floats(a), _floats(b))


def differing_numbers(a: NDArray[np.float64], b: NDArray[np.float64]) -> Differing:
    """Count in how many rows two columns of numbers differ, bit by bit.

    Parameters
    ----------
    a, b : ndarray (n,)
        Missing codes in the payloads; NaNs of the same missing code are equal.

    Returns
    -------
    Differing

    Examples
    --------
    >>> from dprct.missing import tagged
    >>> differing_numbers(np.array([0.0, 1.0]), np.array([-0.0, 1.0]))
    Differing(rows=1, codes=0)
    >>> differing_numbers(tagged([0, 1]), tagged([0, 2]))
    Differing(rows=1, codes=1)
    """
    rows = np.flatnonzero(a.view(np.uint64) != b.view(np.uint64))
    codes_a, codes_b = missing_numbers(a[rows]), missing_numbers(b[rows])
    codes = int(np.count_nonzero(codes_a != codes_b))
    numbers = int(np.count_nonzero((codes_a < 0) & (codes_b < 0)))
    return Differing(rows=codes + numbers, codes=codes)


def _floats(column: pd.Series[Any]) -> NDArray[np.float64]:
    try:
        return np.ascontiguousarray(column.to_numpy(np.float64, na_value=np.nan))
    except (TypeError, ValueError):
        raise SchemaError(
            f"column {column.name!r} does not hold numbers as its schema says; "
            "give the data as dprct.read returns them"
        ) from None


def _cells(column: pd.Series[Any]) -> NDArray[np.object_]:
    cells = column.to_numpy(object)
    absent = pd.isna(cells)
    if absent.any():  # a missing text is an empty one, as in Stata
        cells = cells.copy()
        cells[absent] = ""
    return cells


def _false_order(
    a: tuple[pd.DataFrame, Schema], b: tuple[pd.DataFrame, Schema]
) -> Iterator[Difference]:
    holds_a, holds_b = rows_are_sorted(*a), rows_are_sorted(*b)
    if holds_a != holds_b:
        which = "second" if holds_a else "first"
        yield Difference(
            "sort", None, f"the rows of the {which} are not sorted by the variables it names"
        )


def rows_are_sorted(data: pd.DataFrame, schema: Schema) -> bool:
    """Whether the rows are in the order that the file says they are in.

    Parameters
    ----------
    data : DataFrame (n rows)
    schema : Schema
        ``schema.file.sorted_by`` names the variables; missing codes follow every number in
        Stata's order, text is in the order of its bytes.

    Returns
    -------
    bool

    Examples
    --------
    >>> from dprct.schema import Column, FileFacts, Schema
    >>> schema = Schema((Column("x"),), FileFacts(sorted_by=("x",)))
    >>> rows_are_sorted(pd.DataFrame({"x": [1.0, 2.0, float("nan")]}), schema)
    True
    >>> rows_are_sorted(pd.DataFrame({"x": [2.0, 1.0]}), schema)
    False
    """
    tied = np.ones(max(len(data) - 1, 0), bool)
    for name in schema.file.sorted_by:
        for key in _sort_keys(data[name], text=schema.column(name).is_text):
            if bool(np.any(tied & (key[1:] < key[:-1]))):
                return False
            tied &= key[1:] == key[:-1]
    return True


def _sort_keys(column: pd.Series[Any], *, text: bool) -> list[NDArray[Any]]:
    if text:
        encoded = [
            cell if isinstance(cell, bytes) else str(cell).encode("utf-8", "surrogateescape")
            for cell in _cells(column)
        ]
        return [np.array([*encoded, b""], dtype=object)[:-1]]
    numbers = _floats(column)
    codes = missing_numbers(numbers)
    return [codes, np.where(codes < 0, numbers, 0.0)]
