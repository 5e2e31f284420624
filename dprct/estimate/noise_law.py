"""The law of an effect's error, and how much a noisy variance is raised so that intervals cover.

The error is sampling, about normal, plus one or more Laplace draws.  N(0, V) + Laplace(b) has a
closed distribution function, written here with the scaled complementary error function, so that no
exponential overflows and tails keep their digits.  Two draws are a mixture of two such laws.  The
main effects of a factorial experiment have many draws whose scales are equal or alike, where
partial fractions cancel: for more than two the tail is a contour integral, which keeps its relative
accuracy however far out.

V is released as V + Laplace(b_V), b_V = rho b^2, and the interval uses
V~ = max(0, V + Laplace(b_V) + c b_V).  Taking b = 1, its coverage is a function of r = V / b^2,
rho, c and the level alone; c(rho, level) is the smallest c whose worst coverage over all r reaches
the level.  Everything here is a function of public numbers.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.polynomial.chebyshev import chebval

from dprct.arguments import given
from dprct.errors import ParameterError
from dprct.estimate.roots import root
from dprct.lazy import special
from dprct.records import dataclass
from dprct.results.base import checked_alpha

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.floating[Any]]

_BEND = math.pi / 8
"""The contour ends 22.5 degrees from the vertical: half way to where e^(v s^2 / 2) grows."""

_STEP, _REACH, _FEW, _DRAWS = 1 / 16, 10.0, 64, 4
"""Of the rule along the contour; its step is less for cubes of more statistics than ``_FEW``, or
more than ``_DRAWS`` draws of fewer."""


@lru_cache(maxsize=64)
def _path(size: int) -> tuple[Array, Array, float]:
    """Contour from its real point in units of its width, its slope, and the step along it.

    On a ray that leaves the vertical by an angle a, the part (1 - s)^-J of a generating function
    grows up to cos(a)^-J, which cancels: above ``_FEW`` statistics the angle falls with J so that
    it stays what it is there, and the step with it, because e^(J s) turns J times as fast.
    """
    many = max(size / _FEW, 1.0)
    bend = math.tan(_BEND if many == 1 else math.acos(math.cos(_BEND) ** (1 / many)))
    step = _STEP / many
    u = np.arange(0, _REACH, step)
    slope = bend * np.sinh(u) + 1j * np.cosh(u)
    slope[0] /= 2  # half of the path is summed; its other half is the complex conjugate
    return bend * (np.cosh(u) - 1) + 1j * np.sinh(u), slope, step


_HALVINGS, _MOST_STEPS, _NEAR = 40, 60, 1e-9


def noise_variance(size: int) -> float:
    """Variance of one coordinate of the noise of ``size`` statistics, at scale 1.

    Examples
    --------
    >>> noise_variance(1), noise_variance(8)
    (2.0, 30.0)
    """
    return (size + 1) * (size + 2) / 3


@dataclass(frozen=True)
class _Coordinate:
    """One coordinate of noise that is uniform in cubes, over its scale; Laplace where size is 1.

    It is t U, t of the gamma law with size + 1 degrees, U uniform on [-1, 1]; the moment generating
    function is ((1 - s)^-J - (1 + s)^-J) / (2 J s), whose poles are at -1 and 1.
    """

    size: int

    def mgf(self, s: Array) -> Array:
        """Moment generating function."""
        if self.size == 1:
            return 1 / (1 - s * s)
        j = self.size
        with np.errstate(divide="ignore", invalid="ignore"):
            found = ((1 - s) ** -j - (1 + s) ** -j) / (2 * j * s)
        small = (j + 1) * (j + 2) / 6 * s * s
        series = 1 + small * (1 + (j + 3) * (j + 4) / 20 * s * s)
        return np.where(np.abs(s) * j < _SMALL, series, found)

    def slopes(self, s: Array) -> tuple[Array, Array]:
        """First and second derivative of its logarithm on the real axis, 0 < s < 1."""
        if self.size == 1:
            return 2 * s / (1 - s * s), 2 * (1 + s * s) / (1 - s * s) ** 2
        j, low, high = self.size, 1 / (1 - s), 1 / (1 + s)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ratio = (high / low) ** j  # the parts over (1 - s)^-j, which may be large
            first = j * (low + high * ratio) / (1 - ratio)
            second = j * (j + 1) * (low**2 - high**2 * ratio) / (1 - ratio)
            found = first - 1 / s, second - first**2 + 1 / s**2
        small, spread = s * j < _SMALL, noise_variance(j)
        return np.where(small, spread * s, found[0]), np.where(small, spread, found[1])


_SMALL = 1e-3


@dataclass(frozen=True)
class _Law:
    """N(0, variance) + noise, in units of its standard deviation; arrays of one shape."""

    variance: Array
    scales: tuple[Array, ...]
    noise: _Coordinate

    def saddle(self, x: Array) -> Array:
        """Point where e^(K(s) - s x) / s is least between 0 and the first pole."""
        first = 1 / np.maximum.reduce(self.scales)
        with np.errstate(divide="ignore", invalid="ignore"):
            normal = (x + np.sqrt(x * x + 4 * self.variance)) / (2 * self.variance)
        low, high = np.zeros(x.shape), np.fmin(first, np.where(self.variance > 0, normal, first))
        s: Array = high / 2
        for _ in range(_HALVINGS):  # Newton's steps, and halvings where one would leave the bracket
            slopes = [(b, *self.noise.slopes(b * s)) for b in self.scales]
            rise = self.variance * s + sum(b * one for b, one, _ in slopes)
            excess = rise - x - 1 / s
            low, high = np.where(excess > 0, low, s), np.where(excess > 0, s, high)
            if (np.abs(excess) <= _NEAR * (rise + 1 / s)).all():
                break
            step = excess / (self.variance + sum(b * b * two for b, _, two in slopes) + 1 / s**2)
            inside = (low < s - step) & (s - step < high)
            s = np.where(inside, s - step, (low + high) / 2)
        return s

    def curvature(self, s: Array) -> Array:
        """Return the second derivative of K(s) - log s."""
        found: Array = (
            self.variance + sum(b * b * self.noise.slopes(b * s)[1] for b in self.scales) + 1 / s**2
        )
        return found

    def tail(self, x: Array) -> tuple[Array, Array, Array]:
        """Return P(X > x), the density and its slope, all (...,), for x >= 0."""
        # in K the logarithms of all draws add, so that m of J turn and grow as one of m J does
        many = self.noise.size * max(len(self.scales), _DRAWS) // _DRAWS
        at, (path, along, step) = self.saddle(x), _path(many)
        width = 1 / np.sqrt(self.curvature(at))
        s = at[..., None] + width[..., None] * path
        height = np.exp(self.variance[..., None] / 2 * s * s - s * x[..., None])
        for b in self.scales:
            height = height * self.noise.mgf(b[..., None] * s)
        height = height * along * (width[..., None] * step / math.pi)
        parts = (height / s, height, -height * s)
        above, density, slope = (part.imag.sum(axis=-1) for part in parts)
        return above, density, slope


def tail_of_sum(
    x: ArrayLike, variance: ArrayLike, scales: tuple[float, ...], size: int = 1
) -> Array:
    """P(N(0, variance) + Laplace(b1) + ... + Laplace(bm) > x) for x >= 0, elementwise.

    Scales are above 0, in any order, some or all of them equal.  ``size`` is of the cubes that
    noise is uniform in; 1 is Laplace noise.

    Notes
    -----
    With K(s) = variance s^2 / 2 - sum_j log(1 - b_j^2 s^2), or the logarithms of the moment
    generating functions of coordinates in cubes, the tail is
    (1 / 2 pi i) integral of e^(K(s) - s x) / s over a line between 0 and the least 1 / b_j.  The
    exponent is convex on the real axis there; the line goes through its least point, where the
    integrand is as small as the tail itself, so that nothing cancels.  It is bent to a hyperbola,
    s = s0 + w (tan(pi/8) (cosh u - 1) + i sinh u), along which the integrand falls whether a
    normal or a Laplace part rules; all singularities are real, so that none is passed.  The
    trapezoidal rule in u then has an error of about e^(-pi^2 / (4 step)), here below 1e-13; what
    the path leaves out is below 1e-12.

    References
    ----------
    Daniels (1954), Saddlepoint approximations in statistics (the path); Trefethen and Weideman
    (2014), The exponentially convergent trapezoidal rule, section 15.

    Examples
    --------
    >>> bool(np.isclose(tail_of_sum(0.0, 1.0, (1.0, 1.0, 2.0)), 0.5))
    True
    """
    law, x, _ = _standardised(x, variance, scales, size)
    return law.tail(x)[0]


def quantile_of_sum(
    alpha: ArrayLike, variance: ArrayLike, scales: tuple[float, ...], size: int = 1
) -> Array:
    """Return q with P(|N(0, variance) + Laplaces| > q) = alpha, elementwise.

    Notes
    -----
    The law is log-concave, being a convolution of log-concave ones, so that the logarithm of the
    tail is concave: Newton's steps on it come from the right after the first and cannot miss.

    Examples
    --------
    >>> q = quantile_of_sum(0.05, 1.0, (1.0, 1.0, 2.0))
    >>> bool(np.isclose(2 * tail_of_sum(q, 1.0, (1.0, 1.0, 2.0)), 0.05))
    True
    """
    law, a, unit = _standardised(alpha, variance, scales, size, divide=False)
    target = np.log(a / 2)
    x = np.sqrt(-2 * target) * (1 - a)
    for _ in range(_MOST_STEPS):
        above, density, _ = law.tail(x)
        step = (np.log(above) - target) * above / density
        x = np.maximum(x + step, 0.0)
        if (np.abs(step) <= 1e-12 * x).all():
            break
    return np.asarray(x * unit)


def _standardised(
    x: ArrayLike,
    variance: ArrayLike,
    scales: tuple[float, ...],
    size: int = 1,
    *,
    divide: bool = True,
) -> tuple[_Law, Array, Any]:
    """Return the law in units of its standard deviation, the argument, and the unit."""
    at, v = np.broadcast_arrays(np.asarray(x, np.float64), np.asarray(variance, np.float64))
    unit = np.sqrt(v + noise_variance(size) * math.fsum(b * b for b in scales))
    law = _Law(v / unit**2, tuple(b / unit for b in scales), _Coordinate(size))
    return law, np.asarray(at / unit if divide else at), unit


_ROOT_HALF = math.sqrt(0.5)
_APART = 2e-3
"""Squared scales closer than this, relatively, are moved apart symmetrically (error about 1e-6)."""

_STEPS = 90


def tail(x: ArrayLike, variance: ArrayLike, scale: ArrayLike) -> Array:
    """P(N(0, variance) + Laplace(scale) > x) for x >= 0, elementwise.

    Notes
    -----
    With s^2 = variance, z = x / s, t = s / scale:
    Phi(-z) + e^(t^2/2 - zt) Phi(z - t) / 2 - e^(t^2/2 + zt) Phi(-z - t) / 2,
    where e^(t^2/2 + zt) Phi(-z - t) = e^(-z^2/2) erfcx((z + t)/sqrt 2) / 2.

    Examples
    --------
    >>> bool(np.isclose(tail(2.0, 0.0, 1.0), np.exp(-2) / 2))
    True
    """
    z, upper, lower = _sides(x, variance, scale)
    found: Array = special.ndtr(-z) + (upper - lower) / 2
    return found


def density(x: ArrayLike, variance: ArrayLike, scale: ArrayLike) -> Array:
    """Return the density of N(0, variance) + Laplace(scale) at x >= 0, elementwise.

    Examples
    --------
    >>> float(density(0.0, 0.0, 1.0))
    0.5
    """
    _, upper, lower = _sides(x, variance, scale)
    found: Array = (upper + lower) / (2 * np.asarray(scale, np.float64))
    return found


def widening(x: ArrayLike, variance: ArrayLike, scale: ArrayLike) -> Array:
    """Return dx / dvariance along a fixed tail probability, elementwise.

    Notes
    -----
    The density f solves the heat equation, so that the tail grows with the variance by -f' / 2;
    both f' and f are made of the two terms of the tail.

    Examples
    --------
    >>> float(widening(3.0, 0.0, 1.0))
    0.5
    """
    _, upper, lower = _sides(x, variance, scale)
    found: Array = (upper - lower) / (upper + lower) / (2 * np.asarray(scale, np.float64))
    return found


def cdf(x: ArrayLike, variance: float, scales: tuple[float, ...], size: int = 1) -> Array:
    """Distribution function of N(0, variance) + Laplace(b1) [+ Laplace(b2) ...].

    Notes
    -----
    Two scales: F = (b1^2 F_b1 - b2^2 F_b2) / (b1^2 - b2^2), by partial fractions of the
    characteristic function; (almost) equal ones are moved apart, their sum of squares kept.  More
    than two: :func:`~dprct.estimate.noise_law.tail_of_sum`.

    Examples
    --------
    >>> float(cdf(0.0, 1.0, (1.0, 2.0)))
    0.5
    """
    x = np.asarray(x, np.float64)
    upper = (
        tail_of_sum(np.abs(x), variance, scales, size)
        if len(scales) > 2 or size > 1
        else sum(w * tail(np.abs(x), variance, b) for w, b in _mixture(scales))
    )
    found: Array = np.where(x < 0, upper, 1 - upper)
    return found


def quantile(
    alpha: ArrayLike, variance: ArrayLike, scales: tuple[float, ...], size: int = 1
) -> Array:
    """Return q with P(|N(0, variance) + Laplaces| > q) = alpha: the half width of an interval.

    Examples
    --------
    >>> float(np.round(quantile(0.05, 0.0, (1.0,)), 4))
    2.9957
    """
    a, v = np.broadcast_arrays(np.asarray(alpha, np.float64), np.asarray(variance, np.float64))
    if not ((a > 0) & (a < 1)).all():
        raise ParameterError("alpha is outside (0, 1); give a number such as 0.05")
    if a.ndim == 0:  # of plans and effects, which ask for the same again and again
        return np.asarray(_quantile_of_one(float(a), float(v), scales, size))
    return _quantiles(a, v, scales, size)


@lru_cache(maxsize=4096)
def _quantile_of_one(alpha: float, variance: float, scales: tuple[float, ...], size: int) -> float:
    if len(scales) > 2 or size > 1:
        return float(quantile_of_sum(alpha, variance, scales, size))
    parts, each = _mixture(scales), alpha / (1 + len(scales))
    low = 0.0
    high = -math.sqrt(variance) * NormalDist().inv_cdf(each / 2) - sum(scales) * math.log(each)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        if 2 * sum(w * _tail_of_one(middle, variance, b) for w, b in parts) > alpha:
            low = middle
        else:
            high = middle
    return high


def _tail_of_one(x: float, variance: float, scale: float) -> float:
    """:func:`tail` of numbers: most plans need no more, and SciPy takes longer to import."""
    if variance == 0:
        return math.exp(-x / scale) / 2
    s = math.sqrt(variance)
    z, t = x / s, s / scale
    bell = math.exp(-z * z / 2)
    if z < t:
        upper = bell * _erfcx((t - z) * _ROOT_HALF) / 2
    else:
        upper = math.exp(t * t / 2 - x / scale) * math.erfc((t - z) * _ROOT_HALF) / 2
    lower = bell * _erfcx((t + z) * _ROOT_HALF) / 2
    return math.erfc(z * _ROOT_HALF) / 2 + (upper - lower) / 2


def _erfcx(x: float) -> float:
    """Scaled complementary error function, e^(x^2) erfc(x), of a number from 0 on."""
    if x < 25:
        return math.exp(x * x) * math.erfc(x)
    series = 1.0  # asymptotic; the term after these is below 1e-16
    for k in range(11, 0, -2):
        series = 1 - k / (2 * x * x) * series
    return series / (x * math.sqrt(math.pi))


def _quantiles(a: Array, v: Array, scales: tuple[float, ...], size: int) -> Array:
    if len(scales) > 2 or size > 1:
        return quantile_of_sum(a, v, scales, size)
    parts = _mixture(scales)
    low = np.zeros(a.shape)
    # P(|N + L| > q) is at most the sum of what each part exceeds at its share of q
    each = a / (1 + len(scales))
    high = np.sqrt(v) * -special.ndtri(each / 2) - sum(scales) * np.log(each)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if not ((low < middle) & (middle < high)).any():  # neighbouring numbers: nothing moves
            break
        above = 2 * sum(w * tail(middle, v, b) for w, b in parts) > a
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.asarray(high)


def _mixture(scales: tuple[float, ...]) -> tuple[tuple[float, float], ...]:
    """Return the (weight, scale) whose tails add up to that of the sum of Laplaces."""
    if len(scales) == 1:
        return ((1.0, scales[0]),)
    u1, u2 = (b * b for b in scales)
    middle = (u1 + u2) / 2
    if abs(u1 - u2) < _APART * middle:
        u1, u2 = middle * (1 + _APART / 2), middle * (1 - _APART / 2)
    return ((u1 / (u1 - u2), math.sqrt(u1)), (u2 / (u2 - u1), math.sqrt(u2)))


_SURE = 9.0
"""Beyond it Phi is 1 to the last digit."""


def _sides(x: ArrayLike, variance: ArrayLike, scale: ArrayLike) -> tuple[Array, Array, Array]:
    """Return z, e^(t^2/2 - zt) Phi(z - t) and e^(t^2/2 + zt) Phi(-z - t); no overflow.

    The first is written with the normal density where z < t and as it stands elsewhere.  Special
    functions are evaluated only where their value is used and is not 0 or 1 to the last digit.
    """
    given_as = np.broadcast_arrays(*(np.asarray(a, np.float64) for a in (x, variance, scale)))
    shape = given_as[0].shape
    x, v, b = map(np.atleast_1d, given_as)
    s = np.sqrt(v)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        z, t = np.where(s > 0, x / s, np.inf), s / b
        bell = np.exp(-z * z / 2)
        apart = z - t
        near = apart < 0
        upper = np.exp(t * t / 2 - x / b)
        sure = apart >= _SURE
        some = ~(near | sure)
        upper[some] *= special.ndtr(apart[some])
        upper[near] = bell[near] * special.erfcx((t - z)[near] * _ROOT_HALF) / 2
        lower = np.zeros(x.shape)
        some = (bell > 0) & ~sure  # where Phi is 1, lower / upper < e^(-81/2) / 2: no digit is lost
        lower[some] = bell[some] * special.erfcx((t + z)[some] * _ROOT_HALF) / 2
    return z.reshape(shape)[()], upper.reshape(shape)[()], lower.reshape(shape)[()]


LARGEST_RHO = 1e4
"""Beyond it (epsilon in the thousands) nothing is computed, and nothing protected."""

_NODES, _FINE = 500, 2000

_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(14)
_TOLERANCE = 1e-7


@dataclass(frozen=True)
class _Level:
    """Tables of one level: x0, the half width without sampling error, and V at a half width x."""

    x0: float
    variance_at: Callable[[Array], Array]
    width_at: Callable[[Array], Array]


def correction(rho: float, alpha: float = 0.05, size: int = 1) -> float:
    """c(rho) at level 1 - alpha, rounded up by at most 1e-4; rho = b_V / b^2 is in (0, 1e4].

    Notes
    -----
    Coverage rises with c, because V~ does.  The worst coverage falls short of the level nowhere.
    At the level .95, for one outcome and rho of .01 or more, it is read off a polynomial, since the
    search takes as long as all else that a plan does.

    Examples
    --------
    >>> round(correction(1.0), 2)
    0.38
    """
    rho, alpha = _checked(rho, alpha)
    tabled = _tabled(rho, alpha, size)
    return _searched(rho, alpha, size) if tabled is None else tabled


def correction_bounds(rho: float, alpha: float, size: int = 1) -> tuple[float, float]:
    """Return two numbers between which c(rho) lies, at about a tenth of what it costs to find.

    Notes
    -----
    The shortfall falls as c rises; it is above 0 at the first and not above 0 at the second, but
    for the tolerance of the root.

    Examples
    --------
    >>> low, high = correction_bounds(1.0, 0.05)
    >>> low <= correction(1.0, 0.05) <= high
    True
    """
    rho, alpha = _checked(rho, alpha)
    tabled = _tabled(rho, alpha, size)
    if tabled is not None:
        return tabled, tabled
    (low, _), (high, _) = _bracket(rho, alpha, size)
    return low, high + 2 * _TOLERANCE


def _checked(rho: float, alpha: float) -> tuple[float, float]:
    if not 0 < rho <= LARGEST_RHO:
        raise ParameterError(f"``rho={rho:g}`` is outside (0, {LARGEST_RHO:g}]; lower epsilon")
    return float(rho), checked_alpha(alpha)


# fmt: off
_TABLED = (
    1.035207, 1.241573, 0.044207, -0.198458, 0.007961, 0.037298, -0.00657, -0.002778, 0.000413,
    -0.00182, 0.001534, 0.000905, -0.00109, -0.000179, 0.000375, 5.8e-05, -5.1e-05, -9e-05,
    -3e-06, 7.2e-05, -4e-06, -2.9e-05, -3e-06, 4e-06, 1.6e-05,
)
# fmt: on
"""``chebinterpolate(lambda x: _searched(10 ** (1 + 3 * x), 0.05, 1), 24)`` plus 5e-5: it is
nowhere below what the search finds."""


def _tabled(rho: float, alpha: float, size: int) -> float | None:
    """Return c where ``_TABLED`` gives it."""
    if size > 1 or rho < 0.01 or not math.isclose(alpha, 0.05, rel_tol=1e-9):  # as 1 - 0.95 is
        return None
    return float(chebval((math.log10(rho) - 1) / 3, _TABLED))


@lru_cache(maxsize=4096)
def _bracket(
    rho: float, alpha: float, size: int
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the ends between which c lies, each with its shortfall."""
    ratios = _ratios(rho)
    low = high = (0.0, _shortfall(0.0, rho, alpha, ratios, size))
    while high[1] > 0:
        c = 2 * high[0] or 1.0
        low, high = high, (c, _shortfall(c, rho, alpha, ratios, size))
    return low, high


