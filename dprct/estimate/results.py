"""What a private fit of effects returns: released numbers, their law, and no row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pandas as pd

from dprct.errors import ParameterError
from dprct.estimate.contrasts import parse_contrast
from dprct.estimate.effects import combined
from dprct.estimate.plotting import effects_plot
from dprct.estimate.tabulation import tabulated
from dprct.results.base import LinearResults
from dprct.results.intervals import checked_alpha, interval_frame

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

    from dprct.estimate.contrasts import Contrast
    from dprct.estimate.effects import NoisyEffect, NoisyMean


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
    arms : tuple of str, length A
        The control group first.
    outcomes : tuple of str, length q
    means : tuple of q tuples of NoisyMean
        Released means of all arms; empty tuples where, with two arms, the difference itself was
        released.

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
    arms: tuple[str, ...] = ()
    outcomes: tuple[str, ...] = ()
    means: tuple[tuple[NoisyMean, ...], ...] = ()

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
        size = checked_alpha(alpha)
        return interval_frame(self.params, [one.half_width(size) for one in self.effects])

    def contrast(self, contrast: str | Mapping[str, float]) -> PrivateATEResults:
        """Compare arms with each other; free, for it uses what was released already.

        Parameters
        ----------
        contrast : str or mapping from arm to weight
            ``"a - b"``, ``"0.5*a + 0.5*b - control"`` or ``{"a": 1, "b": -1}``; of sum zero.

        Returns
        -------
        PrivateATEResults
            With one effect per outcome, under the same guarantee.

        Raises
        ------
        ParameterError
            If it is no contrast of the arms; or, with two arms, another than arm - control, for
            then only that difference was released.

        Notes
        -----
        Sampling variances and noise of the arms add up with squared weights; the law is normal plus
        one Laplace draw per arm.  Choosing a contrast after seeing the results costs no privacy; it
        is a choice among tests all the same.
        """
        wanted = parse_contrast(contrast, self.arms)
        effects = [
            (combined(of_arms, wanted.weights),) if of_arms else (self._difference(place, wanted),)
            for place, of_arms in enumerate(self.means)
        ]
        table = tabulated(self.outcomes, effects, self.means, (wanted,), self.levels)
        notes = (f"Effect: the contrast {wanted.name} of arm means.", *self.notes)
        return replace(self, **table, title=f"{self.title}: {wanted.name}", notes=notes)

    def _difference(self, place: int, wanted: Contrast) -> NoisyEffect:
        if [float(w) for w in wanted.weights] != [-1.0, 1.0]:
            raise ParameterError(
                f"with two arms only {self.arms[1]} - {self.arms[0]} was released, and contrast "
                f"{wanted.name!r} is another; read this effect and change its sign or unit yourself"
            )
        return self.effects[place]

    def plot(self, alpha: float = 0.05, *, axes: Sequence[Axes] | None = None) -> list[Axes]:
        """Draw the effects with their intervals, one panel per outcome.

        Parameters
        ----------
        alpha : float
            Intervals have level ``1 - alpha``.
        axes : sequence of Axes, optional
            One per outcome; new ones if not given.

        Returns
        -------
        list of Axes
            A thin line is the interval, the thick one in it what privacy noise alone would give.

        Raises
        ------
        MissingDependencyError
            Without matplotlib.
        """
        self.conf_int(alpha)  # refuses what is no level
        outcomes = self.outcomes or (self.outcome,)
        each = len(self.effects) // len(outcomes)
        names = [str(name) for name in self.params.index]
        facets = []
        for place, outcome in enumerate(outcomes):
            here = slice(place * each, (place + 1) * each)
            short = [name.removeprefix(f"{outcome}: ") for name in names[here]]
            facets.append((outcome, short, self.effects[here]))
        watermark = "" if self.guarantee.holds else "simulation: no guarantee"
        return effects_plot(facets, alpha, axes=axes, watermark=watermark)

    def facts(self) -> tuple[tuple[str, str], ...]:
        """Return the lines above the table, as (name, value)."""
        valid = ", ".join(f"{100 * (1 - alpha):g}%" for alpha in self.levels)
        return (
            ("Outcome", self.outcome),
            ("Observations", f"{self.nobs:,}"),
            ("Std err", f"valid at {valid}"),
            ("Inference", "normal plus Laplace"),
        )
