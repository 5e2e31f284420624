"""The numbers of GenModel: proxies without their regressions, and their noisy means.

A proxy outcome is ``y_b = W~ beta^ + s^ Z_b``; only its least-squares coefficients and its mean
squared residual are ever used.  Both have known laws given W~, and are independent of each other,
so they are drawn as they are: ``beta*_b ~ N(beta^, s^2 (W~'W~)^-1)`` and
``xi_b ~ s^2 chi2_{n-k} / n`` (in print the square of xi is missing, and chi2 has n degrees).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from dprct.errors import ParameterError
from dprct.published.karwa_vadhan import SIGMA_BOUNDS, DPRange, DPVariance
from dprct.results.covariance import independent

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from dprct.published.allocation import CoefficientShare, OutcomeShare

Array = NDArray[np.float64]
Sigma = Literal["private", "confidential"]
From = Literal["last step", "line 17"]


@dataclass(frozen=True, slots=True)
class Settings:
    """The parameters of GenModel besides its budget.

    Parameters
    ----------
    B : int
        Proxies.
    v : float
        Bound on the absolute means.
    alpha : float
        Of the private ranges.
    sigma_min, sigma_max : float
        Bounds on standard deviations; ``sigma_min`` is the floor of the residual one, too.
    sigma : {"private", "confidential"}
    confidential_from : {"last step", "line 17"}
        Where the confidential residual variance comes in (section 3.2.2 of the paper).
    """

    B: int = 5000
    v: float = 50.0
    alpha: float = 0.05
    sigma_min: float = SIGMA_BOUNDS[0]
    sigma_max: float = SIGMA_BOUNDS[1]
    sigma: Sigma = "private"
    confidential_from: From = "last step"

    @property
    def has_private_variance(self) -> bool:
        """Whether a private residual variance is made at all."""
        return self.sigma == "private" or self.confidential_from == "last step"


@dataclass(frozen=True, slots=True, eq=False)
class ReleasedDesign:
    """W~ without columns that are linear combinations of earlier ones.

    Parameters
    ----------
    W : (m, k) array
        As it was before.
    kept : (k,) array of bool
    root : (rank, rank) array
        A with ``A A' = (W~'W~)^-1``.
    """

    W: Array
    kept: NDArray[np.bool_]
    root: Array

    @classmethod
    def of(cls, W: Array) -> ReleasedDesign:
        """Factor a released design.

        Raises
        ------
        ParameterError
            If it has no more rows than independent columns.
        """
        kept = independent(W)
        X = W[:, kept]
        if len(X) <= X.shape[1]:
            raise ParameterError(
                f"the released covariates leave {len(X)} complete rows for {X.shape[1]} "
                "coefficients; use fewer regressors"
            )
        lengths = np.sqrt((X**2).sum(axis=0))
        triangle = np.linalg.qr(X / lengths, mode="r")
        inverse = linalg.solve_triangular(triangle, np.eye(len(triangle)))
        return cls(W, kept, np.asarray(inverse / lengths[:, None], np.float64))

    @property
    def rows(self) -> int:
        """m, the n of the paper."""
        return len(self.W)

    @property
    def df_resid(self) -> int:
        """Rows less rank."""
        return self.rows - len(self.root)

    @property
    def diagonal(self) -> Array:
        """Diagonal of ``(W~'W~)^-1``, (rank,)."""
        return np.asarray((self.root**2).sum(axis=1), np.float64)

    def projected(self, beta: Array) -> Array:
        """Return the coefficients (rank,) of the kept columns with the same fitted values."""
        if self.kept.all():
            return beta
        X = self.W[:, self.kept]
        return np.asarray(self.root @ (self.root.T @ (X.T @ (self.W @ beta))), np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Proxies:
    """What B regressions of proxy outcomes would give.

    Parameters
    ----------
    beta : (rank, B) array
        Coefficients, one row each.
    xi : (B,) array
        Mean squared residuals, ``RSS / n``.
    """

    beta: Array
    xi: Array


def proxies(
    released: ReleasedDesign, beta: Array, sigma2: float, B: int, rng: np.random.Generator
) -> Proxies:
    """Draw B proxies from their joint law.

    Parameters
    ----------
    released : ReleasedDesign
    beta : (k,) array
        Of the confidential fit.
    sigma2 : float
        Of the confidential fit.
    B : int
    rng : numpy.random.Generator

    Examples
    --------
    >>> W = np.column_stack([np.ones(100), np.arange(100) % 2])
    >>> rng = np.random.default_rng(1)
    >>> drawn = proxies(ReleasedDesign.of(W), np.array([1.0, 5.0]), 4.0, 2000, rng)
    >>> drawn.beta.mean(axis=1).round(1).tolist(), round(float(drawn.xi.mean()), 1)
    ([1.0, 5.0], 3.9)
    """
    normal = rng.standard_normal((len(released.root), B))
    drawn = (math.sqrt(sigma2) * released.root) @ normal
    drawn += released.projected(beta)[:, None]
    xi = sigma2 * rng.chisquare(released.df_resid, B) / released.rows
    return Proxies(drawn, xi)


@dataclass(frozen=True, slots=True, eq=False)
class Sanitised:
    """What GenModel makes of one outcome's model.

    Parameters
    ----------
    beta : (rank,) array
        Noisy means of the clipped proxies.
    sigma2 : float
        The residual variance that the outcome is drawn with.
    sigma2_raw : float
        Before the floor; the same where the floor was not reached.
    spread : float
        Residual variance in the covariance of the coefficients, ``n sigma2~ / (n - k)``.
    noise_sd : (rank,) array
        Standard deviation of the Laplace noise of each coefficient.
    """

    beta: Array
    sigma2: float
    sigma2_raw: float
    spread: float
    noise_sd: Array

    @property
    def at_floor(self) -> bool:
        """Whether the residual variance had to be raised to its floor."""
        return self.sigma2_raw < self.sigma2


def sanitised(
    released: ReleasedDesign,
    drawn: Proxies,
    sigma2: float,
    shares: OutcomeShare,
    names: Sequence[str],
    settings: Settings,
    rng: np.random.Generator,
) -> Sanitised:
    """Return noisy means of proxies (dp_rct.txt, Algorithm 3, lines 14 to 24).

    Parameters
    ----------
    released : ReleasedDesign
    drawn : Proxies
    sigma2 : float
        Of the confidential fit, used in the confidential variants only.
    shares : OutcomeShare
        What each step gets.
    names : sequence of str
        Of the coefficients, (rank,).
    settings : Settings
    rng : numpy.random.Generator

    Notes
    -----
    Each step is private with respect to one proxy.  A residual variance below ``sigma_min^2`` is
    raised to it, not drawn again: that would change its law.
    """
    raw, spread = sigma2, sigma2
    floored = sigma2
    if settings.has_private_variance:
        raw = private_variance(drawn.xi, shares.variance, settings, rng)
        floored = max(raw, settings.sigma_min**2)
        spread = released.rows * floored / released.df_resid
    sds = np.sqrt(spread * released.diagonal)
    found = [
        noisy_mean(x, sd, shares.coefficients[name], settings, rng)
        for x, sd, name in zip(drawn.beta, sds.tolist(), names, strict=True)
    ]
    beta, noise = np.array(found).T
    if settings.sigma == "confidential":
        return Sanitised(beta, sigma2, sigma2, spread, noise)
    return Sanitised(beta, floored, raw, spread, noise)


def private_variance(
    xi: Array, epsilon: Fraction, settings: Settings, rng: np.random.Generator
) -> float:
    """Return the noisy mean of the mean squared residuals; may be below 0.

    Parameters
    ----------
    xi : (B,) array
    epsilon : Fraction
        Of each of the three steps.
    """
    variance = DPVariance(epsilon, 0, settings.sigma_min, settings.sigma_max).draw(xi, rng)
    own = DPRange(math.sqrt(variance), epsilon, 0, settings.v, settings.alpha)
    return _clipped_mean(xi, own, epsilon, rng)[0]


def noisy_mean(
    x: Array, sd: float, share: CoefficientShare, settings: Settings, rng: np.random.Generator
) -> tuple[float, float]:
    """Return the noisy mean of one coefficient's proxies (B,), and the sd of its noise."""
    own = DPRange(sd, share.range_, 0, settings.v, settings.alpha)
    return _clipped_mean(x, own, share.noise, rng)


def _clipped_mean(
    x: Array, mechanism: DPRange, epsilon: Fraction, rng: np.random.Generator
) -> tuple[float, float]:
    low, high = mechanism.draw(x, rng)
    scale = (high - low) / (len(x) * float(epsilon))
    mean = float(np.clip(x, low, high).mean())
    return mean + rng.laplace(0.0, scale), math.sqrt(2) * scale
