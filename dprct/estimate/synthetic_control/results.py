"""What a private synthetic control returns: released paths, their noise, and no series."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.arguments import check_choice
from dprct.errors import ParameterError
from dprct.estimate.synthetic_control.panel import RECORD
from dprct.lazy import pandas as pd
from dprct.plots import ORIGINAL, PRIVACY_NOISE, RELEASED, Labels, panels, stamp, watermark_of
from dprct.records import dataclass
from dprct.results.base import Shown
from dprct.results.typeset import Grid, NumberColumn, lines_of, numbers

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from dprct.estimate.noise_law import PathNoise
    from dprct.estimate.synthetic_control.release import UnitRelease
    from dprct.privacy.budget import Guarantee
    from dprct.schema.schema import Schema

    Array = NDArray[np.float64]


_MOST_BARS = 30

_MARGIN = 1.1
"""Height of a picture over that of what is in it; and its width, likewise."""

_NOTES = (
    "The noise band is of privacy noise alone: it covers the path of the released weights without "
    "noise. It is not an interval for the effect: it does not cover the error of these weights, "
    "nor chance in the outcomes; the effect has no standard error here.",
)

_DIRECT = (
    "The mean effect was released by itself too: it is more precise than the mean of the rows.",
)

_HEADS = {
    "observed": "observed",
    "counterfactual": "synthetic",
    "estimate": "effect",
    "std.error.noise": "noise sd",
    "noise.low": "noise low",
    "noise.high": "noise high",
}


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SyntheticControlResults(Shown):
    """A private counterfactual path and the effect, with bands for the privacy noise.

    One donor's whole series is protected: a donor may be a state, not a person.

    Parameters
    ----------
    released : UnitRelease
        Of the treated unit.
    placebos : tuple of UnitRelease
        Donors for which the method was run as if they were treated; their own series are noisy.
    times : (T,) array
    T0 : int
        Pre-periods.
    target : (T,) array or None
        The treated unit's series, where it is public.
    rule : {"ridge", "uniform"}
    lam : float
    guarantee : Guarantee
    outcome : str
    ledger : str
        Where the budget was charged.
    predictors : tuple of str
        What the weights matched besides the outcome before treatment.

    Notes
    -----
    Noise bands cover the privacy noise **alone**: they contain the path that the released weights
    give without noise.  They do not cover how far these weights are from the best ones (because of
    their noise, of the penalty, or because no weights fit), nor chance in the outcomes.  Where
    donors are unlike the treated unit they seldom hold the effect (docs/synthetic_control.md), so
    that there is no :meth:`conf_int`.
    """

    released: UnitRelease
    placebos: tuple[UnitRelease, ...]
    times: Array
    T0: int
    target: Array | None
    rule: str
    lam: float
    guarantee: Guarantee
    outcome: str = ""
    ledger: str = ""
    predictors: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """First line of the table."""
        return "Private synthetic control"

    @property
    def notes(self) -> tuple[str, ...]:
        """What the noise band covers, and what it does not."""
        return (*_NOTES, *(_DIRECT if self.released.mean else ()))

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """What was released besides :meth:`tidy`, by name: donor weights, and placebos."""
        weights = self.donor_weights.rename("weight").rename_axis("donor").reset_index()
        if self.noisy_weights is not None:
            weights["noisy"] = self.noisy_weights.to_numpy()
        found = {"donor_weights": weights}
        if self.placebos:
            found["placebos"] = self.placebo_table()
            found["placebo_effects"] = self.placebo_effects().reset_index()
        return found

    @property
    def counterfactual(self) -> pd.Series[float]:
        """The path without treatment, by time; periods before treatment only with ``pre_fit``."""
        return self._series("prediction")

    @property
    def observed(self) -> pd.Series[float]:
        """The treated unit's series by time; noisy if it is protected."""
        if self.target is not None:
            return pd.Series(self.target, index=self._index(slice(None)))
        return self._series("target")

    @property
    def effect(self) -> pd.Series[float]:
        """Observed minus counterfactual path after treatment, by time."""
        return pd.Series(self.released.post.effect, index=self._index(slice(self.T0, None)))

    @property
    def att(self) -> float:
        """Mean effect after treatment; more precise than the path's mean with ``mean_effect``."""
        return self.released.att

    @property
    def att_noise(self) -> PathNoise:
        """The law of the noise of :attr:`att`."""
        return self.released.att_noise

    @property
    def donor_weights(self) -> pd.Series[float]:
        """The donors' weights that the paths use, by donor: released, shrunk and projected."""
        return pd.Series(self.released.weights, index=pd.Index(self.released.donors, dtype=object))

    @property
    def noisy_weights(self) -> pd.Series[float] | None:
        """Ridge weights with their noise as released, by donor; None for equal weights."""
        if self.released.noisy_weights is None:
            return None
        return pd.Series(self.released.noisy_weights, index=self.donor_weights.index)

    @property
    def pre_rmse(self) -> float:
        """Root mean squared gap before treatment, without the noise; NaN without ``pre_fit``."""
        return self.released.pre_rmse

    def noise_band(self, alpha: float = 0.05, *, joint: bool = False) -> pd.DataFrame:
        """Band of the privacy noise alone around :attr:`params`; no interval for the effect.

        Parameters
        ----------
        alpha : float
            From 1e-6 to 1.  The noise is within the band with probability ``1 - alpha``.
        joint : bool
            Whether that holds of all periods at once, rather than of each one.

        Returns
        -------
        (K + 1, 2) DataFrame
            Columns low and high, by period, then of the mean effect.
        """
        periods = len(self.effect)
        share = 1 - (1 - alpha) ** (1 / periods) if joint and 0 < alpha < 1 else alpha
        half = np.full(periods + 1, self.released.post.effect_noise.half_width(share))
        half[-1] = self.att_noise.half_width(alpha)
        return pd.DataFrame({"low": self.params - half, "high": self.params + half})

    def placebo_effects(self) -> pd.DataFrame:
        """Return the effect path of every placebo, (K, placebos), each with noise of its own."""
        paths = {one.unit: one.post.effect for one in self.placebos}
        return pd.DataFrame(paths, index=self._index(slice(self.T0, None)))

    def placebo_table(self) -> pd.DataFrame:
        """Return one row per unit: mean effect, sd of its noise, and gap before treatment.

        Notes
        -----
        Ranking the placebos is not a test unless their noise is small compared with the treated
        unit's effect: a placebo's own series is confidential and therefore noisier than a public
        unit's.
        """
        units = (self.released, *self.placebos)
        return pd.DataFrame(
            {
                "unit": [one.unit for one in units],
                "placebo": [False] + [True] * len(self.placebos),
                "att": [one.att for one in units],
                "std.error.noise": [one.att_noise.sd for one in units],
                "pre.rmse": [one.pre_rmse for one in units],
            }
        )

    @property
    def params(self) -> pd.Series[float]:
        """The effect by period, and its mean, ``mean effect``."""
        return self._rows(self.effect, self.att)

    @property
    def bse(self) -> pd.Series[float]:
        """Standard deviations of the privacy noise, the only known error of this method."""
        return self.bse_noise

    @property
    def bse_noise(self) -> pd.Series[float]:
        """Standard deviations of the privacy noise of :attr:`params`."""
        sd = self.released.post.effect_noise.sd
        return self._rows(pd.Series(sd, index=self.effect.index), self.att_noise.sd)

    def conf_int(self, alpha: float = 0.05) -> pd.DataFrame:
        """Refuse: nothing is known of the error of the weights.

        Raises
        ------
        ParameterError
            With the name of :meth:`noise_band`.
        """
        raise ParameterError(
            "a synthetic control has no interval for its effect, because nothing is known of the "
            "error of its weights; ``noise_band()`` is the band of the privacy noise alone"
        )

    def _rows(self, path: pd.Series[float], mean: float) -> pd.Series[float]:
        names = pd.Index([f"{time:g}" for time in path.index] + ["mean effect"], dtype=object)
        return pd.Series([*path.to_numpy(), mean], index=names, dtype=float)

    def tidy(self, alpha: float = 0.05) -> pd.DataFrame:
        """Return one row per period: observed, counterfactual, effect and the band of its noise."""
        parts = [(self.released.post, "post", slice(self.T0, None))]
        if self.released.pre is not None:
            parts.insert(0, (self.released.pre, "pre", slice(0, self.T0)))
        tables = []
        for series, name, periods in parts:
            half = series.effect_noise.half_width(alpha)
            tables.append(
                pd.DataFrame(
                    {
                        "time": self.times[periods],
                        "period": name,
                        "observed": series.target,
                        "counterfactual": series.prediction,
                        "estimate": series.effect,
                        "std.error.noise": series.effect_noise.sd,
                        "noise.low": series.effect - half,
                        "noise.high": series.effect + half,
                    }
                )
            )
        return pd.concat(tables, ignore_index=True)

    def glance(self) -> pd.DataFrame:
        """Return one row about the fit as a whole."""
        return pd.DataFrame(
            {
                "att": [self.att],
                "std.error.noise": [self.att_noise.sd],
                "pre.rmse": [self.pre_rmse],
                "donors": [len(self.released.donors)],
                "pre.periods": [self.T0],
                "post.periods": [len(self.times) - self.T0],
                "weights": [self.rule],
                "lambda": [self.lam],
                "placebos": [len(self.placebos)],
            }
        )

    def grid(self, alpha: float = 0.05) -> Grid:
        """Return the effect by period, ready to be written in any format."""
        columns = [NumberColumn(k, h, partial(numbers, decimals=3)) for k, h in _HEADS.items()]
        found = {
            f"{row['time']:g}": {k: float(row[k]) for k in _HEADS}
            for _, row in self.tidy(alpha).iterrows()
        }
        low, high = self.noise_band(alpha).iloc[-1]
        att = [np.nan, np.nan, self.att, self.att_noise.sd, low, high]
        found["mean effect"] = dict(zip(_HEADS, att, strict=True))
        return Grid(
            title=self.title,
            facts=(
                ("One record", RECORD),
                ("Treated unit", self.released.unit),
                ("Outcome", self.outcome),
                ("Donors", f"{len(self.released.donors):,}"),
                ("Periods before", f"{self.T0:,}"),
                ("Periods after", f"{len(self.times) - self.T0:,}"),
                ("Weights", "equal" if self.rule == "uniform" else f"ridge, lambda {self.lam:g}"),
                *((("Predictors", ", ".join(self.predictors)),) if self.predictors else ()),
                ("Noise band", f"{100 * (1 - alpha):g}%, noise alone"),
            ),
            headings=tuple(_HEADS.values()),
            lines=lines_of(found, columns, list(found)),
            notes=(*self.notes, *str(self.guarantee).splitlines()),
        )

    def plot(
        self,
        kind: str = "paths",
        *,
        alpha: float = 0.05,
        ax: Axes | None = None,
        schema: Schema | None = None,
    ) -> Axes:
        """Draw the paths, the gap, the placebos or the weights.

        Parameters
        ----------
        kind : {"paths", "gap", "placebos", "weights"}
        alpha : float
            The band covers the noise with probability ``1 - alpha``.
        ax : Axes, optional
        schema : Schema, optional
            The variable label of the outcome is taken from here.

        Notes
        -----
        Paths, gap and placebos have one scale: all periods of the panel from left to right, and
        the same number of units of the outcome from bottom to top, so that an effect is as high in
        one picture as in the others.
        """

        def on(**size: Any) -> Axes:
            return panels(1, **size)[0] if ax is None else ax

        drawings: dict[str, Callable[[], Axes]] = {
            "paths": lambda: draw_paths(
                self.observed, self.counterfactual, self._half(alpha), on()
            ),
            "gap": lambda: draw_gap(self.effect, self._band(alpha), on()),
            "placebos": lambda: draw_placebos(
                self.effect, self.placebo_effects(), self.released.unit, on()
            ),
            "weights": lambda: draw_weights(
                self.donor_weights,
                on(size=(4.5, 1.2 + 0.2 * min(len(self.released.donors), _MOST_BARS))),
            ),
        }
        check_choice("kind", kind, drawings)
        drawn = drawings[kind]()
        if mark := watermark_of(self.guarantee):
            stamp(drawn, mark)
        if kind == "weights":
            return drawn
        drawn.axvline(float(self.times[self.T0]), color="grey", linestyle=":", linewidth=1)
        drawn.legend(fontsize=8)
        drawn.set_xlabel("Time")
        outcome = Labels(schema).of(self.outcome) or "Outcome"
        drawn.set_ylabel(outcome if kind == "paths" else f"Effect on {outcome}")
        return self._scaled(drawn, kind, alpha)

    def _scaled(self, ax: Axes, kind: str, alpha: float) -> Axes:
        """Return a picture with the limits that paths, gap and placebos share."""
        half, others = self._half(alpha), self.placebo_effects().to_numpy(np.float64)
        path = self.counterfactual
        levels = sorted(np.concatenate([self.observed, path - half, path + half]).tolist())
        gaps = np.abs(np.concatenate([self._band(alpha).to_numpy().ravel(), others.ravel()]))
        low, high = levels[0], levels[-1]
        height = _MARGIN * max(high - low, 2 * float(gaps.max()))
        middle = (low + high) / 2 if kind == "paths" else 0.0
        ax.set_ylim(middle - height / 2, middle + height / 2)
        first, last = float(self.times[0]), float(self.times[-1])
        beyond = (_MARGIN - 1) / 2 * (last - first) or 0.5
        ax.set_xlim(first - beyond, last + beyond)
        return ax

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__}: {self.released.unit}, {len(self.released.donors)} donors, "
            f"att={self.att:.4g}>"
        )

    def _band(self, alpha: float) -> pd.DataFrame:
        """Noise band of the effect path, by time."""
        return self.noise_band(alpha).iloc[:-1].set_axis(self.effect.index)

    def _half(self, alpha: float) -> pd.Series[float]:
        series = self._series("prediction")
        half = pd.Series(self.released.post.noise.half_width(alpha), index=series.index)
        if self.released.pre is not None:
            half.iloc[: self.T0] = self.released.pre.noise.half_width(alpha)
        return half

    def _index(self, periods: slice) -> pd.Index[float]:
        return pd.Index(self.times[periods], name="time")

    def _series(self, name: str) -> pd.Series[float]:
        post = getattr(self.released.post, name)
        if self.released.pre is None:
            return pd.Series(post, index=self._index(slice(self.T0, None)))
        both = np.concatenate([getattr(self.released.pre, name), post])
        return pd.Series(both, index=self._index(slice(None)))