@lru_cache(maxsize=4096)
def _searched(rho: float, alpha: float, size: int) -> float:
    ends = _bracket(rho, alpha, size)
    low, high = (c for c, _ in ends)
    if high == 0:
        return 0.0
    known, ratios = dict(ends), _ratios(rho)  # the search begins by asking for both ends again

    def shortfall(c: float) -> float:
        return known[c] if c in known else _shortfall(c, rho, alpha, ratios, size)

    return root(shortfall, low, high, _TOLERANCE) + 2 * _TOLERANCE


def coverage(ratio: Array, rho: float, c: float, alpha: float = 0.05, size: int = 1) -> Array:
    """Coverage of the interval at each ratio V / b^2.

    Notes
    -----
    |X| <= q(V~) if and only if V~ >= v(|X|), v being the inverse of q.  Hence coverage is
    P(|X| <= q(0)) + integral over x > q(0) of 2 f(x) P(V + Laplace + c b_V >= v(x)) dx, where f is
    the density of X.  The integrand is smooth on both sides of x* = q(V + c b_V), and panels
    shrink towards it.

    Examples
    --------
    >>> bool(coverage(np.array([0.0]), 1.0, 0.0)[0] > 0.95)
    True
    """
    level = _level(alpha, size)
    r = np.asarray(ratio, np.float64)[:, None]
    centre = r + rho * c
    x, weight = _panels(r, level.width_at(centre), level.x0)
    gap = (level.variance_at(x) - centre) / rho
    beyond_gap = _noise_tail(np.abs(gap), size)
    reached = np.where(gap > 0, beyond_gap, 1 - beyond_gap)
    beyond = (weight * 2 * _densities(x, r, size) * reached).sum(axis=1)
    inside = 1 - 2 * (
        tail(level.x0, r[:, 0], 1.0)
        if size == 1
        else tail_of_sum(np.full(len(r), level.x0), r[:, 0], (1.0,), size)
    )
    found: Array = inside + beyond
    return found


