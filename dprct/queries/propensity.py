"""Who was treated, given covariates: rows on a public scale, and their sealed logistic weights."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from dprct.errors import FormulaError, SchemaError
from dprct.privacy.aggregate import IntegerVector
from dprct.queries.grid import GRID
from dprct.queries.logistic import Solver, logistic_weights

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from dprct.formula.syntax import Factor
    from dprct.privacy.guarantee import Relation
    from dprct.schema.facts import Column
    from dprct.schema.table import Frame

    Array = NDArray[np.float64]
    Mask = NDArray[np.bool_]

INTERCEPT = "Intercept"

_CACHED = 4096
"""Rows that are put side by side at a time."""

_ROUNDING = 1 + 1e-9
"""Rows are this much shorter than their bound, which covers the rounding of their norm."""


@dataclass(frozen=True, slots=True)
class Block:
    """The numbers that one variable of a term gives: together of norm at most 1 in every row.

    Parameters
    ----------
    column : Column
        With bounds, or with levels if ``levels`` are given.
    levels : tuple
        One 0/1 number for each, of which a row has at most one; empty for a number, which is
        ``(x - mid) / half`` within [-1, 1].
    missing : bool
        A 0/1 number for a missing value is added; the value itself then counts as 0.
    fill : float or None
        The number that stands for a missing value, by declaration.
    """

    column: Column
    levels: tuple[float | str, ...] = ()
    missing: bool = False
    fill: float | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the numbers."""
        name = self.column.name
        own = tuple(f"C({name})[T.{_spelled(level)}]" for level in self.levels) or (name,)
        return (*own, f"missing({name})") if self.missing else own

    def values(self, frame: Frame) -> Array:
        """Return the numbers (n, m) of all rows; total, whatever the column holds."""
        series = frame[self.column.name]
        if self.column.is_text:
            found = np.array(series.to_list(), dtype=object)
            return np.column_stack([found == level for level in self.levels]).astype(np.float64)
        x = np.asarray(series.cast(nw.Float64).to_numpy(), np.float64)
        absent = np.isnan(x)
        if self.fill is not None:
            x, absent = np.where(absent, self.fill, x), np.zeros(len(x), bool)
        if self.levels:
            parts = [(x == float(level)).astype(np.float64) for level in self.levels]
        else:
            assert self.column.bounds is not None
            low, high = map(float, self.column.bounds)
            middle, half = low / 2 + high / 2, high / 2 - low / 2
            parts = [np.where(absent, 0.0, ((x - middle) / half).clip(-1, 1))]
        if self.missing:
            parts.append(absent.astype(np.float64))
        return np.column_stack(parts)


@dataclass(frozen=True)
class Covariates:
    """The rows of a propensity model: functions of one record each, of norm at most 1.

    Parameters
    ----------
    terms : tuple of tuple of Block
        Each term is the product of its variables, all with all.

    Attributes
    ----------
    names : tuple of str, length d
        The intercept last.

    Notes
    -----
    A block has norm at most 1 in every legal row: a number is within [-1, 1]; of the levels of a
    column at most one is 1; a missing number is 0 beside its indicator.  So has a term, because the
    norm of a product of all with all is the product of the norms.  K terms side by side have norm
    at most sqrt(K), and ``z = (x / sqrt(K), 1) / sqrt(2)`` at most 1: from the schema alone.

    Examples
    --------
    >>> from dprct.schema import Column
    >>> age = Block(Column("age", "byte", bounds=(20, 60), missing=()))
    >>> Covariates(((age,),)).names
    ('age', 'Intercept')
    """

    terms: tuple[tuple[Block, ...], ...]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the coordinates, the intercept last."""
        found: list[str] = []
        for term in self.terms:
            parts = [""]
            for block in term:
                parts = [f"{a}:{b}" if a else b for a in parts for b in block.names]
            found += parts
        return (*found, INTERCEPT)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read, each once."""
        return tuple(dict.fromkeys(b.column.name for term in self.terms for b in term))

    @property
    def size(self) -> int:
        """Number of coordinates, d."""
        return len(self.names)

    def rows(self, frame: Frame) -> Array:
        """Return z (n, d) of all rows; confidential, and finite whatever the columns hold."""
        known = {b: b.values(frame) for term in self.terms for b in term}
        Z = np.empty((len(frame), self.size))
        Z[:, -1] = math.sqrt(0.5) / _ROUNDING
        for start in range(0, len(Z), _CACHED):
            # some rows at a time: the columns of a long table are too far apart for a cache
            rows = slice(start, start + _CACHED)
            self._fill(Z[rows], {block: values[rows] for block, values in known.items()})
        return Z

    def _fill(self, Z: Array, known: Mapping[Block, Array]) -> None:
        """Put the terms of some rows side by side into Z."""
        scale = 1 / (math.sqrt(2 * len(self.terms)) * _ROUNDING)
        start = 0
        for term in self.terms:
            found = known[term[0]]
            for block in term[1:]:
                found = (found[:, :, None] * known[block][:, None, :]).reshape(len(Z), -1)
            np.multiply(found, scale, out=Z[:, start : start + found.shape[1]])
            start += found.shape[1]


