"""What a private fit of effects returns: released numbers, their law, and no row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from dprct.errors import ParameterError
from dprct.results.base import LinearResults

if TYPE_CHECKING:
    from dprct.estimate.effects import NoisyEffect


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class PrivateATEResults(LinearResults):
    """Private average treatment effects, with intervals by the closed law of their noise.

    Parameters
    ----------
    effects : tuple of NoisyEffect, length k
        In the order of ``params``.
    levels : tuple of float
        Sizes of tests at which ``params -+ z bse`` is valid.
    control : (q,) DataFrame
        ``mean`` of the control group of each outcome (clipped), and ``noise`` of it (one sd).
    ledger : str
        Where the budget was charged.

    Notes
    -----
    ``bse`` is the largest half width over z of the declared levels, so that a reader who takes
    1.96 standard errors gets the valid interval.  :meth:`conf_int` uses the law itself and is
    valid at every level.  ``cov_params`` is NaN between outcomes: their sampling covariance was
    not released.
    """

    effects: tuple[NoisyEffect, ...]
    levels: tuple[float, ...]
    control: pd.DataFrame
    ledger: str = ""

    @property
    def pvalues(self) -> pd.Series[float]:
        """Two-sided p-values by inversion of the intervals; not below 1e-10."""
        found = [effect.p_value(self.levels) for effect in self.effects]
        return pd.Series(found, index=self.params.index)

    def conf_int(self, alpha: float = 0.05) -> pd.DataFrame:
        """Return intervals of level ``1 - alpha``, sampling and privacy noise together.

        Parameters
        ----------
        alpha : float
            Between 0 and 1.

        Returns
        -------
        (k, 2) DataFrame
            Columns 0 and 1 are the lower and the upper end.
        """
        given: object = alpha
        if not isinstance(given, (int, float)) or not 0 < given < 1:
            raise ParameterError(f"alpha={alpha!r}; give a number between 0 and 1 such as 0.05")
        half = np.array([effect.half_width(float(alpha)) for effect in self.effects])
        values = self.params.to_numpy()
        return pd.DataFrame(
            np.column_stack([values - half, values + half]), index=self.params.index
        )

    def facts(self) -> tuple[tuple[str, str], ...]:
        """Return the lines above the table, as (name, value)."""
        valid = ", ".join(f"{100 * (1 - alpha):g}%" for alpha in self.levels)
        return (
            ("Outcome", self.outcome),
            ("Observations", f"{self.nobs:,}"),
            ("Std err", f"valid at {valid}"),
            ("Inference", "normal plus Laplace"),
        )
