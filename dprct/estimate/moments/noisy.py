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
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.errors import ColumnError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.floating[Any]]

_CLOSE = 1e-9
"""Relative difference up to which two released scales are the same number."""


@dataclass(frozen=True, slots=True, eq=False)
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
        p = len(self.names)
        if len(set(self.names)) != p:
            raise ParameterError("the columns of a release are named twice; name each one once")
        shapes = {"totals": (p,), "cross": (p, p), "centre": (p,), "scale": (p,), "weight": (p,)}
        for field, shape in shapes.items():
            values = np.asarray(getattr(self, field), np.float64)
            if values.shape != shape or not np.isfinite(values).all():
                raise ParameterError(
                    f"{field} of {p} columns must be {shape} finite numbers, "
                    f"got shape {values.shape}"
                )
            object.__setattr__(self, field, values)
        if not np.allclose(self.cross, self.cross.T, rtol=_CLOSE, atol=0):
            raise ParameterError("the second moments of a release must be symmetric")
        if not (np.all(self.scale > 0) and np.all(self.weight > 0)):
            raise ParameterError("every scale and weight of a column must be above 0")
        if not np.isfinite([self.n, self.s1, self.s2]).all() or min(self.s1, self.s2) < 0:
            raise ParameterError("n, s1 and s2 must be finite, and the noise must not be negative")
        if (self.s1 == 0) != (self.s2 == 0):
            raise ParameterError("s1 and s2 must be both 0 (no noise) or both above 0")

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

    def where(self, name: str) -> int:
        """Return the place of a column among those released, or refuse."""
        if name not in self.names:
            raise ColumnError.unknown(name, self.names, "the released moments")
        return self.names.index(name)

    def row(self, name: str | None) -> Array:
        """Return v with x = v'r for a column, or 1 = v'r for None."""
        v = np.zeros(len(self.names) + 1)
        if name is None:
            v[0] = 1 / self.h
        else:
            j = self.where(name)
            v[0] = self.centre[j] / self.h
            v[j + 1] = self.scale[j] / self.weight[j]
        return v

    def selected(self, names: Sequence[str]) -> NoisyMoments:
        """Return the moments of some of the columns, in the order asked for."""
        at = np.array([self.where(name) for name in names], np.intp)
        return replace(
            self,
            names=tuple(names),
            totals=self.totals[at],
            cross=self.cross[np.ix_(at, at)],
            centre=self.centre[at],
            scale=self.scale[at],
            weight=self.weight[at],
        )

    def pooled(self, *others: NoisyMoments, rows: int | None = None) -> NoisyMoments:
        """Return the moments of this group and others together.

        ``rows`` is their number of rows together where that is public although the cells' numbers
        are not, as under replace-one.
        """
        groups = (self, *others)
        for other in others:
            if other.names != self.names or not all(
                np.array_equal(getattr(self, field), getattr(other, field))
                for field in ("centre", "scale", "weight")
            ):
                raise ParameterError(
                    "groups are pooled only if they have the same columns in the same units"
                )
            if other.n_is_public != self.n_is_public:
                raise ParameterError(
                    "public groups and private cells are not pooled with each other"
                )
        if not self.n_is_public and rows is None:
            constants = [group.h for group in groups]
            if max(constants) > min(constants) * (1 + _CLOSE):
                raise ParameterError("private cells are pooled only if they share the constant")
        return replace(
            self,
            n=float(sum(group.n for group in groups)) if rows is None else float(rows),
            n_is_public=self.n_is_public or rows is not None,
            totals=np.sum([group.totals for group in groups], axis=0),
            cross=np.sum([group.cross for group in groups], axis=0),
            s1=math.hypot(*(group.s1 for group in groups)),
            s2=math.hypot(*(group.s2 for group in groups)),
        )
