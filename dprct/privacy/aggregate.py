"""Exact integer aggregates of confidential rows, sealed until a mechanism adds its noise.

What `queries` computes is confidential.  It travels as one of the values below: everything that
is public about it (shape, sensitivity, relation) can be read, the numbers cannot.  They are not
printed, pickled, copied or compared; only `mechanisms` and `histogram` call :func:`_open`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from dprct.errors import ModelPicklingError, ParameterError
from dprct.privacy.cells import cell_count, cell_indices, checked_radices
from dprct.privacy.guarantee import RELATIONS, Relation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

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

    Raises
    ------
    ParameterError
        If the values are not integers, or the sensitivities contradict each other.

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


def _open(aggregate: IntegerVector | CellCounts) -> Any:
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
        raise ParameterError(f"relation={relation!r}; allowed: {', '.join(RELATIONS)}")
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
