"""What a doubly robust effect asks of the rows: moments of two folds, and the sum of scores.

Every number is a function of one record, on a public grid, and integers are added; outcomes are
y = (outcome - mid) / R in [-1, 1], R half the width of the bounds.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.lazy import special
from dprct.privacy.aggregates import IntegerVector
from dprct.queries.propensity import CHUNK, PIECE
from dprct.queries.sums import GRID
from dprct.queries.weighting import HALF, along, positive, signed
from dprct.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from dprct.queries.weighting import Records

    Array = NDArray[np.float64]

STEPS = 1 << 15
"""M, the steps of 1 in a coordinate of a record."""


@dataclass(frozen=True)
class FoldMoments:
    """Products of the coordinates of a record, added over each of two disjoint folds.

    Notes
    -----
    A record is v = (z, t - 1/2, y/2), in steps of 1/M, and adds ``v_i v_j`` for i <= j to the
    moments of its fold.

    *Sensitivity.*  Let it become w, in the same fold, for folds do not depend on values.  With
    a = ||v||^2 and b = ||w||^2, the upper triangle moves by (squared)::

        1/2 ||vv' - ww'||^2 + 1/2 sum_i (v_i^2 - w_i^2)^2
            <= 1/2 (a^2 + b^2) + 1/2 (2 X^4 + Y^4)

    because ||vv' - ww'||^2 = a^2 + b^2 - 2 (v'w)^2; the squares of the constant and of t - 1/2 are
    the same in all records; those of the other coordinates of z sum to at most X^2 in each, so that
    their squares sum to at most X^4; and the square of y/2 is in [0, Y^2].  With
    ||v||^2 <= 1 + 1/4 + 1/4, X^2 = 1/2, Y = 1/2 this is 81/32 M^4.  Rounding a coordinate moves it
    by at most half a step, hence the norms by half the root of their number.

    Examples
    --------
    >>> layout = FoldMoments(4)
    >>> layout.size, round(math.sqrt(layout.l2_squared) / STEPS**2, 3)
    (42, 1.591)
    """

    # Coordinates of z, the constant last; ||z|| is at most 1 and its part without the constant at
    # most 1/sqrt(2).
    d: int

    @property
    def width(self) -> int:
        """Coordinates of a record."""
        return self.d + 2

    @property
    def size(self) -> int:
        """Number of moments of both folds."""
        return self.width * (self.width + 1)

    @property
    def l2_squared(self) -> int:
        """D^2, in squared units of the moments."""
        norm = STEPS * math.sqrt(1.5) + math.sqrt(self.width) / 2
        inner = STEPS * math.sqrt(0.5) + math.sqrt(self.d) / 2
        return math.ceil((norm**4 + inner**4 + (STEPS / 2) ** 4 / 2) * (1 + 1e-9))

    @property
    def l1(self) -> int:
        """By how much a record moves all moments together, at most."""
        return math.isqrt(self.l2_squared * (self.size // 2)) + 1

    def sealed(self, folds: Sequence[Records]) -> IntegerVector:
        """Return the moments of both folds, side by side.

        Notes
        -----
        Coordinates are whole numbers of at most 2^15, and a product of matrices adds at most 2^10
        products of two of them: doubles hold every sum exactly, in whatever order.
        """
        found = [self._added(fold) for fold in folds]
        return IntegerVector(
            np.concatenate(found),
            l1=self.l1,
            l2_squared=self.l2_squared,
            l_inf=math.isqrt(self.l2_squared),
            relation="replace-one",
            grid=Fraction(1, STEPS**2),
        )

    def _added(self, fold: Records) -> NDArray[Any]:
        total = np.zeros((self.width, self.width), np.int64)
        for rows, Z in _pieces(fold):
            v = np.column_stack([Z, fold.t[rows] - 0.5, (fold.steps[rows] / HALF - 1) / 2])
            whole = np.floor(np.nan_to_num(v).clip(-1, 1) * STEPS + 0.5)
            for start in range(0, len(whole), CHUNK):
                part = whole[start : start + CHUNK]
                total += (part.T @ part).astype(np.int64)
        return np.array(total[np.triu_indices(self.width)].tolist(), dtype=object)

    def matrices(self, values: Array) -> list[Array]:
        """Return released moments as a symmetric matrix (d + 2, d + 2) for each fold."""
        found = []
        for upper in values.reshape(2, -1):
            full = np.zeros((self.width, self.width))
            full[np.triu_indices(self.width)] = upper
            found.append(full + np.triu(full, 1).T)
        return found


@dataclass(frozen=True)
class Fits:
    """Released models of treatment and outcome."""

    index: Array  # (d,): log odds of treatment are z'index
    outcome: Array  # (d,): the outcome of an untreated record is z'outcome, clipped to [-1, 1]
    effect: float  # what is added for a treated one, before it is clipped


@dataclass(frozen=True, eq=False, repr=False)
class Scores:
    """Doubly robust scores of all records: confidential, except for fits, trimming and reach.

    Notes
    -----
    psi = m1 - m0 + t (y - m1) / e - (1 - t) (y - m0) / (1 - e), each clipped to [-C, C]: a record
    replaced by any other moves the sum by at most 2C, which is 2^20 steps, and the sum of squares
    by C^2, whatever the fits.
    """

    folds: Sequence[tuple[Records, Fits]]  # (Records, Fits): fits were made from other records
    trim: float  # c; propensities are set to c or 1 - c beyond these
    reach: float  # C, at which scores are clipped

    def total(self) -> IntegerVector:
        """Return the sum of scores."""
        return self._vector(lambda psi: signed(psi / self.reach), HALF, self.reach)

    def squares(self) -> IntegerVector:
        """Return the sum of their squares."""
        return self._vector(lambda psi: positive(np.square(psi / self.reach)), GRID, self.reach**2)

    def _vector(self, term: Callable[[Array], int], unit: int, value: float) -> IntegerVector:
        total = sum(term(psi) for psi in self._scores())
        return IntegerVector([total], l1=GRID, relation="replace-one", grid=Fraction(value) / unit)

    def _scores(self) -> Iterator[Array]:
        for records, fits in self.folds:
            for rows, Z in _pieces(records):
                yield self._scores_of(records, fits, rows, Z)

    def _scores_of(self, records: Records, fits: Fits, rows: slice, Z: Array) -> Array:
        t, y = records.t[rows], records.steps[rows] / HALF - 1
        e = special.expit(along(Z, fits.index)).clip(self.trim, 1 - self.trim)
        base = along(Z, fits.outcome)
        other, own = base.clip(-1, 1), (base + fits.effect).clip(-1, 1)
        psi = own - other + np.where(t, (y - own) / e, (other - y) / (1 - e))
        return np.asarray(psi.clip(-self.reach, self.reach))


def _pieces(records: Records) -> Iterator[tuple[slice, Array]]:
    for start in range(0, len(records), PIECE):
        rows = slice(start, min(start + PIECE, len(records)))
        yield rows, records.Z.chunk(rows.start, rows.stop)
