"""Moments of treatment and coded features: what a linear model of treatment asks of the rows."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.privacy.aggregates import IntegerVector
from dprct.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from dprct.queries.additive import CodedRows

    Whole = NDArray[np.int64]

STEPS = 1 << 15
"""M, the steps of 1 in a coordinate of a record."""

ROWS = 1 << 10
"""Rows whose products are added at a time."""


@dataclass(frozen=True, eq=False)
class TreatmentMoments:
    """Products of a record's coordinates, added over rows.

    Notes
    -----
    A record is v = (z, c, h): z has the coordinates of all features, c is M / sqrt(2), and h is
    M / 2 for the treated and -M / 2 for others.  It adds ``v_i v_j`` for i <= j.

    *Sensitivity.*  Let v become w.  With a = ||v||^2 and b = ||w||^2 the upper triangle moves by
    (squared)::

        1/2 ||vv' - ww'||^2 + 1/2 sum_i (v_i^2 - w_i^2)^2 <= 1/2 (a^2 + b^2) + 1/2 (X^4 + X^4)

    because ||vv' - ww'||^2 = a^2 + b^2 - 2 (v'w)^2; the squares of c and of h are the same in all
    records; and those of z sum to at most X^2 in each, so that their squares sum to at most X^4.
    X^2 adds the longest level of every feature, and a and b are at most A = X^2 + c^2 + h^2: the
    bound is A^2 + X^4, of whole numbers and exact.  With X^2 = M^2 / 2 it is 29/16 M^4.

    Examples
    --------
    >>> layout = TreatmentMoments.of((np.array([[-1.0], [0.0], [1.0]]),))
    >>> layout.size, round(math.sqrt(layout.l2_squared) / STEPS**2, 3)
    (6, 1.346)
    """

    # (K, c): of each feature the coordinates of every level, in steps of 1 / M: public.
    tables: tuple[Whole, ...]

    @classmethod
    def of(cls, features: Sequence[NDArray[np.float64]]) -> TreatmentMoments:
        """Return the layout of features whose levels have coordinates of norm 1 at most.

        Notes
        -----
        They are divided by sqrt(2 K) for K features, and rounded to steps towards zero.
        """
        unit = STEPS / math.sqrt(2 * len(features))
        return cls(tuple(np.trunc(table * unit).astype(np.int64) for table in features))

    @property
    def constant(self) -> int:
        """The coordinate c, in steps."""
        return math.isqrt(STEPS**2 // 2)

    @cached_property
    def width(self) -> int:
        """Number of coordinates of a record."""
        return 2 + sum(int(table.shape[1]) for table in self.tables)

    @property
    def size(self) -> int:
        """Number of moments."""
        return self.width * (self.width + 1) // 2

    @cached_property
    def l2_squared(self) -> int:
        """D^2, in squared units of the moments."""
        inner = sum(int(max((table**2).sum(axis=1).tolist())) for table in self.tables)
        whole = inner + self.constant**2 + STEPS**2 // 4
        return whole**2 + inner**2

    @property
    def l1(self) -> int:
        """By how much a record moves all moments together, at most."""
        return math.isqrt(self.l2_squared * self.size) + 1

    def sealed(self, rows: CodedRows) -> IntegerVector:
        """Return the moments of rows.

        Notes
        -----
        Coordinates are at most 2^15, and a product of matrices adds 2^10 products of two of them:
        doubles hold every sum exactly, in whatever order.
        """
        total = np.zeros((self.width, self.width), np.int64)
        for v in self._records(rows):
            total += (v.T @ v).astype(np.int64)
        return IntegerVector(
            np.array(total[np.triu_indices(self.width)].tolist(), dtype=object),
            l1=self.l1,
            l2_squared=self.l2_squared,
            l_inf=math.isqrt(self.l2_squared),
            relation="replace-one",
            grid=Fraction(1, STEPS**2),
        )

    def _records(self, rows: CodedRows) -> Iterator[NDArray[np.float64]]:
        for start in range(0, len(rows.treated), ROWS):
            part = slice(start, start + ROWS)
            levels = [t[codes[part]] for t, codes in zip(self.tables, rows.codes, strict=False)]
            side = np.where(rows.treated[part] > 0, STEPS // 2, -STEPS // 2)
            constant = np.full(len(side), self.constant)
            yield np.column_stack([*levels, constant, side]).astype(np.float64)

    def matrix(self, values: NDArray[np.float64]) -> NDArray[Any]:
        """Return released moments as a symmetric matrix."""
        full = np.zeros((self.width, self.width))
        full[np.triu_indices(self.width)] = values
        return full + np.triu(full, 1).T
