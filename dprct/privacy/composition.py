"""How guarantees add up, and how one measure of privacy turns into another.

Whatever is irrational is rounded to the safe side: a ``delta``, ``epsilon``, ``rho`` or ``mu`` that
a release *costs* is rounded up, one that it *may have* is rounded down.

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
import threading
from contextlib import suppress
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args

from dprct.errors import ParameterError
from dprct.lazy import precise
from dprct.privacy.budget import Budget, Real, exact
from dprct.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


# Irrational numbers as exact decimals, rounded to the side that is asked for.
#
# Values are computed with 50 digits or more, moved by a relative margin of 1e-20, which is far
# above mpmath's error, and then rounded outwards to at least 15 significant digits.

Side = Literal["up", "down"]

MARGIN = Fraction(1, 10**20)
TINIEST = Fraction(1, 10**300)
CONTEXT = precise(15)
# mpmath keeps the working precision in its context: two threads must not share it at once.
LOCK = threading.RLock()

_DIGITS = 15


def boundary(
    holds: Callable[[Fraction], bool], what: str, nearly: Callable[[float], bool] | None = None
) -> tuple[Fraction, Fraction]:
    """Return close numbers (fails, holds) around the point from which on ``holds`` is true.

    ``nearly`` is ``holds`` but for rounding.  What is found by it stands if ``holds`` confirms it,
    and is then what ``holds`` alone finds; this spares most of the long arithmetic.
    """
    if nearly is not None:
        with suppress(ParameterError, ZeroDivisionError):  # where floats round to 0 or to 1
            fails, works = _bisected(nearly, what)
            if holds(works) and not holds(fails):
                return fails, works
    return _bisected(lambda x: holds(exact(x, what)), what)


def _bisected(holds: Callable[[float], bool], what: str) -> tuple[Fraction, Fraction]:
    high = 1.0
    while not holds(high):
        high *= 2
        if high > 1e150:
            raise ParameterError(f"{what} is too extreme to convert; give a moderate one")
    low = high / 2
    while holds(low):
        high, low = low, low / 2
        if low < 1e-150:
            raise ParameterError(f"{what} is too extreme to convert; give a moderate one")
    while high - low > 1e-13 * high:
        middle = (low + high) / 2
        if holds(middle):
            high = middle
        else:
            low = middle
    return exact(low, what), exact(high, what)


def probability(value: Any) -> Fraction:
    """Return min(1, value) rounded up, and never below the tiniest number."""
    if value >= 1:
        return Fraction(1)
    if value < mp(TINIEST) / 2:  # a fraction of as many digits would take minutes
        return TINIEST
    return max(rounded_off(value, "up"), TINIEST)


def rounded_off(value: Any, side: Side) -> Fraction:
    """Round a positive number outwards to 15 significant digits, within the current precision."""
    if value == 0:
        return Fraction(0)
    shift = _DIGITS - 1 - int(CONTEXT.floor(CONTEXT.log10(value)))
    scaled = value * CONTEXT.mpf(10) ** shift
    if side == "up":
        whole = int(CONTEXT.ceil(scaled * (1 + mp(MARGIN))))
    else:
        whole = int(CONTEXT.floor(scaled * (1 - mp(MARGIN))))
    return Fraction(whole) / Fraction(10) ** shift


def root(square: Fraction, rounded: Side = "up") -> Fraction:
    """Return the square root, exact where it is rational, else rounded up or down.

    Examples
    --------
    >>> root(Fraction(9, 4))
    Fraction(3, 2)
    """
    top, bottom = math.isqrt(square.numerator), math.isqrt(square.denominator)
    if top**2 == square.numerator and bottom**2 == square.denominator:
        return Fraction(top, bottom)
    with LOCK, CONTEXT.workdps(50):
        return rounded_off(CONTEXT.sqrt(mp(square)), rounded)


def mp(value: Fraction) -> Any:
    """Return ``value`` at the current working precision."""
    return CONTEXT.mpf(value.numerator) / value.denominator


def magnitude(value: Fraction) -> int:
    """Return the number of decimal digits between ``value`` and one."""
    if not value:
        return 0
    return (abs(value.numerator.bit_length() - value.denominator.bit_length()) + 4) // 3


def positive(value: Real, name: str) -> Fraction:
    """Return ``value`` exactly; ParameterError unless it is above 0."""
    number = exact(value, name)
    if number <= 0:
        raise ParameterError(f"``{name}={float(number):g}``; give a number above 0")
    return number


def at_least_zero(value: Real, name: str) -> Fraction:
    """Return ``value`` exactly; ParameterError if it is negative."""
    number = exact(value, name)
    if number < 0:
        raise ParameterError(f"``{name}={float(number):g}`` is negative; give 0 or more")
    return number


def open_probability(delta: Real) -> Fraction:
    """Return ``delta`` exactly; ParameterError unless it is in (0, 1)."""
    number = exact(delta, "delta")
    if not 0 < number < 1:
        raise ParameterError(f"``delta={float(number):g}``; this conversion needs delta in (0, 1)")
    return number


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
        raise ParameterError(f"``max_rows={float(rows):g}``; give a whole number of at least 1")
    epsilon = budget.epsilon / rows
    if rows == 1 or not budget.delta:
        return Budget(epsilon, budget.delta)
    if not budget.epsilon:
        return Budget(0, budget.delta / rows)
    with LOCK, CONTEXT.workdps(50 + magnitude(budget.epsilon)):
        share = CONTEXT.expm1(mp(epsilon)) / CONTEXT.expm1(mp(budget.epsilon))
        return Budget(epsilon, rounded_off(share * mp(budget.delta), "down"))


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
    near, least = float(m), float(d)
    return _epsilon_for(
        lambda e: gdp_delta(m, e) <= d, rounded, lambda e: _nearly_delta(near, e) <= least
    )


def gdp_mu(epsilon: Real, delta: Real) -> Fraction:
    """Return the largest mu whose releases are (epsilon, delta), rounded down.

    Examples
    --------
    >>> gdp_delta(gdp_mu(1, 1e-6), 1) <= Fraction(1, 10**6)
    True
    """
    e, d = positive(epsilon, "epsilon"), open_probability(delta)
    near, most = float(e), float(d)
    return boundary(
        lambda mu: gdp_delta(mu, e) > d, "epsilon", lambda mu: _nearly_delta(mu, near) > most
    )[0]


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
        raise ParameterError(
            f"``epsilon={float(e):g}`` is above {MOST_EPSILON}; no useful mu exists"
        )
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
        raise ParameterError(f"``epsilon={float(e):g}`` is above 1000, which protects nobody")
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
    corner = 1 / (1 + math.exp(min(float(epsilon), 700.0)))
    return boundary(
        lambda mu: _meets_pure(mu, epsilon),
        "epsilon",
        lambda mu: math.erfc(mu / math.sqrt(8)) / 2 <= corner,
    )[1]


@functools.lru_cache(maxsize=4096)
def _gdp_delta(mu: Fraction, epsilon: Fraction) -> Fraction:
    # The two terms agree in about log10((1 + epsilon/mu) / mu) digits, which are lost.
    lost = 2 * magnitude(mu) + magnitude(epsilon)
    with LOCK, CONTEXT.workdps(60 + lost):
        m, e = mp(mu), mp(epsilon)
        upper = CONTEXT.ncdf(m / 2 - e / m)
        lower = CONTEXT.exp(e) * CONTEXT.ncdf(-m / 2 - e / m)
        return probability(upper - lower)


def _nearly_delta(mu: float, epsilon: float) -> float:
    """Return the delta of :func:`gdp_delta` but for rounding."""
    upper, lower = (math.erfc((epsilon / mu + x * mu) / math.sqrt(2)) / 2 for x in (-0.5, 0.5))
    return upper - math.exp(min(epsilon, 700.0)) * lower


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


def _epsilon_for(
    holds: Callable[[Fraction], bool], rounded: Side, nearly: Callable[[float], bool] | None = None
) -> Fraction:
    if holds(Fraction(0)):
        return Fraction(0)
    fails, works = boundary(holds, "delta", nearly)
    return works if rounded == "up" else fails


# The three ways an accountant adds charges up, each a filter fixed before the first charge.
#
# A rule turns a charge into a cost of two exact numbers, and a total budget into a capacity of two.
# A charge fits if the summed cost stays within the capacity in both.  Which rule applies is chosen
# when the accountant is opened and never changes: charges may then be chosen, and sized, after
# seeing earlier results.  (Taking, after the fact, whichever rule gives the smaller number is *not*
# proved for such charges, and it is not done here.)
#
# References
# Rogers, Roth, Ullman and Vadhan (2016), "Privacy Odometers and Filters" (sequential).
# Whitehouse, Ramdas, Rogers and Wu (2023), "Fully Adaptive Composition in Differential Privacy",
# Theorem 1 (zCDP).
# Smith and Thakurta (2022), "Fully Adaptive Composition for Gaussian Differential Privacy" (GDP).

Composition = Literal["sequential", "zcdp", "gdp"]
ChargeMeasure = Literal["pure", "approximate", "zcdp", "gdp", "none"]
Cost = tuple[Fraction, Fraction]

NOTHING: Cost = (Fraction(0), Fraction(0))

# The part of delta that a "gdp" accountant keeps for discrete Gaussians being not quite Gaussian.
SLACK_SHARE = Fraction(1, 1000)


@dataclass(frozen=True)
class Charge:
    """What a release costs: its claim, and for Gaussian noise the parameter behind the claim.

    Parameters
    ----------
    budget : Budget
        The claimed (epsilon, delta); epsilon > 0, but 0 for ``"none"``.
    measure : {"pure", "approximate", "zcdp", "gdp", "none"}
        What is proved about the mechanism; ``"none"``: nothing, so that it has no price, and what
        an accountant says holds for the other charges alone.
    parameter : Fraction or None
        rho for ``"zcdp"``, mu for ``"gdp"``.
    slack : Fraction, default 0
        For ``"gdp"``: total-variation distance to a mechanism that is exactly mu-GDP (a discrete
        Gaussian has a tiny one).  It costs (1 + e^epsilon) slack in delta.
    rho : Fraction or None
        What is proved besides the claim: rho of zero-concentrated privacy.
    gaussian : (Fraction, Fraction) or None
        What is proved besides the claim: mu^2 of Gaussian privacy, and its slack.

    Notes
    -----
    ``budget`` is what the reader of a guarantee is promised.  ``rho`` and ``gaussian`` hold for the
    same release and are what accountants of these kinds add up; either may be None, which says
    that nothing of the kind is proved.

    Examples
    --------
    >>> Charge(Budget(1), "pure").budget == Budget(1)
    True
    """

    budget: Budget
    measure: ChargeMeasure
    parameter: Fraction | None = None
    slack: Fraction = Fraction(0)
    rho: Fraction | None = None
    gaussian: tuple[Fraction, Fraction] | None = None

    @classmethod
    def of(cls, budget: Budget) -> Charge:
        """Return the charge of a budget of which nothing is proved besides the claim itself.

        Examples
        --------
        >>> Charge.of(Budget(1, 1e-6)).measure
        'approximate'
        """
        return cls(budget, "approximate" if budget.delta else "pure")

    def __post_init__(self) -> None:
        if self.measure not in get_args(ChargeMeasure):
            allowed = ", ".join(get_args(ChargeMeasure))
            raise ParameterError(
                f"``measure={self.measure!r}`` cannot be charged; allowed: {allowed}"
            )
        if self.measure == "none" and self.budget != Budget(0):
            raise ParameterError(
                "a release without a guarantee cannot be charged a budget; give ``Budget(0)`` with "
                "``measure='none'``, or the measure that is proved"
            )
        if self.measure != "none" and not self.budget.epsilon:
            raise ParameterError("``epsilon=0`` pays for no release; charge epsilon > 0")
        if self.measure == "pure" and self.budget.delta:
            raise ParameterError("a pure charge has ``delta=0``; use ``measure='approximate'``")
        gaussian = self.measure in ("zcdp", "gdp")
        if gaussian != (self.parameter is not None):
            need = "needs its parameter (rho or mu)" if gaussian else "takes no parameter"
            raise ParameterError(f"a charge with ``measure={self.measure!r}`` {need}")
        if self.slack < 0 or (self.slack and self.measure != "gdp"):
            raise ParameterError("slack is for ``measure='gdp'`` and at least 0")
        square, slack = self.gaussian or (Fraction(1), Fraction(0))
        if (self.rho is not None and self.rho <= 0) or square <= 0 or slack < 0:
            raise ParameterError(
                "``rho=`` and ``gaussian=`` of a charge must be above 0, slack at least 0"
            )
        if gaussian and self._delta() > self.budget.delta:
            raise ParameterError(
                f"{self.measure} parameter {float(self.parameter or 0):g} gives a delta above the "
                f"one claimed in {self.budget}; add noise or claim a larger delta"
            )

    def concentrated(self) -> Fraction | None:
        """Return the rho that is proved of this release, None if none is."""
        if self.rho is not None or self.measure in ("approximate", "none"):
            return self.rho
        if self.measure == "pure":
            return pure_rho(self.budget.epsilon)
        assert self.parameter is not None
        if self.measure == "zcdp":
            return self.parameter
        return None if self.slack else gdp_rho(self.parameter)

    def squared_mu(self) -> tuple[Fraction, Fraction] | None:
        """Return the mu^2 that is proved of this release and its slack, None if none is."""
        if self.gaussian is not None or self.measure in ("approximate", "zcdp", "none"):
            return self.gaussian
        if self.measure == "gdp":
            assert self.parameter is not None
            return self.parameter**2, self.slack
        if self.budget.epsilon > MOST_EPSILON:
            return None
        return pure_mu(self.budget.epsilon) ** 2, Fraction(0)

    def _delta(self) -> Fraction:
        assert self.parameter is not None
        if self.measure == "zcdp":
            return zcdp_delta(self.parameter, self.budget.epsilon)
        extra = tv_delta(self.slack, self.budget.epsilon)
        return gdp_delta(self.parameter, self.budget.epsilon) + extra


class Rule(Protocol):
    """How charges become costs, and costs a budget."""

    def cost(self, charge: Charge) -> Cost:
        """Return the two numbers that add up."""

    def capacity(self, total: Budget) -> Cost:
        """Capacity of the two sums."""

    def spent(self, cost: Cost, total: Budget) -> Budget:
        """Return an (epsilon, delta) that holds for everything charged so far."""

    def room(self, cost: Cost, total: Budget) -> Budget:
        """Return the largest budget that one further charge may have."""


class Sequential:
    """Epsilons add, deltas add; every kind of charge is accepted.

    Examples
    --------
    >>> print(Sequential().room((Fraction(1, 4), Fraction(0)), Budget(1)))
    epsilon=0.75
    """

    def cost(self, charge: Charge) -> Cost:
        """Return (epsilon, delta)."""
        return charge.budget.epsilon, charge.budget.delta

    def capacity(self, total: Budget) -> Cost:
        """Return (epsilon, delta) of the total."""
        return total.epsilon, total.delta

    def spent(self, cost: Cost, total: Budget) -> Budget:
        """Return the sums."""
        return Budget(*cost)

    def room(self, cost: Cost, total: Budget) -> Budget:
        """Room left in each."""
        nothing = Fraction(0)
        return Budget(max(total.epsilon - cost[0], nothing), max(total.delta - cost[1], nothing))


class ZeroConcentrated:
    """rho adds (pure epsilon counts epsilon^2/2); charges without a proved rho are refused.

    Examples
    --------
    >>> ZeroConcentrated().cost(Charge(Budget(1), "pure"))
    (Fraction(1, 2), Fraction(0, 1))
    """

    def cost(self, charge: Charge) -> Cost:
        """Return (rho, 0)."""
        rho = charge.concentrated()
        if rho is None:
            raise ParameterError(_refused("zcdp", charge, "ones with a proved rho"))
        return rho, Fraction(0)

    def capacity(self, total: Budget) -> Cost:
        """Return the largest rho that converts to the total."""
        return zcdp_rho(total.epsilon, total.delta), Fraction(0)

    def spent(self, cost: Cost, total: Budget) -> Budget:
        """Convert the summed rho at the accountant's delta."""
        return Budget(zcdp_epsilon(cost[0], total.delta), total.delta)

    def room(self, cost: Cost, total: Budget) -> Budget:
        """Convert the rho that is left at the accountant's delta, rounded down."""
        left = self.capacity(total)[0] - cost[0]
        if left <= 0:
            return Budget(0)
        return Budget(zcdp_epsilon(left, total.delta, "down"), total.delta)


