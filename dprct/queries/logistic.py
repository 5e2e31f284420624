"""Ridge-logistic weights solved to a public tolerance, whatever the data: the numerics.

``J(w) = (1/n) sum log(1 + exp(-s_i z_i'w)) + (lam/2) ||w||^2`` with s_i = -1 or 1 and
||z_i|| <= 1: lam-strongly convex, with a gradient of Lipschitz constant L <= 1/4 + lam.  Any w with
||grad J(w)|| <= tol is within tol / lam of the minimiser, which one record moves by 2 / (n lam).
"""

from __future__ import annotations

import math
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from scipy.special import expit
from threadpoolctl import threadpool_limits

from dprct.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Mask = NDArray[np.bool_]

SHARE = 5e-4
"""What the public number of steps leaves of the gradient, times n."""

ROUNDING_SHARE = 0.05
"""What floating point may leave of the gradient, times n, before a penalty is refused."""

LARGEST_PENALTY = 1e12
"""Far above any penalty of use; beyond it rates of convergence round to nothing."""

CHUNK = 1024
"""Rows that are added up in one matrix product."""

PIECE = 8 * CHUNK
"""Rows that are asked for at a time."""

WORK = 1.5e9
"""Multiplications (about a second) up to which the accelerated steps are made without asking."""

_MANY = 20_000
"""Rows from which on the threads of the linear algebra are set to one."""

_UNIT = 2.0**-53
_SAMPLE, _COARSE, _FINE = 8, 6, 5


