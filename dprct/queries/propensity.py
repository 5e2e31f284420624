"""Who was treated, given covariates: rows on a public scale, and their sealed logistic weights."""

from __future__ import annotations

import math
from contextlib import nullcontext
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dprct.errors import FormulaError, ParameterError, SchemaError
from dprct.lazy import narwhals as nw
from dprct.lazy import special
from dprct.privacy.aggregates import IntegerVector
from dprct.queries.sums import GRID, compact, smallest_integer
from dprct.records import dataclass
from dprct.schema.columns import check_own, extent_of
from dprct.schema.tables import schema_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from narwhals.typing import IntoDType
    from numpy.typing import NDArray

    from dprct.formula.syntax import Factor
    from dprct.privacy.budget import Relation
    from dprct.schema.columns import Column
    from dprct.schema.tables import Frame, Table

    Array = NDArray[np.float64]

    Mask = NDArray[np.bool_]


# Ridge-logistic weights solved to a public tolerance, whatever the data: the numerics.
#
# ``J(w) = (1/n) sum log(1 + exp(-s_i z_i'w)) + (lam/2) ||w||^2`` with s_i = -1 or 1 and ||z_i|| <=
# 1: lam-strongly convex, with a gradient of Lipschitz constant L <= 1/4 + lam.  Any w with ||grad
# J(w)|| <= tol is within tol / lam of the minimiser, which one record moves by 2 / (n lam).

SHARE = 5e-4
"""What the public number of steps leaves of the gradient, times n."""

ROUNDING_SHARE = 0.05
"""What floating point may leave of the gradient, times n, before a penalty is refused."""

LARGEST_PENALTY = 1e12
"""Far above any penalty of use; beyond it rates of convergence round to nothing."""

CHUNK = 1024
"""Rows that are added up in one matrix product."""

PIECE = 8 * CHUNK
"""Rows that are asked for at a time."""

WORK = 1e8
"""Multiplications (a tenth of a second) up to which accelerated steps alone are made."""

_MANY = 20_000
"""Rows from which on the threads of the linear algebra are set to one."""

_UNIT = 2.0**-53


class Rows(Protocol):
    """Rows z of norm at most 1, in memory or rebuilt piece by piece; confidential."""

    def __len__(self) -> int:
        """Number of them."""

    def chunk(self, start: int, stop: int) -> Array:
        """Return rows ``start`` to ``stop`` (or the last), contiguous."""


@dataclass(frozen=True, eq=False, repr=False)
class Held:
    """Rows in memory."""

    Z: Array  # (n, d)

    def __len__(self) -> int:
        """Number of them."""
        return len(self.Z)

    def chunk(self, start: int, stop: int) -> Array:
        """Return rows ``start`` to ``stop`` (or the last)."""
        return self.Z[start:stop]


def one_thread(n: int) -> AbstractContextManager[Any]:
    """Return a context in which the linear algebra of n rows in pieces is that of one thread.

    Products of a few thousand rows are too small to share: threads would wait for each other.
    """
    if n < _MANY:
        return nullcontext()
    from threadpoolctl import threadpool_limits  # sets a variable of the host's environment

    limited: AbstractContextManager[Any] = threadpool_limits(limits=1, user_api="blas")
    return limited


def rows_of(Z: Array | Rows) -> Rows:
    """Return an array as rows, and rows as they are."""
    return Held(np.ascontiguousarray(Z)) if isinstance(Z, np.ndarray) else Z


