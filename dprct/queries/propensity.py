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
from dprct.queries.compact import compact, smallest_integer
from dprct.queries.grid import GRID
from dprct.queries.logistic import Solver, logistic_weights
from dprct.schema.own import check_own
from dprct.schema.table import schema_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from narwhals.typing import IntoDType
    from numpy.typing import NDArray

    from dprct.formula.syntax import Factor
    from dprct.privacy.guarantee import Relation
    from dprct.queries.logistic import Rows
    from dprct.schema.facts import Column
    from dprct.schema.table import Frame, Table

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

    def __post_init__(self) -> None:
        check_own(self.column)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the numbers."""
        name = self.column.name
        own = tuple(f"C({name})[T.{_spelled(level)}]" for level in self.levels) or (name,)
        return (*own, f"missing({name})") if self.missing else own

    @property
    def dtype(self) -> IntoDType:
        """What a row of it takes in memory: a double, or the smallest integer for a level."""
        return smallest_integer(len(self.levels) + 2) if self.levels else nw.Float64

    def coded(self, frame: Table) -> nw.Expr:
        """Return the column as one number of each row, to be read once: see :meth:`settled`.

        Of levels it is k for the k-th of them, 0 for none, and one more than there are for a
        missing value; of a number the number, null or NaN where it is missing.
        """
        name = self.column.name
        if self.column.is_text:
            return _text_code(frame, name, self.levels)
        x = nw.col(name).cast(nw.Float64)
        if not self.levels:
            return x
        numbers = [float(level) for level in self.levels]
        found = [nw.when(x == v).then(k).otherwise(0) for k, v in enumerate(numbers, 1)]
        code = nw.sum_horizontal(*found)
        if self.fill is not None:
            absent = numbers.index(self.fill) + 1 if self.fill in numbers else 0
        else:
            absent = len(numbers) + 1 if self.missing else 0
        return nw.when(x.is_null() | x.is_nan()).then(absent).otherwise(code)

    def settled(self, raw: NDArray[Any], places: NDArray[np.int64]) -> NDArray[Any]:
        """Return the rows at some places (m,): codes, or numbers in [-1, 1], NaN where missing."""
        values: NDArray[Any] = raw[places]
        if self.levels:
            return values
        assert self.column.bounds is not None
        low, high = map(float, self.column.bounds)
        middle, half = low / 2 + high / 2, high / 2 - low / 2
        if self.fill is not None:
            values[np.isnan(values)] = self.fill
        values -= middle
        with np.errstate(over="ignore"):  # what is far outside is clipped, however far
            values /= half
        np.clip(values, -1, 1, out=values)
        if not self.missing:
            values[np.isnan(values)] = 0.0
        return values

    def values(self, settled: NDArray[Any]) -> Array:
        """Return the numbers (m, k) of some rows; total, whatever the column holds."""
        if self.levels:
            codes = np.arange(1, len(self.levels) + 1 + self.missing)
            return np.asarray(settled[:, None] == codes, np.float64)
        if not self.missing:
            return np.asarray(settled[:, None])
        absent = np.isnan(settled)
        return np.column_stack([np.where(absent, 0.0, settled), absent])


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

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The blocks of all terms, each once: what is read of a row."""
        return tuple(dict.fromkeys(b for term in self.terms for b in term))

    def rows(self, settled: Mapping[Block, NDArray[Any]]) -> Array:
        """Return z (m, d) of some rows, given what :meth:`Block.settled` made of each block.

        Confidential, and finite whatever the columns hold.
        """
        m = len(settled[self.blocks[0]])
        Z = np.empty((m, self.size))
        Z[:, -1] = math.sqrt(0.5) / _ROUNDING
        for start in range(0, m, _CACHED):
            # some rows at a time: the columns of a long table are too far apart for a cache
            rows = slice(start, start + _CACHED)
            self._fill(Z[rows], {b: b.values(settled[b][rows]) for b in self.blocks})
        return Z

    def of_table(self, frame: Frame) -> Array:
        """Return z (n, d) of the rows of a table in memory, in their order."""
        named = {f"{block.column.name}{j}": block for j, block in enumerate(self.blocks)}
        coded = {name: block.coded(frame) for name, block in named.items()}
        raw = compact(frame, coded, {name: block.dtype for name, block in named.items()})
        places = np.arange(len(frame))
        return self.rows({b: b.settled(raw[name], places) for name, b in named.items()})

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
    Z: Array | Rows, t: Mask, grid: PropensityGrid, relation: Relation = "replace-one"
) -> IntegerVector:
    """Fit the propensity model and round its weights to their grid.

    Parameters
    ----------
    Z : (n, d) array, or rows that are made anew in pieces
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


@dataclass(frozen=True, slots=True)
class Treated:
    """Who is treated, by one code of a column; ``public`` if the guarantee takes that as public."""

    column: Column
    code: float | str
    public: bool = False

    def __post_init__(self) -> None:
        if not self.public:
            check_own(self.column)

    def coded(self, frame: Table) -> nw.Expr:
        """Return who is treated, 1 or 0, as an expression; whoever has no such code is not."""
        if self.column.is_text:
            return _text_code(frame, self.column.name, (self.code,))
        is_it = nw.col(self.column.name).cast(nw.Float64) == float(self.code)
        return nw.when(is_it).then(1).otherwise(0)


def _text_code(frame: Table, name: str, levels: Sequence[float | str]) -> nw.Expr:
    """Return k for the k-th level, 0 for another text; a null is the empty text, as in Stata."""
    # a categorical refuses to be compared with texts that it does not have
    categorical = isinstance(schema_of(frame)[name], (nw.Enum, nw.Categorical))
    text = nw.col(name).cast(nw.String) if categorical else nw.col(name)
    codes = {level: k for k, level in enumerate(levels, 1)}
    known = text.replace_strict(list(codes), list(codes.values()), default=0, return_dtype=nw.Int64)
    return nw.when(text.is_null()).then(codes.get("", 0)).otherwise(known)


def _spelled(level: float | str) -> str:
    return level if isinstance(level, str) else f"{float(level):g}"
