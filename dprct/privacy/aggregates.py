"""Exact integer aggregates of confidential rows, sealed until a mechanism adds its noise.

What `queries` computes is confidential.  It travels as one of the values below: everything that
is public about it (shape, sensitivity, relation) can be read, the numbers cannot.  They are not
printed, pickled, copied or compared; only `mechanisms` and `histogram` call :func:`_open`.
"""

from __future__ import annotations

import math
from dataclasses import field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from dprct.errors import ModelPicklingError, ParameterError
from dprct.privacy.budget import RELATIONS
from dprct.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike

    from dprct.privacy.budget import Relation
    from dprct.privacy.noise import NoiseSource


# Cells of a table with more cells than a machine integer counts: mixed-radix arithmetic.
#
# A cell is a row of digits, one per column; its index is the number that the digits spell, most
# significant column first.  Indices are Python integers wherever the number of cells needs them.

IntArray = NDArray[np.int64]

_INT64_CELLS = 2**62


def checked_radices(radices: Sequence[int]) -> tuple[int, ...]:
    """Return the level counts as a tuple of Python integers."""
    out = tuple(int(radix) for radix in radices)
    if not out or min(out) < 1 or max(out) >= 2**31:
        raise ParameterError(
            "radices must name at least one column, each with 1 to 2^31 - 1 levels; "
            "declare the levels of every modelled column"
        )
    return out


def cell_count(radices: Sequence[int]) -> int:
    """Return K, the number of cells, exactly.

    Examples
    --------
    >>> cell_count([1000] * 10) == 10**30
    True
    """
    return math.prod(int(radix) for radix in radices)


def cell_indices(codes: IntArray, radices: Sequence[int]) -> NDArray[Any]:
    """Index of each row of digits, (q,), of which column j lies in ``range(radices[j])``.

    int64 where K allows it, else Python integers.

    Examples
    --------
    >>> cell_indices(np.array([[1, 2], [0, 5]]), [2, 10]).tolist()
    [12, 5]
    """
    kind = _index_type(radices)
    strides = [math.prod(radices[j + 1 :]) for j in range(len(radices))]
    out: NDArray[Any] = codes.astype(kind) @ np.array(strides, kind)
    return out


def cell_digits(indices: Iterable[int], radices: Sequence[int]) -> IntArray:
    """Return the digits of each index: the inverse of :func:`cell_indices`.

    Examples
    --------
    >>> cell_digits([12, 5], [2, 10]).tolist()
    [[1, 2], [0, 5]]
    """
    rest: NDArray[Any] = np.array(list(indices), _index_type(radices))
    digits = np.empty((len(rest), len(radices)), np.int64)
    for column in reversed(range(len(radices))):
        digits[:, column] = rest % radices[column]
        rest = rest // radices[column]
    return digits


def distinct_empty_cells(
    cells: int, size: int, occupied: Iterable[int], source: NoiseSource
) -> list[int]:
    """Draw ``size`` distinct cells uniformly from those of ``range(cells)`` that are not occupied.

    Notes
    -----
    A uniform index is drawn until it is neither occupied nor taken, which makes each new cell
    uniform over what is left.  Where less than half of the cells would be left the empty cells
    are listed and the front of the list is shuffled (Fisher and Yates): the same law, and the
    list is at most twice as long as what was asked for.
    """
    taken = set(occupied)
    if size > cells - len(taken):
        raise ParameterError(
            f"``size={size}`` is more than the number of empty cells; draw at most that many"
        )
    if 2 * (len(taken) + size) >= cells:
        return _shuffled_front([i for i in range(cells) if i not in taken], size, source)
    drawn: list[int] = []
    while len(drawn) < size:
        index = source.uniform_below(cells)
        if index not in taken:
            taken.add(index)
            drawn.append(index)
    return drawn


def _shuffled_front(pool: list[int], size: int, source: NoiseSource) -> list[int]:
    for i in range(size):
        j = i + source.uniform_below(len(pool) - i)
        pool[i], pool[j] = pool[j], pool[i]
    return pool[:size]


def _index_type(radices: Sequence[int]) -> type:
    return np.int64 if cell_count(radices) < _INT64_CELLS else object


MOVED_ROWS: dict[Relation, int] = {
    "replace-one": 2,
    "replace-one-design-public": 2,
    "add-remove": 1,
}
"""By how much one record changes the counts of a histogram, in total (L1; also L2 squared)."""