class Gaussian:
    """mu^2 and slack add; pure epsilon counts as the mu that covers it, others need a proved one.

    Notes
    -----
    One part in a thousand of delta is kept for the slack of discrete Gaussians, the rest is what
    the composed mu is converted at; each part is a filter of its own.  If M is within total
    variation s of M' on every input and M' is (epsilon, d), then M is
    (epsilon, d + (1 + e^epsilon) s).

    Examples
    --------
    >>> Gaussian().cost(Charge(Budget(1, 0.2), "gdp", Fraction(1)))
    (Fraction(1, 1), Fraction(0, 1))
    """

    def cost(self, charge: Charge) -> Cost:
        """Return (mu^2, slack)."""
        found = charge.squared_mu()
        if found is None:
            raise ParameterError(_refused("gdp", charge, "ones with a proved mu"))
        return found

    def capacity(self, total: Budget) -> Cost:
        """Return the largest mu^2 and slack that the two parts of delta pay for."""
        slack = total.delta * SLACK_SHARE / tv_delta(Fraction(1), total.epsilon)
        return gdp_mu(total.epsilon, self._gaussian_part(total)) ** 2, slack

    def spent(self, cost: Cost, total: Budget) -> Budget:
        """Convert the composed mu at the accountant's delta."""
        return Budget(gdp_epsilon(root(cost[0]), self._gaussian_part(total)), total.delta)

    def room(self, cost: Cost, total: Budget) -> Budget:
        """Convert the mu that is left at the accountant's delta, rounded down."""
        left = self.capacity(total)[0] - cost[0]
        if left <= 0:
            return Budget(0)
        part = self._gaussian_part(total)
        return Budget(gdp_epsilon(root(left, "down"), part, "down"), part)

    @staticmethod
    def _gaussian_part(total: Budget) -> Fraction:
        return total.delta * (1 - SLACK_SHARE)


RULES: dict[Composition, Rule] = {
    "sequential": Sequential(),
    "zcdp": ZeroConcentrated(),
    "gdp": Gaussian(),
}


def _refused(rule: Composition, charge: Charge, accepted: str) -> str:
    return (
        f"an accountant with ``composition={rule!r}`` adds {accepted} charges, and this one is "
        f"{charge.measure!r} without one: fit with ``delta=0``, or with a noise of which it is "
        "proved, where the method offers that; or charge by hand with ``measure=``; nothing was "
        "drawn"
    )
