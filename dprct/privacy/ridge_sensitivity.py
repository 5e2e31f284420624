"""By how much one donor can move the weights of a synthetic control: theorems about ridge.

``f = (X X' + kappa I)^-1 X y`` with ``kappa = lambda / 2``: X (n donors, T0 pre-periods) has
entries in [-1, 1], one row is one donor's series, and y (T0) is the treated unit's.  With
predictors, a row has further coordinates in [-r, r]; of a row the proof uses nothing but
||x||^2 <= S^2, so that ``T0 + sum(r^2)`` then stands where T0 stands below.

One proof serves all three numbers.  Let x be the row that changes, A = X_-'X_- of the others,
M = kappa (A + kappa)^-1, q = x'Mx and b = ||Mx||^2, so that b <= q <= ||x||^2 <= T0 =: S^2 because
M <= I.  Block elimination gives the row's own weight f_i = x'My / (kappa + q) and the others'
f_- = G (y - f_i x) with G'G = (M - M^2) / kappa.  Without the row (x = 0) the weights are
(0, G y), so that the row is responsible for F(x) = f_i (1, -G x), with ||G x||^2 = (q - b) / kappa
and f_i^2 <= ||y||^2 b / (kappa + q)^2.  Two data sets that differ in the row differ by
F(x) - F(x'), whose norm is at most twice the largest norm of F.

References
----------
docs/methods.md, section 6, which also says what is wrong with the published sensitivity.
"""

from __future__ import annotations

import math

from dprct.errors import ParameterError


def ridge_l2(y_norm: float, T0: float, lam: float) -> float:
    """Amount by which one donor moves ridge weights, in the L2 norm.

    Parameters
    ----------
    y_norm : float
        Euclidean norm of the treated unit's pre-period, or the largest that is possible.
    T0 : float
        Pre-periods; with predictors, the largest squared norm of a row.
    lam : float
        The penalty, above 0; kappa is half of it.

    Notes
    -----
    ||F||^2 <= ||y||^2 b (kappa + q - b) / (kappa (kappa + q)^2).  For q <= kappa it is largest at
    b = q, and q / (kappa + q)^2 grows up to q = min(S^2, kappa); for q >= kappa it is largest at
    b = (kappa + q) / 2, where it is 1 / (4 kappa).  Attained by x = -x' = s y / ||y|| among donors
    of zeros, s = min(S, sqrt(kappa)), where that lies in the cube, as it does if all y_t are equal.

    Examples
    --------
    >>> round(ridge_l2(10**0.5, 10, lam=10), 6) == round(2**0.5, 6)
    True
    """
    kappa = _kappa(y_norm, T0, lam)
    # q = ||x||^2 reaches at most S^2 = T0; q / (kappa + q)^2 grows up to q = kappa
    if kappa >= T0:
        return y_norm * 2 * math.sqrt(T0) / (T0 + kappa)
    return y_norm / math.sqrt(kappa)


def ridge_l1(y_norm: float, n: int, T0: float, lam: float) -> float:
    """Amount by which one donor moves ridge weights, in the L1 norm.

    Parameters
    ----------
    y_norm : float
        Euclidean norm of the treated unit's pre-period, or the largest that is possible.
    n : int
        Donors.
    T0 : float
        Pre-periods; with predictors, the largest squared norm of a row.
    lam : float
        The penalty, above 0; kappa is half of it.

    Notes
    -----
    ||F||_1 <= |f_i| (1 + sqrt(n - 1) ||G x||), in units of kappa (th = q / kappa, and b likewise).
    The maximum is known in closed form.  With a = sqrt((n - 1) th), b = th cos^2(phi) and
    s = sin(phi), the inner one solves 2 a s^2 + s = a.  By the envelope theorem the logarithm of
    what is left moves with log th by 1 / (1 + th) - 1 / (2 (1 + a s)), whose sign changes once,
    from plus to minus, where 1 + 2 a s = th: at th = 2 n - 1.

    Examples
    --------
    >>> ridge_l1(1.0, 1, 10, lam=40) == ridge_l2(1.0, 10, lam=40)
    True
    >>> round(ridge_l1(1.0, 10, 10, lam=200) / (10**0.5 * ridge_l2(1.0, 10, lam=200)), 2)
    0.4
    """
    kappa = _kappa(y_norm, T0, lam)
    if n < 1:
        raise ParameterError(f"``n={n}``; give at least one donor")
    # the best th is 2 n - 1, or the largest there is; a, and s for it, as in the notes
    th = min(T0 / kappa, 2 * n - 1)
    a = math.sqrt((n - 1) * th)
    s = 2 * a / (1 + math.sqrt(1 + 8 * a * a))  # the root of 2 a s^2 + s = a, without cancellation
    # ||F||_1 sqrt(kappa) / ||y|| at b = th (1 - s^2); two data sets are at most twice that apart
    reach = math.sqrt(th * (1 - s * s)) * (1 + a * s) / (1 + th)
    return 2 * y_norm * reach / math.sqrt(kappa)


