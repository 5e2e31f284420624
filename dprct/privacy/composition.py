"""How guarantees add up, and how one measure of privacy turns into another.

Whatever is irrational is rounded to the safe side: a ``delta``, ``epsilon``, ``rho`` or ``mu`` that
a release *costs* is rounded up, one that it *may have* is rounded down (``rounding.py``).

References
----------
Bun and Steinke (2016), "Concentrated Differential Privacy", Propositions 1.3 and 1.4.
Canonne, Kamath and Steinke (2020), "The Discrete Gaussian for Differential Privacy",
Proposition 12.
Dong, Roth and Su (2022), "Gaussian Differential Privacy", Corollaries 2.13 and 3.3.
Dwork and Roth (2014), "The Algorithmic Foundations of Differential Privacy", Theorem 3.16.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import TYPE_CHECKING

from dprct.errors import ParameterError
from dprct.privacy.budget import Budget, Real, exact
from dprct.privacy.rounding import (
    CONTEXT,
    LOCK,
    MARGIN,
    TINIEST,
    Side,
    at_least_zero,
    boundary,
    magnitude,
    mp,
    open_probability,
    positive,
    probability,
    root,
    rounded_off,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


MOST_EPSILON = 100
"""Largest pure epsilon that is converted to a mu."""


def sequential(budgets: Iterable[Budget]) -> Budget:
    """Return the cost of releases from the same records: the sum.

    Notes
    -----
    Basic composition; it also holds when each release, and its budget, is chosen after seeing
    the ones before, as long as the total is fixed in advance (which is what an accountant does).

    Examples
    --------
    >>> print(sequential([Budget(0.1)] * 10))
    epsilon=1
    """
    return sum(budgets, Budget(0))


def parallel(budgets: Iterable[Budget]) -> Budget:
    """Return the cost of releases from disjoint records: the largest epsilon, the largest delta.

    Notes
    -----
    Valid only where changing one unit changes one block.  Under replace-one that needs block
    sizes and membership that do not depend on any value: a split by treatment qualifies where
    treatment is public (``"replace-one-design-public"``), not under plain replace-one, where the
    replacement moves a person from one block to another and touches two.

    Examples
    --------
    >>> print(parallel([Budget(0.5), Budget(0.2, 1e-6)]))
    epsilon=0.5, delta=1e-06
    """
    listed = list(budgets) or [Budget(0)]
    return Budget(max(b.epsilon for b in listed), max(b.delta for b in listed))


def per_row(budget: Budget, max_rows: int) -> Budget:
    """Return the budget one row may spend when a unit has up to ``max_rows`` rows.

    A mechanism that keeps the result under a change of one row keeps ``budget`` under a change of
    ``max_rows`` rows (group privacy): epsilon / k and, rounded down,
    delta (e^(epsilon/k) - 1) / (e^epsilon - 1).

    Raises
    ------
    ParameterError
        If ``max_rows`` is not a whole number of at least 1.

    Notes
    -----
    Changing k rows one at a time gives P(S) <= e^(k e) P'(S) + d (1 + e^e + ... + e^((k-1) e)) for
    a row guarantee (e, d); the bracket is (e^(k e) - 1) / (e^e - 1).

    Examples
    --------
    >>> print(per_row(Budget(1), 4))
    epsilon=0.25
    """
    rows = exact(max_rows, "max_rows")
    if rows < 1 or rows.denominator != 1:
        raise ParameterError(f"max_rows={float(rows):g}; give a whole number of at least 1")
    epsilon = budget.epsilon / rows
    if rows == 1 or not budget.delta:
        return Budget(epsilon, budget.delta)
    if not budget.epsilon:
        return Budget(0, budget.delta / rows)
    with LOCK, CONTEXT.workdps(50 + magnitude(budget.epsilon)):
        share = CONTEXT.expm1(mp(epsilon)) / CONTEXT.expm1(mp(budget.epsilon))
        return Budget(epsilon, rounded_off(share * mp(budget.delta), "down"))


def gaussian_rho(sensitivity: Real, sigma: Real) -> Fraction:
    """Return rho of (discrete or continuous) Gaussian noise: sensitivity^2 / (2 sigma^2), exact.

    Examples
    --------
    >>> gaussian_rho(1, 2)
    Fraction(1, 8)
    """
    return gaussian_mu(sensitivity, sigma) ** 2 / 2


def gaussian_mu(sensitivity: Real, sigma: Real) -> Fraction:
    """Return mu of continuous Gaussian noise: sensitivity / sigma, exact.

    Examples
    --------
    >>> gaussian_mu(1, 2)
    Fraction(1, 2)
    """
    return positive(sensitivity, "sensitivity") / positive(sigma, "sigma")


def rho_sigma(sensitivity: Real, rho: Real) -> Fraction:
    """Return the standard deviation that gives ``rho``-zCDP, rounded up.

    Examples
    --------
    >>> rho_sigma(1, Fraction(1, 8))
    Fraction(2, 1)
    """
    return root(positive(sensitivity, "sensitivity") ** 2 / (2 * positive(rho, "rho")))


def pure_rho(epsilon: Real) -> Fraction:
    """Return rho of a pure release: epsilon^2 / 2 (Bun and Steinke, Proposition 1.4), exact."""
    return positive(epsilon, "epsilon") ** 2 / 2


def gdp_rho(mu: Real) -> Fraction:
    """Return rho of a mu-GDP release: mu^2 / 2, exact.

    Notes
    -----
    By Blackwell's theorem a mu-GDP release is a post-processing of N(0, 1) against N(mu, 1), whose
    Renyi divergence of order a is a mu^2 / 2.
    """
    return positive(mu, "mu") ** 2 / 2


def compose_rho(rhos: Iterable[Real]) -> Fraction:
    """Return the rho of several zCDP releases: the sum, exact."""
    return sum((exact(rho, "rho") for rho in rhos), Fraction(0))


def compose_mu(mus: Iterable[Real]) -> Fraction:
    """Return the mu of several GDP releases: the root of the sum of squares, rounded up.

    Examples
    --------
    >>> compose_mu([3, 4])
    Fraction(5, 1)
    """
    return root(sum((exact(mu, "mu") ** 2 for mu in mus), Fraction(0)))


def zcdp_delta(rho: Real, epsilon: Real) -> Fraction:
    """Return delta at which ``rho``-zCDP gives (epsilon, delta), rounded up.

    Notes
    -----
    The minimum over a > 1 of exp((a-1)(a rho - epsilon)) (1 - 1/a)^a / (a - 1).  The bound holds
    for every a, so an imperfect minimum costs tightness, never validity.

    References
    ----------
    Canonne, Kamath and Steinke (2020), Proposition 12.

    Examples
    --------
    >>> float(zcdp_delta(0.05, 1)) < 1.2e-3
    True
    """
    return _zcdp_delta(positive(rho, "rho"), at_least_zero(epsilon, "epsilon"))


def zcdp_epsilon(rho: Real, delta: Real, rounded: Side = "up") -> Fraction:
    """Return epsilon at which ``rho``-zCDP gives (epsilon, delta), rounded up or down.

    Examples
    --------
    >>> round(float(zcdp_epsilon(0.05, 1e-6)), 2)
    1.47
    """
    r, d = positive(rho, "rho"), open_probability(delta)
    return _epsilon_for(lambda e: zcdp_delta(r, e) <= d, rounded)


def zcdp_rho(epsilon: Real, delta: Real) -> Fraction:
    """Return the largest rho whose releases are (epsilon, delta), rounded down.

    Examples
    --------
    >>> zcdp_delta(zcdp_rho(1, 1e-6), 1) <= Fraction(1, 10**6)
    True
    """
    e, d = positive(epsilon, "epsilon"), open_probability(delta)
    return boundary(lambda rho: zcdp_delta(rho, e) > d, "epsilon")[0]


def gdp_delta(mu: Real, epsilon: Real) -> Fraction:
    """Return delta at which ``mu``-GDP gives (epsilon, delta), rounded up.

    Notes
    -----
    Phi(-epsilon/mu + mu/2) - e^epsilon Phi(-epsilon/mu - mu/2); with mu = sensitivity / sigma it is
    the exact curve of the Gaussian mechanism (Balle and Wang 2018, Theorem 8).

    References
    ----------
    Dong, Roth and Su (2022), Corollary 2.13.

    Examples
    --------
    >>> round(float(gdp_delta(1, 1)), 4)
    0.1269
    """
    m, e = positive(mu, "mu"), at_least_zero(epsilon, "epsilon")
    x = e / m - m / 2
    if x > 40:  # Phi(-40) is below 1e-349
        return TINIEST
    if x < -40:
        return Fraction(1)
    return _gdp_delta(m, e)


def gdp_epsilon(mu: Real, delta: Real, rounded: Side = "up") -> Fraction:
    """Return epsilon at which ``mu``-GDP gives (epsilon, delta), rounded up or down.

    Examples
    --------
    >>> round(float(gdp_epsilon(0.25, 1e-6)), 2)
    1.06
    """
    m, d = positive(mu, "mu"), open_probability(delta)
    return _epsilon_for(lambda e: gdp_delta(m, e) <= d, rounded)


def gdp_mu(epsilon: Real, delta: Real) -> Fraction:
    """Return the largest mu whose releases are (epsilon, delta), rounded down.

    Examples
    --------
    >>> gdp_delta(gdp_mu(1, 1e-6), 1) <= Fraction(1, 10**6)
    True
    """
    e, d = positive(epsilon, "epsilon"), open_probability(delta)
    return boundary(lambda mu: gdp_delta(mu, e) > d, "epsilon")[0]


def pure_mu(epsilon: Real) -> Fraction:
    """Return mu at which every pure-epsilon release is mu-GDP, rounded up.

    Notes
    -----
    -2 Phi^-1(1 / (1 + e^epsilon)): the trade-off curve of pure privacy is two straight lines that
    meet at (p, p), p = 1 / (1 + e^epsilon).  The convex curve of this mu-GDP passes through (0, 1),
    (p, p) and (1, 0), so it lies below them: it claims no more than pure epsilon does.

    Examples
    --------
    >>> round(float(pure_mu(1)), 3)
    1.232
    """
    e = positive(epsilon, "epsilon")
    if e > MOST_EPSILON:
        raise ParameterError(f"epsilon={float(e):g} is above {MOST_EPSILON}; no useful mu exists")
    return _pure_mu(e)


def tv_delta(distance: Real, epsilon: Real) -> Fraction:
    """Return the delta that total variation costs: distance (1 + e^epsilon), rounded up.

    Notes
    -----
    If M is within ``distance`` of M' on every input and M' is (epsilon, d), then
    P(M in S) <= P(M' in S) + distance <= e^epsilon (P'(M in S) + distance) + d + distance.

    Examples
    --------
    >>> tv_delta(0.25, 0)
    Fraction(1, 2)
    """
    tv, e = at_least_zero(distance, "distance"), at_least_zero(epsilon, "epsilon")
    if not tv or not e:
        return 2 * tv
    if e > 1000:
        raise ParameterError(f"epsilon={float(e):g} is above 1000, which protects nobody")
    with LOCK, CONTEXT.workdps(60):
        return tv * rounded_off(1 + CONTEXT.exp(mp(e)), "up")


def _meets_pure(mu: Fraction, epsilon: Fraction) -> bool:
    with LOCK, CONTEXT.workdps(120):
        tail = CONTEXT.ncdf(-mp(mu) / 2)
        corner = 1 / (1 + CONTEXT.exp(mp(epsilon)))
        return bool(tail * (1 + mp(MARGIN)) <= corner)


@functools.lru_cache(maxsize=4096)
def _pure_mu(epsilon: Fraction) -> Fraction:
    """Return the mu of :func:`pure_mu`, which a fit asks for once per mechanism."""
    return boundary(lambda mu: _meets_pure(mu, epsilon), "epsilon")[1]


@functools.lru_cache(maxsize=4096)
def _gdp_delta(mu: Fraction, epsilon: Fraction) -> Fraction:
    # The two terms agree in about log10((1 + epsilon/mu) / mu) digits, which are lost.
    lost = 2 * magnitude(mu) + magnitude(epsilon)
    with LOCK, CONTEXT.workdps(60 + lost):
        m, e = mp(mu), mp(epsilon)
        upper = CONTEXT.ncdf(m / 2 - e / m)
        lower = CONTEXT.exp(e) * CONTEXT.ncdf(-m / 2 - e / m)
        return probability(upper - lower)


@functools.lru_cache(maxsize=4096)
def _zcdp_delta(rho: Fraction, epsilon: Fraction) -> Fraction:
    order = _best_order(float(rho), float(epsilon))
    with LOCK, CONTEXT.workdps(60 + magnitude(epsilon) + magnitude(rho)):
        b = CONTEXT.mpf(order)
        log_delta = b * ((1 + b) * mp(rho) - mp(epsilon)) - (1 + b) * CONTEXT.log1p(1 / b)
        log_delta -= CONTEXT.log(b)
        return probability(CONTEXT.exp(log_delta))


def _best_order(rho: float, epsilon: float) -> float:
    """Return a - 1 where (2a - 1) rho - epsilon + log(1 - 1/a) crosses zero."""
    low, high = -300.0, 300.0
    for _ in range(80):
        middle = (low + high) / 2
        b = math.exp(middle)
        if (2 * b + 1) * rho - epsilon - math.log1p(1 / b) < 0:
            low = middle
        else:
            high = middle
    return math.exp(low)


def _epsilon_for(holds: Callable[[Fraction], bool], rounded: Side) -> Fraction:
    if holds(Fraction(0)):
        return Fraction(0)
    fails, works = boundary(holds, "delta")
    return works if rounded == "up" else fails