def _noise_tail(x: Array, size: int) -> Array:
    """P(noise > x) at scale 1, x >= 0: (J Q(J, x) - x Q(J - 1, x)) / (2 J), gamma tails Q."""
    if size == 1:
        return np.exp(-x) / 2
    tails = size * special.gammaincc(size, x) - x * special.gammaincc(size - 1, x)
    found: Array = tails / (2 * size)
    return found


def _densities(x: Array, ratio: Array, size: int) -> Array:
    """Densities at x (m, p) of noise at scale 1 and normals of variances ``ratio`` (m, 1)."""
    if size == 1:
        return density(x, ratio, 1.0)
    return np.stack([_curve(float(r), size)(at) for r, at in zip(ratio[:, 0], x, strict=True)])


@lru_cache(maxsize=2048)
def _curve(ratio: float, size: int) -> Callable[[Array], Array]:
    """Density of noise at scale 1 and a normal of this variance, interpolated in its logarithm."""
    from scipy.interpolate import CubicSpline

    end = 9 * math.sqrt(ratio) + 45 + 3 * size
    nodes = np.linspace(0, end, _NODES)
    law, x, unit = _standardised(nodes, ratio, (1.0,), size)
    log = CubicSpline(nodes, np.log(law.tail(x)[1] / unit))
    return lambda at: np.where(at <= end, np.exp(log(np.minimum(at, end))), 0.0)