def target_l2(n: int, T0: float, lam: float) -> float:
    """Amount by which the treated unit moves ridge weights, in the L2 norm; y in the cube too.

    Parameters
    ----------
    n : int
        Donors.
    T0 : float
        Pre-periods; with predictors, the largest squared norm of a row.
    lam : float
        The penalty, above 0; kappa is half of it.

    Notes
    -----
    f is linear in y, with the matrix (X X' + kappa)^-1 X; two y differ by at most 2 S.  Attained
    by n equal donors of ones where n T0 <= kappa.

    Examples
    --------
    >>> target_l2(10, 10, lam=400) < (2 * 10 / 400) ** 0.5
    True
    """
    kappa = _kappa(0.0, T0, lam)
    # s / (s^2 + kappa) grows up to s^2 = kappa, where it is 1 / (2 sqrt(kappa)); s^2 <= n T0
    largest = n * T0
    gain = math.sqrt(largest) / (largest + kappa) if largest < kappa else 0.5 / math.sqrt(kappa)
    return 2 * math.sqrt(T0) * gain


def solver_error(
    y_norm: float, n: int, T0: float, lam: float, coordinates: int | None = None
) -> float:
    """Bound on the L2 error of the weights in floating point, from public numbers.

    ``y_norm`` is the norm of the treated unit's pre-period; the smaller of n and the
    ``coordinates`` of a row (T0 if not given) is the order N of the system that is solved.

    Notes
    -----
    The matrix is formed without rounding (integers below 2^53).  Cholesky's solution solves a
    system whose matrix is off by at most eta = 4 N (3 N + 1) u of its norm, u = 2^-53, so that its
    relative error is at most 2 eta c if eta c <= 1/2 (and then the factorisation succeeds), where
    the condition number is c <= 1 + n T0 / kappa.  The solution has norm at most
    ||y|| / (2 sqrt(kappa)); with more donors than periods the weights are X u, u at most
    ||y|| / kappa, and the product adds 4 N u of sqrt(n T0) ||y|| / kappa.

    References
    ----------
    Higham (2002), "Accuracy and Stability of Numerical Algorithms", Theorems 10.4 and 10.7.

    Examples
    --------
    >>> solver_error(10**0.5, 38, 10, lam=200) < 1e-10
    True
    """
    kappa = _kappa(y_norm, T0, lam)
    order, unit = min(n, T0 if coordinates is None else coordinates), 2.0**-53
    # eta c, where c <= 1 + n T0 / kappa is the condition number
    amplified = 4 * order * (3 * order + 1) * unit * (1 + n * T0 / kappa)
    if amplified > 0.5:
        return math.inf
    # norm of the solution, with n <= T0; or of u times the norm of X, with fewer periods
    size = max(0.5 / math.sqrt(kappa), math.sqrt(n * T0) / kappa)
    return y_norm * size * (2 * amplified + 4 * order * unit)


def _kappa(y_norm: float, T0: float, lam: float) -> float:
    if not (math.isfinite(lam) and lam > 0):
        raise ParameterError(f"``lam={lam:g}``; give a number above 0, such as 20 * T0")
    if T0 < 1 or not (math.isfinite(y_norm) and y_norm >= 0):
        raise ParameterError("a sensitivity needs at least one pre-period and a finite y_norm")
    return lam / 2
