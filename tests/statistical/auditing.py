"""A certified lower bound on epsilon or mu, from draws of a mechanism on two neighbours."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import betaincinv, ndtri

from dprct.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    Implied = Callable[[Any, Any], NDArray[np.float64]]

_FEWEST = 100


@dataclass(frozen=True, slots=True)
class ThresholdEvent:
    """The outputs whose score is at least, or at most, a threshold.

    Parameters
    ----------
    threshold : float
        On the scale of the scores.
    at_least : bool
        Scores at or above the threshold are in the event; else those at or below.
    likelier_on_neighbour : bool
        The event has the larger probability on the second input.
    """

    threshold: float
    at_least: bool
    likelier_on_neighbour: bool

    def __str__(self) -> str:
        sign = ">=" if self.at_least else "<="
        where = "neighbour" if self.likelier_on_neighbour else "first input"
        return f"score {sign} {self.threshold:g}, likelier on the {where}"


@dataclass(frozen=True, slots=True)
class AuditResult:
    """What an audit certifies: epsilon is at least this, except with probability ``alpha``.

    Parameters
    ----------
    epsilon : float
        Certified lower bound, at least 0; infinite never.
    delta : float
        The delta at which the bound on epsilon holds.
    alpha : float
        Probability of a bound above the truth.
    event : ThresholdEvent
        The set of outputs that shows it.
    likelier, rarer : float
        Lower confidence limit of the event's probability where it is likelier, upper one where
        it is rarer.
    draws : int
        Draws of the smaller sample that tested the event.
    measure : {"epsilon", "mu"}
        What is bounded; mu is of Gaussian differential privacy.
    """

    epsilon: float
    delta: float
    alpha: float
    event: ThresholdEvent
    likelier: float
    rarer: float
    draws: int
    measure: str = "epsilon"

    def refutes(self, epsilon: float) -> bool:
        """Whether a claim of ``epsilon`` (at this delta) is refuted."""
        return self.epsilon > epsilon

    def __str__(self) -> str:
        return (
            f"{self.measure} >= {self.epsilon:.4g} at delta={self.delta:g}, error {self.alpha:g} "
            f"({self.draws} draws; {self.event})"
        )


def lower_bound(
    draws: ArrayLike,
    neighbour_draws: ArrayLike,
    *,
    delta: float = 0.0,
    alpha: float = 1e-6,
    thresholds: int = 1000,
) -> AuditResult:
    """Return a lower bound on epsilon that holds except with probability ``alpha``.

    Parameters
    ----------
    draws, neighbour_draws : array_like, shape (n,) and (m,)
        Independent scores of a mechanism's output on an input and on a neighbour of it.  The score
        may be any function of the output chosen in advance: for a scalar the output itself.
        Infinite scores are allowed, NaN is not.
    delta : float, default 0
        The delta that is claimed along with epsilon.
    alpha : float, default 1e-6
        Probability of a bound above the true epsilon.
    thresholds : int, default 1000
        How many thresholds are tried.

    Returns
    -------
    AuditResult

    Raises
    ------
    ParameterError
        If a sample has under 100 draws or NaN, or a number is outside its range.

    Notes
    -----
    Events {score >= t} and {score <= t} are compared on the first half of both samples, and the
    best one, S, is kept.  Given the first half, the counts of S in the second are binomial, so the
    one-sided Clopper-Pearson limits a <= P(M(D) in S) and P(M(D') in S) <= b hold each except with
    probability alpha / 2.  If M is (epsilon, delta), then a <= e^epsilon b + delta, hence
    epsilon >= log((a - delta) / b); this holds for the direction D' to D in the same way.  The
    choice of S costs nothing because the second half did not take part in it.

    Where a mechanism is tight at an event of probability p, the bound falls short of epsilon by
    about z (sqrt((1-p)/(p n/2)) + sqrt((1-q)/(q n/2))), q = e^-epsilon p, z = 4.9 for
    alpha = 1e-6: five hundredths at epsilon = 1, n = 100,000.

    References
    ----------
    Jagielski, Ullman and Oprea (2020), "Auditing Differentially Private Machine Learning".
    Clopper and Pearson (1934), "The Use of Confidence or Fiducial Limits".

    Examples
    --------
    >>> noise = np.random.default_rng(1)
    >>> audit = lower_bound(noise.laplace(0, 1, 20_000), noise.laplace(1, 1, 20_000))
    >>> 0.8 < audit.epsilon < 1
    True
    """
    if not 0 <= delta < 1:
        raise ParameterError("an audit needs delta in [0, 1)")
    return _bounded(
        draws, neighbour_draws, lambda low, high: _implied(low, high, delta), delta, alpha,
        thresholds, "epsilon",
    )  # fmt: skip


def lower_mu(
    draws: ArrayLike, neighbour_draws: ArrayLike, *, alpha: float = 1e-6, thresholds: int = 1000
) -> AuditResult:
    """Return a lower bound on mu of Gaussian privacy, which holds except with probability alpha.

    Two error rates at one threshold: under mu-GDP an event of probability b on one input has at
    most Phi(Phi^-1(b) + mu) on the neighbour, so that a <= P(S) on it and P(S) <= b imply
    mu >= Phi^-1(a) - Phi^-1(b).  Limits, halves and arguments are as in :func:`lower_bound`.

    References
    ----------
    Dong, Roth and Su (2022), "Gaussian Differential Privacy", Definition 2.6.

    Examples
    --------
    >>> noise = np.random.default_rng(1)
    >>> audit = lower_mu(noise.normal(0, 1, 20_000), noise.normal(1, 1, 20_000))
    >>> 0.85 < audit.epsilon < 1
    True
    """
    return _bounded(draws, neighbour_draws, _implied_mu, 0.0, alpha, thresholds, "mu")


def _bounded(
    draws: ArrayLike,
    neighbour_draws: ArrayLike,
    implied: Implied,
    delta: float,
    alpha: float,
    thresholds: int,
    measure: str,
) -> AuditResult:
    """Return what the event certifies that the first halves of the draws show to be best."""
    first, second = _scores(draws, "draws"), _scores(neighbour_draws, "neighbour_draws")
    if not 0 < alpha < 1 or thresholds < 1:
        raise ParameterError("an audit needs alpha in (0, 1) and a threshold")
    cut, neighbour_cut = len(first) // 2, len(second) // 2
    event = _best_event(first[:cut], second[:neighbour_cut], implied, alpha, thresholds)
    likely, rare = first[cut:], second[neighbour_cut:]
    if event.likelier_on_neighbour:
        likely, rare = rare, likely
    low, high = _limits(_count(likely, event), len(likely), _count(rare, event), len(rare), alpha)
    bound = max(0.0, float(implied(low, high)))
    draws_used = min(len(likely), len(rare))
    return AuditResult(bound, delta, alpha, event, float(low), float(high), draws_used, measure)


def _scores(values: ArrayLike, name: str) -> NDArray[np.float64]:
    scores = np.asarray(values, dtype=np.float64)
    if scores.ndim != 1 or len(scores) < _FEWEST:
        raise ParameterError(
            f"{name} has shape {scores.shape}; give one score per draw, at least {_FEWEST}"
        )
    if np.isnan(scores).any():
        raise ParameterError(f"{name} has NaN; give such outputs a score of their own")
    return scores


def _best_event(
    first: NDArray[np.float64],
    second: NDArray[np.float64],
    implied: Implied,
    alpha: float,
    thresholds: int,
) -> ThresholdEvent:
    """Return the event that certifies most on these draws, limits included."""
    tried = _candidates(first, second, thresholds)
    best, found = (
        -math.inf,
        ThresholdEvent(float(tried[0]), at_least=True, likelier_on_neighbour=False),
    )
    for at_least in (True, False):
        k, m = _counts(first, tried, at_least), _counts(second, tried, at_least)
        for swapped in (False, True):
            sizes = (m, len(second), k, len(first)) if swapped else (k, len(first), m, len(second))
            bounds = implied(*_limits(*sizes, alpha))
            top = int(np.argmax(bounds))
            if bounds[top] > best:
                best = float(bounds[top])
                found = ThresholdEvent(float(tried[top]), at_least, swapped)
    return found


def _candidates(
    first: NDArray[np.float64], second: NDArray[np.float64], thresholds: int
) -> NDArray[np.float64]:
    """Return every value, or their quantiles by rank where there are too many."""
    values = np.sort(np.concatenate([first, second]))
    distinct = np.unique(values)
    if len(distinct) <= thresholds:
        return distinct
    ranks = np.linspace(0, len(values) - 1, thresholds).round().astype(np.intp)
    return np.unique(values[ranks])


def _counts(
    scores: NDArray[np.float64], thresholds: NDArray[np.float64], at_least: bool
) -> NDArray[np.intp]:
    ordered = np.sort(scores)
    if at_least:
        return len(ordered) - np.searchsorted(ordered, thresholds, side="left")
    return np.searchsorted(ordered, thresholds, side="right")


def _count(scores: NDArray[np.float64], event: ThresholdEvent) -> int:
    return int(_counts(scores, np.array([event.threshold]), event.at_least)[0])


def _limits(k: Any, n: int, m: Any, size: int, alpha: float) -> tuple[Any, Any]:
    """Return Clopper-Pearson limits: lower of k in n, upper of m in size, each at alpha / 2."""
    k, m = np.asarray(k, dtype=np.float64), np.asarray(m, dtype=np.float64)
    low = np.where(k > 0, betaincinv(np.maximum(k, 1), n - k + 1, alpha / 2), 0.0)
    high = np.where(m < size, 1 - betaincinv(np.maximum(size - m, 1), m + 1, alpha / 2), 1.0)
    return low, high


def _implied(low: Any, high: Any, delta: float) -> NDArray[np.float64]:
    """Return log((low - delta) / high), minus infinity where nothing is implied."""
    gain = np.asarray(low - delta, dtype=np.float64)
    ratio = np.where(gain > 0, gain, 1.0) / high
    return np.where(gain > 0, np.log(ratio), -np.inf)


def _implied_mu(low: Any, high: Any) -> NDArray[np.float64]:
    """Return Phi^-1(low) - Phi^-1(high), minus infinity where nothing is implied."""
    known = (np.asarray(low) > 0) & (np.asarray(high) < 1)
    a, b = np.where(known, low, 0.5), np.where(known, high, 0.5)
    return np.where(known, ndtri(a) - ndtri(b), -np.inf)