def _shortfall(c: float, rho: float, alpha: float, ratios: Array, size: int) -> float:
    """Amount by which the worst coverage misses the level; refined at every local worst."""
    short = 1 - alpha - coverage(ratios, rho, c, alpha, size)
    if size > 1:
        from scipy.interpolate import CubicSpline

        at = np.log(ratios)
        between = CubicSpline(at, short)(np.linspace(at[0], at[-1], _FINE))
        return max(float(short.max()), float(between.max()), -1.0)
    peaks = 1 + np.flatnonzero((short[1:-1] >= short[:-2]) & (short[1:-1] >= short[2:]))
    found = [_refined(c, rho, alpha, ratios[i - 1], ratios[i + 1]) for i in peaks]
    return max(float(short.max()), *found, -1.0)


def _refined(c: float, rho: float, alpha: float, low: float, high: float) -> float:
    """Return the largest shortfall between two ratios around a peak."""
    for _ in range(2):
        ratios = np.geomspace(low, high, 12)
        short = 1 - alpha - coverage(ratios, rho, c, alpha)
        top = int(np.argmax(short))
        low, high = ratios[max(top - 1, 0)], ratios[min(top + 1, 11)]
    return float(short.max())


def _ratios(rho: float) -> Array:
    # far above, V~ / V tends to one from a side on which the interval covers; see the tests
    return np.geomspace(1e-5, 300 * max(1.0, rho), 50)


