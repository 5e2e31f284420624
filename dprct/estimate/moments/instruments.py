"""Instrumental variables from released moments: sets that are valid however weak the instruments.

Everything rests on the reduced form, least squares on the included regressors and the instruments.
For a hypothetical effect lambda, y - lambda d has no coefficient on any instrument; that is tested
with the law of those coefficients (Anderson and Rubin 1949).  The test is a function of the
direction (1, -lambda) alone and is scanned around the circle, so that infinity is a point like any
other: the set may be an interval, two rays, the whole line, or empty.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dprct.errors import ParameterError
from dprct.estimate.moments.gaussian_law import kappa, rounded_up
from dprct.estimate.moments.system import (
    GATE,
    Inverse,
    Regressor,
    System,
    errors,
    fit,
    inverse_of,
    rows_of,
    system_of,
)
from dprct.estimate.roots import root
from dprct.lazy import special
from dprct.records import dataclass
from dprct.results import typeset
from dprct.results.base import LinearResults, checked_alpha, labelled

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from dprct.estimate.moments.noisy import NoisyMoments
    from dprct.privacy.budget import Guarantee

    Array = NDArray[np.floating[Any]]

_ANGLES = 181
_DIGITS = 1e-12


@dataclass(frozen=True)
class ConfidenceSet:
    """All effects that the Anderson-Rubin test does not reject."""

    # ``"interval"``, ``"two rays"``, ``"all numbers"``, ``"empty"`` or ``"several intervals"``.
    kind: str
    # (low, high): disjoint and in order; ends may be infinite.
    parts: tuple[tuple[float, float], ...]
    level: float

    @property
    def hull(self) -> tuple[float, float]:
        """The smallest interval that holds the set; NaN where it is empty."""
        if not self.parts:
            return math.nan, math.nan
        return self.parts[0][0], self.parts[-1][1]

    def __contains__(self, value: float) -> bool:
        return any(low <= value <= high for low, high in self.parts)

    def __str__(self) -> str:
        if self.kind == "empty":
            return "empty: no effect fits all instruments"
        if self.kind == "all numbers":
            return "all numbers: the instruments say nothing"
        return " and ".join(_written(low, high) for low, high in self.parts)


def _written(low: float, high: float) -> str:
    if low == -math.inf:
        return f"(-inf, {high:.4g}]"
    return f"[{low:.4g}, inf)" if high == math.inf else f"[{low:.4g}, {high:.4g}]"


@dataclass(frozen=True, eq=False, kw_only=True)
class AndersonRubin(ABC):
    """The test that y - lambda d has no coefficient on any instrument, for every lambda."""

    instruments: int  # K
    df: float  # degrees of freedom of the errors
    # center, unit: the circle: lambda = center + unit tan(angle).
    center: float
    unit: float

    @abstractmethod
    def statistic(self, angle: float) -> float:
        """Return the chi-square(K) of the instruments in the direction of an angle."""

    def of(self, value: float) -> float:
        """Return the statistic at an effect."""
        return self.statistic(math.atan2(value - self.center, self.unit))

    def critical(self, alpha: float) -> float:
        """Critical value of the test of size alpha."""
        K = self.instruments
        return float(K * special.fdtri(K, self.df, 1 - alpha))

    def p_value(self, statistic: float) -> float:
        """Return P(F > statistic / K)."""
        K = self.instruments
        return float(special.fdtrc(K, self.df, statistic / K))

    def confidence_set(self, alpha: float) -> ConfidenceSet:
        """Return the effects that are not rejected."""
        critical = self.critical(alpha)

        def excess(angle: float) -> float:
            return min(self.statistic(angle) - critical, 1e300)

        angles = np.linspace(-math.pi / 2, math.pi / 2, _ANGLES)
        values = np.array([excess(angle) for angle in angles[:-1]])
        values = np.append(values, values[0])  # both ends are infinity
        inside = values <= 0
        if inside.all():
            return ConfidenceSet("all numbers", ((-math.inf, math.inf),), 1 - alpha)
        ends = [
            root(excess, float(angles[i]), float(angles[i + 1]), _DIGITS)
            for i in range(_ANGLES - 1)
            if inside[i] != inside[i + 1]
        ]
        cuts = [self.center + self.unit * math.tan(angle) for angle in ends]
        if inside[0]:
            cuts = [-math.inf, *cuts, math.inf]
        parts = tuple(zip(cuts[::2], cuts[1::2], strict=True))
        if not parts:
            return ConfidenceSet("empty", (), 1 - alpha)
        kind = "several intervals"
        if len(parts) == 1:
            kind = "interval"
        elif len(parts) == 2 and inside[0]:
            kind = "two rays"
        return ConfidenceSet(kind, parts, 1 - alpha)


@dataclass(frozen=True, eq=False, kw_only=True)
class ReducedForm(AndersonRubin):
    """The reduced form of an outcome y and a take-up d on regressors and K instruments."""

    # system, inverse: of all regressors, instruments among them.
    system: System
    inverse: Inverse
    # y, d: (G, p + 1).
    y: Array
    d: Array
    excluded: NDArray[np.intp]  # (K,): places of the instruments among the regressors
    by_cell: bool
    kap: float  # by which residual variances are inflated, in every direction

    def statistic(self, angle: float) -> float:
        """Return the chi-square(K) of the instruments in the direction of an angle."""
        cos, sin = math.cos(angle), math.sin(angle)
        w = cos * (self.y - self.center * self.d) - sin * self.unit * self.d
        found = fit(self.system, self.inverse, w, by_cell=self.by_cell, kap=self.kap)
        J = self.system.to_names[self.excluded]
        g, C = J @ found.b, J @ found.cov @ J.T
        sd = np.sqrt(np.diag(C))
        if not np.all(sd > 0):
            return math.inf if np.abs(g).sum() > 0 else 0.0
        return float(g / sd @ np.linalg.solve(C / np.outer(sd, sd), g / sd))


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class IVResults(LinearResults):
    """Two-stage least squares from what was released, with Anderson-Rubin sets of the effect.

    Parameters
    ----------
    reduced : AndersonRubin
    endogenous : str
        The coefficient that instruments identify.
    first_stage : float
        F of the instruments in the first stage, sampling error and noise in its denominator.
    estimated : bool
        Whether the reduced form passes the gate.

    Notes
    -----
    ``params`` and ``bse`` are two-stage least squares with the delta method, which is right for
    strong instruments only.  The interval and the p-value of the effect are Anderson and Rubin's,
    valid whatever the instruments' strength: :meth:`confidence_set` may be open or empty, and
    :meth:`conf_int` gives the smallest interval that holds it.
    """

    inverts: ClassVar[bool] = True

    reduced: AndersonRubin
    endogenous: str
    first_stage: float
    estimated: bool

    @property
    def pvalues(self) -> pd.Series[float]:
        """Two-sided p-values; that of the effect is Anderson and Rubin's."""
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.abs(self.params.to_numpy() / self.bse.to_numpy())
        found = self._series(2 * special.stdtr(self.df_inference, -t))
        if self.estimated:
            found[self.endogenous] = self.reduced.p_value(self.reduced.of(0.0))
        return found

    def confidence_set(self, alpha: float = 0.05) -> ConfidenceSet:
        """Return the set of effects that are not rejected, of level ``1 - alpha``."""
        size = checked_alpha(alpha)
        if not self.estimated:
            return ConfidenceSet("all numbers", ((-math.inf, math.inf),), 1 - size)
        return self.reduced.confidence_set(size)

    def conf_int(self, alpha: float = 0.05) -> pd.DataFrame:
        """Return intervals; that of the effect is the smallest that holds its set."""
        found = LinearResults.conf_int(self, alpha)
        found.loc[self.endogenous] = self.confidence_set(alpha).hull
        return found

    def facts(self) -> tuple[tuple[str, str], ...]:
        """Return the lines above the table, as (name, value)."""
        return (
            *LinearResults.facts(self),
            ("Instruments", str(self.reduced.instruments)),
            ("First-stage F", typeset.statistic(self.first_stage)),
            ("95% set of the effect", str(self.confidence_set())),
        )