def draw_paths(
    observed: pd.Series[float], counterfactual: pd.Series[float], half: pd.Series[float], ax: Axes
) -> Axes:
    """Draw the observed and the synthetic path, with the band of the noise of the latter."""
    ax.plot(observed.index, observed, color=ORIGINAL, label="observed")
    ax.plot(counterfactual.index, counterfactual, color=RELEASED, linestyle="--", label="synthetic")
    _banded(ax, pd.DataFrame({"low": counterfactual - half, "high": counterfactual + half}))
    return ax


def draw_gap(effect: pd.Series[float], band: pd.DataFrame, ax: Axes) -> Axes:
    """Draw the effect path with the band of its noise, in columns low and high."""
    _banded(ax, band)
    ax.plot(effect.index, effect, color=RELEASED, label="effect")
    ax.axhline(0, color="grey", linewidth=1)
    return ax


def draw_placebos(effect: pd.Series[float], others: pd.DataFrame, unit: str, ax: Axes) -> Axes:
    """Draw the effect path of the treated unit over those of placebos."""
    for k, name in enumerate(others.columns):
        label = "placebos" if k == 0 else None
        ax.plot(others.index, others[name], color="grey", alpha=0.5, linewidth=0.8, label=label)
    ax.plot(effect.index, effect, color=RELEASED, linewidth=2, label=unit)
    ax.axhline(0, color="grey", linewidth=1)
    return ax


def draw_weights(values: pd.Series[float], ax: Axes) -> Axes:
    """Draw the largest weights of donors as bars."""
    shown = values.sort_values(ascending=False).head(_MOST_BARS)
    place = np.arange(len(shown))[::-1]
    ax.barh(place, shown.to_numpy(), color=RELEASED)
    ax.set_yticks(place, [str(name) for name in shown.index], fontsize=7)
    ax.set_xlabel("Weight")
    return ax


def _banded(ax: Axes, band: pd.DataFrame) -> None:
    ax.fill_between(
        band.index, band["low"], band["high"], color=RELEASED, alpha=0.2, linewidth=0,
        label=PRIVACY_NOISE,
    )  # fmt: skip
