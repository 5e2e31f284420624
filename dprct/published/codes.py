"""Columns to codes that the data themselves define, as the papers do it.

The strict counterpart is :mod:`dprct.encoding`, where a code is a function of public facts alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dprct.errors import SchemaError
from dprct.missing import tagged
from dprct.schema.tables import Frame, numbers_of, text_of
from dprct.schema.validate import stored

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dprct.schema.columns import Column


@dataclass(frozen=True, slots=True, eq=False)
class DataCodes:
    """What the codes of one column stand for.

    Parameters
    ----------
    column : Column
    levels : (L,) array
        Distinct values, for a column that is taken as it is; empty for a binned one.
    edges : (eta + 1,) array
        Edges of the bins of a binned column; empty for the others.
    missing : (m,) array of int
        Numbers of the missing codes that occur; each is a level after the regular ones.
    """

    column: Column
    levels: NDArray[Any]
    edges: NDArray[np.float64]
    missing: NDArray[np.int8]

    @property
    def binned(self) -> bool:
        """Whether a code is a bin rather than a value."""
        return len(self.edges) > 0

    def decode(self, codes: NDArray[np.int64], rng: np.random.Generator) -> NDArray[Any]:
        """Return values (n,) for codes (n,): uniform within a bin, as far as the type can hold."""
        regular = len(self.edges) - 1 if self.binned else len(self.levels)
        within = np.minimum(codes, regular - 1)
        if not self.binned:
            values = self.levels[within]
        else:
            low, high = self.edges[within], self.edges[within + 1]
            values = _storable(self.column, low + (high - low) * rng.random(len(codes)))
        beyond = codes >= regular
        if beyond.any():
            values[beyond] = tagged(self.missing[codes[beyond] - regular])
        return np.asarray(values)


def coded(
    frame: Frame, column: Column, eta: int, most_levels: float
) -> tuple[DataCodes, NDArray[np.int64]]:
    """Return the codes of one column, taken from its data.

    Parameters
    ----------
    frame : narwhals frame, n rows
    column : Column
        A declared number of ``bins`` is used instead of ``eta`` and ``most_levels``, declared
        inner edges instead of equal ones; declared ``levels`` and text are never binned.
    eta : int
        Number of bins.
    most_levels : float
        A numeric column with more distinct values is binned.

    Returns
    -------
    DataCodes
    (n,) array of int

    Raises
    ------
    SchemaError
        If the column is constant or all missing: it has no histogram.
    """
    if column.is_text:
        texts, kinds_of_text = pd.factorize(text_of(frame, column.name))
        _check_varies(column, len(kinds_of_text), 0)
        found = DataCodes(column, np.asarray(kinds_of_text), _NO_EDGES, _NO_CODES)
        return found, texts.astype(np.int64)
    values, missing = numbers_of(frame, column.name)
    absent = missing >= 0
    levels, codes = np.unique(values[~absent], return_inverse=True)
    kinds, letters = np.unique(missing[absent], return_inverse=True)
    _check_varies(column, len(levels), len(kinds))
    edges = _edges_of(column, levels, eta, most_levels)
    regular = len(levels)
    if len(edges):
        codes, regular = bins_of(values[~absent], edges), len(edges) - 1
        levels = levels[:0]
    every = np.empty(len(values), np.int64)
    every[~absent], every[absent] = codes, regular + letters
    return DataCodes(column, levels, edges, kinds), every


def equal_edges(low: float, high: float, eta: int) -> NDArray[np.float64]:
    """Return ``a_k = (k max + (eta - k) min) / eta`` for k = 0 to eta (dp_rct.txt, Algorithm 1).

    The printed formula lacks the factor k.

    Examples
    --------
    >>> equal_edges(10.0, 20.0, 4).tolist()
    [10.0, 12.5, 15.0, 17.5, 20.0]
    """
    share = np.arange(eta + 1) / eta
    return share * high + (1 - share) * low


def bins_of(values: NDArray[np.float64], edges: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the bin of every value: ``[a_{k-1}, a_k)``, the last one closed.

    Examples
    --------
    >>> bins_of(np.array([10.0, 12.5, 20.0]), equal_edges(10.0, 20.0, 4)).tolist()
    [0, 1, 3]
    """
    return np.searchsorted(edges[1:-1], values, side="right").astype(np.int64)


_NO_EDGES = np.empty(0, np.float64)
_NO_CODES = np.empty(0, np.int8)


def _edges_of(
    column: Column, levels: NDArray[np.float64], eta: int, most_levels: float
) -> NDArray[np.float64]:
    """Return the edges of the column's bins, or none if it is taken as it is."""
    if column.levels is not None or len(levels) < 2:
        return _NO_EDGES
    low, high = float(levels[0]), float(levels[-1])
    if isinstance(column.bins, tuple):
        inner = [edge for edge in column.bins if low < edge < high]
        return np.array([low, *inner, high])
    if column.bins is not None:
        eta = most_levels = int(column.bins)
    return equal_edges(low, high, eta) if len(levels) > most_levels else _NO_EDGES


def _storable(column: Column, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round to whole numbers or decimals where the column has no others, and to its type."""
    if column.is_integer:
        values = np.rint(values)
    elif column.decimals is not None:
        values = np.round(values, column.decimals)
    return stored(column, values)


def _check_varies(column: Column, levels: int, missing: int) -> None:
    if levels + missing < 2 or not levels:
        what = "constant" if levels else "missing in every row"
        raise SchemaError(
            f"column {column.name!r} is {what}, so the published histogram has nothing to draw; "
            "withhold it (fate = 'withheld') or drop it"
        )
