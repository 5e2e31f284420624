"""The paper's bounds on the error, as printed and corrected, and one for the strict form.

All are for data divided by the public bound, and for one simulated panel; the mean over panels
bounds the mean error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dprct.published.dpsc_steps import objective_of, output_scale
from papers.dpsc.design import AFTER, NOISE_VARIANCE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from papers.dpsc.design import Simulated

    Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Terms:
    """What the paper's Theorems 3.2 and 3.5 are made of, besides the noise.

    Parameters
    ----------
    signal : float
        ``||M_post||_2 / sqrt(T - T0)``.
    distance : float
        ``||f_reg - f||_2``.
    psi : float
        ``||f_reg||_inf``.
    n : int
    """

    signal: float
    distance: float
    psi: float
    n: int

    def bound(self, weight_noise: float, donor_noise: float, bound: float) -> float:
        """Return the right-hand side for E||v|| and E||W|| / sqrt(T - T0)."""
        chance = math.sqrt(self.n * NOISE_VARIANCE) / bound
        return self.signal * (self.distance + weight_noise) + (chance + donor_noise) * (
            math.sqrt(self.n) * self.psi + weight_noise
        )


def terms(panel: Simulated, weights: Array) -> Terms:
    """Return the terms of the theorems for a panel and its ridge weights (n,)."""
    after = panel.signals[:, -AFTER:]
    return Terms(
        float(np.linalg.norm(after, 2)) / math.sqrt(AFTER),
        float(np.linalg.norm(weights - panel.true_weights)),
        float(np.abs(weights).max()),
        len(weights),
    )


def output_bound(
    found: Terms, bound: float, T0: int, lam: float, epsilon: float, *, printed: bool
) -> float:
    """Return the bound of Theorem 3.2, eps1 = eps2 = epsilon / 2.

    Notes
    -----
    As printed it takes E||v|| = a for noise whose mean length is n a, and sqrt(2) / eps2 where its
    own proof has 2 / eps2, for a W whose mean length is n (T - T0) times its scale.  With these
    mended it is a bound.
    """
    half = epsilon / 2
    a = output_scale(found.n, T0, lam, half)
    if printed:
        return found.bound(a, math.sqrt(2) / half, bound)
    return found.bound(found.n * a, found.n * AFTER * 2 / half, bound)


def objective_bound(
    found: Terms, bound: float, T0: int, lam: float, epsilon: float, *, printed: bool
) -> float:
    """Return the bound of Theorem 3.5 with Laplace noise, eps1 = eps2 = epsilon / 2.

    Notes
    -----
    As printed it takes E||b|| for the scale of b, a n-th of it; otherwise as
    :func:`output_bound`.
    """
    half = epsilon / 2
    noise = objective_of(found.n, T0, lam, half)
    length = noise.scale * (1 if printed else found.n)
    moved = 2 * length / (lam + noise.extra)
    if noise.extra:
        moved += (1 / lam + 1 / (lam + noise.extra)) * 2 * T0**2 * math.sqrt(found.n)
    donors = math.sqrt(2) / half if printed else found.n * AFTER * 2 / half
    return found.bound(moved, donors, bound)


def strict_bound(panel: Simulated, epsilon: float, share: float) -> float:
    """Return a bound on the strict form's mean error, whatever its weights are.

    Parameters
    ----------
    panel : Simulated
    epsilon : float
    share : float
        Of epsilon, for the path.

    Notes
    -----
    Weights g on the simplex make ``M'g - m`` a mean of the donors' distances from m, at most the
    largest one.  They do not depend on the outcomes after treatment, whose part ``Z'g`` has a root
    mean square of at most sigma ||g|| <= sigma.  The noise has a standard deviation of
    sqrt(2) 2 (T - T0) ||g||_inf / epsilon_2 a period, and ||g||_inf <= 1.
    """
    apart = (panel.signals - panel.signal)[:, -AFTER:]
    farthest = math.sqrt(float((apart**2).mean(axis=1).max()))
    chance = math.sqrt(NOISE_VARIANCE) / panel.bound
    return farthest + chance + math.sqrt(2) * 2 * AFTER / (epsilon * share)
