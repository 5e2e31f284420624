"""Least squares from released moments: intervals that cover, or the word that there is none."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dprct.errors import ParameterError
from dprct.estimate.moments.system import (
    GATE,
    Fit,
    Regressor,
    fit,
    inverse_of,
    profile,
    rows_of,
    system_of,
)
from dprct.lazy import pandas as pd
from dprct.lazy import special
from dprct.plots import BOTH_NOISES, Labels, panels, stamp, watermark_of
from dprct.records import dataclass
from dprct.results import typeset
from dprct.results.base import LinearResults, checked_alpha, labelled
from dprct.results.joint import WaldTest, one_restriction, restrictions, wald_test

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from dprct.estimate.moments.noisy import NoisyMoments
    from dprct.privacy.budget import Guarantee
    from dprct.schema.schema import Schema

    Array = NDArray[np.floating[Any]]

WIDEST = 30.0
"""A profile that has not closed after so many standard errors is open."""

_ALPHA = 0.05
_HALVINGS, _ENOUGH = 40, 1e-4


def squared_t(q: float, n: float, df: float) -> float:
    """Return the squared t that a profile of q stands for: q (n - k) / (n - q).

    The residual variance of a profile is that under its hypothesis, n in its denominator; without
    noise this is the t of least squares.
    """
    return q * df / (n - q) if q < n else math.inf


def profile_interval(found: Fit, direction: Array, alpha: float) -> tuple[float, float]:
    """Return {theta: the profile of direction'b is not rejected}; infinite where it is open."""
    system = found.system
    center = float(direction @ found.b)
    se = math.sqrt(float(direction @ found.cov @ direction))
    critical = float(special.stdtrit(system.df_resid, 1 - alpha / 2))
    if se == 0:
        return center, center
    L = direction[None]

    def excess(away: float) -> float:
        q = profile(found, L, np.array([center + away * se]))
        return math.sqrt(squared_t(q, system.nobs, system.df_resid)) - critical

    # the profile has its least value near the estimate, not always at it
    ends = []
    for sign in (-1.0, 1.0):
        low, high = 0.0, 1.02 * critical
        below, above = excess(0.0), excess(sign * high)
        while above < 0 and high < WIDEST:
            low, below = high, above
            high *= 1.5
            above = excess(sign * high)
        if above < 0:
            return -math.inf, math.inf
        if below >= 0:  # the estimate itself is outside: the hull is the other interval's
            ends.append(center)
            continue
        for step in range(_HALVINGS):
            cut = (above - below) if math.isfinite(above) and step % 3 != 2 else 0.0
            middle = low - below * (high - low) / cut if cut > 0 else (low + high) / 2
            value = excess(sign * middle)
            low, below, high, above = (
                (middle, value, high, above) if value < 0 else (low, below, middle, value)
            )
            if high - low < _ENOUGH * high or abs(value) < _ENOUGH:
                break
        ends.append(center + sign * se * high)
    return ends[0], ends[1]


def hull(found: Fit, direction: Array, alpha: float) -> tuple[float, float]:
    """Return the smallest interval that holds the de-biased one and the profile's."""
    center = float(direction @ found.b)
    half = float(special.stdtrit(found.system.df_resid, 1 - alpha / 2)) * math.sqrt(
        float(direction @ found.cov @ direction)
    )
    low, high = center - half, center + half
    if found.system.s2.any():
        ends = profile_interval(found, direction, alpha)
        low, high = min(low, ends[0]), max(high, ends[1])
    return low, high


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RegressionResults(LinearResults):
    """Least squares from released moments, privacy noise in every interval.

    Parameters
    ----------
    fit : Fit
        The estimate in the basis of :class:`~dprct.estimate.moments.system.System`.
    estimated : (k,) Series of bool
        Whether a coefficient is read: the gate passes, and its 95 % profile is closed.
    intervals : (k, 2) array
        The hull at 95 %, of all coefficients in ``layout`` that are not omitted.
    eta2 : float
        How noisy the moments of the regressors are; least squares is read up to 0.1.
    rsquared : float
        From released moments, so that noise may take it outside 0 to 1.
    rmse : float
        Root of the residual variance; NaN where noise took that below zero.

    Notes
    -----
    The interval is the hull of the de-biased estimate's and of the Anderson-Rubin profile's: where
    regressors are nearly collinear one of them misses.  :attr:`pvalues` are the larger of both.
    What is not estimated is NaN and has the interval of all numbers; no data decide that but
    released ones.
    """

    inverts: ClassVar[bool] = True

    fit: Fit
    estimated: pd.Series[bool]
    intervals: Array
    eta2: float
    rsquared: float
    rmse: float

    @property
    def pvalues(self) -> pd.Series[float]:
        """Two-sided p-values: the larger of the estimate's and the profile's."""
        found = [
            self._p_value(row, 0.0) if ok else math.nan
            for row, ok in zip(self.fit.system.to_names, self.estimated, strict=True)
        ]
        return self._series(np.array(found))

    def conf_int(self, alpha: float = 0.05) -> pd.DataFrame:
        """Return intervals of level ``1 - alpha``, sampling and privacy noise together."""
        size = checked_alpha(alpha)
        if size == _ALPHA:
            ends = self.intervals.copy()
        else:
            ends = _hulls(self.fit, size, self.estimated.to_numpy())
        return pd.DataFrame(ends, index=self.params.index)

    def lincom(self, wanted: str | Mapping[str, float]) -> RegressionResults:
        """Return a linear combination of coefficients, such as ``"t1 - t2"``, with its hull."""
        asked = one_restriction(wanted, list(self.params.index))
        direction = asked.weights[0] @ self.fit.system.to_names
        used = asked.weights[0] != 0
        value = float(asked.values[0]) + self.fit.shift * float(asked.weights[0].sum())
        ends = np.array([[-math.inf, math.inf]])
        if self._readable(used):
            ends = np.array([hull(self.fit, direction, _ALPHA)]) - value
        closed = bool(np.isfinite(ends).all())
        system = replace(self.fit.system, to_names=direction[None])
        cov = float(direction @ self.fit.cov @ direction) if closed else math.nan
        noise = float(direction @ self.fit.noise @ direction) if closed else math.nan
        estimate = float(direction @ self.fit.b) - value if closed else math.nan
        table = labelled(asked.texts, [estimate], [[cov]], [math.sqrt(noise)])
        return replace(
            self,
            **table,
            fit=replace(self.fit, system=system, shift=value),
            estimated=pd.Series([closed], index=table["params"].index),
            intervals=ends,
            title=f"{self.title}: {asked.texts[0]}",
        )

    def wald_test(self, wanted: str | Mapping[str, float] | Sequence[str]) -> WaldTest:
        """Return the joint test of linear restrictions; the larger p-value of Wald and profile."""
        asked = restrictions(wanted, list(self.params.index))
        used = (asked.weights != 0).any(axis=0)
        L = asked.weights @ self.fit.system.to_names
        values = asked.values + self.fit.shift * asked.weights.sum(axis=1)
        estimate = L @ self.fit.b - values
        text = "; ".join(asked.texts)
        df = self.df_inference
        if not self._readable(used):
            return WaldTest(math.nan, math.nan, len(L), df, text)
        found = wald_test(estimate, L @ self.fit.cov @ L.T, text, df)
        if math.isnan(found.pvalue) or not self.fit.system.s2.any() or found.df < len(L):
            return found
        f = squared_t(profile(self.fit, L, values), self.fit.system.nobs, df) / found.df
        p = float(special.fdtrc(found.df, df, f))
        return found if p <= found.pvalue else replace(found, statistic=f, pvalue=p)

    def glance(self) -> pd.DataFrame:
        """Return one row about the fit as a whole, with the column names of R's broom."""
        return pd.DataFrame(
            {
                "r.squared": [self.rsquared],
                "sigma": [self.rmse],
                "eta2": [self.eta2],
                "df.residual": [self.df_resid],
                "nobs": [self.nobs],
                "cov_type": [self.cov_type],
            }
        )

    def facts(self) -> tuple[tuple[str, str], ...]:
        """Return the lines above the table, as (name, value)."""
        return (
            *LinearResults.facts(self),
            ("R-squared", typeset.number(self.rsquared)),
            ("Root MSE", typeset.number(self.rmse)),
            ("Noise of moments", f"{self.eta2:.3g} (read up to {GATE:g})"),
        )

    def plot(
        self, *, alpha: float = 0.05, ax: Axes | None = None, schema: Schema | None = None
    ) -> Axes:
        """Draw the coefficients that are estimated, with their intervals.

        Variable labels are taken from a schema, such as that of the release.
        """
        labels = Labels(schema)
        axes = panels(1, size=(4.5, 1.2 + 0.4 * len(self.params)))[0] if ax is None else ax
        keep = self.estimated.to_numpy()
        ends = self.conf_int(alpha).to_numpy()[keep]
        values = self.params.to_numpy()[keep]
        place = np.arange(len(values))[::-1]
        axes.axvline(0, color="grey", linestyle="--", linewidth=1)
        around = np.array([values - ends[:, 0], ends[:, 1] - values])
        around = np.where(np.isfinite(around), around, 0)
        axes.errorbar(
            values, place, xerr=around, fmt="o", color="black", capsize=3, markersize=4,
            label=BOTH_NOISES,
        )  # fmt: skip
        axes.legend(fontsize=8)
        axes.set_yticks(place, [labels.of(str(name)) for name in self.params.index[keep]])
        axes.set_title(labels.of(self.outcome), fontsize=10)
        axes.set_xlabel(f"Coefficient, with {100 * (1 - alpha):g}% interval")
        if mark := watermark_of(self.guarantee):
            stamp(axes, mark)
        return axes

    def _readable(self, used: Array) -> bool:
        return self.fit.inverse.passes and bool(used.any())

    def _p_value(self, direction: Array, value: float) -> float:
        found, df = self.fit, self.df_inference
        value = value + found.shift
        se = math.sqrt(float(direction @ found.cov @ direction))
        away = abs(float(direction @ found.b) - value)
        t = away / se if se > 0 else (math.inf if away else 0.0)
        if found.system.s2.any():
            q = profile(found, direction[None], np.array([value]))
            t = min(t, math.sqrt(squared_t(q, found.system.nobs, df)))
        return float(2 * special.stdtr(df, -t))


def _hulls(found: Fit, alpha: float, wanted: NDArray[np.bool_]) -> Array:
    """Return the hull of every coefficient that is wanted, all numbers for the others."""
    ends = np.full((len(wanted), 2), [-math.inf, math.inf])
    for i in np.flatnonzero(wanted):
        ends[i] = np.array(hull(found, found.system.to_names[i], alpha)) - found.shift
    return ends


def regression_of(
    cells: Sequence[NoisyMoments],
    outcome: str | Regressor,
    regressors: Sequence[Regressor],
    *,
    guarantee: Guarantee,
    by_cell: bool = False,
    meat: Array | None = None,
    counted: float | None = None,
    formula: str = "",
    notes: tuple[str, ...] = (),
) -> RegressionResults:
    """Least squares of a released column on others and on public facts of cells.

    Cells are disjoint, with noise of their own: pool those that the regression does not tell apart.
    ``by_cell`` errors have a variance of their own in every cell, as by arm; ``meat`` is a released
    sum of products of scores, in the order and units of ``regressors``; ``counted`` are rows, where
    cells have sums of weights.
    """
    target = Regressor(outcome, outcome) if isinstance(outcome, str) else outcome
    system = system_of(cells, regressors, counted)
    if system.df_resid <= 0:
        raise ParameterError(
            f"{system.nobs:g} rows for {len(system.M)} coefficients leave nothing to estimate "
            "errors from; use fewer regressors"
        )
    if meat is not None:
        keep = np.array([one.name in system.names for one in regressors])
        meat = np.asarray(meat, np.float64)[np.ix_(keep, keep)]
    inverse = inverse_of(system)
    w = rows_of(cells, target)
    found = fit(system, inverse, w, by_cell=by_cell, meat=meat)
    J = system.to_names
    gate = inverse.passes
    ends = _hulls(found, _ALPHA, np.full(len(J), gate))
    read = np.array([math.isfinite(low) and math.isfinite(high) for low, high in ends], np.bool_)
    cov, noise = J @ found.cov @ J.T, np.diag(J @ found.noise @ J.T)
    cov[~read] = cov[:, ~read] = math.nan
    variance = found.residual_variance
    kind = "scores" if meat is not None else "by cell" if by_cell else "nonrobust"
    noise = np.where(read, np.sqrt(np.maximum(noise, 0)), math.nan)
    table = labelled(system.names, np.where(read, J @ found.b, math.nan), cov, noise)
    index = table["params"].index
    return RegressionResults(
        **table | {"layout": tuple(one.name for one in regressors)},
        df_inference=system.df_resid,
        df_resid=system.df_resid,
        nobs=round(system.nobs),
        cov_type=kind,
        guarantee=guarantee,
        outcome=target.name,
        formula=formula,
        title="Least squares from released moments",
        notes=(*notes, *_unread(gate, inverse.eta2, index[~read])),
        fit=found,
        estimated=pd.Series(read, index=index),
        intervals=ends,
        eta2=inverse.eta2,
        rsquared=_rsquared(found, w, cells),
        rmse=math.sqrt(variance) if gate and variance > 0 else math.nan,
    )


def _unread(gate: bool, eta2: float, names: pd.Index[Any]) -> tuple[str, ...]:
    """Reason why coefficients are not estimated, in words."""
    if not gate:
        return (
            f"Not estimated: the noise of the regressors' moments is {eta2:.3g} of themselves "
            f"(squared), least squares is read up to {GATE:g}; use fewer regressors, more rows or "
            "a larger epsilon.  The moments stay usable.",
        )
    if len(names):
        listed = ", ".join(str(name) for name in names)
        return (f"Not estimated, for its interval is open at 95 %: {listed}.",)
    return ()


def _rsquared(found: Fit, w: Array, cells: Sequence[NoisyMoments]) -> float:
    """Return one less the residual sum over the total sum around the mean, as released."""
    system = found.system
    if not found.inverse.passes:
        return math.nan
    ones = rows_of(cells, Regressor("Intercept"))
    total = float(np.einsum("gi,gij,gj->", w, system.P, w))
    level = float(np.einsum("gi,gij,gj->", ones, system.P, w))
    K = system.mean_of_products(w[:, :, None] * w[:, None, :])
    own = float(np.einsum("gi,gij,gj->", ones, K, ones))
    around = total - (level**2 - own) / system.n
    left = found.residual_variance * system.divisor
    return 1 - left / around if around > 0 else math.nan