def iv_of(
    cells: Sequence[NoisyMoments],
    outcome: str | Regressor,
    endogenous: str | Regressor,
    included: Sequence[Regressor],
    instruments: Sequence[Regressor],
    *,
    guarantee: Guarantee,
    by_cell: bool = False,
    formula: str = "",
    notes: tuple[str, ...] = (),
) -> IVResults:
    """The effect of one endogenous column on an outcome.

    ``included`` are the constant and covariates, of both stages; ``instruments`` of the first only,
    such as indicators of arms.  ``by_cell`` errors have a variance of their own in every cell, as
    by arm.
    """
    y, d = (Regressor(c, c) if isinstance(c, str) else c for c in (outcome, endogenous))
    also = {one.name for one in included}
    named = {one.name for one in instruments} - also
    system = system_of(cells, [*included, *(one for one in instruments if one.name not in also)])
    places = np.array([i for i, name in enumerate(system.names) if name in named], np.intp)
    if not len(places):
        raise ParameterError(
            "no instrument is left: each is a combination of the included regressors; name another"
        )
    if system.df_resid <= 0:
        raise ParameterError(
            f"{system.n:g} rows for {len(system.M)} coefficients leave nothing to estimate errors "
            "from; use fewer regressors"
        )
    inverse = inverse_of(system)
    w_y, w_d = rows_of(cells, y), rows_of(cells, d)
    names = [name for name in system.names if name not in named]
    k = len(names) + 1
    beta, cov, noise = np.full(k, math.nan), np.full((k, k), math.nan), np.full(k, math.nan)
    unread: tuple[str, ...] = ()
    center, unit = 0.0, 1.0
    if inverse.passes:
        beta, cov, noise = _two_stage(system, inverse, w_y, w_d, places, by_cell)
        center = float(beta[-1])
        unit = math.sqrt(float(cov[-1, -1])) or 1.0
    else:
        unread = (
            f"Not estimated: the noise of the reduced form's moments is {inverse.eta2:.3g} of "
            f"themselves (squared), it is read up to {GATE:g}.  The moments stay usable.",
        )
    directions = [w_y - center * w_d, w_d]
    kap = max(_kappa(system, inverse, w, by_cell) for w in directions) if inverse.passes else 0.0
    reduced = ReducedForm(
        instruments=len(places), df=system.df_resid, center=center, unit=unit, system=system,
        inverse=inverse, y=w_y, d=w_d, excluded=places, by_cell=by_cell, kap=kap,
    )  # fmt: skip
    strength = reduced.statistic(math.pi / 2) / len(places) if inverse.passes else math.nan
    return IVResults(
        **labelled([*names, d.name], beta, cov, np.sqrt(noise)),
        df_inference=system.n - k,
        df_resid=system.n - k,
        nobs=round(system.n),
        cov_type="by cell" if by_cell else "nonrobust",
        guarantee=guarantee,
        outcome=y.name,
        formula=formula,
        title="Instrumental variables from released moments",
        notes=(*notes, *unread, "The set and p-value of the effect are Anderson and Rubin's."),
        reduced=reduced,
        endogenous=d.name,
        first_stage=strength,
        estimated=inverse.passes,
    )


