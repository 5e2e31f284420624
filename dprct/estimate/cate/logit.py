"""Propensities by a logit: released moments of treatment and features, and the log odds."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.estimate.log_odds import log_odds, raised
from dprct.lazy import pandas as pd
from dprct.lazy import special
from dprct.queries.treatment_moments import STEPS, TreatmentMoments
from dprct.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dprct.estimate.additive.release import Mechanism
    from dprct.estimate.additive.terms import Terms
    from dprct.privacy.noise import NoiseSource
    from dprct.queries.additive import CodedRows

    Array = NDArray[np.float64]


def treatment_layout(terms: Terms) -> TreatmentMoments:
    """Moments from which a logit of treatment on the features is estimated."""
    return TreatmentMoments.of([_coordinates(terms, j) for j in range(terms.features)])


def _coordinates(terms: Terms, j: int) -> Array:
    """Coordinates (K, c) of the levels of a feature: midpoints of bins, or indicators."""
    ordered, size = terms.ordered(j), terms.encodings[j].size
    apart = np.eye(size)[:, ordered or 1 :]
    return np.column_stack([terms.points(j), apart]) if ordered else apart


def noise_of_logit(terms: Terms, layout: TreatmentMoments, sd: float, n: int) -> float:
    """Noise of the features' moments, relative to what features are expected to add to them.

    Notes
    -----
    As :attr:`dprct.estimate.ipw.doubly_robust.AIPWAllocation.eta`: a feature's variance is taken to
    be 1 / (8 K) for K features.
    """
    unit = sd / STEPS**2
    return unit * math.sqrt(layout.width - 2) * 8 * terms.features / n


@dataclass(frozen=True, eq=False)
class TreatmentSums:
    """Released moments of treatment and features."""

    moments: Array  # (k + 2, k + 2): sums of products of (z, sqrt(1/2), t - 1/2), with noise
    n: int  # rows; public
    sd: float  # standard deviation of the noise of a moment


def released_treatment(
    rows: CodedRows, layout: TreatmentMoments, mechanism: Mechanism, noise: NoiseSource
) -> TreatmentSums:
    """Draw the moments; the caller has charged the mechanism."""
    drawn = mechanism.release(layout.sealed(rows), noise)
    return TreatmentSums(layout.matrix(drawn.values), len(rows.treated), drawn.noise_sd)


@dataclass(frozen=True, eq=False)
class LogOdds:
    """Propensities whose log odds are linear in the features, from released moments.

    Notes
    -----
    Slopes of treatment are those of least squares, with the covariance matrix of the features
    raised to its noise in every direction; :func:`dprct.estimate.log_odds.log_odds` makes log odds
    of them.  It is what one step of private scoring gives, corrected for the curvature of the logit
    instead of stepping again.
    """

    terms: Terms
    sums: TreatmentSums
    trim: float  # the share of the treated is kept within [trim, 1 - trim]

    @cached_property
    def _fitted(self) -> tuple[float, list[Array]]:
        """Mean log odds, and the contribution of every level of a feature."""
        layout = treatment_layout(self.terms)
        mean, k, n, sd = self.sums.moments / self.sums.n, layout.width - 2, *self._noise
        first = mean[-2] * STEPS / layout.constant
        centre, q = first[:k], min(max(float(first[-1]) + 0.5, self.trim), 1 - self.trim)
        covariance = mean[:k, :k] - np.outer(centre, centre)
        S, inverse = raised(covariance, sd * math.sqrt(k) / n)
        slopes = inverse @ (mean[:k, -1] - centre * (q - 0.5))
        error = sd**2 * (1 + float(slopes @ slopes)) * float(np.trace(inverse)) / n**2
        at, steep = log_odds(q, slopes, S, error)
        found, start = list[Any](), 0
        for table in layout.tables:
            own = slice(start, start + table.shape[1])
            found.append((table / STEPS - centre[own]) @ steep[own])
            start = own.stop
        return at, found

    @property
    def _noise(self) -> tuple[int, float]:
        return self.sums.n, self.sums.sd

    @property
    def average(self) -> float:
        """Mean log odds."""
        return self._fitted[0]

    def at(self, codes: Sequence[NDArray[np.int32]]) -> Array:
        """Return propensities (m,) at coded rows."""
        index = np.full(len(codes[0]), self.average)
        for levels, code in zip(self._fitted[1], codes, strict=False):
            index += levels[code]
        return np.asarray(special.expit(index))

    def table(self) -> pd.DataFrame:
        """Table of log odds: their mean, and the contribution of every level."""
        rows = [("average log odds", "", self.average)]
        for j, levels in enumerate(self._fitted[1]):
            named = zip(self.terms.labels(j), levels, strict=True)
            rows += [(f"log odds by {self.terms.names[j]}", level, x) for level, x in named]
        return pd.DataFrame(rows, columns=["term", "level", "shape"])
