"""Released first and second moments of one group of rows, with the law of their noise.

A row of the table is r = (h, z), where z_j = weight_j (x_j - centre_j) / scale_j and h is the
public constant of the release.  What was released is sum r r' + N with N symmetric and Gaussian:
entries are independent up to symmetry, of standard deviation s2 on the diagonal and s2 / sqrt 2 off
it.  The first row of that matrix is h times the sums of z, so that these have noise
s1 = s2 / (sqrt 2 h); its corner is n h^2, which is exact where the number of rows is public.

Everything here is a function of released numbers.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.errors import ParameterError
from dprct.records import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False)
class NoisyMoments:
    """Noisy sums and second moments of p columns over the rows of one group, in units of z."""

    names: tuple[str, ...]  # the p columns; the constant is not among them
    n: float  # rows of the group: public, or the noisy count of a private cell
    n_is_public: bool
    # (p,): sum of z; the noise of its entries is independent, of standard deviation ``s1``.
    totals: Array
    # (p, p): sum of z z', symmetric; noise of standard deviation ``s2`` on the diagonal, ``s2 /
    # sqrt 2`` off it, independent up to symmetry.
    cross: Array
    # s1, s2: zero for moments without noise.
    s1: float
    s2: float
    # centre, scale, weight: (p,), ``z_j = weight_j (x_j - centre_j) / scale_j``.
    centre: Array
    scale: Array
    weight: Array

    def __post_init__(self) -> None:
        numbers = self.n, self.s1, self.s2, self.totals, self.cross, self.centre, self.scale
        if not all(np.isfinite(one).all() for one in numbers):
            raise ParameterError("released moments must be finite numbers")

    @property
    def h(self) -> float:
        """The constant in units of z: h times a total has noise s2 / sqrt 2, as a product has."""
        return 1.0 if self.s2 == 0 else self.s2 / (math.sqrt(2) * self.s1)

    @property
    def n_noise(self) -> float:
        """Standard deviation of the noise of ``n``: that of the corner, s2, over h^2."""
        return 0.0 if self.n_is_public else self.s2 / self.h**2

    @property
    def matrix(self) -> Array:
        """The (p + 1, p + 1) second moments of r = (h, z)."""
        first = np.concatenate([[self.n * self.h**2], self.h * self.totals])
        return np.block([[first[:1], first[None, 1:]], [first[1:, None], self.cross]])

    def row(self, name: str | None) -> Array:
        """Return v with x = v'r for a column, or 1 = v'r for None."""
        v = np.zeros(len(self.names) + 1)
        if name is None:
            v[0] = 1 / self.h
        else:
            j = self.names.index(name)
            v[0] = self.centre[j] / self.h
            v[j + 1] = self.scale[j] / self.weight[j]
        return v

    def pooled(self, *others: NoisyMoments, rows: int | None = None) -> NoisyMoments:
        """Return the moments of this group and others together.

        ``rows`` is their number of rows together where that is public although the cells' numbers
        are not, as under replace-one.
        """
        groups = (self, *others)
        return replace(
            self,
            n=float(sum(group.n for group in groups)) if rows is None else float(rows),
            n_is_public=self.n_is_public or rows is not None,
            totals=np.sum([group.totals for group in groups], axis=0),
            cross=np.sum([group.cross for group in groups], axis=0),
            s1=math.hypot(*(group.s1 for group in groups)),
            s2=math.hypot(*(group.s2 for group in groups)),
        )
