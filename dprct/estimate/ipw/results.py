"""What a private IPW returns: an effect with its law, released weights and diagnostics, no row."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dprct.estimate.plotting import effects_plot
from dprct.results.base import LinearResults
from dprct.results.intervals import checked_alpha, interval_frame
from dprct.schema.table import eager

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from dprct.estimate.effects import NoisyEffect
    from dprct.estimate.ipw.normal_effect import NormalEffect
    from dprct.queries.propensity import Covariates
    from dprct.queries.weighted import Scheme


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class IPWResults(LinearResults):
    """A private effect by inverse probability weighting.

    Parameters
    ----------
    effect : NoisyEffect or NormalEffect
        What was released, and the law by which it is read.
    errors : {"total", "conditional on the propensity model"}
        What the errors contain.
    scheme : Scheme
        Estimand and trimming.
    levels : tuple of float
        Sizes of tests at which ``params -+ z bse`` is valid.
    weights : (d,) Series
        Released propensity weights of z = (x / sqrt(K), 1) / sqrt(2), K terms.
    weight_sd : float
        Noise of each weight, one standard deviation.
    lam : float
        The penalty.
    design : Covariates
        How rows become z: public.
    balance_table : DataFrame or None
        By covariate: ``smd``, the weighted difference of the arms over its root mean square about
        the middle of its bounds, and ``noise`` of it (one sd).
    overlap_table : DataFrame or None
        By bin of the propensity: noisy counts of the ``treated`` and of the ``control``.
    ledger : str
        Where the budget was charged.

    Notes
    -----
    ``bse`` is the largest half width over z of the declared levels; :meth:`conf_int` uses the law
    itself.
    """

    effect: NoisyEffect | NormalEffect
    errors: str
    scheme: Scheme
    levels: tuple[float, ...]
    weights: pd.Series[float]
    weight_sd: float
    lam: float
    design: Covariates
    balance_table: pd.DataFrame | None = None
    overlap_table: pd.DataFrame | None = None
    ledger: str = ""

    @property
    def pvalues(self) -> pd.Series[float]:
        """Two-sided p-value by inversion of the intervals; not below 1e-10."""
        known = not math.isnan(self.effect.value)
        found = self.effect.p_value(self.levels) if known else math.nan
        return pd.Series([found], index=self.params.index)

    def conf_int(self, alpha: float = 0.05) -> pd.DataFrame:
        """Return the interval of level ``1 - alpha``: sampling, weights (if total) and noise.

        Parameters
        ----------
        alpha : float
            Between 0 and 1.

        Returns
        -------
        (1, 2) DataFrame
            Columns 0 and 1 are the lower and the upper end.
        """
        return interval_frame(self.params, self.effect.half_width(checked_alpha(alpha)))

    def propensity(self, data: Any) -> NDArray[np.float64]:
        """Return the released propensity of rows that you may see, trimmed; (n,).

        Parameters
        ----------
        data : data frame
            With the covariates of the formula, such as public or invented rows.

        Notes
        -----
        Free: a function of released weights.  What it returns is as confidential as ``data``.
        """
        u = self.design.of_table(eager(data)) @ self.weights.to_numpy()
        e = 1 / (1 + np.exp(-u.clip(-700, 700)))
        return np.asarray(e.clip(self.scheme.trim, 1 - self.scheme.trim))

    def plot(self, alpha: float = 0.05, *, axes: Axes | None = None) -> Axes:
        """Draw the effect with its interval.

        Parameters
        ----------
        alpha : float
            The interval has level ``1 - alpha``.
        axes : Axes, optional
            A new one if not given.

        Returns
        -------
        Axes
            A thin line is the interval, the thick one in it what privacy noise alone would give.

        Raises
        ------
        MissingDependencyError
            Without matplotlib.
        """
        self.conf_int(alpha)  # refuses what is no level
        name = [str(self.params.index[0])]
        watermark = "" if self.guarantee.holds else "simulation: no guarantee"
        facets: Any = [(self.outcome, name, (self.effect,))]
        (drawn,) = effects_plot(
            facets, alpha, axes=None if axes is None else [axes], watermark=watermark
        )
        return drawn

    def facts(self) -> tuple[tuple[str, str], ...]:
        """Return the lines above the table, as (name, value)."""
        return (
            ("Outcome", self.outcome),
            ("Observations", f"{self.nobs:,}"),
            ("Std err", self.errors),
            ("Trimmed at", f"{self.scheme.trim:g}"),
        )