def covariates_of(
    terms: Sequence[Sequence[Factor]],
    columns: Mapping[str, Column],
    fills: Mapping[str, float],
) -> Covariates:
    """Return the rows that the right side of a formula asks for, from public facts alone.

    Parameters
    ----------
    terms : sequence of sequences of Factor
    columns : mapping from name to Column
    fills : mapping from name to number
        What stands for a missing value; else its indicator is a covariate of its own.

    Raises
    ------
    FormulaError
        If it has no term, or arithmetic.
    SchemaError
        If a column lacks bounds, levels or a missing policy.
    """
    if not terms:
        raise FormulaError("the formula has no covariates on its right; name at least one")
    return Covariates(
        tuple(tuple(_block(factor, columns, fills) for factor in term) for term in terms)
    )


def _block(factor: Factor, columns: Mapping[str, Column], fills: Mapping[str, float]) -> Block:
    if factor.kind == "expression":
        raise FormulaError(
            f"{factor.label} has no declared bounds; declare a derived column with its own bounds "
            "and name it"
        )
    column = columns[factor.names[0]]
    if column.missing is None:
        raise SchemaError(
            f"covariate {column.name!r} has no declared missing policy; declare missing='never', "
            "or the codes that are legal, such as missing=['.']"
        )
    as_levels = factor.kind == "C" or column.is_text
    fill = fills.get(column.name)
    missing = bool(column.missing) and fill is None and not column.is_text
    if as_levels:
        if not column.levels:
            raise SchemaError(
                f"covariate {column.name!r} has no levels; declare levels=[...] from public "
                "knowledge, never from the data"
            )
        return Block(column, tuple(column.levels[1:]) or column.levels, missing, fill)
    return Block(_bounded(column), (), missing, fill)


def _bounded(column: Column) -> Column:
    """Return a numeric covariate with bounds, those of its levels if it has levels."""
    bounds = column.bounds
    if bounds is None and column.levels:
        numbers = sorted(float(level) for level in column.levels)
        bounds = (numbers[0], numbers[-1])
    if bounds is None or not bounds[0] < bounds[1]:
        raise SchemaError(
            f"covariate {column.name!r} has no bounds; declare bounds=(low, high) from public "
            "knowledge, never from the data"
        )
    return replace(column, bounds=bounds)


@dataclass(frozen=True, slots=True)
class PropensityGrid:
    """The grid of rounded logistic weights and their sensitivity in its steps; public.

    Parameters
    ----------
    n : int
        Rows that the weights are fitted to.
    d : int
        Coordinates.
    lam : float
        The penalty.

    Attributes
    ----------
    solver : Solver
    grid : Fraction
        What one step is worth: a power of two, at most a 2^20th of the sensitivity.
    l2 : int
        Sensitivity in steps.

    Notes
    -----
    Computed weights move by ``solver.l2`` = 2 / (n lam) + 2 tolerance / lam; rounding to the grid
    adds one step per coordinate at most, sqrt(d) in L2 (ALGORITHMS.md, section 0).  The same under
    replace-one with the design public, where t stays.
    """

    n: int
    d: int
    lam: float
    solver: Solver
    grid: Fraction
    l2: int

    def __init__(self, n: int, d: int, lam: float) -> None:
        solver = Solver(n, d, lam)
        grid = math.ldexp(1.0, math.floor(math.log2(solver.l2 / GRID)))
        l2 = math.ceil(solver.l2 / grid * (1 + 1e-12) + math.sqrt(d))
        values = {
            "n": n, "d": d, "lam": lam, "solver": solver, "grid": Fraction(grid), "l2": l2,
        }  # fmt: skip
        for name, value in values.items():
            object.__setattr__(self, name, value)


def propensity_weights(
    Z: Array, t: Mask, grid: PropensityGrid, relation: Relation = "replace-one"
) -> IntegerVector:
    """Fit the propensity model and round its weights to their grid.

    Parameters
    ----------
    Z : (n, d) array
        As :meth:`Covariates.rows` gives them.
    t : (n,) array of bool
    grid : PropensityGrid
        For these n and d.
    relation : {"replace-one", "replace-one-design-public"}

    Returns
    -------
    IntegerVector
        Sealed, (d,), of L2 sensitivity ``grid.l2``.
    """
    weights = logistic_weights(Z, t, grid.solver)
    steps = [math.floor(float(w) / float(grid.grid) + 0.5) for w in weights]
    return IntegerVector(
        np.array(steps, dtype=object),
        l1=math.ceil(math.sqrt(grid.d) * grid.l2),
        l2_squared=grid.l2**2,
        l_inf=grid.l2,
        relation=relation,
        grid=grid.grid,
    )


def treated_rows(frame: Frame, column: Column, treated: Any) -> Mask:
    """Return who is treated (n,); whoever has no such code is not; confidential."""
    series = frame[column.name]
    if column.is_text:
        return np.asarray(np.array(series.to_list(), dtype=object) == treated, bool)
    return np.asarray(np.asarray(series.cast(nw.Float64).to_numpy()) == float(treated), bool)


def _spelled(level: float | str) -> str:
    return level if isinstance(level, str) else f"{float(level):g}"