def _panels(ratio: Array, kink: Array, x0: float) -> tuple[Array, Array]:
    """Return nodes (m, p) and weights from x0 to where the density ends, fine near the kink."""
    end = np.maximum(x0, kink) + 9 * np.sqrt(ratio) + 45
    towards = np.concatenate([[0.0], np.geomspace(1e-5, 1.0, 18)])
    both = np.concatenate([towards / 2, 1 - towards[-2::-1] / 2])
    left = x0 + (kink - x0) * both
    right = kink + (end - kink) * towards
    edges = np.concatenate([left, right[:, 1:]], axis=1)
    half = np.diff(edges, axis=1)[:, :, None] / 2
    middle = (edges[:, :-1] + edges[:, 1:])[:, :, None] / 2
    shape = (len(ratio), -1)
    return (middle + half * _POINTS).reshape(shape), (half * _WEIGHTS).reshape(shape)


@lru_cache(maxsize=256)
def _level(alpha: float, size: int) -> _Level:
    v = np.concatenate([[0.0], np.geomspace(1e-6, 1e9, 2500 if size == 1 else _NODES)])
    x = quantile(alpha, v, (1.0,), size)
    if size == 1:
        slope = widening(x, v, 1.0)
    else:  # dx / dvariance, as in widening
        law, at, unit = _standardised(x, v, (1.0,), size)
        _, height, falls = law.tail(at)
        slope = -falls / height / (2 * unit)
    return _Level(float(x[0]), _through(x, v, 1 / slope), _through(v, x, slope))


