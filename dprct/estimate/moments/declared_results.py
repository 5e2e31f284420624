"""Results of declared regressions: the coefficients of treatment, with intervals of both errors."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dprct.errors import ParameterError
from dprct.estimate.moments.effects import JOINT_ALPHA, Combined, GaussianResults, lawful
from dprct.estimate.moments.gaussian_law import kappa, rounded_up
from dprct.estimate.moments.instruments import AndersonRubin, IVResults
from dprct.results.joint import WaldTest, positive, restrictions, wald_test

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from dprct.estimate.moments.declared import Declared, DrawnCross, DrawnStep, Instrumented
    from dprct.privacy.budget import Guarantee

    Array = NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class DeclaredResults(GaussianResults):
    """The coefficients of treatment in a declared regression, sampling error and noise together.

    Parameters
    ----------
    drawn : DrawnStep
        As released.
    of : Declared

    Notes
    -----
    Intervals are theta -+ t (max(0, V + kappa om) + v)^.5: V is the sampling variance as released,
    om the standard deviation of its noise, v the variance of the noise of theta, and kappa the
    smallest number that covers for every V (:mod:`dprct.estimate.moments.gaussian_law`).
    ``bse`` is the half width of the 95 % interval over its normal quantile.
    """

    drawn: DrawnStep
    of: Declared

    @property
    def estimand(self) -> str:
        """What the coefficients are of: the outcome clipped to its public bounds."""
        return self.of.estimand

    def lincom(self, wanted: str | Mapping[str, float]) -> DeclaredResults:
        """Return a linear combination of coefficients, such as ``"t1 - t2"``, with its interval."""
        asked = restrictions(wanted, list(self.params.index))
        if len(asked.weights) > 1:
            raise ParameterError(
                f"lincom takes one combination, got {len(asked.weights)}; use wald_test for several"
            )
        self._check_joint(asked.weights)
        return _tabulated(
            self.drawn, self.of, asked.weights, -asked.values, asked.texts, like=self,
            title=f"{self.title}: {asked.texts[0]}",
        )  # fmt: skip

    def wald_test(self, wanted: str | Mapping[str, float] | Sequence[str]) -> WaldTest:
        """Return the joint test of linear restrictions, such as ``"t1 = t2 = 0"``."""
        asked = restrictions(wanted, list(self.params.index))
        self._check_joint(asked.weights)
        cov = asked.weights @ _covariance(self.drawn, self.of) @ asked.weights.T
        estimate = asked.weights @ self.drawn.params - asked.values
        return wald_test(estimate, cov, "; ".join(asked.texts), self.of.df)

    def _check_joint(self, weights: Array) -> None:
        several = max((row != 0).sum() for row in weights) > 1 or len(weights) > 1
        if several and not self.of.joint:
            raise ParameterError(
                "treatment varies within clusters, so that the variance of each coefficient was "
                "released and no covariance; ask for one coefficient at a time"
            )


def declared_results(
    drawn: DrawnStep, of: Declared, guarantee: Guarantee, notes: tuple[str, ...] = ()
) -> DeclaredResults:
    """Table of results of a declared regression."""
    adjusted = f", adjusted for {', '.join(of.covariates)}" if of.covariates else ""
    said = (
        f"The effect on {of.estimand}{adjusted}; nothing else of the outcome is clipped, and "
        "covariates make the interval shorter without changing what is estimated.",
    )
    lost = [name for name, x in zip(of.terms, drawn.params.tolist(), strict=True) if math.isnan(x)]
    if lost:
        notes = (
            *notes,
            "Not estimated, for the covariates that treatment is multiplied by vary by less than "
            f"five times the noise of their moments: {', '.join(lost)}.",
        )
    clusters = f"Errors are those of {of.groups} clusters of {', '.join(of.clusters)}."
    return _tabulated(
        drawn, of, np.eye(len(of.terms)), np.zeros(len(of.terms)), of.terms,
        df_inference=float(of.df), df_resid=float(of.nobs - of.coefficients), nobs=of.nobs,
        cov_type=of.cov_type, guarantee=guarantee, outcome=of.outcome, formula=of.formula,
        title=f"Declared regression: {of.title}",
        notes=(*said, *((clusters,) if of.groups else ()), *notes),
    )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class DeclaredForm(AndersonRubin):
    """The coefficients of an instrument in the reduced form and in the first stage.

    Parameters
    ----------
    reduced, first : DrawnStep
    cross : DrawnCross
        Of their covariance.

    Notes
    -----
    In the direction (c, d) the variance is c^2 V_yy + 2 c d V_yd + d^2 V_dd, released with noise
    of the variance c^4 s_yy^2 + 4 c^2 d^2 s_yd^2 + d^4 s_dd^2, and the coefficients have noise of
    c^2 s_y^2 + d^2 s_d^2.  kappa is taken in every direction, of a ratio rounded up to 5 %.
    """

    reduced: DrawnStep
    first: DrawnStep
    cross: DrawnCross

    def statistic(self, angle: float) -> float:
        """Return the squared coefficient over its variance in the direction of an angle."""
        cos, sin = math.cos(angle), math.sin(angle)
        y, d = cos, -(cos * self.center + sin * self.unit)
        value = y * self.reduced.params[0] + d * self.first.params[0]
        return float(value**2 / self.variance(y, d)[0])

    def variance(self, y: float, d: float) -> tuple[float, float]:
        """Return the variance of a direction, raised, and that of the noise of coefficients."""
        square = np.array([y * y, 2 * y * d, d * d])
        parts = self.reduced, self.cross, self.first
        om = math.hypot(*(square * [one.spread[0, 0] for one in parts]))
        noise = math.hypot(y * self.reduced.noise[0], d * self.first.noise[0]) ** 2
        known = float(square @ [one.sampling[0, 0] for one in parts])
        ratio = math.exp(_STEP * math.ceil(math.log(om / noise) / _STEP - 1e-9))
        return max(0.0, known + kappa(ratio) * om) + noise, noise


_STEP = 0.05


def instrumented_results(
    drawn: tuple[DrawnStep, DrawnStep, DrawnCross], one: Instrumented, of: Declared,
    guarantee: Guarantee, notes: tuple[str, ...] = (),
) -> IVResults:  # fmt: skip
    """Return the effect of what an instrument moves: two-stage least squares and its sets.

    Parameters
    ----------
    drawn : tuple of DrawnStep, DrawnStep, DrawnCross
        Of the reduced form, of the first stage, and of both together.
    of : Declared
        The reduced form.
    """
    reduced, first, cross = drawn
    moved = float(first.params[0]) or math.nan
    effect = float(reduced.params[0]) / moved
    form: dict[str, Any] = {
        "instruments": 1, "df": float(of.df), "reduced": reduced, "first": first, "cross": cross,
    }  # fmt: skip
    test = DeclaredForm(center=0.0, unit=1.0, **form)
    variance, noise = test.variance(1.0, -effect) if moved == moved else (math.nan, math.nan)
    bse = math.sqrt(variance) / abs(moved)
    if moved == moved:
        test = DeclaredForm(center=effect, unit=bse, **form)
    index = pd.Index([one.endogenous], dtype=object)
    clusters = f"Errors are those of {of.groups} clusters of {', '.join(of.clusters)}."
    return IVResults(
        params=pd.Series([effect], index=index), cov=pd.DataFrame([[bse**2]], index, index),
        bse_noise=pd.Series([math.sqrt(noise) / abs(moved)], index=index),
        df_inference=float(of.df), df_resid=float(of.nobs - of.coefficients), nobs=of.nobs,
        cov_type=of.cov_type, guarantee=guarantee, outcome=of.outcome, formula=one.formula,
        title=f"Declared regression with an instrument: {one.title}", layout=(one.endogenous,),
        notes=(
            f"The effect of {one.endogenous} on {of.estimand}, from {of.formula} and its first "
            "stage.", *((clusters,) if of.groups else ()), *notes,
            "The set and p-value of the effect are Anderson and Rubin's.",
        ),
        reduced=test, endogenous=one.endogenous, first_stage=test.statistic(math.pi / 2),
        estimated=True,
    )  # fmt: skip


def _tabulated(
    drawn: DrawnStep, of: Declared, weights: Array, shift: Array, names: Sequence[str], *,
    like: DeclaredResults | None = None, **facts: Any,
) -> DeclaredResults:  # fmt: skip
    """Return linear combinations of what was drawn as a result."""
    laws = [_combined(drawn, of, row, value) for row, value in zip(weights, shift, strict=True)]
    cov = (
        weights @ _covariance(drawn, of) @ weights.T
        if of.joint
        else np.full((len(names),) * 2, np.nan)
    )
    table = lawful(laws, names, cov, (0.05,))
    if like is not None:
        return replace(like, **table, **facts)
    return DeclaredResults(**table, **facts, drawn=drawn, of=of)


def _combined(drawn: DrawnStep, of: Declared, row: Array, shift: float) -> Combined:
    """Return one combination of coefficients with the law of its error.

    Entries of the released matrix have independent noise up to symmetry, so that w'Vw has the
    variance sum w_j^4 s_jj^2 + sum over j < k of 4 w_j^2 w_k^2 s_jk^2.
    """
    raw = row if drawn.basis is None else row @ drawn.basis
    used = np.flatnonzero(raw)
    w = raw[used]
    V = drawn.sampling[np.ix_(used, used)]
    s = drawn.spread[np.ix_(used, used)]
    square = np.outer(w * w, w * w) * s * s
    om = math.sqrt(float(np.trace(square) + 2 * (square.sum() - np.trace(square))))
    return Combined(
        value=float(row @ drawn.params) + float(shift),
        parts=np.array([float(w @ V @ w)]),
        spreads=np.array([om]),
        noise=float(row @ noise_of(drawn) @ row),
        df=np.array([float(of.df)]),
    )


def noise_of(drawn: DrawnStep) -> Array:
    """Covariance of the noise of the coefficients."""
    return np.diag(drawn.noise**2) if drawn.covariance is None else drawn.covariance


def _covariance(drawn: DrawnStep, of: Declared) -> Array:
    """Return the covariance of the coefficients for joint tests, its diagonal inflated."""
    noise = drawn.noise**2
    each = [float(_combined(drawn, of, one, 0.0).spreads[0]) for one in np.eye(len(noise))]
    raised = [
        s * kappa(rounded_up(s / v), JOINT_ALPHA) if s and math.isfinite(v) else 0.0
        for s, v in zip(each, noise.tolist(), strict=True)
    ]
    sampling = positive(np.nan_to_num(drawn.sampling, nan=0.0))
    if drawn.basis is not None:
        sampling = drawn.basis @ sampling @ drawn.basis.T
    found: Array = sampling + np.diag(np.array(raised)) + noise_of(drawn)
    return found
