"""Second moments of covariates and outcomes, exactly, for a private ridge regression."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.encoding import prepared
from dprct.errors import ParameterError
from dprct.lazy import narwhals as nw
from dprct.privacy.aggregates import IntegerVector
from dprct.queries.covariates import HALF, Feature, features_of
from dprct.queries.sums import added
from dprct.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dprct.encoding import Coded
    from dprct.privacy.budget import Relation
    from dprct.schema.columns import Column
    from dprct.schema.tables import Frame, Table

DIGIT = 1 << 10
"""k = DIGIT a + b: the digits whose products are summed, so that doubles hold the sums."""


@dataclass(frozen=True)
class MomentsLayout:
    """What :func:`moments` releases, in which order and how sensitive it is; public.

    Notes
    -----
    A record is a vector z of d whole numbers and a vector u of q, every one of size at most
    M = 2^15; z_0 = M is the intercept.  It adds ``z_i z_j`` for i <= j (but not ``z_0 z_0``, which
    gives n) and ``L z_i u_j`` to the moments, where L is :attr:`weight`.

    *Sensitivity.*  Let a record (z, u) become (w, v), in units of M.  With A = z'z, B = w'w and
    t = z'w, the first moments move by (the upper triangle of a symmetric matrix is half of it and
    half of its diagonal)::

        1/2 (A^2 + B^2 - 2 t^2) + 1/2 sum_i (z_i^2 - w_i^2)^2  <=  d^2 - t^2    (squared)

    because ``(z_i^2 - w_i^2)^2 <= |z_i^2 - w_i^2| <= (1 - z_i^2) + (1 - w_i^2)``, the sum of which
    is 2d - A - B, and ``A^2 - A <= d^2 - d`` for A in [0, d].  The others move by
    ``L^2 (A u'u + B v'v - 2 t u'v) <= 2 L^2 q (d + |t|)``.  The sum of both is largest at
    |t| = min(L^2 q, d)::

        D^2 = (d + L^2 q)^2 M^4     where L^2 q <= d
        D^2 = 4 d L^2 q M^4         otherwise

    It is attained by records at corners of the bounds that differ in (d - L^2 q) / 2 covariates
    and in all outcomes, where that is a whole number.  (For z in the unit ball, where
    every entry of the matrix is counted, the figure is 3/sqrt(2); here it is 2 in the same units,
    because z lies in a cube and each moment is released once: docs/methods.md, section 5.)  All
    numbers are integers, so that no rounding is left to add.

    L balances the noise between both: after division by L the second moments have noise
    proportional to (d + L^2 q) / L, which is least at L = sqrt(d / q).

    Examples
    --------
    >>> from dprct.schema import Column
    >>> bounded = {"bounds": (0.0, 1.0), "missing": ()}
    >>> x = [Column(name, **bounded) for name in ("a", "b", "c")]
    >>> layout = MomentsLayout.of(x, [Column("y", **bounded)])
    >>> layout.size, layout.weight, math.sqrt(layout.l2_squared) / HALF**2
    (13, 2, 8.0)
    """

    # Of the covariates.  With an intercept before them there are d = p + 1 regressors.
    features: tuple[Feature, ...]
    outcomes: tuple[Feature, ...]

    @classmethod
    def of(cls, covariates: Sequence[Coded | Column], outcomes: Sequence[Column]) -> MomentsLayout:
        """Return the layout of columns, from the schema alone."""
        if not covariates or not outcomes:
            raise ParameterError("moments need at least one covariate and one outcome; name them")
        return cls(features_of(covariates), tuple(Feature.value(column) for column in outcomes))

    @property
    def width(self) -> int:
        """Regressors with the intercept, d."""
        return len(self.features) + 1

    @property
    def weight(self) -> int:
        """L, by which the moments with outcomes are multiplied."""
        return max(1, round(math.sqrt(self.width / len(self.outcomes))))

    @property
    def size(self) -> int:
        """Number of moments."""
        return self.width * (self.width + 1) // 2 - 1 + self.width * len(self.outcomes)

    @property
    def l2_squared(self) -> int:
        """D^2, in squared units of the moments."""
        d, b = self.width, self.weight**2 * len(self.outcomes)
        return ((d + b) ** 2 if b <= d else 4 * d * b) * HALF**4

    @property
    def l_inf(self) -> int:
        """By how much one record moves any moment."""
        return 2 * self.weight * HALF**2

    @property
    def l1(self) -> int:
        """By how much one record moves all moments together, at most."""
        d, q = self.width, len(self.outcomes)
        return (d * (d - 1) + d - 1 + 2 * self.weight * d * q) * HALF**2

    def noise_of(self, noise_sd: float) -> float:
        """Return the noise of an entry of Z'Z, in units of M^2, of that of a released moment."""
        return noise_sd / HALF**2

    def matrices(self, units: NDArray[Any], n: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Released moments as matrices Z'Z and Z'U, in units of M^2 and without the weight.

        The intercept is first, values are within -1 and 1 in every row.
        """
        d, q = self.width, len(self.outcomes)
        scaled = np.array([float(unit) for unit in units]) / HALF**2
        upper = np.zeros((d, d))
        upper[np.triu_indices(d)] = [float(n), *scaled[: self.size - d * q]]
        squares = upper + np.triu(upper, 1).T
        return squares, scaled[self.size - d * q :].reshape(d, q) / self.weight


def moments(
    frame: Table,
    covariates: Sequence[Coded | Column],
    outcomes: Sequence[Column],
    relation: Relation = "replace-one",
) -> IntegerVector:
    """Sum the products of covariates with each other and with outcomes, as exact integers.

    Columns have bounds, covariates perhaps levels; text needs levels.  A missing value is at the
    middle of the bounds, and of a covariate has an indicator where missing is a declared level.
    """
    if relation == "add-remove":
        raise ParameterError(
            "moments take the number of rows as public, which add-remove protects; use replace-one"
        )
    layout = MomentsLayout.of(covariates, outcomes)
    features = (*layout.features, *layout.outcomes)
    products = (
        _products(_steps(frame, features))
        if isinstance(frame, nw.DataFrame)
        else _products_in_engine(frame, features)
    )
    d = layout.width
    upper = products[:d, :d][np.triu_indices(d)][1:]
    cross = products[:d, d:].reshape(-1) * layout.weight
    return IntegerVector(
        np.concatenate([upper, cross]),
        l1=layout.l1,
        l2_squared=layout.l2_squared,
        l_inf=layout.l_inf,
        relation=relation,
    )


def _steps(frame: Frame, features: Sequence[Feature]) -> NDArray[np.int64]:
    """Return the whole numbers -M to M of every row, the intercept first; (n, 1 + f)."""
    frame = prepared(frame, [feature.column for feature in features if feature.level is not None])
    found = frame.select(*[f.steps().alias(f"k{j}") for j, f in enumerate(features)])
    columns = [found[f"k{j}"].to_numpy() for j in range(len(features))]
    ones = np.full(len(columns[0]), HALF)
    return np.column_stack([ones, *columns]).astype(np.int64)


def _products(steps: NDArray[np.int64]) -> NDArray[Any]:
    """Return ``steps' steps`` as Python integers; exact for n below 2^32.

    Of the digits of k = 1024 a + b every sum of products is a whole number below 2^53, so that
    doubles add it without rounding, in any order.
    """
    a, b = (digit.astype(np.float64) for digit in np.divmod(steps, DIGIT))
    aa, ab, bb = (_whole(x.T @ y) for x, y in ((a, a), (a, b), (b, b)))
    total: NDArray[Any] = DIGIT**2 * aa + DIGIT * (ab + ab.T) + bb
    return total


def _products_in_engine(frame: nw.LazyFrame[Any], features: Sequence[Feature]) -> NDArray[Any]:
    """Result of :func:`_products`, added by the engine, which keeps the rows."""
    coded = prepared(frame, [feature.column for feature in features if feature.level is not None])
    steps = coded.select(*[f.steps().cast(nw.Int64).alias(f"k{j}") for j, f in enumerate(features)])
    pairs = [(i, j) for i in range(len(features)) for j in range(i, len(features))]
    # |k| <= 2^15: a product is below 2^30, so that n below 8e9 stays within int64
    sums = {f"s{j}": nw.col(f"k{j}") for j in range(len(features))}
    sums |= {f"p{i}_{j}": nw.col(f"k{i}") * nw.col(f"k{j}") for i, j in pairs}
    (found,) = added(steps, sums)
    size = len(features) + 1
    total = np.zeros((size, size), dtype=object)
    total[0, 0] = found[-1] * HALF**2
    for j in range(1, size):
        total[0, j] = total[j, 0] = found[j - 1] * HALF
    for (i, j), product in zip(pairs, found[size - 1 : -1], strict=True):
        total[i + 1, j + 1] = total[j + 1, i + 1] = product
    return total


def _whole(sums: NDArray[np.float64]) -> NDArray[Any]:
    return sums.astype(np.int64).astype(object)