def _through(x: Array, y: Array, slope: Array) -> Callable[[Array], Array]:
    """Cubic pieces through points with these slopes; the last ones go on beyond the ends."""
    length = np.diff(x)
    mean = np.diff(y) / length
    bend = (slope[:-1] + slope[1:] - 2 * mean) / length
    square, cube = (mean - slope[:-1]) / length - bend, bend / length

    def at(values: Array) -> Array:
        i = np.clip(np.searchsorted(x, values, "right") - 1, 0, len(length) - 1)
        s = values - x[i]
        found: Array = y[i] + slope[i] * s + square[i] * (s * s) + cube[i] * (s * s * s)
        return found

    return at


_PATH_REACH, _TERMS, _BISECTIONS = 60.0, 20_000, 60
_RAREST = 1e-6


@dataclass(frozen=True)
class PathNoise:
    """A sum of independent Laplace draws and a normal one.

    Examples
    --------
    >>> round(PathNoise(((1.0, 1),)).half_width(0.05), 3)
    2.996
    >>> round(PathNoise((), 1.0).half_width(0.05), 3)
    1.96
    """

    laplace: tuple[tuple[float, int], ...] = ()  # (scale, count): ``count`` draws of each scale
    variance: float = 0.0  # of the normal part

    @property
    def sd(self) -> float:
        """Standard deviation."""
        return math.sqrt(self.variance + sum(2 * b * b * m for b, m in self.laplace))

    def __add__(self, other: PathNoise) -> PathNoise:
        return PathNoise(self.laplace + other.laplace, self.variance + other.variance)

    def mean_of(self, count: int) -> PathNoise:
        """Return the law of the mean of ``count`` independent draws."""
        laplace = tuple((b / count, m * count) for b, m in self.laplace)
        return PathNoise(laplace, self.variance / count)

    def times(self, factor: float) -> PathNoise:
        """Return the law of ``factor`` times the noise."""
        laplace = tuple((b * abs(factor), m) for b, m in self.laplace)
        return PathNoise(laplace, self.variance * factor**2)

    def half_width(self, alpha: float) -> float:
        """Return q with P(|noise| > q) = alpha.

        Parameters
        ----------
        alpha : float
            From 1e-6, below which the numbers are not certain, to 1.
        """
        check_alpha(alpha)
        return self.sd * _standard_half_width(self._standardised(), float(alpha))

    def _standardised(self) -> PathNoise:
        sd = self.sd or 1.0
        # digits beyond these do not show, and the law is kept for all budgets that share it
        laplace = tuple((round(b / sd, 12), m) for b, m in self.laplace)
        return PathNoise(laplace, round(self.variance / sd**2, 12))