class _Sealed:
    """A box that shows nothing and goes nowhere."""

    __slots__ = ("content",)

    def __init__(self, content: object) -> None:
        self.content = content

    def __repr__(self) -> str:
        return "<confidential>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise ModelPicklingError(
            "an aggregate of confidential rows cannot be pickled or copied; release it through a "
            "mechanism and keep the released value"
        )


class _Aggregate:
    """What the kinds of aggregate share: they refuse to leave, and print public facts only."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        _Sealed(None).__reduce_ex__(protocol)

    def __copy__(self) -> NoReturn:
        self.__reduce_ex__(4)

    def __deepcopy__(self, memo: object) -> NoReturn:
        self.__reduce_ex__(4)


@dataclass(frozen=True, slots=True, eq=False)
class IntegerVector(_Aggregate):
    """A vector of exact integers: sums, counts, or a statistic rounded to a grid.

    Parameters
    ----------
    values : array-like of int, shape (d,)
        Confidential.  int64, or Python integers (object) beyond it.
    l1 : int
        Sensitivity in the L1 norm, in units of the grid.
    l2_squared : int or Fraction, optional
        Square of the sensitivity in the L2 norm; ``l1 ** 2`` if not given.
    l_inf : int, optional
        Sensitivity of the largest coordinate; ``l1`` if not given.
    relation : {"replace-one", "add-remove", "replace-one-design-public"}
        Between which data sets the sensitivities hold.
    grid : Fraction or int, default 1
        What one unit is worth in the unit of the data.

    Attributes
    ----------
    size : int
        d; public.

    Examples
    --------
    >>> total = IntegerVector([4823], l1=10, relation="replace-one", grid=Fraction(1, 2))
    >>> total
    IntegerVector(size=1, l1=10, l2_squared=Fraction(100, 1), l_inf=10,
                  relation='replace-one', grid=Fraction(1, 2))
    """

    size: int
    l1: int
    l2_squared: Fraction
    l_inf: int
    relation: Relation
    grid: Fraction
    _sealed: _Sealed = field(repr=False)

    def __init__(
        self,
        values: ArrayLike,
        *,
        l1: int,
        relation: Relation,
        l2_squared: Fraction | int | None = None,
        l_inf: int | None = None,
        grid: Fraction | int = 1,
    ) -> None:
        content = _integers(values)
        _set(self, "size", len(content))
        _set(self, "l1", _whole(l1, "l1"))
        _set(self, "l2_squared", Fraction(self.l1**2 if l2_squared is None else l2_squared))
        _set(self, "l_inf", self.l1 if l_inf is None else _whole(l_inf, "l_inf"))
        _set(self, "relation", _known(relation))
        _set(self, "grid", Fraction(grid))
        _set(self, "_sealed", _Sealed(content))
        self._check()

    def _check(self) -> None:
        if not self.l_inf**2 <= self.l2_squared <= self.l1**2:
            raise ParameterError(
                "sensitivities contradict each other; l_inf^2 <= l2_squared <= l1^2 must hold"
            )
        if self.grid <= 0:
            raise ParameterError("grid must be positive; give the unit of the data per integer")


@dataclass(frozen=True, slots=True, eq=False)
class IntegerTable(_Aggregate):
    """Vectors of the same coordinates, one row each: statistics of several outcomes in each arm.

    Parameters
    ----------
    vectors : sequence of IntegerVector, length J
        All with A coordinates, under the same relation.
    reach : int
        Sensitivity in the norm of the sum over columns of the largest coordinate there: for
        neighbours, ``sum_a max_j |x_ja - x'_ja| <= reach``.

    Attributes
    ----------
    shape : (int, int)
        (J, A); public.
    grids : tuple of Fraction, length J
        What one unit of each row is worth; public.

    Examples
    --------
    >>> rows = [IntegerVector([5], l1=2, relation="replace-one", grid=g) for g in (1, 3)]
    >>> IntegerTable(rows, reach=2).shape
    (2, 1)
    """

    shape: tuple[int, int]
    reach: int
    l1: int
    l2_squared: Fraction
    l_inf: int
    relation: Relation
    grids: tuple[Fraction, ...]
    _sealed: _Sealed = field(repr=False)

    def __init__(self, vectors: Sequence[IntegerVector], *, reach: int) -> None:
        sizes, relations = {v.size for v in vectors}, {v.relation for v in vectors}
        if len(sizes) != 1 or len(relations) != 1:
            raise ParameterError("rows of a table have the same coordinates and the same relation")
        _set(self, "shape", (len(vectors), *sizes))
        _set(self, "reach", _whole(reach, "reach"))
        _set(self, "l1", sum(v.l1 for v in vectors))
        _set(self, "l2_squared", sum((v.l2_squared for v in vectors), Fraction(0)))
        _set(self, "l_inf", sorted(v.l_inf for v in vectors)[-1])
        if not self.l_inf <= self.reach <= self.l1:
            raise ParameterError("reach is between l_inf of a row and the sum of l1 of all rows")
        _set(self, "relation", relations.pop())
        _set(self, "grids", tuple(v.grid for v in vectors))
        _set(self, "_sealed", _Sealed(np.array([_open(v) for v in vectors], dtype=object)))


@dataclass(frozen=True, slots=True, eq=False)
class CellCounts(_Aggregate):
    """How many rows fall into each occupied cell of a public domain.

    Parameters
    ----------
    codes : array-like of int, shape (q, p)
        Confidential.  One row of digits per occupied cell, distinct, in any order.
    counts : array-like of int, shape (q,)
        Confidential.  At least 1 each.
    radices : sequence of int, length p
        Public number of levels of each column; digit j lies in ``range(radices[j])``.
    relation : {"replace-one", "add-remove", "replace-one-design-public"}
        Which data sets are neighbours.

    Notes
    -----
    Replacing one row moves it from one cell to another: L1 sensitivity 2, squared L2
    sensitivity 2.  Adding or removing one changes one count by 1: both are 1.

    Examples
    --------
    >>> CellCounts([[0, 1], [2, 0]], [5, 3], radices=[3, 2], relation="replace-one")
    CellCounts(radices=(3, 2), relation='replace-one')
    """

    radices: tuple[int, ...]
    relation: Relation
    _sealed: _Sealed = field(repr=False)

    def __init__(
        self, codes: ArrayLike, counts: ArrayLike, *, radices: Sequence[int], relation: Relation
    ) -> None:
        _set(self, "radices", checked_radices(radices))
        _set(self, "relation", _known(relation))
        digits = np.array(codes, np.int64).reshape(-1, len(self.radices))
        numbers = np.array(counts, np.int64).reshape(-1)
        _check_cells(digits, numbers, self.radices)
        for array in (digits, numbers):
            array.setflags(write=False)
        _set(self, "_sealed", _Sealed((digits, numbers)))

    @property
    def cells(self) -> int:
        """K, the number of cells of the public domain."""
        return cell_count(self.radices)

    @property
    def l1(self) -> int:
        """Sensitivity in the L1 norm."""
        return MOVED_ROWS[self.relation]

    @property
    def l2_squared(self) -> int:
        """Square of the sensitivity in the L2 norm."""
        return MOVED_ROWS[self.relation]


def _open(aggregate: IntegerVector | IntegerTable | CellCounts) -> Any:
    """Return the confidential numbers; for `mechanisms` and `histogram` alone."""
    return aggregate._sealed.content


def _set(target: object, name: str, value: object) -> None:
    object.__setattr__(target, name, value)


def _integers(values: ArrayLike) -> NDArray[Any]:
    array = np.array(values)
    if array.ndim != 1 or array.size == 0:
        raise ParameterError("values must be a vector with at least one coordinate")
    if array.dtype.kind == "i":
        array = array.astype(np.int64)
    elif array.dtype != object or not all(type(value) is int for value in array):
        raise ParameterError(
            "values must be integers (int64, or Python integers beyond it); "
            "round to a public grid first"
        )
    array.setflags(write=False)
    return array


def _known(relation: str) -> str:
    if relation not in RELATIONS:
        raise ParameterError(f"``relation={relation!r}``; allowed: {', '.join(RELATIONS)}")
    return relation


def _whole(sensitivity: object, name: str) -> int:
    if type(sensitivity) is not int or sensitivity < 1:
        raise ParameterError(f"{name} must be a whole number of grid units, at least 1")
    return sensitivity


def _check_cells(
    digits: NDArray[np.int64], counts: NDArray[np.int64], radices: tuple[int, ...]
) -> None:
    if len(digits) != len(counts):
        raise ParameterError("codes and counts must have the same number of rows")
    if (digits < 0).any() or (digits >= np.array(radices)).any() or (counts < 1).any():
        raise ParameterError("codes must be digits of their radices and counts at least 1")
    indices = cell_indices(digits, radices)
    distinct = set(indices) if indices.dtype == object else np.unique(indices)
    if len(distinct) != len(digits):
        raise ParameterError("codes must be distinct; add up the counts of equal cells first")