def _two_stage(
    system: System,
    inverse: Inverse,
    w_y: Array,
    w_d: Array,
    places: NDArray[np.intp],
    by_cell: bool,
) -> tuple[Array, Array, Array]:
    """Return coefficients of the included regressors and d, their covariance, and noise variances.

    Two-stage least squares is the b with the least (pi_y - G b)' A^-1 (pi_y - G b), where pi are
    reduced forms and G = [unit vectors of the included regressors, pi_d].
    """
    J = system.to_names
    pi_y, pi_d = (J @ fit(system, inverse, w, by_cell=by_cell, kap=0.0).b for w in (w_y, w_d))
    k = len(pi_y)
    included = np.setdiff1d(np.arange(k), places)
    G = np.column_stack([np.eye(k)[:, included], pi_d])
    back = np.linalg.inv(J)
    weight = back.T @ inverse.bread @ back
    half = np.linalg.solve(G.T @ weight @ G, G.T @ weight)
    beta = half @ pi_y
    full = np.zeros(k)
    full[included] = beta[:-1]
    a = system.residual(w_y - beta[-1] * w_d, back @ full)
    noise, sampling, _ = errors(system, inverse, a, system.n - len(beta), by_cell)
    L = half @ J
    return beta, L @ (noise + sampling) @ L.T, np.maximum(np.diag(L @ noise @ L.T), 0)


def _kappa(system: System, inverse: Inverse, w: Array, by_cell: bool) -> float:
    """Return kappa of the residual variance of one direction."""
    plain = fit(system, inverse, w, by_cell=by_cell, kap=0.0)
    once = fit(system, inverse, w, by_cell=by_cell, kap=1.0)
    J = system.to_names
    om = np.diag(J @ (once.sampling - plain.sampling) @ J.T)
    v = np.diag(J @ plain.noise @ J.T)
    if not system.s2.any():
        return 0.0
    return kappa(rounded_up(float((np.maximum(om, 0) / v).max())), 0.05)