LARGEST_SCALE = 1 << 52
"""Noise scales above it, in grid units, are not drawn; epsilon is then below 1e-8."""


def check_noise(epsilon: Fraction, rho: float, scale: Fraction) -> None:
    """Refuse an epsilon that leaves no noise to speak of, or more than the sampler can draw.

    ``rho`` is b_V / b^2, ``scale`` the largest noise scale, in grid units.
    """
    if rho > LARGEST_RHO or scale > LARGEST_SCALE:
        raise ParameterError(
            f"``epsilon={float(epsilon):g}`` is outside what this estimate is made for "
            f"(rho={rho:.3g}, at most {LARGEST_RHO:g}, and noise that a double holds); "
            f"{'lower' if rho > LARGEST_RHO else 'raise'} epsilon"
        )


def check_alpha(alpha: object) -> None:
    """Refuse what is not a share of misses from 1e-6 to 1."""
    if not isinstance(alpha, (int, float)) or not _RAREST <= alpha < 1:
        raise ParameterError(
            f"``alpha={given(alpha)}``; give a number from {_RAREST:g} to 1, as 0.05"
        )


@lru_cache(maxsize=512)
def _standard_half_width(noise: PathNoise, alpha: float) -> float:
    """Return the half width for noise of standard deviation one.

    The characteristic function is ``exp(-v t^2 / 2) prod (1 + b^2 t^2)^-m``; its Fourier series on
    +-60 standard deviations is the distribution function.
    """
    if not noise.laplace and not noise.variance:
        return 0.0
    k = np.arange(1, _TERMS + 1)
    t = math.pi * k / _PATH_REACH
    log_phi = -noise.variance * t * t / 2
    for b, count in noise.laplace:
        log_phi -= count * np.log1p((b * t) ** 2)
    weights = 2 / (math.pi * k) * np.exp(log_phi)
    low, high = 0.0, _PATH_REACH / 2
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        inside = middle / _PATH_REACH + float(weights @ np.sin(t * middle))
        low, high = (middle, high) if 1 - inside > alpha else (low, middle)
    return high
