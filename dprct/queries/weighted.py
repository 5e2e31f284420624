"""Sums of inverse-probability-weighted terms: functions of one record each, on a public grid.

Every record's term is computed in floating point from its own row and released weights, divided by
its public range, clipped to it and rounded to an integer; the integers are added exactly.  What the
floating point does to a term is therefore never part of a sensitivity.

Outcomes are y = (outcome - mid) / R in [-1, 1], R half the width of the bounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

import numpy as np

from dprct.privacy.aggregate import IntegerVector
from dprct.queries.arms import filled_steps
from dprct.queries.grid import GRID, Clipped

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dprct.privacy.guarantee import Relation
    from dprct.schema.facts import Column
    from dprct.schema.table import Frame

    Array = NDArray[np.float64]
    Mask = NDArray[np.bool_]

Estimand = Literal["ate", "att", "atc"]

HALF = GRID // 2
"""Steps of a term from 0 to the end of its range."""

_SPARE = 1 + 1e-9


@dataclass(frozen=True, slots=True)
class Scheme:
    """How records are weighted: the estimand and the trimming; public.

    Parameters
    ----------
    estimand : {"ate", "att", "atc"}
    trim : float
        c in (0, .5): propensities are clipped to [c, 1 - c].

    Notes
    -----
    Weights of the treated are 1/e (ATE), 1 (ATT) or (1-e)/e (ATC), of the others 1/(1-e), e/(1-e)
    or 1: positive and at most :attr:`treated_most` and :attr:`control_most`.
    """

    estimand: Estimand
    trim: float

    @property
    def odds_most(self) -> float:
        """(1 - c) / c, the largest odds after trimming."""
        return (1 - self.trim) / self.trim

    @property
    def treated_most(self) -> float:
        """The largest weight of a treated record."""
        return {"ate": 1 / self.trim, "att": 1.0, "atc": self.odds_most}[self.estimand]

    @property
    def control_most(self) -> float:
        """The largest weight of another record."""
        return {"ate": 1 / self.trim, "att": self.odds_most, "atc": 1.0}[self.estimand]

    @property
    def most(self) -> float:
        """The largest weight of any record."""
        return sorted((self.treated_most, self.control_most))[-1]


@dataclass(frozen=True, slots=True)
class Centre:
    """Released or public numbers around which influence terms are taken.

    Parameters
    ----------
    treated_mean, control_mean : float
        Subtracted from y before weighting, in [-1, 1]; 0 where weights are not normalised.
    treated_shift, control_shift : float
        Subtracted from the term ``w1 y`` of a treated record and ``-w0 y`` of another.
    treated_scale, control_scale : float
        Each arm's factor, above 0.
    """

    treated_mean: float = 0.0
    control_mean: float = 0.0
    treated_shift: float = 0.0
    control_shift: float = 0.0
    treated_scale: float = 1.0
    control_scale: float = 1.0

    def reach(self, scheme: Scheme) -> float:
        """Return the largest absolute influence of a record."""
        treated = self.treated_scale * (
            scheme.treated_most * (1 + abs(self.treated_mean)) + abs(self.treated_shift)
        )
        control = self.control_scale * (
            scheme.control_most * (1 + abs(self.control_mean)) + abs(self.control_shift)
        )
        return sorted((treated, control))[-1] * _SPARE

    def slope(self, scheme: Scheme) -> float:
        """Return the largest norm of the derivative of a record's influence in the weights."""
        treated = self.treated_scale * (1 + abs(self.treated_mean)) * scheme.odds_most
        control = self.control_scale * (1 + abs(self.control_mean)) * scheme.odds_most
        moving = {"ate": (treated, control), "att": (control,), "atc": (treated,)}
        return sorted(moving[scheme.estimand])[-1] * _SPARE


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Weighted:
    """Records with their weights: confidential, except for the scheme and n.

    Parameters
    ----------
    y : (n,) array
        In [-1, 1].
    t : (n,) array of bool
    Z : (n, d) array
        Covariates, of norm at most 1.
    treated, control : (n,) array
        The weight a record has if it is treated, and if it is not.
    treated_slope, control_slope : (n,) array
        Their derivatives in z'w; 0 where trimmed.
    scheme : Scheme
    relation : {"replace-one", "replace-one-design-public"}

    Notes
    -----
    A record replaced by any other has another term in the range of its arm; under replace-one it
    may change arm, too.  Each method says by how much that moves what it returns.
    """

    y: Array
    t: Mask
    Z: Array
    treated: Array
    control: Array
    treated_slope: Array
    control_slope: Array
    scheme: Scheme
    relation: Relation

    @classmethod
    def of(
        cls,
        y: Array,
        t: Mask,
        Z: Array,
        weights: Array,
        noise_sd: float,
        scheme: Scheme,
        relation: Relation = "replace-one",
    ) -> Weighted:
        """Weight records by released propensity weights.

        Parameters
        ----------
        weights : (d,) array
            Released, w + N(0, noise_sd^2 I).
        noise_sd : float
            Their noise, s1; 0 to leave the odds as they are.

        Notes
        -----
        E exp(-z'w~) = exp(-z'w + s1^2 ||z||^2 / 2), so that ``exp(-u - s1^2 ||z||^2 / 2)``, and
        likewise with +u, are without bias on average over the noise.  Both are then trimmed, which
        brings some bias back.
        """
        u = Z @ weights
        less = np.square(Z).sum(axis=1) * noise_sd**2 / 2
        least, most = 1 / scheme.odds_most, scheme.odds_most
        against, favour = (np.exp((v - less).clip(-700, 700)) for v in (-u, u))
        inside = [(odds > least) & (odds < most) for odds in (against, favour)]
        against, favour = (odds.clip(least, most) for odds in (against, favour))
        slopes = [-against * inside[0], favour * inside[1]]
        one = np.ones(len(u))
        if scheme.estimand == "ate":
            found = (1 + against, 1 + favour)
        elif scheme.estimand == "att":
            found, slopes[0] = (one, favour), 0 * one
        else:
            found, slopes[1] = (against, one), 0 * one
        return cls(y, t, Z, *found, slopes[0], slopes[1], scheme, relation)

    def difference(self) -> IntegerVector:
        """Return the sum of t w1 y - (1 - t) w0 y.

        Notes
        -----
        Each term is within ``most`` of zero, whatever the arm: one record moves the sum by at most
        2 ``most`` (ATE: 2 / c), which is 2^20 steps.  Reached by y from -1 to 1 at that weight.
        """
        terms = np.where(self.t, self.treated, -self.control) * self.y / self.scheme.most
        return self._vector([_signed(terms)], GRID, self.scheme.most)

    def arm_sums(self) -> IntegerVector:
        """Return the sums of w y of the treated and of the others, each in its own unit.

        Notes
        -----
        In units of 2 ``treated_most`` and 2 ``control_most`` a record that stays in its arm moves
        one sum by at most 1; one that changes arm moves both, by 1/2 each: L1 2^20 steps.
        """
        treated = np.where(self.t, self.treated * self.y / self.scheme.treated_most, 0.0)
        control = np.where(self.t, 0.0, self.control * self.y / self.scheme.control_most)
        return self._vector([_signed(treated), _signed(control)], GRID, 1)

    def masses(self) -> IntegerVector:
        """Return the sums of weights of the treated and of the others, each over its largest.

        Notes
        -----
        Terms are within [0, 1].  A record that changes arm moves both by at most 1, another moves
        one of them by less than 1: L1 2^21 steps, 2^20 where treatment is public.
        """
        treated = np.where(self.t, self.treated / self.scheme.treated_most, 0.0)
        control = np.where(self.t, 0.0, self.control / self.scheme.control_most)
        moved = 2 * GRID if self.relation == "replace-one" else GRID
        return self._vector([_positive(treated), _positive(control)], moved, 1, unit=GRID)

    def count(self) -> IntegerVector:
        """Return how many records the effect is about: the treated, or for the ATC the others.

        Notes
        -----
        One record changes arm: sensitivity 1.
        """
        who = ~self.t if self.scheme.estimand == "atc" else self.t
        return IntegerVector([int(who.sum())], l1=1, relation=self.relation)

    def squares(self, centre: Centre) -> IntegerVector:
        """Return the sum of squared influences; one record moves it by ``reach^2``, 2^20 steps.

        Notes
        -----
        Squares over reach^2 are within [0, 1].
        """
        reach = centre.reach(self.scheme)
        return self._vector(
            [_positive(np.square(self._influences(centre) / reach))], GRID, reach**2, unit=GRID
        )

    def gradient(self, centre: Centre) -> IntegerVector:
        """Return the derivative (d,) of the sum of influences in the propensity weights.

        Notes
        -----
        Each record's vector has norm at most ``slope``: two differ by 2^20 steps, and rounding
        d coordinates of both adds sqrt(d).
        """
        slope = centre.slope(self.scheme)
        treated = centre.treated_scale * (self.y - centre.treated_mean) * self.treated_slope
        control = -centre.control_scale * (self.y - centre.control_mean) * self.control_slope
        along = np.where(self.t, treated, control) / slope
        d = self.Z.shape[1]
        sums = [_signed(along * self.Z[:, j]) for j in range(d)]
        l2 = GRID + int(np.ceil(np.sqrt(d)))
        return IntegerVector(
            np.array(sums, dtype=object),
            l1=int(np.ceil(np.sqrt(d))) * l2,
            l2_squared=l2**2,
            l_inf=l2,
            relation=self.relation,
            grid=Fraction(slope) / HALF,
        )

    def balance(self, x: Array) -> tuple[IntegerVector, IntegerVector]:
        """Return the weighted difference of a covariate in [-1, 1], and its sum of squares.

        Notes
        -----
        The first as :meth:`difference`; squares are within [0, 1]: 2^20 steps each.
        """
        terms = np.where(self.t, self.treated, -self.control) * x / self.scheme.most
        return (
            self._vector([_signed(terms)], GRID, self.scheme.most),
            self._vector([_positive(np.square(x))], GRID, 1, unit=GRID),
        )

    def overlap(self, weights: Array, bins: int) -> IntegerVector:
        """Return how many of each arm have a propensity in each of ``bins`` equal bins of [0, 1].

        Returns
        -------
        IntegerVector
            Sealed, (2 bins,), the treated first; one record moves two counts by 1.
        """
        u = (self.Z @ weights).clip(-700, 700)
        place = np.floor(bins / (1 + np.exp(-u))).clip(0, bins - 1).astype(np.int64)
        counts = np.bincount(place + bins * ~self.t, minlength=2 * bins)
        return IntegerVector(counts, l1=2, l2_squared=2, l_inf=1, relation=self.relation)

    def _influences(self, centre: Centre) -> Array:
        treated = self.treated * (self.y - centre.treated_mean) - centre.treated_shift
        control = -self.control * (self.y - centre.control_mean) - centre.control_shift
        return np.asarray(
            np.where(self.t, centre.treated_scale * treated, centre.control_scale * control)
        )

    def _vector(self, sums: list[int], l1: int, value: float, unit: int = HALF) -> IntegerVector:
        """Seal sums of terms that were divided by ``value``, in steps of a ``unit``-th."""
        return IntegerVector(
            np.array(sums, dtype=object),
            l1=l1,
            relation=self.relation,
            grid=Fraction(value) / unit,
        )


def outcome_units(
    frame: Frame, column: Column, fill: float | None = None
) -> tuple[Array, Fraction, Fraction]:
    """Return y (n,) in [-1, 1], and the public R and middle of the outcome; total.

    Parameters
    ----------
    frame : narwhals frame
    column : Column
        With bounds.
    fill : float or None
        What stands for a missing value; the lower bound if None.
    """
    steps = np.asarray(filled_steps(frame, column, fill), np.float64)
    assert column.bounds is not None
    radius = Fraction(Clipped(column).step) * HALF
    return steps / HALF - 1, radius, Fraction(float(column.bounds[0])) + radius


def _signed(terms: Array) -> int:
    """Add terms within [-1, 1] in steps of 1 / 2^19."""
    return _added(terms.clip(-1, 1), HALF)


def _positive(terms: Array) -> int:
    """Add terms within [0, 1] in steps of 1 / 2^20."""
    return _added(terms.clip(0, 1), GRID)


def _added(terms: Array, unit: int) -> int:
    # sums of integers are exact in int64 for any n below 2^43
    return int(np.floor(np.nan_to_num(terms) * unit + 0.5).astype(np.int64).sum())
