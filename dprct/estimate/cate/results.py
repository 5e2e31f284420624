"""What a private CATE returns: an effect function, its parts, and no row."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from dprct.errors import ParameterError
from dprct.estimate.additive.results import AdditiveResults
from dprct.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from dprct.estimate.additive.fitted import AdditiveFit
    from dprct.estimate.cate.logit import LogOdds

LEARNERS = {
    "dr": "DR-learner", "r": "R-learner", "s": "S-learner (a constant effect)",
    "t": "plug-in (T-learner)",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CATEResults(AdditiveResults):
    """A private effect function: its average, shapes, subgroups and projections.

    Everything in :class:`dprct.estimate.additive.AdditiveResults` applies to the effect:
    ``average`` is the average effect, ``shape`` the effect along a feature, ``projection`` the best
    linear projection of the effect.

    Parameters
    ----------
    learner : {"dr", "r", "s", "t"}
    sizes : mapping of part to number of rows
    propensity : str
        Which propensity was used, in words.
    nuisances : mapping of name to AdditiveFit, or LogOdds of a logit
        Fitted functions of the first stage; like everything here, they may be published.
    """

    learner: str
    sizes: Mapping[str, int]
    propensity: str
    nuisances: Mapping[str, AdditiveFit | LogOdds] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """First line of the table."""
        return "Private heterogeneous effects"

    @property
    def models(self) -> dict[str, AdditiveFit | LogOdds]:
        """Every fitted function by name: nuisances, then the effect."""
        return {**self.nuisances, "effect": self.fit}

    def projection(
        self, features: Sequence[str], alpha: float = 0.05, *, part: str = "all"
    ) -> pd.DataFrame:
        """Return the best linear projection of the effect, of learners ``"dr"`` and ``"r"``."""
        if self.learner in ("s", "t"):
            raise ParameterError(
                f"a {LEARNERS[self.learner]} has no projection; use ``learner='dr'``"
            )
        return AdditiveResults.projection(self, features, alpha, part=part)

    def effect(self, new_data: Any) -> NDArray[np.float64]:
        """Return the effect at public rows or on a declared grid; (m,).

        Parameters
        ----------
        new_data : data frame
            Rows with the features.  Numbers outside their bounds count as the nearest bound.

        Raises
        ------
        ColumnError, SchemaError
            If a feature is not there, or a row has a level that was not declared.
        """
        return self.predict(new_data)

    def subgroup_effects(
        self, column: str, alpha: float = 0.05, *, part: str = "all"
    ) -> pd.DataFrame:
        """Return the average effect in every subgroup of a column, unsmoothed, with an interval."""
        return self.subgroup_means(column, alpha, part=part)

    @property
    def subgroups(self) -> tuple[str, ...]:
        """Columns whose levels have an effect of their own; an S-learner has none."""
        return () if self.learner == "s" else self.fit.terms.names

    def _facts(self) -> tuple[tuple[str, str], ...]:
        parts = ", ".join(f"{name} {size:,}" for name, size in self.sizes.items())
        return (
            ("Outcome", self.outcome),
            ("Learner", LEARNERS[self.learner]),
            ("Propensity", self.propensity),
            ("Rows by part", parts),
            ("Clip", f"{self.fit.sums.clip:g}"),
        )
