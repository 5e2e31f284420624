"""Coefficients of covariates for a calibrated file, from private moments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.encoding import encodings
from dprct.privacy.allocation import Allocation
from dprct.privacy.composition import per_row
from dprct.privacy.mechanisms import AnalyticGaussian
from dprct.queries import MomentsLayout, features_of, moments
from dprct.release.gamma import coefficients

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from dprct.encoding import Coded
    from dprct.privacy.budget import Budget
    from dprct.privacy.noise import NoiseSource
    from dprct.release.covariates import Covariates
    from dprct.schema.columns import Column
    from dprct.schema.tables import Table


@dataclass(frozen=True, slots=True)
class Slopes:
    """How outcomes move with covariates, before it is released.

    Parameters
    ----------
    covariates : tuple of Encoding or ExclusiveEncoding
    outcomes : tuple of Column
        With bounds.
    n : int
    rows : int
        Most rows of one protected unit, of whose budget each row gets its part.

    Notes
    -----
    Gaussian noise on second moments (:class:`dprct.queries.MomentsLayout` proves their
    sensitivity under replace-one, of which the changes with the design public are a part), then a
    ridge regression: post-processing.
    """

    covariates: tuple[Coded, ...]
    outcomes: tuple[Column, ...]
    n: int
    rows: int = 1

    @classmethod
    def of(cls, covariates: Covariates, outcomes: Sequence[Column]) -> Slopes:
        """Return the slopes of the covariates that declared regressions use."""
        schema = covariates.schema
        names = [name for name in schema.names if name in covariates.complete]
        return cls(encodings(schema, names), tuple(outcomes), covariates.n, covariates.rows)

    def mechanism(self, budget: Budget) -> AnalyticGaussian:
        """Return the noise that a unit's budget with a delta buys."""
        layout = MomentsLayout.of(self.covariates, self.outcomes)
        return AnalyticGaussian(per_row(budget, self.rows), layout.l2_squared, layout.size)

    def allocation(self, budget: Budget) -> Allocation:
        """Return the noise, of whose budget each row of a unit gets its part."""
        parts = {"moments": self.mechanism(budget)}
        return Allocation(budget=budget, parts=parts, rows=self.rows)

    def draw(
        self, frame: Table, budget: Budget, noise: NoiseSource
    ) -> tuple[dict[str, Any], NDArray[np.float64]]:
        """Return the released state and coefficients (p, q); the caller has charged ``budget``."""
        sealed = moments(
            frame, self.covariates, self.outcomes, relation="replace-one-design-public"
        )
        drawn = self.mechanism(budget).release(sealed, noise)
        found = coefficients(drawn, self.covariates, self.outcomes, self.n)
        return {"moments": [int(unit) for unit in drawn.units]}, found

    def indices(
        self, columns: Mapping[str, NDArray[Any]], slopes: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return what released covariates contribute to each outcome, (n, q)."""
        features = np.column_stack([f.values(columns) for f in features_of(self.covariates)])
        return np.asarray(features @ slopes, np.float64)