@dataclass(frozen=True)
class Solver:
    """How far and how exactly a ridge-logistic problem is solved: public numbers only.

    Notes
    -----
    *Steps.*  Nesterov's method with constant momentum from w = 0, where J - min J <= log 2, leaves
    J - min J <= (r^(k/2) sqrt(2 log 2) + 2 e sqrt(2 L) / lam)^2 after k steps, r = 1 - sqrt(lam/L),
    if every gradient is off by at most e (Schmidt, Le Roux and Bach, Proposition 4, with the
    geometric series summed).  Then ||grad J|| <= sqrt(2 L (J - min J)) <=
    r^(k/2) sqrt(4 L log 2) + 4 e L / lam.  k makes the first part at most ``SHARE / n``.

    *Rounding.*  Let u = 2^-53.  A product of d numbers is off by (d + 2) u ||w||, the probability
    by a quarter of that and 8 u; the sum of n terms r_i z_ij, in products of ``CHUNK`` rows, by at
    most (CHUNK + n / CHUNK + 8) u sum |r_i z_ij| whatever the order of a product; the vector of
    mean |r_i z_ij| has norm at most 1.  All iterates stay within 10 / sqrt(lam) of zero; rounding
    them is an error of the gradient of at most 16 u of that.  Twice the sum is taken.

    References
    ----------
    Schmidt, Le Roux and Bach (2011), "Convergence Rates of Inexact Proximal-Gradient Methods for
    Convex Optimization", Proposition 4.
    Higham (2002), "Accuracy and Stability of Numerical Algorithms", section 3.1.

    Examples
    --------
    >>> solver = Solver(1000, 5, 0.01)
    >>> solver.steps > 100, solver.tolerance < 1e-6
    (True, True)
    """

    n: int  # rows
    d: int  # coordinates of a row, whose norm is at most 1
    lam: float  # the penalty, above 0
    steps: int  # accelerated gradient steps
    rounding: float  # bound on the floating-point error of a gradient (Euclidean norm)
    # ||grad J|| at what :func:`logistic_weights` returns is at most this, for all data.
    tolerance: float

    def __init__(self, n: int, d: int, lam: float) -> None:
        if n < 1 or d < 1 or not 0 < lam <= LARGEST_PENALTY:
            raise ParameterError(
                f"``lam={lam:g}`` with {n:,} rows; give lam above 0 and at most "
                f"{LARGEST_PENALTY:g}, and at least one row"
            )
        # L and r of the notes: after k steps r^(k/2) = exp(-k rate / 2) is left
        smooth = 0.25 + lam
        rate = -math.log1p(-math.sqrt(lam / smooth))
        start = math.sqrt(4 * smooth * math.log(2))
        rounding = _rounding(n, d, lam)
        left = _left_by_rounding(n, d, lam)
        if left > ROUNDING_SHARE / n:
            raise ParameterError(
                f"``lam={lam:g}`` is too small for {n:,} rows: rounding errors of the weights "
                "would not be negligible; give a larger one"
            )
        values = {
            "n": n,
            "d": d,
            "lam": lam,
            "steps": max(1, math.ceil(2 * math.log(start * n / SHARE) / rate)),
            "rounding": rounding,
            "tolerance": SHARE / n + left,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def l2(self) -> float:
        """By how much one record moves the computed weights, in the L2 norm.

        Notes
        -----
        Let w and w' minimise J and J', which differ in record i.  By strong convexity
        lam ||w - w'||^2 <= <grad J(w') - grad J'(w'), w' - w>, and the two gradients differ by
        (g_i - g_i') / n, where ||g_i|| = |sigma(z_i'w') - t_i| ||z_i|| < 1: the minimisers are less
        than 2 / (n lam) apart.  Each computed one is within tolerance / lam of its minimiser.
        """
        return (2 / self.n + 2 * self.tolerance) / self.lam * (1 + 1e-12)

    @property
    def always_accelerated(self) -> bool:
        """Whether the accelerated steps are made for all data, rather than where Newton fails."""
        return self.n * (self.d + 8.0) * self.steps <= WORK


def _rounding(n: int, d: int, lam: float) -> float:
    radius = 10 / math.sqrt(lam)
    return 2 * _UNIT * (CHUNK + n / CHUNK + 24 + ((d + 2) / 4 + 16 + 4 * lam) * radius)


def _left_by_rounding(n: int, d: int, lam: float) -> float:
    return 4 * _rounding(n, d, lam) * (0.25 + lam) / lam


def least_penalty(n: int, d: int) -> float:
    """Return the least penalty, up to a millionth, that :class:`Solver` takes; at most 1.

    Examples
    --------
    >>> least_penalty(1000, 5) < 1e-6 < least_penalty(10**6, 20) < 1e-3
    True
    """
    low, high = 1e-15, 1.0  # what rounding leaves falls with the penalty
    while high > low * (1 + 1e-6):
        middle = math.sqrt(low * high)
        if _left_by_rounding(n, d, middle) <= ROUNDING_SHARE / n:
            high = middle
        else:
            low = middle
    return high


def logistic_weights(Z: Array | Rows, t: Mask, solver: Solver) -> Array:
    """Return w (d,) with ||grad J(w)|| <= ``solver.tolerance``, for all data; confidential.

    Rows are of norm at most 1; t says whether s_i = 1.

    Notes
    -----
    Small problems take a public number of accelerated steps, nothing else.  Above ``WORK`` these
    would take minutes: a public number of Newton steps comes first, and they are made only if the
    gradient that Newton leaves (and its rounding) exceeds the tolerance, of which no example is
    known; separable rows, rows of one arm and rows of many scales were tried.  The tolerance holds
    either way; only the running time could tell such data apart.

    Every step is a pass over the rows in pieces, the same whether they are in memory or rebuilt:
    so are the bits of the result.
    """
    rows = rows_of(Z)
    if solver.always_accelerated:
        return _accelerated(rows, t, solver)
    w = _newton(rows, t, solver)
    if math.sqrt(float(np.square(gradient(rows, t, w, solver.lam)).sum())) <= (
        solver.tolerance - solver.rounding
    ):
        return w
    return _accelerated(rows, t, solver)


def gradient(Z: Array | Rows, t: Mask, w: Array, lam: float) -> Array:
    """Return grad J(w) (d,), up to ``Solver.rounding``; confidential."""
    rows = rows_of(Z)
    total = np.zeros(len(w))
    for piece, labels in _pieces(rows, t):
        # products of CHUNK rows: the bound on rounding counts on sums of this length
        for start in range(0, len(piece), CHUNK):
            part = piece[start : start + CHUNK]
            total += (special.expit(part @ w) - labels[start : start + CHUNK]) @ part
    return np.asarray(total / len(rows) + lam * w)


def _pieces(rows: Rows, t: Mask) -> Iterator[tuple[Array, Mask]]:
    for start in range(0, len(rows), PIECE):
        yield rows.chunk(start, start + PIECE), t[start : start + PIECE]


def _accelerated(rows: Rows, t: Mask, solver: Solver) -> Array:
    smooth = 0.25 + solver.lam
    root = math.sqrt(solver.lam / smooth)
    momentum = (1 - root) / (1 + root)
    x = y = np.zeros(solver.d)
    for _ in range(solver.steps):
        # a gradient step of length 1 / L from the extrapolated point, then extrapolate again
        before, x = x, y - gradient(rows, t, y, solver.lam) / smooth
        y = x + momentum * (x - before)
    return x


def newton_steps(lam: float) -> int:
    """Return the public number of Newton steps from zero: twice the digits of 1 / lam, and four.

    The rows that need most, which a plane separates, take 4 at lam = .1 and 10 at 1e-5.

    Examples
    --------
    >>> newton_steps(0.1), newton_steps(1e-5), newton_steps(3.0)
    (6, 14, 4)
    """
    return 4 + max(0, math.ceil(-2 * math.log10(lam)))


def _newton(rows: Rows, t: Mask, solver: Solver) -> Array:
    """Return the point after a public number of Newton steps from zero, on all rows."""
    w = np.zeros(solver.d)
    for _ in range(newton_steps(solver.lam)):
        w = w - np.linalg.solve(*_curvature(rows, t, w, solver.lam))
    # a total function: where Newton diverged, the gradient that is checked next is finite
    return np.asarray(np.nan_to_num(w.clip(-1e6, 1e6)))


def _curvature(rows: Rows, t: Mask, w: Array, lam: float) -> tuple[Array, Array]:
    """Return the Hessian and the gradient of J at w."""
    H, g = np.zeros((len(w), len(w))), np.zeros(len(w))
    for piece, labels in _pieces(rows, t):
        p = special.expit(piece @ w)
        # Z'PZ with P = diag(p (1 - p)), as a product of equal halves, so that it is symmetric
        half = piece * np.sqrt(p * (1 - p))[:, None]
        H += half.T @ half
        g += (p - labels) @ piece
    H /= len(rows)
    H.flat[:: len(H) + 1] += lam
    return H, np.asarray(g / len(rows) + lam * w)


INTERCEPT = "Intercept"

_CACHED = 4096
"""Rows that are put side by side at a time."""

_ROUNDING = 1 + 1e-9
"""Rows are this much shorter than their bound, which covers the rounding of their norm."""


@dataclass(frozen=True)
class Coordinates:
    """The numbers that one variable of a term gives: together of norm at most 1 in every row."""

    column: Column  # with bounds, or with levels if ``levels`` are given
    # One 0/1 number for each, of which a row has at most one; empty for a number, which is ``(x -
    # mid) / half`` within [-1, 1].
    levels: tuple[float | str, ...] = ()
    # A 0/1 number for a missing value is added; the value itself then counts as 0.
    missing: bool = False
    fill: float | None = None  # the number that stands for a missing value, by declaration

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

    Attributes
    ----------
    names : tuple of str, length d
        The intercept last.

    Notes
    -----
    A block has norm at most 1 in every legal row: a number is within [-1, 1]; of the levels of a
    column at most one is 1; a missing number is 0, with an indicator.  So has a term, because the
    norm of a product of all with all is the product of the norms.  K terms side by side have norm
    at most sqrt(K), and ``z = (x / sqrt(K), 1) / sqrt(2)`` at most 1: from the schema alone.

    Examples
    --------
    >>> from dprct.schema import Column
    >>> age = Coordinates(Column("age", "byte", bounds=(20, 60), missing=()))
    >>> Covariates(((age,),)).names
    ('age', 'Intercept')
    """

    # Each term is the product of its variables, all with all.
    terms: tuple[tuple[Coordinates, ...], ...]

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
    def blocks(self) -> tuple[Coordinates, ...]:
        """The blocks of all terms, each once: what is read of a row."""
        return tuple(dict.fromkeys(b for term in self.terms for b in term))

    def rows(self, settled: Mapping[Coordinates, NDArray[Any]]) -> Array:
        """Return z (m, d) of some rows, given what :meth:`Coordinates.settled` made of each block.

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

    def _fill(self, Z: Array, known: Mapping[Coordinates, Array]) -> None:
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
    """The rows that the right side of a formula asks for, from public facts alone.

    A missing value that no fill stands for has an indicator, which is a covariate of its own.
    """
    if not terms:
        raise FormulaError("the formula has no covariates on its right; name at least one")
    return Covariates(
        tuple(tuple(_block(factor, columns, fills) for factor in term) for term in terms)
    )


def _block(
    factor: Factor, columns: Mapping[str, Column], fills: Mapping[str, float]
) -> Coordinates:
    if factor.kind == "expression":
        raise FormulaError(
            f"{factor.label} has no declared bounds; declare a derived column with its own bounds "
            "and name it"
        )
    column = columns[factor.names[0]]
    if column.missing is None:
        raise SchemaError(
            f"covariate {column.name!r} has no declared missing policy; declare "
            "``missing='never'``, or the admissible codes, such as ``missing=['.']``"
        )
    as_levels = factor.kind == "C" or column.is_text
    fill = fills.get(column.name)
    missing = bool(column.missing) and fill is None and not column.is_text
    if as_levels:
        if not column.levels:
            raise SchemaError(
                f"covariate {column.name!r} has no levels; declare ``levels=[...]`` from public "
                "knowledge, never from the data"
            )
        return Coordinates(column, tuple(column.levels[1:]) or column.levels, missing, fill)
    return Coordinates(_bounded(column), (), missing, fill)


def _bounded(column: Column) -> Column:
    """Return a numeric covariate with bounds, those of its levels if it has levels."""
    bounds = extent_of(column)
    if bounds is None or not bounds[0] < bounds[1]:
        raise SchemaError(
            f"covariate {column.name!r} has no bounds; declare ``bounds=(low, high)`` from public "
            "knowledge, never from the data"
        )
    return replace(column, bounds=bounds)


@dataclass(frozen=True)
class PropensityGrid:
    """The grid of rounded logistic weights and their sensitivity in its steps; public.

    Notes
    -----
    Computed weights move by ``solver.l2`` = 2 / (n lam) + 2 tolerance / lam; rounding to the grid
    adds one step per coordinate at most, sqrt(d) in L2 (docs/methods.md, section 0).  The
    same under replace-one with the design public, where t stays.
    """

    n: int  # rows that the weights are fitted to
    d: int  # coordinates
    lam: float  # the penalty
    solver: Solver
    grid: Fraction  # what one step is worth: a power of two, at most a 2^20th of the sensitivity
    l2: int  # sensitivity in steps

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
    """Fit the propensity model and round its weights to their grid."""
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


@dataclass(frozen=True)
class Treated:
    """Who is treated, by one code of a column; ``public`` if the guarantee takes that as public."""

    column: Column
    code: float | str
    public: bool = False

    def __post_init__(self) -> None:
        if not self.public:
            check_own(self.column)

    def coded(self, frame: Table) -> nw.Expr:
        """Indicator of the treated, as an expression; whoever has no such code is not."""
        if self.column.is_text:
            return _text_code(frame, self.column.name, (self.code,))
        is_it = nw.col(self.column.name).cast(nw.Float64) == float(self.code)
        return nw.when(is_it).then(1).otherwise(0)


def _text_code(frame: Table, name: str, levels: Sequence[float | str]) -> nw.Expr:
    """Code k of the k-th level, 0 for another text; a null is the empty text, as in Stata."""
    # a categorical refuses to be compared with texts that it does not have
    categorical = isinstance(schema_of(frame)[name], (nw.Enum, nw.Categorical))
    text = nw.col(name).cast(nw.String) if categorical else nw.col(name)
    codes = {level: k for k, level in enumerate(levels, 1)}
    known = text.replace_strict(list(codes), list(codes.values()), default=0, return_dtype=nw.Int64)
    return nw.when(text.is_null()).then(codes.get("", 0)).otherwise(known)


def _spelled(level: float | str) -> str:
    return level if isinstance(level, str) else f"{float(level):g}"