class Rows(Protocol):
    """Rows z of norm at most 1, in memory or made anew piece by piece; confidential."""

    def __len__(self) -> int:
        """Return how many there are."""

    def chunk(self, start: int, stop: int) -> Array:
        """Return rows ``start`` to ``stop`` (or the last), contiguous."""

    def every(self, step: int) -> Rows:
        """Return every ``step``-th row."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Held:
    """Rows in memory.

    Parameters
    ----------
    Z : (n, d) array
    """

    Z: Array

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.Z)

    def chunk(self, start: int, stop: int) -> Array:
        """Return rows ``start`` to ``stop`` (or the last)."""
        return self.Z[start:stop]

    def every(self, step: int) -> Held:
        """Return every ``step``-th row."""
        return Held(np.ascontiguousarray(self.Z[::step]))


def one_thread(n: int) -> AbstractContextManager[Any]:
    """Return a context in which the linear algebra of n rows in pieces is that of one thread.

    Products of a few thousand rows are too small to share: threads would wait for each other.
    """
    return threadpool_limits(limits=1, user_api="blas") if n >= _MANY else nullcontext()


def rows_of(Z: Array | Rows) -> Rows:
    """Return an array as rows, and rows as they are."""
    return Held(np.ascontiguousarray(Z)) if isinstance(Z, np.ndarray) else Z


@dataclass(frozen=True, slots=True)
class Solver:
    """How far and how exactly a ridge-logistic problem is solved: public numbers only.

    Parameters
    ----------
    n : int
        Rows.
    d : int
        Coordinates of a row, whose norm is at most 1.
    lam : float
        The penalty, above 0.

    Attributes
    ----------
    steps : int
        Accelerated gradient steps.
    rounding : float
        Bound on the floating-point error of a gradient (Euclidean norm).
    tolerance : float
        ||grad J|| at what :func:`logistic_weights` returns is at most this, for all data.

    Raises
    ------
    ParameterError
        If lam is so small that rounding would not be negligible; from public numbers.

    Notes
    -----
    *Steps.*  Nesterov's method with constant momentum from w = 0, where J - min J <= log 2, leaves
    J - min J <= (r^(k/2) sqrt(2 log 2) + 2 e sqrt(2 L) / lam)^2 after k steps, r = 1 - sqrt(lam/L),
    if every gradient is off by at most e (Schmidt, Le Roux and Bach, Proposition 4, with the
    geometric series summed).  Then ||grad J|| <= sqrt(2 L (J - min J)) <=
    r^(k/2) sqrt(4 L log 2) + 4 e L / lam.  k makes the first part at most ``SHARE / n``.

    *Rounding.*  Let u = 2^-53.  A product of d numbers is off by (d + 2) u ||w||, the probability
    by a quarter of that and 8 u; the sum of n terms r_i z_ij, in products of ``CHUNK`` rows, by at
    most (CHUNK + n / CHUNK + 8) u sum |r_i z_ij| whatever the order of a product; the vector of
    mean |r_i z_ij| has norm at most 1.  All iterates stay within 10 / sqrt(lam) of zero; rounding
    them is an error of the gradient of at most 16 u of that.  Twice the sum is taken.

    References
    ----------
    Schmidt, Le Roux and Bach (2011), "Convergence Rates of Inexact Proximal-Gradient Methods for
    Convex Optimization", Proposition 4.
    Higham (2002), "Accuracy and Stability of Numerical Algorithms", section 3.1.

    Examples
    --------
    >>> solver = Solver(1000, 5, 0.01)
    >>> solver.steps > 100, solver.tolerance < 1e-6
    (True, True)
    """

    n: int
    d: int
    lam: float
    steps: int
    rounding: float
    tolerance: float

    def __init__(self, n: int, d: int, lam: float) -> None:
        if n < 1 or d < 1 or not 0 < lam <= LARGEST_PENALTY:
            raise ParameterError(
                f"lam={lam:g} with {n:,} rows; give lam above 0 and at most {LARGEST_PENALTY:g}, "
                "and at least one row"
            )
        smooth = 0.25 + lam
        rate = -math.log1p(-math.sqrt(lam / smooth))
        start = math.sqrt(4 * smooth * math.log(2))
        rounding = _rounding(n, d, lam)
        left = _left_by_rounding(n, d, lam)
        if left > ROUNDING_SHARE / n:
            raise ParameterError(
                f"lam={lam:g} is too small for {n:,} rows: rounding errors of the weights would "
                "not be negligible; give a larger one"
            )
        values = {
            "n": n,
            "d": d,
            "lam": lam,
            "steps": max(1, math.ceil(2 * math.log(start * n / SHARE) / rate)),
            "rounding": rounding,
            "tolerance": SHARE / n + left,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def l2(self) -> float:
        """By how much one record moves the computed weights, in the L2 norm.

        Notes
        -----
        Let w and w' minimise J and J', which differ in record i.  By strong convexity
        lam ||w - w'||^2 <= <grad J(w') - grad J'(w'), w' - w>, and the two gradients differ by
        (g_i - g_i') / n, where ||g_i|| = |sigma(z_i'w') - t_i| ||z_i|| < 1: the minimisers are less
        than 2 / (n lam) apart.  Each computed one is within tolerance / lam of its minimiser.
        """
        return (2 / self.n + 2 * self.tolerance) / self.lam * (1 + 1e-12)

    @property
    def always_accelerated(self) -> bool:
        """Whether the accelerated steps are made for all data, rather than where Newton fails."""
        return self.n * (self.d + 8.0) * self.steps <= WORK


def _rounding(n: int, d: int, lam: float) -> float:
    radius = 10 / math.sqrt(lam)
    return 2 * _UNIT * (CHUNK + n / CHUNK + 24 + ((d + 2) / 4 + 16 + 4 * lam) * radius)


def _left_by_rounding(n: int, d: int, lam: float) -> float:
    return 4 * _rounding(n, d, lam) * (0.25 + lam) / lam


def least_penalty(n: int, d: int) -> float:
    """Return the least penalty, up to a millionth, that :class:`Solver` takes; at most 1.

    Examples
    --------
    >>> least_penalty(1000, 5) < 1e-6 < least_penalty(10**6, 20) < 1e-3
    True
    """
    low, high = 1e-15, 1.0  # what rounding leaves falls with the penalty
    while high > low * (1 + 1e-6):
        middle = math.sqrt(low * high)
        if _left_by_rounding(n, d, middle) <= ROUNDING_SHARE / n:
            high = middle
        else:
            low = middle
    return high


def logistic_weights(Z: Array | Rows, t: Mask, solver: Solver) -> Array:
    """Return w (d,) with ||grad J(w)|| <= ``solver.tolerance``, for all data; confidential.

    Parameters
    ----------
    Z : (n, d) array, or Rows
        Rows of norm at most 1.
    t : (n,) array of bool
        Whether s_i = 1.
    solver : Solver
        For these n and d.

    Notes
    -----
    Small problems take a public number of accelerated steps, nothing else.  Above ``WORK`` these
    would take minutes: a public number of Newton steps comes first, and they are made only if the
    gradient that Newton leaves (and its rounding) exceeds the tolerance, of which no example is
    known.  The tolerance holds either way; only the running time could tell such data apart.

    Every step is a pass over the rows in pieces, the same whether they are in memory or made anew:
    so are the bits of the result.
    """
    rows = rows_of(Z)
    if solver.always_accelerated:
        return _accelerated(rows, t, solver)
    w = _newton(rows, t, solver)
    if math.sqrt(float(np.square(gradient(rows, t, w, solver.lam)).sum())) <= (
        solver.tolerance - solver.rounding
    ):
        return w
    return _accelerated(rows, t, solver)


def gradient(Z: Array | Rows, t: Mask, w: Array, lam: float) -> Array:
    """Return grad J(w) (d,), up to ``Solver.rounding``; confidential."""
    rows = rows_of(Z)
    total = np.zeros(len(w))
    for piece, labels in _pieces(rows, t):
        for start in range(0, len(piece), CHUNK):
            part = piece[start : start + CHUNK]
            total += (expit(part @ w) - labels[start : start + CHUNK]) @ part
    return np.asarray(total / len(rows) + lam * w)


def _pieces(rows: Rows, t: Mask) -> Iterator[tuple[Array, Mask]]:
    for start in range(0, len(rows), PIECE):
        yield rows.chunk(start, start + PIECE), t[start : start + PIECE]


def _accelerated(rows: Rows, t: Mask, solver: Solver) -> Array:
    smooth = 0.25 + solver.lam
    root = math.sqrt(solver.lam / smooth)
    momentum = (1 - root) / (1 + root)
    x = y = np.zeros(solver.d)
    for _ in range(solver.steps):
        before, x = x, y - gradient(rows, t, y, solver.lam) / smooth
        y = x + momentum * (x - before)
    return x


def _newton(rows: Rows, t: Mask, solver: Solver) -> Array:
    """Return the point after a public number of Newton steps, on a part of the rows and on all."""
    w = np.zeros(solver.d)
    part, labels = rows.every(_SAMPLE), t[::_SAMPLE]
    for _ in range(_COARSE):
        w = w - np.linalg.solve(*_curvature(part, labels, w, solver.lam))
    for _ in range(_FINE):
        w = w - np.linalg.solve(*_curvature(rows, t, w, solver.lam))
    return np.asarray(np.nan_to_num(w.clip(-1e6, 1e6)))


def _curvature(rows: Rows, t: Mask, w: Array, lam: float) -> tuple[Array, Array]:
    """Return the Hessian and the gradient of J at w."""
    H, g = np.zeros((len(w), len(w))), np.zeros(len(w))
    for piece, labels in _pieces(rows, t):
        p = expit(piece @ w)
        half = piece * np.sqrt(p * (1 - p))[:, None]
        H += half.T @ half
        g += (p - labels) @ piece
    H /= len(rows)
    H.flat[:: len(H) + 1] += lam
    return H, np.asarray(g / len(rows) + lam * w)
